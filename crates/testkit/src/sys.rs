//! What must happen in a child between fork and exec.
#![expect(unsafe_code, reason = "std offers no safe hook between fork and exec")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::Tag;

/// Put the tag on the child.
pub(crate) fn tagged(command: &mut Command, tag: Tag) {
    let value = tag.value();
    let limit = libc::rlimit64 { rlim_cur: value, rlim_max: value };
    let set = move || {
        // SAFETY: setrlimit64 is async-signal-safe and reads a value that the closure owns.
        let done = unsafe { libc::setrlimit64(libc::RLIMIT_LOCKS, &raw const limit) };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the hook makes one system call and allocates nothing.
    unsafe { command.pre_exec(set) };
}

/// Give the child a new session whose controlling terminal is its standard input.
pub(crate) fn on_terminal(command: &mut Command) {
    let set = || {
        rustix::process::setsid()?;
        // SAFETY: descriptor 0 was set up by std before the hook and stays open until exec.
        let stdin = unsafe { rustix::fd::BorrowedFd::borrow_raw(0) };
        rustix::process::ioctl_tiocsctty(stdin)?;
        Ok(())
    };
    // SAFETY: the hook makes system calls only and allocates nothing.
    unsafe { command.pre_exec(set) };
}

/// Give the child a soft limit of open files.
pub(crate) fn open_files(command: &mut Command, soft: u64) {
    let limit = libc::rlimit64 { rlim_cur: soft, rlim_max: soft };
    let set = move || {
        // SAFETY: setrlimit64 is async-signal-safe and reads a value that the closure owns.
        let done = unsafe { libc::setrlimit64(libc::RLIMIT_NOFILE, &raw const limit) };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the hook makes one system call and allocates nothing.
    unsafe { command.pre_exec(set) };
}

/// Fork a worker that has every descriptor of ours and never execs, as some hosts do. It ends by its alarm at the latest.
/// Returns its pid, negative when there is none.
pub fn fork_worker() -> i32 {
    // SAFETY: the child calls two async-signal-safe functions and never returns.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: alarm touches no memory.
        unsafe { libc::alarm(30) };
        loop {
            // SAFETY: pause touches no memory.
            unsafe { libc::pause() };
        }
    }
    child
}
