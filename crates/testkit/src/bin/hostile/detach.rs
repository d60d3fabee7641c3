//! Habits that loosen a process from whoever started it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::Orders;
use crate::sys::{self, Side};

/// Fork; the parent ends, the child goes on.
pub(crate) fn step_down() {
    if let Side::Parent(_) = sys::fork() {
        sys::leave(0);
    }
}

/// Go into a session of our own, if we do not lead one already.
pub(crate) fn new_session() {
    let _ = rustix::process::setsid();
}

/// `hold`: stays, and dies of the first signal.
pub(crate) fn hold(orders: &Orders) {
    orders.ready();
    sys::hold()
}

/// `deaf`: ignores TERM, HUP, INT and QUIT.
pub(crate) fn deaf(orders: &Orders) {
    sys::ignore_requests();
    orders.ready();
    sys::hold()
}

/// `daemon [FORKS]`: forks and takes a new session so many times (2), goes to `/`, ignores requests.
pub(crate) fn daemon(orders: &Orders) {
    for _ in 0..orders.number(0, 2) {
        step_down();
        new_session();
    }
    let _ = rustix::process::chdir("/");
    deaf(orders);
}

/// `setsid`: the launcher is gone, the child leads its own session.
pub(crate) fn setsid(orders: &Orders) {
    step_down();
    new_session();
    hold(orders);
}

/// `clear-env [NAME]`: what is left has an empty environment and one word of argv.
pub(crate) fn clear_env(orders: &Orders) {
    step_down();
    new_session();
    keep_lifeline(orders);
    orders.ready();
    sys::become_self(&[&orders.text(0, "kworker/u4:2")])
}

/// `closed`: every descriptor closed, working directory `/`, own session. Its lifeline ends at once.
pub(crate) fn closed(orders: &Orders) {
    step_down();
    new_session();
    let _ = rustix::process::chdir("/");
    orders.ready();
    sys::ignore_requests();
    sys::close_everything();
    sys::hold()
}

/// `renamed [NAME]`: argv and comm of somebody else.
pub(crate) fn renamed(orders: &Orders) {
    let name = orders.text(0, "kworker/0:1H");
    if let Ok(comm) = std::ffi::CString::new(name.as_bytes()) {
        let _ = rustix::thread::set_name(&comm);
    }
    keep_lifeline(orders);
    orders.ready();
    sys::become_self(&[OsStr::from_bytes(name.as_bytes())])
}

/// `clone-parent`: the child is our parent's child from its first instruction on.
pub(crate) fn clone_parent(orders: &Orders) {
    match sys::clone(libc::CLONE_PARENT) {
        Side::Child => {
            new_session();
            deaf(orders);
        }
        Side::Parent(_) => sys::leave(0),
    }
}

/// `inner-subreaper`: a daemon that adopts its own three orphans and never ends of its own accord.
pub(crate) fn inner_subreaper(orders: &Orders) {
    step_down();
    new_session();
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    for _ in 0..3 {
        if let Side::Child = sys::fork() {
            step_down();
            new_session();
            sys::ignore_requests();
            sys::hold();
        }
    }
    sys::ignore_requests();
    orders.ready();
    while sys::reap(-1) {}
    sys::hold()
}

/// Let the lifeline survive an exec.
fn keep_lifeline(orders: &Orders) {
    if let Some(fifo) = &orders.ready {
        let _ = rustix::io::fcntl_setfd(fifo, rustix::io::FdFlags::empty());
    }
}
