//! What guard and supervisor have in common: they are few, small, deaf and hard to mistake for anything else.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, set_child_subreaper};

use crate::sys;

/// comm and argv of a guard.
pub(crate) const GUARD_NAME: &CStr = c"knl-guard";
/// comm and argv of a supervisor.
pub(crate) const TASK_NAME: &CStr = c"knl-task";

/// First acts of every keeper.
///
/// # Errors
/// The errno of the signal mask, or of `PR_SET_CHILD_SUBREAPER`: without it there would be no proof.
pub(crate) fn become_keeper(name: &CStr) -> io::Result<()> {
    confine::block_all()?;
    sys::set_name(name);
    sys::overwrite_arguments(name.to_bytes());
    sys::forbid_inspection();
    set_child_subreaper(Some(Pid::INIT))?;
    Ok(())
}

/// Closes every descriptor but these.
pub(crate) fn close_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut from: RawFd = 0;
    for fd in keep.iter().copied() {
        if fd > from {
            close_range(from, fd - 1);
        }
        from = from.max(fd + 1);
    }
    close_range(from, RawFd::MAX);
}

/// `close_range(2)` (Linux 5.9), else one by one.
fn close_range(first: RawFd, last: RawFd) {
    if sys::close_range(first, last) {
        return;
    }
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        open.extend(entry.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for fd in open.into_iter().filter(|fd| (first..=last).contains(fd)) {
        sys::close(fd);
    }
}

/// Puts `/dev/null` on descriptors 0, 1 and 2.
///
/// # Errors
/// Those of `open(2)` and `dup2(2)`.
pub(crate) fn null_stdio() -> io::Result<()> {
    // Where 0, 1 or 2 was closed, the new descriptor would be one of them, and closing it would free the number for
    // whatever is opened next.
    let null = above_stdio(open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// A copy of `fd` above 2, so that the standard descriptors can be replaced.
///
/// # Errors
/// Those of `fcntl(2)`.
pub(crate) fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?) }
}
