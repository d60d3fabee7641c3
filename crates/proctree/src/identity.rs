//! Which process is it, and does it live? The pid alone answers neither.

use std::cmp;

use crate::read::read_stat;
use crate::sys;

/// A process, told apart from every later holder of the same pid by its start time.
///
/// Two processes can share both only if the pid comes round within one clock tick (usually 10 ms), which takes a
/// privileged `clone3(set_tid)` or a full turn of the pid space in that time. Start times are those that this process
/// sees: one written to disk compares only within the same boot, PID namespace and time namespace ([`crate::HostId`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcId {
    /// Process id in our PID namespace.
    pub pid: i32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`). On macOS: microseconds since the epoch.
    pub start_ticks: u64,
}

/// What is known about the process that a [`ProcId`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// It can still run code: also a leader thread that has exited while other threads live, and any process that
    /// exists but whose identity may not be read.
    Alive,
    /// It has ended and waits to be reaped. It holds its pid, nothing else.
    Zombie,
    /// It has ended and its pid is free, or is somebody else's.
    Gone,
}

/// The identity of the process that holds `pid` now; `None` if there is none, or if it may not be read.
pub fn proc_id(pid: i32) -> Option<ProcId> {
    let stat = read_stat(pid).ok()??;
    Some(ProcId { pid, start_ticks: stat.start_ticks })
}

/// Whether the process named by `id` lives.
///
/// Errs towards life: where `/proc` shows nothing (hidepid, a foreign mount, no descriptors left) but the kernel
/// still knows the pid, the answer is `Alive` unless a pidfd says that it has ended.
pub fn liveness(id: ProcId) -> Liveness {
    match read_stat(id.pid) {
        Ok(Some(stat)) if stat.start_ticks != id.start_ticks => Liveness::Gone,
        Ok(Some(stat)) => match (stat.state, stat.num_threads.cmp(&1)) {
            (b'Z', cmp::Ordering::Greater) => Liveness::Alive,
            (b'Z', _) => Liveness::Zombie,
            (b'X' | b'x', _) => Liveness::Gone,
            _ => Liveness::Alive,
        },
        Ok(None) | Err(_) => unseen(id.pid),
    }
}

/// The answer for a pid that `/proc` does not show: hidden is not dead.
fn unseen(pid: i32) -> Liveness {
    if !sys::exists(pid) {
        return Liveness::Gone;
    }
    match crate::PidFd::open(pid) {
        Ok(None) => Liveness::Gone,
        Ok(Some(fd)) if fd.is_dead() => Liveness::Zombie,
        Ok(Some(_)) | Err(_) => Liveness::Alive,
    }
}
