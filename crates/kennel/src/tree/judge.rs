//! Whom a signal to a tree must not reach, whatever the tree.

use proctree::{Leader, ProcId, proc_id, read_stat, read_status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kernel threads have this flag in their stat line.
const PF_KTHREAD: u32 = 0x0020_0000;

/// Names that only keepers bear (`supervisor` gives them). One may be borrowed: that spares a process this command,
/// not `kennel kill`.
const KEEPERS: [&[u8]; 2] = [b"knl-guard", b"knl-task"];

/// Longest chain of our own ancestors that is followed.
const ANCESTORS_MAX: usize = 64;

/// Why a process is not signalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// Process ids up to 1 are not a tree of anybody's.
    #[error("process ids up to 1 are the system's")]
    System,
    /// Nobody holds the pid.
    #[error("there is no such process")]
    Gone,
    /// The pid is another process's by now.
    #[error("it has ended, and its pid is another process's by now")]
    Recycled,
    /// A thread of the kernel.
    #[error("it is a thread of the kernel")]
    KernelThread,
    /// The caller itself.
    #[error("it is this very process")]
    Itself,
    /// The caller descends from it.
    #[error("this very process descends from it")]
    Ancestor,
    /// A guard or a supervisor of Kennel's.
    #[error("it is a keeper of Kennel's, which ends with its tasks: kennel kill ID")]
    Keeper,
    /// Another user's, or of a user who cannot be told.
    #[error("it is another user's")]
    OtherUser,
}

/// A member that is not signalled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedMember {
    /// Process id.
    pub pid: i32,
    /// Why.
    pub why: Refused,
}

/// What the caller is, read once.
#[derive(Debug)]
pub(crate) struct Judge {
    own: i32,
    euid: u32,
    ancestors: Vec<ProcId>,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut ancestors = Vec::new();
        let mut next = parent(own);
        while let Some(pid) = next.filter(|pid| *pid > 0 && ancestors.len() < ANCESTORS_MAX) {
            ancestors.extend(proc_id(pid));
            next = parent(pid);
        }
        Self { own, euid: rustix::process::geteuid().as_raw(), ancestors }
    }

    /// Who leads, if a tree of it may be signalled at all.
    pub(crate) fn leader(&self, leader: Leader) -> Result<ProcId, Refused> {
        let (pid, asked) = match leader {
            Leader::Pid(pid) => (pid, None),
            Leader::Id(id) => (id.pid, Some(id)),
        };
        if pid <= 1 {
            return Err(Refused::System);
        }
        let Some(now) = proc_id(pid) else { return Err(Refused::Gone) };
        if asked.is_some_and(|asked| asked != now) {
            return Err(Refused::Recycled);
        }
        match self.objection(now) {
            Some(refused) => Err(refused),
            None => Ok(now),
        }
    }

    /// Why this process must not be signalled, if it must not.
    pub(crate) fn objection(&self, id: ProcId) -> Option<Refused> {
        if id.pid <= 1 {
            return Some(Refused::System);
        }
        if id.pid == self.own {
            return Some(Refused::Itself);
        }
        if self.ancestors.contains(&id) {
            return Some(Refused::Ancestor);
        }
        // What ends meanwhile is no danger: the signal compares identities once more.
        let stat = read_stat(id.pid).ok().flatten().filter(|stat| stat.start_ticks == id.start_ticks)?;
        if stat.flags & PF_KTHREAD != 0 {
            return Some(Refused::KernelThread);
        }
        if KEEPERS.contains(&stat.comm.as_slice()) {
            return Some(Refused::Keeper);
        }
        let same_user = read_status(id.pid).is_some_and(|status| status.euid == self.euid);
        (!same_user).then_some(Refused::OtherUser)
    }
}

fn parent(pid: i32) -> Option<i32> {
    Some(read_stat(pid).ok()??.ppid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(leader: impl Into<Leader>, expected: Refused) {
        assert_eq!(Judge::new().leader(leader.into()), Err(expected));
    }

    #[test]
    fn nobody_signals_the_system_themselves_or_whom_they_descend_from() {
        let own = i32::try_from(std::process::id()).expect("a pid");
        for pid in [i32::MIN, -1, 0, 1] {
            check(pid, Refused::System);
        }
        check(own, Refused::Itself);
        let parent = parent(own).expect("a parent");
        // A parent that is process 1 is refused for that.
        if parent > 1 {
            check(parent, Refused::Ancestor);
        }
        check(i32::MAX, Refused::Gone);
    }

    #[test]
    fn another_on_the_pid_is_not_meant() {
        let own = proc_id(i32::try_from(std::process::id()).expect("a pid")).expect("ourselves");
        check(ProcId { start_ticks: own.start_ticks + 1, ..own }, Refused::Recycled);
    }

    #[test]
    fn kernel_threads_are_left_alone() {
        // In a PID namespace of one's own there are none.
        if read_stat(2).ok().flatten().is_some_and(|stat| stat.comm == b"kthreadd") {
            check(2, Refused::KernelThread);
        }
    }
}
