//! Signals by pidfd, and the one by pid for kernels that have none.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};

use crate::sys::Sent;

/// A descriptor that names one process for ever, see `pidfd_open(2)`.
#[derive(Debug)]
pub(crate) struct PidHandle(pub(crate) OwnedFd);

impl PidHandle {
    /// `None` if there is no process with this pid (also: it is the id of a thread that is no leader).
    pub(crate) fn open(pid: i32) -> io::Result<Option<Self>> {
        let Some(pid) = checked_pid(pid) else { return Ok(None) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => Ok(Some(Self(fd))),
            // EINVAL, later ENOENT: the id of a thread that is no leader.
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => Ok(None),
            // The kernel never refuses by permission here; a seccomp filter that does not know the call does.
            Err(Errno::NOSYS | Errno::PERM) => Err(io::ErrorKind::Unsupported.into()),
            Err(e) => Err(e.into()),
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> io::Result<Sent> {
        sent(pidfd_send_signal(&self.0, signal))
    }

    /// The process's parent, where the kernel tells it by pidfd.
    pub(crate) fn parent(&self) -> Option<i32> {
        super::pidfd_info::parent(&self.0)
    }

    /// Readable once all threads have ended; a reaped process stays readable.
    pub(crate) fn is_dead(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        loop {
            match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Err(Errno::INTR) => {}
                // An error is not a death.
                Err(_) => return false,
                Ok(_) => return fds.iter().any(|fd| fd.revents().contains(PollFlags::IN)),
            }
        }
    }
}

/// Whether this kernel, and the filter that we run under, has pidfds.
pub(crate) fn pidfd_supported() -> bool {
    !matches!(PidHandle::open(rustix::process::getpid().as_raw_pid()), Err(e) if e.kind() == io::ErrorKind::Unsupported)
}

/// Whether the kernel knows the pid, zombies included, whatever `/proc` shows.
pub(crate) fn exists(pid: i32) -> bool {
    checked_pid(pid).is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

/// Signals whatever process holds `pid` at this instant. Only for callers that have just compared its identity and
/// have no pidfd.
#[expect(
    clippy::disallowed_methods,
    reason = "the fallback where pidfds are missing; the caller has compared"
)]
pub(crate) fn kill_now(pid: i32, signal: Signal) -> io::Result<Sent> {
    let Some(pid) = checked_pid(pid) else { return Ok(Sent::NoSuchProcess) };
    sent(rustix::process::kill_process(pid, signal))
}

/// Never 0 or negative: those are groups, or everybody.
fn checked_pid(pid: i32) -> Option<Pid> {
    if pid > 0 { Pid::from_raw(pid) } else { None }
}

fn sent(result: rustix::io::Result<()>) -> io::Result<Sent> {
    match result {
        Ok(()) => Ok(Sent::Delivered),
        Err(Errno::SRCH) => Ok(Sent::NoSuchProcess),
        Err(Errno::PERM) => Ok(Sent::NotPermitted),
        Err(e) => Err(e.into()),
    }
}
