//! Which part of the file tree a sandboxed task sees how: one list, from which both the mount namespace and the Landlock
//! rules are made. The longest entry above a path decides; `/` itself is read-only.

use std::ffi::{CStr, CString};

/// How a part of the tree is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Not at all: an empty directory or file stands in its place.
    Hidden,
    /// Read and executed.
    ReadOnly,
    /// As the user's rights allow.
    Writable,
    /// A device node that may be opened, or a directory of such nodes.
    Device,
}

/// One part of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Absolute path without symbolic links.
    pub target: CString,
    /// What stands there instead of what the host has there; a path of the same kind.
    pub source: Option<CString>,
    /// How it is seen.
    pub access: Access,
}

/// The whole tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    entries: Vec<Entry>,
}

/// What has to be done about an entry, seen from the entry above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is as the entry above says already.
    Nothing,
    /// Put something empty over it.
    Cover,
    /// Put a mount of its own there.
    Attach,
}

/// An entry with its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placed<'l> {
    pub(crate) entry: &'l Entry,
    pub(crate) step: Step,
    /// The entry above shows something else than the host has there, so that the path must be made first.
    pub(crate) create: bool,
}

impl Layout {
    /// Sorts the entries; of two for one path the later one counts.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut sorted: Vec<Entry> = Vec::with_capacity(entries.len());
        for entry in entries.into_iter().filter(|entry| entry.target.as_bytes() != b"/") {
            match sorted.binary_search_by(|known| known.target.cmp(&entry.target)) {
                Ok(at) => sorted[at] = entry,
                Err(at) => sorted.insert(at, entry),
            }
        }
        Self { entries: sorted }
    }

    /// The entries; one that lies beneath another comes after it.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry that decides about what lies at `path`, other than one for `path` itself.
    fn above(&self, path: &CStr) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| is_beneath(path, &entry.target))
    }

    /// Entries beneath `path` that show less than `access`.
    pub(crate) fn exceptions(&self, path: &CStr, access: Access) -> bool {
        self.entries.iter().any(|entry| is_beneath(&entry.target, path) && entry.access < access)
    }

    /// What a mount namespace has to do, in order.
    pub(crate) fn placed(&self) -> impl Iterator<Item = Placed<'_>> {
        self.entries.iter().map(|entry| {
            let above = self.above(&entry.target);
            let inherited = above.map_or(Access::ReadOnly, |above| above.access);
            let create = above.is_some_and(|above| above.access == Access::Hidden || above.source.is_some());
            let step = match entry.access {
                Access::Hidden if inherited == Access::Hidden => Step::Nothing,
                Access::Hidden => Step::Cover,
                Access::ReadOnly if inherited == Access::ReadOnly && entry.source.is_none() && !create => {
                    Step::Nothing
                }
                Access::ReadOnly | Access::Writable | Access::Device => Step::Attach,
            };
            Placed { entry, step, create }
        })
    }
}

/// Whether `path` lies beneath `directory`.
pub(crate) fn is_beneath(path: &CStr, directory: &CStr) -> bool {
    match path.to_bytes().strip_prefix(directory.to_bytes()) {
        Some(rest) => directory == c"/" && !rest.is_empty() || rest.first() == Some(&b'/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(target: &str, access: Access) -> Entry {
        Entry { target: CString::new(target).unwrap(), source: None, access }
    }

    fn steps(entries: Vec<Entry>) -> Vec<(String, Step, bool)> {
        let layout = Layout::new(entries);
        let text = |placed: Placed<'_>| placed.entry.target.to_str().unwrap().to_owned();
        layout.placed().map(|placed| (text(placed), placed.step, placed.create)).collect()
    }

    #[test]
    fn the_longest_entry_above_decides() {
        let found = steps(vec![
            entry("/home/u/p/.git", Access::Writable),
            entry("/home/u/p/.git/hooks", Access::ReadOnly),
            entry("/home/u/p", Access::Writable),
            entry("/home", Access::Hidden),
            entry("/home/u", Access::ReadOnly),
            entry("/home/u/.ssh", Access::Hidden),
            entry("/home-of-others", Access::ReadOnly),
            entry("/home/v", Access::Hidden),
        ]);
        let expected = [
            ("/home", Step::Cover, false),
            ("/home-of-others", Step::Nothing, false),
            ("/home/u", Step::Attach, true),
            ("/home/u/.ssh", Step::Cover, false),
            ("/home/u/p", Step::Attach, false),
            ("/home/u/p/.git", Step::Attach, false),
            ("/home/u/p/.git/hooks", Step::Attach, false),
            ("/home/v", Step::Nothing, true),
        ];
        assert_eq!(found, expected.map(|(path, step, create)| (path.to_owned(), step, create)));
    }

    #[test]
    fn beneath_is_by_component() {
        assert!(is_beneath(c"/a/b", c"/a") && is_beneath(c"/a", c"/"));
        assert!(!is_beneath(c"/ab", c"/a") && !is_beneath(c"/a", c"/a") && !is_beneath(c"/", c"/"));
    }

    #[test]
    fn the_later_of_two_entries_counts() {
        let layout = Layout::new(vec![entry("/x", Access::Hidden), entry("/x", Access::Writable)]);
        assert_eq!(layout.entries(), [entry("/x", Access::Writable)]);
    }
}
