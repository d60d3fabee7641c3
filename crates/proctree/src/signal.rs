//! Signals that reach the process which was meant, or nobody.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::identity::{Liveness, ProcId, liveness};
use crate::read::read_stat;
pub use crate::sys::Sent;
use crate::sys::{self, ChildEvent, PidHandle, Signal};

/// A handle to one process that no later holder of its pid can take over.
///
/// # Platform
/// Linux ≥ 5.3, see `pidfd_open(2)`. Elsewhere nothing makes one: [`PidFd::open`] is `Unsupported`.
#[derive(Debug)]
pub struct PidFd(PidHandle);

impl PidFd {
    /// A handle to the process that holds `pid` now; `None` if there is none.
    ///
    /// # Errors
    /// `Unsupported` without pidfds, EMFILE and the like otherwise.
    pub fn open(pid: i32) -> io::Result<Option<Self>> {
        Ok(PidHandle::open(pid)?.map(Self))
    }

    /// A handle to the process that `id` names; `None` if it has gone.
    ///
    /// RACE(`pidfd_open_stat`): the pid may be recycled between reading it somewhere and opening the handle; closed
    /// by comparing the start time *after* the open: from then on the pid is either still its own or the handle dead.
    ///
    /// # Errors
    /// As [`PidFd::open`]; `PermissionDenied` if the start time of a living process may not be read.
    pub fn open_checked(id: ProcId) -> io::Result<Option<Self>> {
        let Some(fd) = Self::open(id.pid)? else { return Ok(None) };
        match read_stat(id.pid)? {
            Some(stat) if stat.start_ticks == id.start_ticks => Ok(Some(fd)),
            Some(_) => Ok(None),
            None => fd.hidden_or_dead(),
        }
    }

    /// Sends a signal to this process, never to another.
    ///
    /// # Errors
    /// What is neither delivery, ESRCH nor EPERM: EINVAL for a bad signal, ENOSYS before Linux 5.1.
    pub fn signal(&self, signal: Signal) -> io::Result<Sent> {
        self.0.signal(signal)
    }

    /// True once all threads have ended, reaped or not. An error of the question is `false`: not proved.
    pub fn is_dead(&self) -> bool {
        self.0.is_dead()
    }

    /// The descriptor, readable once the process is dead.
    #[cfg(target_os = "linux")]
    pub fn into_owned_fd(self) -> OwnedFd {
        self.0.0
    }

    pub(crate) fn handle(&self) -> &PidHandle {
        &self.0
    }

    /// What an unreadable stat file means for a process that we hold.
    fn hidden_or_dead<T>(&self) -> io::Result<Option<T>> {
        if self.is_dead() { Ok(None) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

#[cfg(target_os = "linux")]
impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

/// A pidfd that was made elsewhere, by `clone3(CLONE_PIDFD)` or received over a socket.
#[cfg(target_os = "linux")]
impl From<OwnedFd> for PidFd {
    fn from(fd: OwnedFd) -> Self {
        Self(PidHandle(fd))
    }
}

/// Whether pidfds work here: by behaviour, not by version.
pub fn pidfd_supported() -> bool {
    sys::pidfd_supported()
}

/// Signals the process that `id` names and no other.
///
/// Where pidfds are missing, the start time is compared and the pid signalled at once: between the two the process
/// could end and its pid come round, which takes a full turn of the pid space in microseconds.
///
/// # Errors
/// `PermissionDenied` if the start time of a living process may not be read; otherwise as [`PidFd::open`].
pub fn signal_checked(id: ProcId, signal: Signal) -> io::Result<Sent> {
    match PidFd::open_checked(id) {
        Ok(Some(fd)) => fd.signal(signal),
        Ok(None) => Ok(Sent::NoSuchProcess),
        Err(e) if e.kind() == io::ErrorKind::Unsupported => match read_stat(id.pid)? {
            Some(stat) if stat.start_ticks == id.start_ticks => sys::kill_now(id.pid, signal),
            None if liveness(id) != Liveness::Gone => Err(io::ErrorKind::PermissionDenied.into()),
            Some(_) | None => Ok(Sent::NoSuchProcess),
        },
        Err(e) => Err(e),
    }
}

/// Signals `pid` if it is a child of one of `parents` at this instant; otherwise `NoSuchProcess`.
///
/// For a sweep that has just read a children file and has no start time. A subreaper names itself beside the parent that
/// it read of: an orphan is its own by then. Where `/proc` hides the child (`hidepid`), the parents' children files are
/// asked instead: they list what the other hides.
///
/// RACE(`child_recycled`): the child may be reaped and its pid taken by a stranger after the list was read; closed
/// by opening the pidfd first and asking for the parent after: a stranger's parent is another, and a recycled pid
/// leaves the handle dead.
///
/// # Errors
/// As [`PidFd::open`].
pub fn signal_child_of(pid: i32, parents: &[i32], signal: Signal) -> io::Result<Sent> {
    let fd = match PidFd::open(pid) {
        Ok(Some(fd)) => Some(fd),
        Ok(None) => return Ok(Sent::NoSuchProcess),
        Err(e) if e.kind() == io::ErrorKind::Unsupported => None,
        Err(e) => return Err(e),
    };
    let is_child = match fd.as_ref().and_then(|fd| fd.handle().parent()) {
        Some(parent) => parents.contains(&parent),
        None => match read_stat(pid)? {
            Some(stat) => parents.contains(&stat.ppid),
            None => is_listed_child(pid, parents)?,
        },
    };
    match fd {
        _ if !is_child => Ok(Sent::NoSuchProcess),
        Some(fd) => fd.signal(signal),
        None => sys::kill_now(pid, signal),
    }
}

fn is_listed_child(pid: i32, parents: &[i32]) -> io::Result<bool> {
    let (mut listed, mut unread) = (false, None);
    for parent in parents {
        let read = sys::for_each_child(*parent, &mut |event| listed |= event == ChildEvent::Child(pid));
        unread = read.err().or(unread);
    }
    match unread {
        Some(error) if !listed => Err(error),
        _ => Ok(listed),
    }
}
