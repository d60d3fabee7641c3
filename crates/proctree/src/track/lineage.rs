//! Members by the kernel's own record of forks: a pure state machine over process events.
//!
//! A fork is reported before its child runs, and an exit before the pid is free, so the order of the events is the
//! order of cause and effect: whoever is forked by a member is one, however short the member's life.

use std::collections::HashMap;

use crate::identity::ProcId;
use crate::parse::connector::ProcEvent;

/// What is known of one pid that events have named a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Unknown until its stat file has been read; a pid alone is never signalled.
    pub(crate) id: Option<ProcId>,
    /// The member that forked it, if an event said so; `None` if the process table did.
    pub(crate) parent: Option<i32>,
    /// Its leader thread has exited; other threads may live.
    pub(crate) exited: bool,
}

/// Pids of members, by events.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    pub(crate) kept: HashMap<i32, Kept>,
}

impl Lineage {
    /// A member that was found in the process table.
    pub(crate) fn insert(&mut self, id: ProcId) {
        let kept = Kept { id: Some(id), parent: None, exited: false };
        let entry = self.kept.entry(id.pid).or_insert(kept);
        if entry.id != Some(id) {
            *entry = kept;
        }
    }

    /// Takes the next event. `identify` reads the present identity of a pid.
    pub(crate) fn apply(&mut self, event: ProcEvent, identify: &mut dyn FnMut(i32) -> Option<ProcId>) {
        match event {
            ProcEvent::Fork { parent, child } if self.kept.contains_key(&parent) => {
                self.kept.insert(child, Kept { id: None, parent: Some(parent), exited: false });
            }
            // The pid is a new process's. Only if the member was found in the table the event may be the older news.
            ProcEvent::Fork { child, .. } => {
                if let Some(kept) = self.kept.get(&child)
                    && (kept.parent.is_some() || identify(child) != kept.id)
                {
                    self.kept.remove(&child);
                }
            }
            ProcEvent::Exit { pid } => {
                if let Some(kept) = self.kept.get_mut(&pid) {
                    kept.exited = true;
                }
            }
            ProcEvent::Other => {}
        }
    }

    /// True if an identity is missing.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.kept.values().any(|kept| kept.id.is_none())
    }

    /// After the last event: reads identities that are missing, and drops members that have exited and are not alive.
    ///
    /// A pid that nobody holds is kept until its exit event: forks of its own may still be in the queue.
    pub(crate) fn settle(
        &mut self,
        identify: &mut dyn FnMut(i32) -> Option<ProcId>,
        is_alive: &mut dyn FnMut(ProcId) -> bool,
    ) {
        for (&pid, kept) in &mut self.kept {
            if kept.id.is_none() {
                kept.id = identify(pid);
            }
        }
        self.kept.retain(|_, kept| !kept.exited || kept.id.is_some_and(&mut *is_alive));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(pid: i32) -> ProcId {
        ProcId { pid, start_ticks: u64::try_from(pid).unwrap() }
    }

    /// The pids that are kept after these events, when everybody lives who is in `alive`.
    #[track_caller]
    fn check(events: &[ProcEvent], alive: &[i32], expected: &[i32]) {
        let mut lineage = Lineage::default();
        lineage.insert(id(100));
        let mut identify = |pid| alive.contains(&pid).then(|| id(pid));
        for &event in events {
            lineage.apply(event, &mut identify);
        }
        lineage.settle(&mut identify, &mut |member| alive.contains(&member.pid));
        let mut pids: Vec<_> = lineage.kept.keys().copied().collect();
        pids.sort_unstable();
        assert_eq!(pids, expected);
    }

    fn fork(parent: i32, child: i32) -> ProcEvent {
        ProcEvent::Fork { parent, child }
    }

    fn exit(pid: i32) -> ProcEvent {
        ProcEvent::Exit { pid }
    }

    #[test]
    fn a_double_fork_is_followed_through_the_dead() {
        check(&[fork(100, 101), fork(101, 102), exit(101)], &[100, 102], &[100, 102]);
        check(&[fork(100, 101), exit(101), fork(101, 102), exit(100)], &[102], &[102]);
    }

    #[test]
    fn strangers_are_ignored() {
        check(&[fork(50, 51), exit(50), exit(51), ProcEvent::Other], &[100], &[100]);
    }

    #[test]
    fn a_recycled_pid_is_a_strangers() {
        // 101 died; a stranger's child has its pid.
        check(&[fork(100, 101), exit(101), fork(50, 101)], &[100, 101], &[100]);
        check(&[fork(100, 101), fork(50, 101), fork(101, 102)], &[100, 101, 102], &[100]);
    }

    #[test]
    fn an_event_older_than_the_look_does_not_drop_a_member() {
        check(&[fork(50, 100)], &[100], &[100]);
    }

    #[test]
    fn a_leader_thread_that_exits_leaves_its_process_alive() {
        check(&[exit(100), fork(100, 101)], &[100, 101], &[100, 101]);
    }

    #[test]
    fn a_pid_that_nobody_holds_waits_for_its_exit() {
        check(&[fork(100, 101)], &[100], &[100, 101]);
        check(&[fork(100, 101), exit(101)], &[100], &[100]);
    }
}
