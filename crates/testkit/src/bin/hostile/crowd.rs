//! Habits of many processes. Each has a cap on what it may make in all.

use std::sync::atomic::Ordering::SeqCst;

use crate::Orders;
use crate::detach::{new_session, step_down};
use crate::sys::{self, Side};

/// `term-spawner`: answers every TERM with a new daemon, twenty times at most, and stays.
pub(crate) fn term_spawner(orders: &Orders) {
    sys::block(libc::SIGTERM);
    orders.ready();
    for _ in 0..20 {
        sys::wait_for_signal(libc::SIGTERM);
        if let Side::Child = sys::fork() {
            step_down();
            new_session();
            sys::ignore_requests();
            sys::hold();
        }
    }
    sys::hold()
}

/// `pair`: two daemons, each restarts the other when it dies, 2,000 times at most.
pub(crate) fn pair(orders: &Orders) {
    step_down();
    new_session();
    sys::ignore_requests();
    let [made, _] = sys::shared_counters();
    let mut first = true;
    loop {
        if made.fetch_add(1, SeqCst) >= 2000 {
            sys::leave(0);
        }
        let myself = rustix::process::getpid();
        match sys::fork() {
            Side::Child => {
                new_session();
                wait_until_gone(myself);
            }
            Side::Parent(partner) => {
                if std::mem::take(&mut first) {
                    orders.ready();
                }
                sys::reap(partner);
            }
        }
    }
}

/// Wait until a process that is not our child has ended.
fn wait_until_gone(pid: rustix::process::Pid) {
    let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else { return };
    let mut poll = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
    let _ = rustix::event::poll(&mut poll, None);
}

/// `storm [LINES] [NAP_MS] [CAP]`: so many lines (4) of processes that nap (2), fork their replacement and exit, in a new
/// session each; never more than CAP (30,000) forks.
pub(crate) fn storm(orders: &Orders) {
    let (lines, nap, cap) = (orders.number(0, 4), orders.number(1, 2), orders.number(2, 30_000));
    let [made, _] = sys::shared_counters();
    step_down();
    sys::ignore_requests();
    for _ in 0..lines {
        if let Side::Child = sys::fork() {
            loop {
                new_session();
                sys::nap_ms(nap);
                if made.fetch_add(1, SeqCst) >= cap {
                    sys::leave(0);
                }
                if let Some(Side::Parent(_)) = sys::try_clone(0) {
                    sys::leave(0);
                }
            }
        }
    }
    orders.ready();
    sys::leave(0)
}

/// `bomb [LIVE] [CAP]`: every process forks two, held to LIVE (60) live and CAP (30,000) in all.
pub(crate) fn bomb(orders: &Orders) {
    let (live_max, cap) = (orders.number(0, 60), orders.number(1, 30_000));
    let [made, live] = sys::shared_counters();
    live.store(1, SeqCst);
    step_down();
    sys::ignore_requests();
    orders.ready();
    loop {
        new_session();
        let wanted = if live.load(SeqCst) < live_max { 2 } else { 1 };
        let mut child = false;
        for _ in 0..wanted {
            if made.fetch_add(1, SeqCst) >= cap {
                break;
            }
            live.fetch_add(1, SeqCst);
            match sys::try_clone(0) {
                Some(Side::Child) => {
                    child = true;
                    break;
                }
                Some(Side::Parent(_)) => {}
                None => {
                    live.fetch_sub(1, SeqCst);
                }
            }
        }
        if !child {
            live.fetch_sub(1, SeqCst);
            sys::leave(0);
        }
        sys::nap_ms(3);
    }
}

/// `wide [N]`: N (100) children, every other one in its own session.
pub(crate) fn wide(orders: &Orders) {
    for index in 0..orders.number(0, 100) {
        if let Side::Child = sys::fork() {
            if index % 2 == 1 {
                new_session();
            }
            sys::ignore_requests();
            sys::hold();
        }
    }
    sys::ignore_requests();
    orders.ready();
    sys::hold()
}

/// `deep [N]`: a chain of N (100) generations, every third in a new session.
pub(crate) fn deep(orders: &Orders) {
    sys::ignore_requests();
    for generation in 0..orders.number(0, 100) {
        if generation % 3 == 0 {
            new_session();
        }
        if let Side::Parent(_) = sys::fork() {
            sys::hold();
        }
    }
    orders.ready();
    sys::hold()
}

/// `vfork-chain [N]`: N (20) generations, each held in its clone call (state D) until its child has gone.
pub(crate) fn vfork_chain(orders: &Orders) {
    for _ in 0..orders.number(0, 20) {
        if let Side::Parent(_) = sys::clone(libc::CLONE_VFORK) {
            sys::leave(0);
        }
    }
    orders.ready();
    sys::hold()
}
