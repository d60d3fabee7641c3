//! Where a session is: its root, and the directory in which the last foreground call left it (DESIGN 7).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::outcome::Notice;

use super::store::Saved;

/// What of a call's state the next call of the session finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Persist {
    /// Nothing: every call starts in the session's root.
    None,
    /// The working directory.
    Cwd,
}

/// A session's directories.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    root: PathBuf,
    persist: Persist,
    current: Mutex<PathBuf>,
    /// Where other processes find it.
    saved: Option<Saved>,
}

impl Whereabouts {
    pub(crate) fn new(root: PathBuf, current: PathBuf, persist: Persist, saved: Option<Saved>) -> Self {
        Self { root, persist, current: Mutex::new(current), saved }
    }

    /// Where the session was opened, and what it falls back to.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn persist(&self) -> Persist {
        self.persist
    }

    /// Other processes can go on with the session, and close it.
    pub(crate) fn is_saved(&self) -> bool {
        self.saved.is_some()
    }

    /// Where the next call starts.
    pub(crate) fn next(&self) -> PathBuf {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if can_be_entered(&current) { current } else { self.root.clone() }
    }

    /// Where a call starts that names no directory, and what is to be said about it.
    pub(crate) fn start(&self) -> (PathBuf, Option<Notice>) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if current == self.root || can_be_entered(&current) {
            return (current, None);
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let notice = Notice::CwdReset { gone: text(&current), used: text(&self.root) };
        (self.root.clone(), Some(notice))
    }

    /// Whether calls can still be made in it: nobody has begun to close it.
    pub(crate) fn check_open(&self) -> Result<()> {
        match &self.saved {
            Some(saved) if saved.load()?.is_none() => {
                Err(Error::UnknownSession { id: saved.id().to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// A foreground call has left the session there.
    pub(crate) fn moved(&self, to: PathBuf) {
        if self.persist == Persist::None {
            return;
        }
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current == to {
            return;
        }
        if let Some(saved) = &self.saved
            && let Err(error) = saved.moved(&to)
        {
            tracing::warn!(%error, "the session's directory could not be saved");
        }
        *current = to;
    }
}

/// Refuses a directory in which no command can be started.
pub(crate) fn check_directory(what: &str, directory: &Path) -> Result<()> {
    let refused = |why: String| {
        let what = format!("{what} {}{why}", directory.display());
        Err(Error::BadRequest { what, hint: "give an existing directory that you may enter".to_owned() })
    };
    match std::fs::metadata(directory) {
        Ok(meta) if meta.is_dir() => Ok(()),
        Ok(_) => refused(" is not a directory".to_owned()),
        Err(error) => refused(format!(": {error}")),
    }
}

/// Root may enter anything that is a directory; others need the permission too.
fn can_be_entered(directory: &Path) -> bool {
    directory.is_dir() && rustix::fs::access(directory, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_gone_falls_back_to_the_root_once() {
        let root = tempfile::tempdir().unwrap();
        let sub = root.path().join("sub");
        std::fs::create_dir(&sub).unwrap();
        let places = Whereabouts::new(root.path().to_owned(), root.path().to_owned(), Persist::Cwd, None);
        places.moved(sub.clone());
        assert_eq!(places.start(), (sub.clone(), None));
        std::fs::remove_dir(&sub).unwrap();
        assert!(matches!(places.start(), (used, Some(Notice::CwdReset { .. })) if used == root.path()));
        assert_eq!(places.next(), root.path());
        places.moved(root.path().to_owned());
        assert_eq!(places.start(), (root.path().to_owned(), None));
    }

    #[test]
    fn without_persistence_nothing_moves() {
        let places = Whereabouts::new("/".into(), "/".into(), Persist::None, None);
        places.moved("/tmp".into());
        assert_eq!(places.next(), Path::new("/"));
    }
}
