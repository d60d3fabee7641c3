//! A signal reaches the process that was meant, or nobody.
#![expect(unsafe_code, reason = "a fixture gives its privileges up")]

use proctree::{
    Liveness, PidFd, Sent, Signal, liveness, pidfd_supported, proc_id, signal_checked, signal_child_of,
};

use crate::support::{fork, hold, own_pid, skip};

#[test]
fn a_checked_signal_arrives() {
    let child = fork(&[], || hold());
    let id = proc_id(child.pid).unwrap();
    assert_eq!(signal_checked(id, Signal::KILL).unwrap(), Sent::Delivered);
    child.wait_dead();
    assert_eq!(liveness(id), Liveness::Zombie);
    assert_eq!(signal_checked(id, Signal::KILL).unwrap(), Sent::Delivered, "a zombie takes signals");
}

#[test]
fn another_start_time_is_another_process() {
    let child = fork(&[], || hold());
    let mut id = proc_id(child.pid).unwrap();
    id.start_ticks -= 1;
    assert_eq!(signal_checked(id, Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert!(PidFd::open_checked(id).unwrap().is_none());
    assert_eq!(liveness(proc_id(child.pid).unwrap()), Liveness::Alive);
}

#[test]
fn a_child_of_another_is_left_alone() {
    let child = fork(&[], || hold());
    assert_eq!(signal_child_of(child.pid, &[1], Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert_eq!(signal_child_of(child.pid, &[child.pid], Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert_eq!(liveness(proc_id(child.pid).unwrap()), Liveness::Alive);
    assert_eq!(signal_child_of(child.pid, &[own_pid()], Signal::KILL).unwrap(), Sent::Delivered);
    child.wait_dead();
}

#[test]
fn no_process_is_a_fact() {
    let mut child = fork(&[], || 0);
    let fd = PidFd::open(child.pid).unwrap().unwrap();
    child.reap();
    assert_eq!(fd.signal(Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert_eq!(signal_child_of(child.pid, &[own_pid()], Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert_eq!(signal_child_of(-1, &[own_pid()], Signal::KILL).unwrap(), Sent::NoSuchProcess);
    assert_eq!(signal_child_of(0, &[own_pid()], Signal::KILL).unwrap(), Sent::NoSuchProcess);
}

#[test]
fn no_permission_is_a_fact() {
    if !rustix::process::geteuid().is_root() {
        let init = proc_id(1).unwrap();
        // Not CONT: within one session the kernel lets that through to anybody (kill(2)).
        assert_eq!(signal_checked(init, Signal::URG).unwrap(), Sent::NotPermitted);
        return skip("no_permission_is_a_fact (second half)", "CAP_SETUID");
    }
    let target = fork(&[], || hold());
    let id = proc_id(target.pid).unwrap();
    let mut child = fork(&[], || {
        // SAFETY: takes no pointers; this child is single-threaded.
        assert_eq!(unsafe { libc::setuid(65534) }, 0);
        i32::from(signal_checked(id, Signal::KILL).unwrap() != Sent::NotPermitted)
    });
    assert_eq!(child.reap(), 0);
    assert_eq!(liveness(id), Liveness::Alive);
}

#[test]
fn this_kernel_has_pidfds() {
    assert!(pidfd_supported());
}
