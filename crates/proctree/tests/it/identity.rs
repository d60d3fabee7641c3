//! Who is it, and does it live?
#![expect(unsafe_code, reason = "fixtures rename themselves and set limits")]

use proctree::{
    Liveness, MarkerRead, PidFd, ProcId, cmdline, environ_value, host_id, liveness, proc_id, read_stat,
    rttime_hard_limit,
};

use crate::support::{Forked, Gate, Shell, exit_thread, fork, fork_with_pid, hold, own_pid, skip};

fn sleeper() -> Forked {
    fork(&[], || hold())
}

#[test]
fn own_stat_agrees_with_the_system_calls() {
    let stat = read_stat(own_pid()).unwrap().unwrap();
    assert_eq!(stat.pid, own_pid());
    assert_eq!(Some(stat.ppid), rustix::process::getppid().map(rustix::process::Pid::as_raw_pid));
    assert_eq!(stat.pgrp, rustix::process::getpgrp().as_raw_pid());
    assert_eq!(liveness(proc_id(own_pid()).unwrap()), Liveness::Alive);
}

#[test]
fn a_pid_that_no_process_can_have_is_no_process() {
    for pid in [0, -1, i32::MIN, i32::MAX] {
        assert_eq!(read_stat(pid).unwrap(), None);
        assert_eq!(proc_id(pid), None);
        assert!(PidFd::open(pid).unwrap().is_none());
        assert_eq!(liveness(ProcId { pid, start_ticks: 1 }), Liveness::Gone);
        assert_eq!(environ_value(pid, "PATH"), MarkerRead::Unreadable);
        assert_eq!(cmdline(pid), None);
        assert_eq!(rttime_hard_limit(pid), None);
    }
}

#[test]
fn a_name_may_hold_anything() {
    for name in [&b") Z 1 (x"[..], b"a\nb", b"\xff\xfe)", b"", b" ", b"((((", b"Z) R 0 0 0"] {
        let ready = Gate::new();
        let child = fork(&ready.fds(), || {
            let name = [name, b"\0"].concat();
            // SAFETY: PR_SET_NAME reads a string that ends with NUL.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            ready.open();
            hold()
        });
        ready.wait();
        let stat = read_stat(child.pid).unwrap().unwrap();
        assert_eq!(stat.comm, name);
        assert_eq!(stat.ppid, own_pid());
        assert_eq!(liveness(ProcId { pid: child.pid, start_ticks: stat.start_ticks }), Liveness::Alive);
    }
}

#[test]
fn ended_is_zombie_until_reaped_then_gone() {
    let mut child = sleeper();
    let id = proc_id(child.pid).unwrap();
    let fd = PidFd::open_checked(id).unwrap().unwrap();
    assert!(!fd.is_dead());
    assert_eq!(liveness(id), Liveness::Alive);
    child.kill();
    child.wait_dead();
    assert_eq!(liveness(id), Liveness::Zombie);
    assert!(fd.is_dead());
    assert_eq!(environ_value(child.pid, "PATH"), MarkerRead::Unreadable);
    child.reap();
    assert_eq!(liveness(id), Liveness::Gone);
    assert!(fd.is_dead());
    assert!(PidFd::open_checked(id).unwrap().is_none());
}

#[test]
fn a_zombie_leader_with_a_live_thread_is_alive() {
    let ready = Gate::new();
    let mut child = fork(&ready.fds(), || {
        let main = rustix::thread::gettid();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The leader's state is Z only after its exit: wait for that, then tell.
                while read_stat(main.as_raw_pid()).unwrap().unwrap().state != b'Z' {
                    std::thread::yield_now();
                }
                ready.open();
                hold()
            });
            exit_thread()
        })
    });
    ready.wait();
    let stat = read_stat(child.pid).unwrap().unwrap();
    assert_eq!((stat.state, stat.num_threads), (b'Z', 2));
    let id = proc_id(child.pid).unwrap();
    assert_eq!(liveness(id), Liveness::Alive);
    assert!(!PidFd::open_checked(id).unwrap().unwrap().is_dead());
    child.kill();
    child.wait_dead();
    assert_eq!(liveness(id), Liveness::Zombie);
    child.reap();
}

/// A recycled pid is another process: a signal to the old identity reaches nobody.
#[test]
fn a_recycled_pid_is_gone() {
    let mut first = sleeper();
    let old = proc_id(first.pid).unwrap();
    let old_fd = PidFd::open_checked(old).unwrap().unwrap();
    first.kill();
    first.reap();
    let stranger = loop {
        let Some(stranger) = fork_with_pid(old.pid, || hold()) else {
            return skip("a_recycled_pid_is_gone", "CAP_CHECKPOINT_RESTORE");
        };
        // The start time has a tick of 10 ms: a new one must have begun.
        if proc_id(old.pid).unwrap() != old {
            break stranger;
        }
    };
    assert_eq!(stranger.pid, old.pid);
    assert_eq!(liveness(old), Liveness::Gone);
    assert!(PidFd::open_checked(old).unwrap().is_none());
    assert!(old_fd.is_dead());
    assert_eq!(proctree::signal_checked(old, proctree::Signal::KILL).unwrap(), proctree::Sent::NoSuchProcess);
    assert_eq!(old_fd.signal(proctree::Signal::KILL).unwrap(), proctree::Sent::NoSuchProcess);
    assert_eq!(liveness(proc_id(stranger.pid).unwrap()), Liveness::Alive);
}

#[test]
fn environment_and_command_line_are_read() {
    let mut shell = Shell::start_with("echo; read x; : a b", |command| {
        command.env("PT_FULL", "a=b").env("PT_EMPTY", "").env("PT_LONG", "x".repeat(20_000));
    });
    assert_eq!(shell.line(), "");
    let read = |name| environ_value(shell.pid(), name);
    assert_eq!(read("PT_FULL"), MarkerRead::Value(b"a=b".to_vec()));
    assert_eq!(read("PT_EMPTY"), MarkerRead::Value(Vec::new()));
    assert_eq!(read("PT_LONG"), MarkerRead::Value(vec![b'x'; 20_000]));
    assert_eq!(read("PT_FUL"), MarkerRead::Absent);
    assert_eq!(cmdline(shell.pid()).unwrap(), b"/bin/sh\0-c\0echo; read x; : a b\0");
}

#[test]
fn a_process_without_a_command_line_shows_its_name() {
    let child = fork(&[], || 0);
    child.wait_dead();
    let comm = read_stat(child.pid).unwrap().unwrap().comm;
    assert_eq!(cmdline(child.pid).unwrap(), [b"[", &comm[..], b"]"].concat());
}

#[test]
fn the_tag_is_the_hard_limit_of_rttime() {
    const TAG: u64 = (1 << 61) + 12345;
    assert_eq!(rttime_hard_limit(own_pid()), None);
    let ready = Gate::new();
    let child = fork(&ready.fds(), || {
        let limit = libc::rlimit { rlim_cur: TAG, rlim_max: TAG };
        // SAFETY: the call reads a whole rlimit.
        let rc = unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) };
        assert_eq!(rc, 0);
        ready.open();
        hold()
    });
    ready.wait();
    assert_eq!(rttime_hard_limit(child.pid), Some(TAG));
}

#[test]
fn the_host_has_an_identity() {
    let host = host_id().unwrap();
    assert_eq!(host.boot.len(), 36);
    assert_ne!(host.pidns, 0);
    assert_eq!(host, host_id().unwrap());
}
