//! The kill sweep: the one way in which anything is ended for good.
//!
//! A pass kills and the caller reaps, pass after pass, until `waitpid` says ECHILD. Own children come first: they need
//! no identity check, because they are not reaped while we kill, and killing one costs next to nothing. Whatever lay
//! below a child that dies becomes our child and is met by the next pass, so deeper levels are looked at only where
//! that pays (a narrow tree: a chain would cost one pass a link) or where a parent does not die (stopped by a tracer,
//! frozen, in state D).
//!
//! Nothing is stopped first. A stop saves no work, and when a stopped member's group is orphaned by the death of
//! another member, the kernel sends SIGHUP to the whole group (`exit(3p)`): outsiders in it would die too.

use std::collections::HashSet;

use proctree::{Member, children_of, children_of_self_single_threaded, descendants, signal_child_of};
use rustix::process::Signal;

use crate::clock;
use crate::sys;

/// With so many new children or fewer, what lies below them is killed too.
const NARROW_CHILDREN: usize = 32;
/// Members that one look below may meet.
const LOOK_BELOW_MAX: usize = 256;
/// Without any progress for so long, every level is walked to its end.
const STALLED_MS: u64 = 50;
/// Longest pause between passes over something that does not die.
const PAUSE_MAX_MS: u64 = 2000;
/// A pass over many takes at most about a fifth of the time: the dying need the rest.
const PAUSE_PER_PASS: u64 = 4;

/// Progress of a sweep.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// Own children that were sent SIGKILL and have not been reaped, so that their pids are still theirs. SIGKILL
    /// cannot be lost: once is enough.
    dying: HashSet<i32>,
    /// When somebody new was met, or somebody reaped.
    progress_ms: u64,
    next_ms: u64,
    children: Vec<i32>,
    below: Vec<Member>,
}

impl Sweep {
    /// A sweep whose first pass is due.
    pub(crate) fn begin() -> Self {
        Self {
            dying: HashSet::new(),
            progress_ms: clock::monotonic_ms(),
            next_ms: 0,
            children: Vec::new(),
            below: Vec::new(),
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
        if stalled {
            self.kill_below(descendants);
        } else if new <= NARROW_CHILDREN {
            let dying = &self.dying;
            self.children.retain(|pid| !dying.contains(pid));
            self.kill_below(look_below);
        }
        for pid in self.children.drain(..) {
            // Again where nothing moves: one that we were not permitted to signal may be one of ours again.
            if self.dying.insert(pid) || stalled {
                sys::signal_own_child(pid, libc::SIGKILL);
            }
        }
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

    /// Kills what lies below the children in the list, the lowest first: while its parent lives, a dead process keeps
    /// its pid, and the check of the parent holds.
    fn kill_below(&mut self, list: fn(i32, &mut Vec<Member>) -> std::io::Result<()>) {
        for child in &self.children {
            let _what_was_read_counts = list(*child, &mut self.below);
            for member in self.below.iter().rev() {
                let _gone_or_moved = signal_child_of(member.pid, member.parent, Signal::KILL);
            }
        }
    }
}

/// As [`descendants`], and no more than that pays: a member with many children is left to its own death.
fn look_below(root: i32, into: &mut Vec<Member>) -> std::io::Result<()> {
    into.clear();
    let mut children = Vec::new();
    let (mut next, mut at) = (0, Member { pid: root, parent: 0, depth: 0 });
    loop {
        children_of(at.pid, &mut children)?;
        if children.len() <= NARROW_CHILDREN {
            let depth = at.depth + 1;
            into.extend(children.iter().map(|pid| Member { pid: *pid, parent: at.pid, depth }));
        }
        match into.get(next) {
            Some(member) if into.len() < LOOK_BELOW_MAX => at = *member,
            _ => return Ok(()),
        }
        next += 1;
    }
}
