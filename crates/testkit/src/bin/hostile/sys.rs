//! The system calls that the habits need and that no safe wrapper offers.
//!
//! Every program here is single-threaded when it forks (`zombie-leader` forks before it makes its thread), so the child
//! of a fork may run ordinary code.
#![expect(unsafe_code, reason = "fork, clone, ptrace and signal dispositions have no safe wrapper")]

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null;
use std::sync::atomic::AtomicU32;

use libc::{c_int, c_long, c_ulong};
use rustix::mm::{MapFlags, ProtFlags};

/// Nothing that is born here lives longer.
pub(crate) const LIFE_S: u32 = 80;

/// Which side of a fork we are on.
pub(crate) enum Side {
    Child,
    Parent(c_int),
}

/// Set this process's end: SIGALRM kills, and a nearer alarm that was inherited through an exec stands.
pub(crate) fn arm() {
    // Rust starts with SIGPIPE ignored, which a fixture must not hand on.
    disposition(&[libc::SIGALRM, libc::SIGPIPE], libc::SIG_DFL);
    unblock_all();
    // SAFETY: alarm takes a number and touches no memory of ours.
    let before = unsafe { libc::alarm(LIFE_S) };
    if before != 0 && before < LIFE_S {
        // SAFETY: as above.
        unsafe { libc::alarm(before) };
    }
}

/// Fork; an alarm is not inherited, so the child gets one of its own with what is left of its parent's time.
pub(crate) fn fork() -> Side {
    clone(0)
}

/// Fork with extra clone flags. Failure ends the program: a fixture that is not in place must not look as if it were.
pub(crate) fn clone(flags: c_int) -> Side {
    match try_clone(flags) {
        Some(side) => side,
        None => leave(111),
    }
}

/// As [`clone`], but `None` where no process can be had.
pub(crate) fn try_clone(flags: c_int) -> Option<Side> {
    // SAFETY: alarm takes a number and touches no memory of ours.
    let left = unsafe { libc::alarm(0) }.max(1);
    let word = c_ulong::try_from(flags | libc::SIGCHLD).unwrap_or(0);
    let zero: c_long = 0;
    // SAFETY: without CLONE_VM the child has its own copy of the memory, a null stack means "the same address", and the
    // process has one thread, so that no lock can be held by another.
    let pid = unsafe { libc::syscall(libc::SYS_clone, word, zero, zero, zero, zero) };
    // SAFETY: as the first call.
    unsafe { libc::alarm(left) };
    match c_int::try_from(pid) {
        Ok(0) => Some(Side::Child),
        Ok(child) if child > 0 => Some(Side::Parent(child)),
        _ => None,
    }
}

/// Fork a child that holds this very pid. `None` where that is not permitted (it takes `CAP_CHECKPOINT_RESTORE`) or
/// the pid is somebody's.
pub(crate) fn fork_with_pid(pid: c_int) -> Option<Side> {
    // SAFETY: alarm takes a number and touches no memory of ours.
    let left = unsafe { libc::alarm(0) }.max(1);
    let wanted = [pid];
    // SAFETY: clone_args is plain data, for which all zeroes is a value.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.exit_signal = u64::try_from(libc::SIGCHLD).unwrap_or(0);
    args.set_tid = wanted.as_ptr() as u64;
    args.set_tid_size = 1;
    // SAFETY: `args` and the pid that it points to live through the call; without CLONE_VM the child has its own memory.
    let made = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    // SAFETY: as the first call.
    unsafe { libc::alarm(left) };
    match c_int::try_from(made) {
        Ok(0) => Some(Side::Child),
        Ok(child) if child > 0 => Some(Side::Parent(child)),
        _ => None,
    }
}

/// End without flushing or unwinding, as a forked child should.
pub(crate) fn leave(code: c_int) -> ! {
    // SAFETY: _exit does not return and runs no code of ours.
    unsafe { libc::_exit(code) }
}

/// End the calling thread only. Called by the main thread, it leaves a zombie leader.
pub(crate) fn leave_thread() -> ! {
    // SAFETY: the thread holds no lock and no value that another thread relies on.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    leave(0)
}

/// Sleep until a signal ends the process.
pub(crate) fn hold() -> ! {
    loop {
        // SAFETY: pause touches no memory.
        unsafe { libc::pause() };
    }
}

/// Nap for some milliseconds: the pace of a habit, never a synchronisation.
pub(crate) fn nap_ms(milliseconds: u32) {
    let span = std::time::Duration::from_millis(u64::from(milliseconds));
    if let Ok(span) = rustix::thread::Timespec::try_from(span) {
        let _ = rustix::thread::nanosleep(&span);
    }
}

