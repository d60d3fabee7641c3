//! What a test has left behind.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use crate::{Deadline, Process, Tag, pidfd, signal};

/// Processes that still carry `tag` after `limit`, in one line each; all of them are killed before this returns.
pub fn leftovers(tag: Tag, limit: Duration) -> Vec<String> {
    let left = living_after(tag, limit);
    let lines = left
        .iter()
        .map(|process| {
            let Process { pid, parent, state, comm, cmdline, .. } = process;
            format!("{pid} (parent {parent}, state {state}, comm {comm}): {cmdline}")
        })
        .collect();
    let deadline = Deadline::usual();
    let mut rest = left;
    while !rest.is_empty() && !deadline.passed() {
        for process in &rest {
            signal(process.pid, Signal::KILL);
        }
        rest = living_after(tag, Duration::from_millis(20));
    }
    lines
}

/// Wait until nobody alive carries `tag`; whoever does at the deadline.
fn living_after(tag: Tag, limit: Duration) -> Vec<Process> {
    let deadline = Deadline::after(limit);
    loop {
        let living = tag.holders();
        let Some(first) = living.first() else { return living };
        if deadline.passed() {
            return living;
        }
        if let Some(pidfd) = pidfd(first.pid) {
            let step = Deadline::after(deadline.left().min(Duration::from_millis(100)));
            step.poll(&mut [PollFd::new(&pidfd, PollFlags::IN)]);
        }
    }
}

/// The descriptors of this process at one moment. Meaningful only where no other test runs beside it.
#[derive(Debug)]
pub struct Descriptors(Vec<(u32, String)>);

impl Descriptors {
    /// Those that are open now.
    pub fn now() -> Self {
        let own = format!("/proc/{}/fd", std::process::id());
        let mut list =
            Process::read(std::process::id()).map(|myself| myself.descriptors()).unwrap_or_default();
        list.retain(|(_, target)| *target != own);
        Self(list)
    }

    /// Those that have come since.
    pub fn new_since(&self) -> Vec<(u32, String)> {
        Self::now().0.into_iter().filter(|entry| !self.0.contains(entry)).collect()
    }
}
