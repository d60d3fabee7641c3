//! The kill sweep: the one way in which anything is ended for good.
//!
//! A pass kills and the caller reaps, pass after pass, until `waitpid` says ECHILD. Own children come first: they need
//! no identity check, because they are not reaped while we kill, and killing one costs next to nothing. Whatever lay
//! below a child that dies becomes our child and is met by the next pass, so deeper levels are looked at only where
//! that pays (a narrow tree: a chain would cost one pass a link) or where a parent does not die (stopped by a tracer,
//! frozen, in state D).
//!
//! A look goes from above and kills on its way: who is dying forks no more, and the kernel's work of ending the upper
//! ones, which is nearly all of the work, goes on beside our reading.
//!
//! Nothing is stopped first. A stop saves no work, and when a stopped member's group is orphaned by the death of
//! another member, the kernel sends SIGHUP to the whole group (`exit(3p)`): outsiders in it would die too.

use std::collections::HashSet;

use proctree::{Member, children_of, children_of_self_single_threaded, descendants, signal_child_of};
use rustix::process::Signal;

use crate::clock;
use crate::sys;

/// What lies below a process is asked for, at four calls of `/proc`, if it has so many siblings or fewer. What lies below
/// more of them costs less when it comes up by itself.
const LOOKED_BELOW_MAX: usize = 4;
/// So many siblings or fewer are killed where a look meets them, at four calls each; more of them come up by the death of
/// their parent, and cost one each.
const SIBLINGS_MAX: usize = 32;
/// Members that the looks of one pass may meet.
const BELOW_MAX: usize = 256;
/// Without any progress for so long, every level is walked to its end.
const STALLED_MS: u64 = 50;
/// Longest pause between passes over something that does not die.
const PAUSE_MAX_MS: u64 = 2000;
/// A pass over many takes at most about a fifth of the time: the dying need the rest.
const PAUSE_PER_PASS: u64 = 4;

/// Progress of a sweep.
#[derive(Debug)]
pub(crate) struct Sweep {
    group: Option<i32>,
    /// Own children that were sent SIGKILL and have not been reaped, so that their pids are still theirs. SIGKILL
    /// cannot be lost: once is enough.
    dying: HashSet<i32>,
    /// When somebody new was met, or somebody reaped.
    progress_ms: u64,
    next_ms: u64,
    /// Our pid: orphans of members are our children.
    own: i32,
    children: Vec<i32>,
    below: Vec<Below>,
    /// Scratch.
    listed: Vec<i32>,
}

/// A member that is no child of ours, or was none when it was listed.
#[derive(Debug, Clone, Copy)]
struct Below {
    pid: i32,
    parent: i32,
    /// It has few siblings.
    is_looked_at: bool,
}

impl Sweep {
    /// A sweep whose first pass is due at once. `group`: an unreaped child that leads a group of members only.
    pub(crate) fn begin(group: Option<i32>) -> Self {
        Self {
            group,
            dying: HashSet::new(),
            progress_ms: clock::monotonic_ms(),
            next_ms: 0,
            own: i32::try_from(std::process::id()).unwrap_or(0),
            children: Vec::new(),
            below: Vec::new(),
            listed: Vec::new(),
        }
    }

    /// When the next pass is due, in milliseconds of the monotonic clock.
    pub(crate) fn due_ms(&self) -> u64 {
        self.next_ms
    }

    /// Sends SIGKILL to everything in sight but `keepers`. The caller reaps afterwards, and tells whom.
    pub(crate) fn pass(&mut self, keepers: &[i32]) {
        let now = clock::monotonic_ms();
        let stalled = now - self.progress_ms >= STALLED_MS;
        let listed = children_of_self_single_threaded(&mut self.children);
        self.children.retain(|pid| !keepers.contains(pid));
        // RACE(fork-list): a member forks, or is orphaned to us, after the list was read and is in none; closed by passing
        // again until ECHILD. Nothing ends a sweep but that.
        fault::point("fork-list");
        let new = self.children.iter().filter(|pid| !self.dying.contains(pid)).count();
        // One call for all that has not left it, and no fork in it gets away.
        if let Some(leader) = self.group.take() {
            sys::signal_own_group(leader, libc::SIGKILL);
        }
        self.below.clear();
        let children = std::mem::take(&mut self.children);
        for pid in children.iter().copied() {
            // Again where nothing moves: one that we were not permitted to signal may be one of ours again.
            if self.dying.insert(pid) || stalled {
                if new <= LOOKED_BELOW_MAX {
                    self.list_below(pid);
                }
                sys::signal_own_child(pid, libc::SIGKILL);
            }
        }
        self.kill_below();
        if stalled {
            self.kill_deep(&children);
        }
        self.children = children;
        let done = clock::monotonic_ms();
        if new > 0 && listed.is_ok() {
            self.progress_ms = done;
        }
        let pause = (done - self.progress_ms).clamp(1, PAUSE_MAX_MS).max((done - now) * PAUSE_PER_PASS);
        self.next_ms = done + pause;
    }

    /// A child was reaped. When all have been that were killed, those that came up from below are met at once.
    pub(crate) fn reaped(&mut self, pid: i32) {
        self.dying.remove(&pid);
        self.progress_ms = clock::monotonic_ms();
        if self.dying.is_empty() {
            self.next_ms = 0;
        }
    }

    fn list_below(&mut self, parent: i32) {
        if self.below.len() < BELOW_MAX && children_of(parent, &mut self.listed).is_ok() {
            let siblings = self.listed.len();
            let is_looked_at = siblings <= LOOKED_BELOW_MAX;
            if siblings <= SIBLINGS_MAX {
                self.below.extend(self.listed.iter().map(|pid| Below { pid: *pid, parent, is_looked_at }));
            }
        }
    }

    /// Kills who was listed, and below.
    fn kill_below(&mut self) {
        let mut next = 0;
        while let Some(member) = self.below.get(next).copied() {
            next += 1;
            if member.is_looked_at {
                self.list_below(member.pid);
            }
            self.kill_member(member.pid, member.parent);
        }
    }

    /// Kills every level of what does not die by itself.
    fn kill_deep(&self, children: &[i32]) {
        let mut members: Vec<Member> = Vec::new();
        for child in children {
            let _what_was_read_counts = descendants(*child, &mut members);
            for member in &members {
                self.kill_member(member.pid, member.parent);
            }
        }
    }

    /// Its parent may have died meanwhile, which makes it our child.
    fn kill_member(&self, pid: i32, parent: i32) {
        let _gone_or_moved = signal_child_of(pid, &[parent, self.own], Signal::KILL);
    }
}