/// Ignore every polite request to end.
pub(crate) fn ignore_requests() {
    disposition(
        &[
            libc::SIGTERM,
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGPIPE,
            libc::SIGUSR1,
            libc::SIGTTOU,
        ],
        libc::SIG_IGN,
    );
}

/// Give these signals this disposition.
pub(crate) fn disposition(signals: &[c_int], action: libc::sighandler_t) {
    for &signal in signals {
        // SAFETY: SIG_DFL and SIG_IGN are the only values passed; no handler runs.
        unsafe { libc::signal(signal, action) };
    }
}

/// A set of all signals or of the given ones.
fn set_of(signals: Option<&[c_int]>) -> libc::sigset_t {
    // SAFETY: sigset_t is plain data, for which all zeroes is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    match signals {
        None => {
            // SAFETY: `set` is ours and lives through the call.
            unsafe { libc::sigfillset(&raw mut set) };
        }
        Some(signals) => {
            for &signal in signals {
                // SAFETY: as above.
                unsafe { libc::sigaddset(&raw mut set, signal) };
            }
        }
    }
    set
}

fn mask(how: c_int, set: &libc::sigset_t) {
    // SAFETY: `set` lives through the call and the old mask is not asked for.
    unsafe { libc::sigprocmask(how, set, std::ptr::null_mut()) };
}

/// Block every signal that can be blocked.
pub(crate) fn block_all() {
    mask(libc::SIG_BLOCK, &set_of(None));
}

/// Block one signal, to take it with [`wait_for_signal`].
pub(crate) fn block(signal: c_int) {
    mask(libc::SIG_BLOCK, &set_of(Some(&[signal])));
}

fn unblock_all() {
    mask(libc::SIG_UNBLOCK, &set_of(None));
}

/// Wait for a signal that is blocked.
pub(crate) fn wait_for_signal(signal: c_int) {
    let set = set_of(Some(&[signal]));
    let mut got: c_int = 0;
    // SAFETY: both pointers are to values that live through the call.
    unsafe { libc::sigwait(&raw const set, &raw mut got) };
}

/// Send a signal. A fixture is what misbehaves, so a bare pid is the point here.
pub(crate) fn send(pid: c_int, signal: c_int) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// Reap one child, waiting for it; false when there is none.
pub(crate) fn reap(pid: c_int) -> bool {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) > 0 }
}

/// Seize a child and stop it for good.
pub(crate) fn trace(pid: c_int) {
    let nothing: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: PTRACE_ATTACH ignores both pointers.
    unsafe { libc::ptrace(libc::PTRACE_ATTACH, pid, nothing, nothing) };
}

/// Close every descriptor, the lifeline too.
pub(crate) fn close_everything() {
    let (first, last, flags): (libc::c_uint, libc::c_uint, libc::c_uint) = (0, libc::c_uint::MAX, 0);
    // SAFETY: the habits that call this use no descriptor afterwards.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
}

/// Become this very program again with other words and an empty environment.
pub(crate) fn become_self(words: &[&OsStr]) -> ! {
    let words: Vec<CString> = words.iter().filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(null());
    let environment = [null()];
    // SAFETY: path, words and environment are null-terminated and live through the call.
    unsafe { libc::execve(c"/proc/self/exe".as_ptr(), pointers.as_ptr(), environment.as_ptr()) };
    leave(111)
}

/// Become another command, found on the path, with the environment as it is.
pub(crate) fn become_command(words: &[std::ffi::OsString]) -> ! {
    let words: Vec<CString> = words.iter().filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
    let mut pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(null());
    if let Some(program) = words.first() {
        // SAFETY: program and words are null-terminated and live through the call.
        unsafe { libc::execvp(program.as_ptr(), pointers.as_ptr()) };
    }
    leave(127)
}

/// Two counters that every later fork shares.
pub(crate) fn shared_counters() -> &'static [AtomicU32; 2] {
    // SAFETY: a fresh anonymous mapping aliases nothing.
    let page = unsafe {
        rustix::mm::mmap_anonymous(
            std::ptr::null_mut(),
            4096,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
        )
    };
    let Ok(page) = page else { leave(111) };
    // SAFETY: the page is zeroed, aligned, large enough, and is never unmapped.
    unsafe { &*page.cast() }
}

/// Close one descriptor by number.
pub(crate) fn close(descriptor: c_int) {
    // SAFETY: called for 1 and 2 only, which no value here owns.
    unsafe { libc::close(descriptor) };
}
