//! The kill sweep: the one way in which anything is ended for good.
//!
//! A pass kills and the caller reaps, pass after pass, until `waitpid` says ECHILD. Own children need no identity
//! check: they are not reaped while we kill. Deeper members are reached by pidfd and a check of their parent; those
//! whose parent dies in between become our children and are met by the next pass. SIGSTOP is an optimisation for
//! large, lively trees only: another member can undo it within a millisecond.

use proctree::{Member, children_of_self_single_threaded, descendants, signal_child_of};
use rustix::process::Signal;

use crate::sys;

/// From this many members on, trees are stopped before they are killed.
const LIVELY_MEMBERS: usize = 16;
/// Passes that may count and stop before the first one that kills.
const STOP_PASSES_MAX: u32 = 4;
/// Beyond so many own children a pass leaves the deeper levels to reparenting.
const WIDE_CHILDREN: usize = 512;

/// Buffers and progress of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    passes: u32,
    children: Vec<i32>,
    members: Vec<Member>,
}

impl Sweep {
    /// Sends SIGKILL to everything in sight but `keepers`. The caller reaps afterwards.
    pub(crate) fn pass(&mut self, keepers: &[i32]) {
        if self.passes == 0 {
            self.stop_lively(keepers);
        }
        self.passes += 1;
        self.children.clear();
        if children_of_self_single_threaded(&mut self.children).is_err() {
            return;
        }
        self.children.retain(|pid| !keepers.contains(pid));
        for pid in &self.children {
            sys::signal_own_child(*pid, libc::SIGKILL);
        }
        if self.children.len() <= WIDE_CHILDREN || self.passes.is_multiple_of(8) {
            self.kill_below();
        }
    }

    fn kill_below(&mut self) {
        for at in 0..self.children.len() {
            let Some(child) = self.children.get(at).copied() else { return };
            self.each_below(child, Signal::KILL);
        }
    }

    /// Signals what lies below `child`; returns how many that were.
    fn each_below(&mut self, child: i32, signal: Signal) -> usize {
        if descendants(child, &mut self.members).is_err() {
            return 0;
        }
        for member in &self.members {
            let _gone_or_moved = signal_child_of(member.pid, member.parent, signal);
        }
        self.members.len()
    }

    /// Stops a large tree until a pass finds nobody new, so that the kill does not race its forks.
    fn stop_lively(&mut self, keepers: &[i32]) {
        let mut known = 0;
        for _pass in 0..STOP_PASSES_MAX {
            if children_of_self_single_threaded(&mut self.children).is_err() {
                return;
            }
            self.children.retain(|pid| !keepers.contains(pid));
            if self.children.len() > WIDE_CHILDREN {
                return;
            }
            let mut found = self.children.len();
            for at in 0..self.children.len() {
                let Some(child) = self.children.get(at).copied() else { return };
                if known == 0 {
                    found +=
                        if descendants(child, &mut self.members).is_ok() { self.members.len() } else { 0 };
                } else {
                    sys::signal_own_child(child, libc::SIGSTOP);
                    found += self.each_below(child, Signal::STOP);
                }
            }
            if found < LIVELY_MEMBERS || found == known {
                return;
            }
            known = found;
        }
    }
}
