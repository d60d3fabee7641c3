//! The calls that rustix does not wrap. All are async-signal-safe.
#![expect(unsafe_code, reason = "signal dispositions, masks, execve and mount_setattr have no safe wrapper")]

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::{Errno, Result};

/// The two masks that Kennel ever sets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mask {
    Empty,
    Full,
}

pub(crate) fn set_mask(mask: Mask) -> Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    match mask {
        // SAFETY: writes a whole sigset_t through a valid pointer.
        Mask::Empty => unsafe { libc::sigemptyset(set.as_mut_ptr()) },
        // SAFETY: as above.
        Mask::Full => unsafe { libc::sigfillset(set.as_mut_ptr()) },
    };
    // SAFETY: `set` was initialised above; the old mask is not asked for.
    let status = unsafe { libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

fn set_handler(signal: i32, handler: usize) {
    // SAFETY: an all-zero sigaction is valid: default action, no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // SAFETY: `action` is a valid sigaction without a handler function. Failure (SIGKILL, SIGSTOP, the two real-time
    // signals that libc keeps for itself) leaves the disposition as it was, which is the default for those.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}

pub(crate) fn set_default(signal: i32) {
    set_handler(signal, libc::SIG_DFL);
}

pub(crate) fn set_ignored(signal: i32) {
    set_handler(signal, libc::SIG_IGN);
}

pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the kernel writes a whole sigaction through a valid pointer; nothing is changed.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed above and, on success, filled by the kernel.
    status == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Gives every one of the 64 signals its default disposition. libc refuses its two internal real-time signals through
/// `sigaction`, so the system call is used: a host's ignored signal 32 or 33 must not reach the command either.
pub(crate) fn reset_dispositions(keep_hangup_ignored: bool) {
    // The kernel's struct sigaction: handler, flags, restorer, mask (all zero = SIG_DFL). `rt_sigaction(2)`.
    let action = [0u64; 4];
    for signal in 1..=64i32 {
        if signal == libc::SIGHUP && keep_hangup_ignored {
            continue;
        }
        // SAFETY: `action` is as large as the kernel's structure on every 64-bit target and valid as SIG_DFL; the mask
        // size given is the kernel's (8). Failure for SIGKILL and SIGSTOP is expected and without effect.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                action.as_ptr(),
                std::ptr::null_mut::<u64>(),
                8usize,
            )
        };
    }
}

/// `execve(2)`; returns only with its errno.
pub(crate) fn exec(path: &CStr, argv: &[*const c_char], envp: &[*const c_char]) -> Errno {
    debug_assert!(argv.last().is_some_and(|last| last.is_null()));
    debug_assert!(envp.last().is_some_and(|last| last.is_null()));
    // SAFETY: `path` is NUL-terminated; both arrays end in a null pointer and point to C strings owned by the plan,
    // which outlives the call.
    unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    last_errno()
}

/// Leaves the child without running any destructor or exit handler of the parent's image.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` is async-signal-safe and never returns.
    unsafe { libc::_exit(status) }
}

/// Lets every descriptor from `first` on be closed by the exec; `close_range(2)` with a flag of Linux 5.11, else one by one
/// up to the limit of open files.
pub(crate) fn close_on_exec_from(first: u32) -> bool {
    let flag = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: takes plain numbers; nothing is closed before the exec.
    if unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flag) } == 0 {
        return true;
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(1 << 20);
    for fd in first..u32::try_from(limit).unwrap_or(1 << 20) {
        // SAFETY: as above; EBADF for those that are not open.
        unsafe { libc::fcntl(fd.cast_signed(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    true
}

/// Moves the calling process into new namespaces.
pub(crate) fn unshare(kinds: rustix::thread::UnshareFlags) -> Result<()> {
    // SAFETY: the process is single-threaded, and CLONE_FILES, which rustix warns of, is never among the kinds.
    unsafe { rustix::thread::unshare_unsafe(kinds) }
}

/// `PR_SET_DUMPABLE` 1, as any program has it after exec.
pub(crate) fn allow_inspection() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
}

/// What a mount does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MountAttributes(u64);

impl MountAttributes {
    pub(crate) const RDONLY: Self = Self(libc::MOUNT_ATTR_RDONLY);
    pub(crate) const NOSUID: Self = Self(libc::MOUNT_ATTR_NOSUID);
    pub(crate) const NODEV: Self = Self(libc::MOUNT_ATTR_NODEV);
}

impl std::ops::BitOr for MountAttributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Whether a change reaches the mounts below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Single,
    Recursive,
}

/// `mount_setattr(2)` (Linux 5.12).
pub(crate) fn set_mount_attributes(mount: BorrowedFd<'_>, depth: Depth, set: MountAttributes) -> Result<()> {
    let attributes = libc::mount_attr { attr_set: set.0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let recursive = if depth == Depth::Recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, the structure is whole and of the size that is given.
    let status = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// `landlock_create_ruleset(2)` asked for its version only; 0 where there is none.
pub(crate) fn landlock_abi() -> u8 {
    const VERSION: u32 = 1;
    // SAFETY: no structure is given, and with this flag the kernel only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, VERSION) };
    u8::try_from(version).unwrap_or(0)
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// What this mount namespace mounts from now on is not seen in others; what others mount is seen here.
pub(crate) fn receive_mounts_only() -> Result<()> {
    let flags = libc::MS_REC | libc::MS_SLAVE;
    // SAFETY: `mount(2)` with a propagation flag looks at nothing but the NUL-terminated target.
    let status =
        unsafe { libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null()) };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Mounts a `/proc` of the calling process's PID namespace over the old one.
pub(crate) fn mount_proc() -> Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: all strings are NUL-terminated; a null data argument means no options.
    let status = unsafe {
        libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null())
    };
    if status == 0 { Ok(()) } else { Err(last_errno()) }
}
