//! The layout as Landlock rules, and the scopes of signals and abstract sockets (`landlock(7)`, ABI 1 to 7).
//!
//! Landlock grants and never takes back: a hidden place inside a readable directory means that everything else in that
//! directory is granted one by one. With a mount namespace in force the hidden places are empty already, and a few rules
//! are enough.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, Scope,
};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::layout::{Access, Entry, Layout, is_beneath};
use crate::mounts::open_exact;
use crate::sys;

/// The newest ABI that this code asks for.
pub(crate) const ABI_MAX: u8 = 7;
/// The first ABI with TCP rules.
pub(crate) const ABI_NETWORK: u8 = 4;
/// The first ABI with scopes.
pub(crate) const ABI_SCOPES: u8 = 6;

/// What the rules are for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'l> {
    /// The file tree; `None` leaves it alone.
    pub(crate) files: Option<&'l Layout>,
    /// Hidden places are empty, by the mount namespace.
    pub(crate) hidden_by_mounts: bool,
    /// No TCP.
    pub(crate) no_tcp: bool,
    /// The newest ABI to use.
    pub(crate) abi: u8,
}

/// A part of the tree with what may be done in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    path: CString,
    access: Granted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Granted {
    List,
    Read,
    Write,
    Device,
}

/// Restricts the calling process, which must have given up new privileges.
///
/// # Errors
/// The errno of the ruleset or of `landlock_restrict_self(2)`; nothing is restricted then.
pub(crate) fn restrict(wanted: &Wanted<'_>) -> rustix::io::Result<()> {
    let abi = ABI::from(i32::from(wanted.abi));
    build(wanted, abi)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

fn build(wanted: &Wanted<'_>, abi: ABI) -> Result<(), landlock::RulesetError> {
    let all = AccessFs::from_all(abi);
    let mut ruleset = Ruleset::default();
    if wanted.files.is_some() {
        ruleset = ruleset.handle_access(all)?;
    }
    if wanted.no_tcp && wanted.abi >= ABI_NETWORK {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if wanted.abi >= ABI_SCOPES {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?;
    for grant in wanted.files.into_iter().flat_map(|layout| grants(layout, wanted.hidden_by_mounts)) {
        let Ok(place) = open_exact(&grant.path) else { continue };
        let Ok(status) = rustix::fs::statat(&place, c"", AtFlags::EMPTY_PATH) else { continue };
        let mut access = rights(grant.access, abi) & all;
        if FileType::from_raw_mode(status.st_mode) != FileType::Directory {
            access &= AccessFs::from_file(abi);
        }
        if !access.is_empty() {
            created = created.add_rule(PathBeneath::new(place.as_fd(), access))?;
        }
    }
    created.restrict_self().map(drop)
}

fn rights(granted: Granted, abi: ABI) -> BitFlags<AccessFs> {
    let nodes = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    match granted {
        Granted::List => AccessFs::ReadDir.into(),
        Granted::Read => AccessFs::from_read(abi),
        Granted::Write => AccessFs::from_all(abi) & !nodes,
        Granted::Device => {
            AccessFs::ReadFile
                | AccessFs::ReadDir
                | AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::IoctlDev
        }
    }
}

fn grants(layout: &Layout, hidden_by_mounts: bool) -> Vec<Grant> {
    let mut grants = Vec::new();
    let grant = |path: &CStr, access| Grant { path: path.to_owned(), access };
    if hidden_by_mounts {
        // Nobody sees the hidden places any more, and what is read-only is a read-only mount.
        grants.push(grant(c"/", Granted::Read));
    } else {
        read_all_but(layout, c"/", &mut grants);
    }
    for entry in layout.entries() {
        let path = match &entry.source {
            Some(source) if !hidden_by_mounts => source,
            _ => &entry.target,
        };
        match entry.access {
            Access::Hidden => {}
            Access::ReadOnly if hidden_by_mounts => {}
            Access::ReadOnly if entry.source.is_some() => grants.push(grant(path, Granted::Read)),
            Access::ReadOnly => read_all_but(layout, path, &mut grants),
            Access::Writable => grants.push(grant(path, Granted::Write)),
            Access::Device => grants.push(grant(path, Granted::Device)),
        }
    }
    grants
}

/// Grants reading of `directory` but for what the layout hides or replaces in it, and for device nodes that it does not
/// name: root could read whole disks. Names can be listed everywhere: a rule for a directory reaches everything beneath.
fn read_all_but(layout: &Layout, directory: &CStr, grants: &mut Vec<Grant>) {
    if !layout.entries().iter().any(|entry| is_beneath(&entry.target, directory) && stands_out(entry)) {
        return grants.push(Grant { path: directory.to_owned(), access: Granted::Read });
    }
    grants.push(Grant { path: directory.to_owned(), access: Granted::List });
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(open) = openat(rustix::fs::CWD, directory, flags, Mode::empty()).and_then(Dir::new) else {
        return;
    };
    for child in open.filter_map(Result::ok) {
        let name = child.file_name().to_bytes();
        let base = directory.to_bytes().strip_suffix(b"/").unwrap_or(directory.to_bytes());
        let Ok(path) = CString::new([base, b"/", name].concat()) else { continue };
        let node = matches!(child.file_type(), FileType::CharacterDevice | FileType::BlockDevice);
        // Entries are granted for themselves.
        let entry = layout.entries().iter().any(|entry| entry.target == path);
        if name != b"." && name != b".." && !node && !entry {
            read_all_but(layout, &path, grants);
        }
    }
}

/// Whether a rule for a directory above would say something wrong about this entry, or about its neighbours.
fn stands_out(entry: &Entry) -> bool {
    entry.source.is_some() || matches!(entry.access, Access::Hidden | Access::Device)
}

/// Whether rules alone would leave something open that the layout closes: Landlock cannot take back what lies inside a
/// directory that may be written.
pub(crate) fn is_leaky(layout: &Layout) -> bool {
    layout
        .entries()
        .iter()
        .any(|entry| entry.access == Access::Writable && layout.exceptions(&entry.target, Access::Writable))
}

/// The ABI of the running kernel, as far as this code knows it.
pub(crate) fn kernel_abi() -> u8 {
    sys::landlock_abi().min(ABI_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_mounts_the_neighbours_of_a_secret_are_granted_one_by_one() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            CString::new(format!("{}{name}", home.path().canonicalize().unwrap().display())).unwrap()
        };
        for name in [".ssh", "docs", "work"] {
            std::fs::create_dir(home.path().join(name)).unwrap();
        }
        let entry = |target: CString, access| Entry { target, source: None, access };
        let layout = Layout::new(vec![
            entry(path(""), Access::ReadOnly),
            entry(path("/.ssh"), Access::Hidden),
            entry(path("/work"), Access::Writable),
        ]);
        let found = grants(&layout, false);
        let has = |name: &str, access| found.contains(&Grant { path: path(name), access });
        assert!(has("/docs", Granted::Read) && has("/work", Granted::Write) && has("", Granted::List));
        assert!(
            !found.iter().any(|grant| grant.path == path("/.ssh")
                || grant.access == Granted::Read && grant.path == path(""))
        );
        assert_eq!(grants(&layout, true).len(), 2);
        assert!(!is_leaky(&layout));
        let whole =
            Layout::new(vec![entry(path(""), Access::Writable), entry(path("/.ssh"), Access::Hidden)]);
        assert!(is_leaky(&whole));
    }
}
