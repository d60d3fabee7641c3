//! Under `hidepid` a living process has no entry in `/proc`: hidden is not dead.
#![expect(unsafe_code, reason = "the fixture mounts a /proc of its own and gives its privileges up")]

use std::io::ErrorKind;

use proctree::{
    Liveness, ProcId, Sent, Signal, children_of, liveness, read_stat, signal_checked, signal_child_of,
};

use crate::support::{Gate, fork, hold, own_pid, skip};

/// A private mount namespace whose `/proc` shows only what may be traced, and no privileges.
fn hide() {
    // SAFETY: takes no pointers; the calling process is single-threaded.
    assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
    let mount = |kind: &std::ffi::CStr, flags, data: &std::ffi::CStr| {
        // SAFETY: all strings end with NUL and live until the call returns.
        unsafe {
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast())
        }
    };
    // SAFETY: as above; null stands for what the call does not read with these flags.
    let private = unsafe {
        libc::mount(
            std::ptr::null(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    };
    assert_eq!(private, 0);
    assert_eq!(mount(c"proc", 0, c"hidepid=2"), 0);
    // Group 0 is exempt from hidepid unless the mount says otherwise.
    // SAFETY: an empty list is not read.
    assert_eq!(unsafe { libc::setgroups(0, std::ptr::null()) }, 0);
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::setgid(65534) }, 0);
    // SAFETY: takes no pointers.
    assert_eq!(unsafe { libc::setuid(65534) }, 0);
}

#[test]
fn hidden_is_not_dead() {
    if !rustix::process::geteuid().is_root() {
        return skip("hidden_is_not_dead", "CAP_SYS_ADMIN");
    }
    let mut child = fork(&[], || {
        hide();
        let ready = Gate::new();
        let hidden = fork(&ready.fds(), || {
            // SAFETY: takes no pointers.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
            ready.open();
            hold()
        });
        ready.wait();
        let id = ProcId { pid: hidden.pid, start_ticks: 1 };
        assert_eq!(read_stat(hidden.pid).unwrap(), None);
        assert_eq!(liveness(id), Liveness::Alive);
        let mut children = Vec::new();
        assert_eq!(children_of(hidden.pid, &mut children).unwrap_err().kind(), ErrorKind::PermissionDenied);
        children_of(own_pid(), &mut children).unwrap();
        assert_eq!(children, [hidden.pid]);
        // Nobody can say that it is the process that was meant, but its parent's list says whose child it is.
        assert_eq!(signal_checked(id, Signal::KILL).unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_ne!(signal_child_of(hidden.pid, &[1], Signal::KILL).ok(), Some(Sent::Delivered));
        assert_eq!(signal_child_of(hidden.pid, &[own_pid()], Signal::KILL).unwrap(), Sent::Delivered);
        hidden.wait_dead();
        assert_eq!(liveness(id), Liveness::Zombie);
        0
    });
    assert_eq!(child.reap(), 0);
}
