//! The platform: everything below this line may differ from system to system, nothing above it does.
//!
//! Each platform file offers the same functions; what it cannot do is `io::ErrorKind::Unsupported`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
mod unsupported;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::*;

#[cfg(unix)]
pub use rustix::process::Signal;
#[cfg(not(unix))]
pub use unsupported::Signal;

/// SIGSTOP and SIGKILL, where there are signals.
#[cfg(unix)]
pub(crate) const STOP: Option<Signal> = Some(Signal::STOP);
#[cfg(unix)]
pub(crate) const KILL: Option<Signal> = Some(Signal::KILL);
#[cfg(not(unix))]
pub(crate) const STOP: Option<Signal> = None;
#[cfg(not(unix))]
pub(crate) const KILL: Option<Signal> = None;

/// The pid of the calling process.
pub(crate) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// More processes than any kernel of ours can hold (`PID_MAX_LIMIT`): ends walks over a tree that changes meanwhile.
pub(crate) const PIDS_MAX: usize = 4 * 1024 * 1024;

/// What a walk over the children files of one process meets.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux lists children by thread"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildEvent {
    /// The children of a further thread follow.
    NextThread,
    /// A child.
    Child(i32),
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux waits"))]
pub(crate) enum Woken {
    Stop,
    LeaderEnded,
    Events,
    Timeout,
}

/// What became of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// The kernel took it. A zombie takes signals too, without effect.
    Delivered,
    /// There is no such process any more (ESRCH), or its pid is another's.
    NoSuchProcess,
    /// The process lives and we may not signal it (EPERM).
    NotPermitted,
}
