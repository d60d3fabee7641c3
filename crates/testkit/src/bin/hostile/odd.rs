//! Habits that put a process, or the one that started it, into an unusual state.

use crate::Orders;
use crate::detach::{deaf, new_session, step_down};
use crate::sys::{self, Side};

/// `zombie-leader`: the main thread has gone (`stat` says Z), another one lives, with a child.
pub(crate) fn zombie_leader(orders: &Orders) {
    step_down();
    new_session();
    sys::ignore_requests();
    if let Side::Child = sys::fork() {
        sys::hold();
    }
    std::thread::spawn(|| sys::hold());
    orders.ready();
    sys::leave_thread()
}

/// `kill-parent`: SIGKILLs whatever started it, if that belongs to the same test, and stays.
pub(crate) fn kill_parent(orders: &Orders) {
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if let Some(parent) = parent.filter(|pid| tag_of(&pid.to_string()) == tag_of("self")) {
        sys::send(parent, libc::SIGKILL);
    }
    deaf(orders);
}

/// The limit by which the harness knows its own; a user's service manager, which adopts orphans, does not have it.
fn tag_of(pid: &str) -> Option<String> {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    limits.lines().find(|line| line.starts_with("Max file locks")).map(ToOwned::to_owned)
}

/// `stopped`: has stopped itself in a session of its own.
pub(crate) fn stopped(orders: &Orders) {
    step_down();
    new_session();
    sys::ignore_requests();
    orders.ready();
    sys::send(rustix::process::getpid().as_raw_nonzero().get(), libc::SIGSTOP);
    sys::hold()
}

/// `traced`: a process held in a trace stop by another one that ignores requests, both daemons.
pub(crate) fn traced(orders: &Orders) {
    step_down();
    new_session();
    sys::ignore_requests();
    match sys::fork() {
        Side::Child => {
            new_session();
            sys::hold()
        }
        Side::Parent(child) => {
            sys::trace(child);
            sys::reap(child);
            orders.ready();
            sys::hold()
        }
    }
}

/// `as-host [--ignore-chld] [--block-all] [--ignore-pipe] -- COMMAND...`: becomes a command with these dispositions.
pub(crate) fn as_host(orders: &Orders) {
    for word in orders.arguments.iter().take_while(|word| *word != "--") {
        match word.to_str() {
            Some("--ignore-chld") => sys::disposition(&[libc::SIGCHLD], libc::SIG_IGN),
            Some("--ignore-pipe") => sys::disposition(&[libc::SIGPIPE], libc::SIG_IGN),
            Some("--block-all") => sys::block_all(),
            _ => sys::leave(64),
        }
    }
    sys::become_command(orders.command())
}

/// `closed-output`: closes stdout and stderr and works on.
pub(crate) fn closed_output(orders: &Orders) {
    for descriptor in [1, 2] {
        sys::close(descriptor);
    }
    orders.ready();
    sys::hold()
}

/// `reuse PID START`: a bystander on the pid of a process that has gone, which was born at START (clock ticks since
/// boot). Says the pid, or 0 where that is not permitted, and stays for as long as it lives.
pub(crate) fn reuse(orders: &Orders) {
    let pid = i32::try_from(orders.number(0, 0)).unwrap_or(0);
    let dead = orders.text(1, "");
    loop {
        match sys::fork_with_pid(pid) {
            Some(Side::Child) => {
                new_session();
                sys::hold()
            }
            // A start time has a tick of 10 ms: within it the two could not be told apart.
            Some(Side::Parent(child)) if start_of(child).as_deref() == dead.to_str() => {
                sys::send(child, libc::SIGKILL);
                sys::reap(child);
            }
            Some(Side::Parent(child)) => {
                orders.say(child);
                sys::reap(child);
                return;
            }
            None => return orders.say(0),
        }
    }
}

/// Field 22 of the stat line; our own children have no blank in their names.
fn start_of(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.split_ascii_whitespace().nth(21).map(ToOwned::to_owned)
}
