//! A cgroup v2 leaf for the task. Members are born in it (`CLONE_INTO_CGROUP`), it is killed by one write whatever uids
//! they have, and it is found again by its name.
//!
//! A task of the same uid may move itself to another group that it may write to, so a leaf is never the only boundary.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use proctree::PidFd;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Passes of plain kills over what `cgroup.kill` has spared.
const PLAIN_PASSES_MAX: u32 = 8;
/// Groups that members have made below the leaf are followed so far down.
const DEPTH_MAX: u32 = 32;

/// The calling process's own group in the cgroup v2 hierarchy: new leaves are made below it, because moving a process
/// needs the right to write to what both groups have in common.
pub fn own_group() -> Option<PathBuf> {
    let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .into_iter()
        .map(Path::new)
        .find(|root| root.join("cgroup.controllers").exists())?;
    let membership = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A group outside of our cgroup namespace shows as `/..`.
    (!path.starts_with("..")).then(|| root.join(path))
}

/// Whether the group was handed to the calling user. Root may write everywhere: for it that is no answer.
pub fn is_delegated(group: &Path) -> bool {
    let own = rustix::process::geteuid();
    !own.is_root()
        && rustix::fs::stat(group).is_ok_and(|stat| stat.st_uid == own.as_raw())
        && rustix::fs::access(group.join("cgroup.procs"), rustix::fs::Access::WRITE_OK).is_ok()
}

/// A task's own group.
#[derive(Debug)]
pub struct Leaf {
    path: PathBuf,
    dir: OwnedFd,
}

impl Leaf {
    /// Makes the leaf `name` below `parent`.
    ///
    /// # Errors
    /// Those of `mkdir(2)` and `open(2)`; `Unsupported` before Linux 5.14, which has no `cgroup.kill`.
    pub fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let above = open(parent, DIRECTORY, Mode::empty())?;
        mkdirat(&above, name, Mode::RWXU)?;
        let leaf = Self { path: parent.join(name), dir: openat(&above, name, DIRECTORY, Mode::empty())? };
        if rustix::fs::accessat(&leaf.dir, "cgroup.kill", rustix::fs::Access::WRITE_OK, AtFlags::empty())
            .is_err()
        {
            leaf.remove();
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(leaf)
    }

    /// The leaf that a record names, if it is still there.
    pub fn open(path: &Path) -> Option<Self> {
        let dir = open(path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()).ok()?;
        Some(Self { path: path.to_owned(), dir })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For `CLONE_INTO_CGROUP`.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// SIGKILL to every member: no more forks, then all at once, then one by one.
    ///
    /// `cgroup.kill` spares a process whose main thread has exited while others live; a plain kill reaches it.
    pub fn kill(&self) {
        if write(&self.dir, "pids.max", b"0").is_err() {
            // Without the controller: what is frozen cannot fork, and dies of SIGKILL all the same.
            let _best_effort = write(&self.dir, "cgroup.freeze", b"1");
        }
        let _what_is_left_is_killed_below = write(&self.dir, "cgroup.kill", b"1");
        for _pass in 0..PLAIN_PASSES_MAX {
            if !kill_members(&self.dir, 0) {
                break;
            }
        }
    }

    /// Whether a process lives in it or below; `true` where that cannot be read.
    pub fn is_populated(&self) -> bool {
        read(&self.dir, "cgroup.events").is_none_or(|text| !text.lines().any(|line| line == "populated 0"))
    }

    /// Removes the leaf and the groups that members have made in it. Returns whether it is gone; one with a member
    /// stays.
    pub fn remove(&self) -> bool {
        remove_below(&self.dir, 0);
        match unlinkat(rustix::fs::CWD, &self.path, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => true,
            Err(_populated) => false,
        }
    }
}

/// Kills who is listed; whether somebody was.
fn kill_members(dir: impl AsFd + Copy, depth: u32) -> bool {
    let listed = |pid: i32| pids(dir).contains(&pid);
    let mut met = false;
    for pid in pids(dir) {
        // RACE(leaf-recycled): the pid may be another's by now; closed by opening the pidfd first and looking again.
        if let Ok(Some(member)) = PidFd::open(pid)
            && !member.is_dead()
            && listed(pid)
        {
            met = true;
            let _gone = member.signal(proctree::Signal::KILL);
        }
    }
    if depth < DEPTH_MAX {
        for_each_group(dir, &mut |group, _| met |= kill_members(group, depth + 1));
    }
    met
}

fn remove_below(dir: impl AsFd + Copy, depth: u32) {
    if depth < DEPTH_MAX {
        for_each_group(dir, &mut |group, name| {
            remove_below(group, depth + 1);
            let _populated = unlinkat(dir, name, AtFlags::REMOVEDIR);
        });
    }
}

fn for_each_group(dir: impl AsFd + Copy, found: &mut dyn FnMut(&OwnedFd, &std::ffi::CStr)) {
    let Ok(entries) = rustix::fs::Dir::read_from(dir) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type() == rustix::fs::FileType::Directory) {
        if !entry.file_name().to_bytes().starts_with(b".")
            && let Ok(group) = openat(dir, entry.file_name(), DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
        {
            found(&group, entry.file_name());
        }
    }
}

/// Members by pid; 0 is one that our PID namespace does not see.
fn pids(dir: impl AsFd) -> Vec<i32> {
    let text = read(dir, "cgroup.procs").unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 1).collect()
}

pub(crate) fn read(dir: impl AsFd, name: &str) -> Option<String> {
    let file = openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    io::read_to_string(std::fs::File::from(file)).ok()
}

pub(crate) fn write(dir: impl AsFd, name: &str, bytes: &[u8]) -> rustix::io::Result<()> {
    let file = openat(dir, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(drop)
}
