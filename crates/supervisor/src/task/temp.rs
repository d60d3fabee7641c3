//! The private temp directory of sandboxed tasks: shared by those that name it, removed by the last of them.
//!
//! Every user holds a shared `flock(2)` on the directory. Who leaves tries for an exclusive one; who gets it was the last
//! and removes the directory. A crash leaves a directory that nobody holds, and the next collection takes it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, flock, fstat, mkdirat, openat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// What a task sees as `/tmp`.
const TMP: &str = "tmp";
/// What a task sees as `/dev/shm`.
const SHM: &str = "shm";
/// Whoever removes the directory under our hands does so at most so often.
const ATTEMPTS_MAX: u32 = 16;

/// A temp directory in use.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    held: OwnedFd,
}

impl TempDir {
    /// Makes the directory, or joins those who use it.
    ///
    /// # Errors
    /// Those of `mkdir(2)`, `open(2)` and `flock(2)`.
    pub fn join(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _attempt in 0..ATTEMPTS_MAX {
            if let Some(parent) = path.parent() {
                made(mkdirat(CWD, parent, Mode::RWXU))?;
            }
            made(mkdirat(CWD, path, Mode::RWXU))?;
            let held = match openat(CWD, path, flags, Mode::empty()) {
                Err(Errno::NOENT) => continue,
                held => held?,
            };
            flock(&held, FlockOperation::LockShared)?;
            // RACE(temp-leaves): if the last user removes the directory between our open and our lock, we hold one that
            // has no name; closed by looking whether the name still leads to what we hold.
            let (ours, named) = (fstat(&held)?, statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
            if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino)) {
                for name in [TMP, SHM] {
                    made(mkdirat(&held, name, Mode::RWXU))?;
                    // As `/tmp` is: a task of root's may become other users. The umask does not apply.
                    chmodat(&held, name, Mode::from_raw_mode(0o1777), AtFlags::empty())?;
                }
                return Ok(Self { path: path.to_owned(), held });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// What a task sees as `/tmp`.
    pub fn tmp(path: &Path) -> PathBuf {
        path.join(TMP)
    }

    /// What a task sees as `/dev/shm`.
    pub fn shm(path: &Path) -> PathBuf {
        path.join(SHM)
    }

    /// Leaves it; the last one removes it. Returns whether it is gone. Dropping does the same.
    pub fn leave(mut self) -> bool {
        self.go()
    }

    fn go(&mut self) -> bool {
        // A conversion that fails gives up the shared lock first (flock(2)): of two who leave together one succeeds.
        if flock(&self.held, FlockOperation::NonBlockingLockExclusive).is_err() {
            return false;
        }
        empty(&self.held).is_ok() && unlinkat(CWD, &self.path, AtFlags::REMOVEDIR).is_ok()
    }

    /// Removes the directories beneath `parent` that nobody holds.
    pub fn collect(parent: &Path) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            if let Ok(held) = openat(CWD, entry.path(), flags, Mode::empty()) {
                drop(Self { path: entry.path(), held });
            }
        }
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        self.go();
    }
}

fn made(result: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match result {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

/// Empties a directory that may be as deep as its writer liked: what lies deeper is moved up, so that neither the stack
/// nor the descriptors grow with it.
fn empty(root: &OwnedFd) -> rustix::io::Result<()> {
    let mut moved = 0_u64;
    loop {
        let mut left = 0;
        for (name, is_directory) in entries(root)? {
            left += 1;
            if is_directory {
                flatten(root, &name, &mut moved)?;
            } else {
                unlinkat(root, &name, AtFlags::empty())?;
            }
        }
        if left == 0 {
            return Ok(());
        }
    }
}

/// Removes one directory of the root after moving its own directories into the root.
fn flatten(root: &OwnedFd, name: &std::ffi::CStr, moved: &mut u64) -> rustix::io::Result<()> {
    let _not_ours = chmodat(root, name, Mode::RWXU, AtFlags::empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(root, name, flags, Mode::empty())?;
    for (entry, is_directory) in entries(&directory)? {
        if !is_directory {
            unlinkat(&directory, &entry, AtFlags::empty())?;
            continue;
        }
        let _not_ours = chmodat(&directory, &entry, Mode::RWXU, AtFlags::empty());
        // A name of the task's own may be the same: the next number is free for certain at some point.
        loop {
            *moved += 1;
            match renameat(&directory, &entry, root, format!(".{moved}").as_str()) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => break other?,
            }
        }
    }
    unlinkat(root, name, AtFlags::REMOVEDIR)
}

fn entries(directory: &OwnedFd) -> rustix::io::Result<Vec<(std::ffi::CString, bool)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            found.push((name.to_owned(), entry.file_type() == FileType::Directory));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_removes_it() {
        let place = tempfile::tempdir().expect("a place");
        let path = place.path().join("temp/one");
        let (first, second) = (TempDir::join(&path).expect("made"), TempDir::join(&path).expect("joined"));
        std::fs::write(TempDir::tmp(&path).join("file"), "x").expect("a file");
        assert!(!first.leave() && path.exists());
        assert!(second.leave() && !path.exists());
    }

    #[test]
    fn depth_and_modes_do_not_stop_the_removal() {
        let place = tempfile::tempdir().expect("a place");
        let path = place.path().join("one");
        let held = TempDir::join(&path).expect("made");
        // Deeper than paths can be named and descriptors can be held.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut deepest = rustix::fs::open(TempDir::tmp(&path), flags, Mode::empty()).expect("opened");
        for _ in 0..3000 {
            mkdirat(&deepest, "d", Mode::RWXU).expect("made");
            deepest = openat(&deepest, "d", flags, Mode::empty()).expect("opened");
        }
        mkdirat(&deepest, "closed", Mode::RWXU).expect("made");
        openat(&deepest, "closed/x", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR)
            .expect("a file");
        chmodat(&deepest, "closed", Mode::empty(), AtFlags::empty()).expect("closed");
        assert!(held.leave() && !path.exists());
    }

    #[test]
    fn what_nobody_holds_is_collected() {
        let place = tempfile::tempdir().expect("a place");
        std::fs::create_dir_all(place.path().join("left/tmp/more")).expect("made");
        let used = TempDir::join(&place.path().join("used")).expect("made");
        TempDir::collect(place.path());
        assert!(!place.path().join("left").exists() && place.path().join("used").exists());
        assert!(used.leave());
    }
}
