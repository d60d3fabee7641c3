//! One small program per hostile habit, all in one binary: `hostile [--ready FIFO] HABIT [ARGUMENT...]`.
//!
//! A habit says that it is in place by one line (its pid) into the FIFO, and every process of it keeps that FIFO open,
//! so that a test sees end of file exactly when the last of them has gone. Invariant: every process that is born here
//! carries an alarm, so that nothing outlives [`sys::LIFE_S`] seconds even if a test is killed.
#![cfg_attr(not(target_os = "linux"), no_main)]
#![cfg(target_os = "linux")]

mod crowd;
mod detach;
mod greedy;
mod groups;
mod odd;
mod sys;
mod talk;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

/// What the command line asked for.
pub(crate) struct Orders {
    /// Kept open by every process of the habit: the lifeline. Gets one line when the habit is in place.
    ready: Option<OwnedFd>,
    /// What follows the habit's name.
    arguments: Vec<OsString>,
}

impl Orders {
    /// The habit is in place: say so, once.
    pub(crate) fn ready(&self) {
        self.say(std::process::id());
    }

    /// The same with another number than our pid.
    pub(crate) fn say(&self, number: impl std::fmt::Display) {
        if let Some(fifo) = &self.ready {
            talk::write_all(fifo, format!("{number}\n").as_bytes());
        }
    }

    /// The numeric argument at `index`, or `default`.
    pub(crate) fn number(&self, index: usize, default: u32) -> u32 {
        self.arguments.get(index).and_then(|text| text.to_str()?.parse().ok()).unwrap_or(default)
    }

    /// The argument at `index`, or `default`.
    pub(crate) fn text(&self, index: usize, default: &str) -> OsString {
        self.arguments.get(index).cloned().unwrap_or_else(|| default.into())
    }

    /// What follows `--` among the arguments: a command to become.
    pub(crate) fn command(&self) -> &[OsString] {
        let start = self.arguments.iter().position(|word| word == "--").map_or(0, |at| at + 1);
        self.arguments.get(start..).unwrap_or_default()
    }
}

fn main() {
    sys::arm();
    let mut words = std::env::args_os().skip(1).peekable();
    let mut ready = None;
    if words.peek().is_some_and(|word| word == "--ready") {
        words.next();
        ready = words.next().and_then(|path| rustix::fs::open(&path, OFlags::WRONLY, Mode::empty()).ok());
    }
    let habit = words.next();
    let orders = Orders { ready, arguments: words.collect() };
    match habit.as_deref().map_or(&b"deaf"[..], OsStrExt::as_bytes) {
        b"hold" => detach::hold(&orders),
        b"deaf" => detach::deaf(&orders),
        b"daemon" => detach::daemon(&orders),
        b"setsid" => detach::setsid(&orders),
        b"clear-env" => detach::clear_env(&orders),
        b"closed" => detach::closed(&orders),
        b"renamed" => detach::renamed(&orders),
        b"clone-parent" => detach::clone_parent(&orders),
        b"inner-subreaper" => detach::inner_subreaper(&orders),
        b"term-spawner" => crowd::term_spawner(&orders),
        b"pair" => crowd::pair(&orders),
        b"storm" => crowd::storm(&orders),
        b"bomb" => crowd::bomb(&orders),
        b"wide" => crowd::wide(&orders),
        b"deep" => crowd::deep(&orders),
        b"vfork-chain" => crowd::vfork_chain(&orders),
        b"loose-group" => groups::loose_group(&orders),
        b"join-group" => groups::join_group(&orders),
        b"zombie-leader" => odd::zombie_leader(&orders),
        b"kill-parent" => odd::kill_parent(&orders),
        b"stopped" => odd::stopped(&orders),
        b"traced" => odd::traced(&orders),
        b"reuse" => odd::reuse(&orders),
        b"as-host" => odd::as_host(&orders),
        b"closed-output" => odd::closed_output(&orders),
        b"greedy-memory" => greedy::memory(&orders),
        b"shared-memory" => greedy::shared_memory(&orders),
        b"greedy-files" => greedy::files(&orders),
        b"greedy-disk" => greedy::disk(&orders),
        b"chatty" => talk::chatty(&orders),
        b"alternate" => talk::alternate(&orders),
        b"slow-utf8" => talk::slow_utf8(&orders),
        b"flood" => talk::flood(&orders),
        _ => {
            talk::write_all(rustix::stdio::stderr(), b"hostile: unknown habit\n");
            sys::leave(64);
        }
    }
}
