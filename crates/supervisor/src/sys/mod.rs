//! System calls that rustix does not wrap, each with the fact it leans on.
#![expect(unsafe_code, reason = "clone3, signalfd, wait4, prctl and the argument area have no safe wrapper")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use crate::wire::Usage;

/// `clone(2)`; libc has it in a type that is too narrow.
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// Which side of a fork the caller finds itself on.
#[derive(Debug)]
pub(crate) enum Fork {
    /// In the child.
    Child,
    /// In the parent, with the child's pid and a pidfd of it.
    Parent { pid: i32, pidfd: Option<OwnedFd> },
}

/// The signal that a child sends when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitSignal {
    /// None: a plain `waitpid` does not see the child, so that its ECHILD speaks of adopted orphans only.
    None,
    /// SIGCHLD, as of any child.
    Child,
}

/// Copies the calling process, which must be single-threaded, without running any fork handler of libc.
///
/// `clone3(2)` (Linux 5.3), else `clone(2)` where a seccomp profile answers ENOSYS.
pub(crate) fn fork(exit_signal: ExitSignal) -> io::Result<Fork> {
    fork_into(exit_signal, None)
}

/// The same; the child is born in this cgroup (`CLONE_INTO_CGROUP`, Linux 5.7).
pub(crate) fn fork_into(exit_signal: ExitSignal, group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    let mut pidfd: RawFd = -1;
    let signal = if exit_signal == ExitSignal::None { 0 } else { libc::SIGCHLD.unsigned_abs() };
    // SAFETY: an all-zero clone_args is valid; every field that is used is set below.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = libc::CLONE_PIDFD as u64;
    arguments.pidfd = (&raw mut pidfd) as u64;
    arguments.exit_signal = u64::from(signal);
    if let Some(group) = group {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::try_from(group.as_raw_fd()).unwrap_or(u64::MAX);
    }
    // SAFETY: no memory is shared with the child and no stack is given, so it goes on with a copy of ours; the process
    // is single-threaded (keepers never start a thread), so no lock can be held by a thread that the child lacks.
    let mut result =
        unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    if result < 0 && group.is_none() && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
        // SAFETY: as above; a null stack means a copy of ours. The third argument receives the pidfd.
        result = unsafe {
            libc::syscall(
                libc::SYS_clone,
                libc::CLONE_PIDFD as u64 | u64::from(signal),
                std::ptr::null_mut::<u8>(),
                &raw mut pidfd,
                std::ptr::null_mut::<u8>(),
                0,
            )
        };
    }
    match result {
        0 => Ok(Fork::Child),
        pid if pid > 0 => {
            // SAFETY: the kernel has put a new descriptor there, owned by nobody else.
            let pidfd = (pidfd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(pidfd) });
            Ok(Fork::Parent { pid: i32::try_from(pid).unwrap_or(i32::MAX), pidfd })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// One child that changed state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) pid: i32,
    pub(crate) status: i32,
}

impl Waited {
    /// It has been reaped, and has not merely stopped or gone on.
    pub(crate) fn has_ended(self) -> bool {
        libc::WIFEXITED(self.status) || libc::WIFSIGNALED(self.status)
    }
}

/// What a non-blocking wait for any child said.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wait {
    /// This child has changed state.
    Changed(Waited),
    /// There are children; none has changed state.
    Nothing,
    /// ECHILD: there is no child. In a subreaper: there is no descendant.
    NoChild,
}

/// Which children a wait may report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitFor {
    /// All, whatever their exit signal, and also those that stopped or went on.
    Everything,
    /// Those that send SIGCHLD: in the guard the adopted orphans, never a living supervisor.
    Orphans,
}

/// `waitpid(-1, WNOHANG)`.
pub(crate) fn wait_any(what: WaitFor) -> Wait {
    let mut status = 0;
    let options = match what {
        WaitFor::Everything => libc::WNOHANG | libc::__WALL | libc::WUNTRACED | libc::WCONTINUED,
        WaitFor::Orphans => libc::WNOHANG,
    };
    // SAFETY: `status` is a valid place for the result.
    match unsafe { libc::waitpid(-1, &raw mut status, options) } {
        0 => Wait::Nothing,
        pid if pid > 0 => Wait::Changed(Waited { pid, status }),
        _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => Wait::Nothing,
        _ => Wait::NoChild,
    }
}

/// Reaps one child of whatever exit signal; `None` while it lives.
pub(crate) fn wait_for(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    let result = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG | libc::__WALL) };
    (result == pid).then_some(status)
}

/// Signals an own child that has not been reaped: nothing can have taken its pid.
pub(crate) fn signal_own_child(pid: i32, signal: i32) {
    debug_assert!(pid > 1);
    // SAFETY: no memory is involved. A pid above 1 names one process.
    unsafe { libc::kill(pid, signal) };
}

/// Signals the process group that an own child leads which has not been reaped: nothing else can have its number.
pub(crate) fn signal_own_group(leader: i32, signal: i32) {
    debug_assert!(leader > 1);
    // SAFETY: no memory is involved. A number below -1 names one process group.
    unsafe { libc::kill(-leader, signal) };
}

/// A descriptor that is readable while SIGCHLD is pending. All signals must be blocked.
pub(crate) fn child_signal_fd() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: writes a whole sigset_t through a valid pointer.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `set` is initialised and SIGCHLD is a signal.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD) };
    // SAFETY: `set` is initialised; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    // SAFETY: on success the descriptor is new and ours alone.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// Resources of everything that was reaped.
pub(crate) fn reaped_usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes a whole rusage through a valid pointer.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    // SAFETY: zeroed above, which is a valid rusage, and filled by the kernel.
    let usage = unsafe { usage.assume_init() };
    let ms = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_usec).unwrap_or(0) / 1000
    };
    Usage {
        user_ms: ms(usage.ru_utime),
        system_ms: ms(usage.ru_stime),
        max_rss_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        processes_peak: 0,
    }
}

/// `PR_SET_DUMPABLE` 0: no ptrace, no `/proc/PID/fd` and `environ` for other processes of our uid.
pub(crate) fn forbid_inspection() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}

/// The name that `ps` and `/proc/PID/comm` show.
pub(crate) fn set_name(name: &std::ffi::CStr) {
    // SAFETY: `name` is NUL-terminated; the kernel copies at most 16 bytes.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
}

/// Overwrites the argument area, which `/proc/PID/cmdline` and so `pkill -f` read, with `name`.
///
/// Must run while nothing holds a reference into the arguments: `std::env::args` copies them.
pub(crate) fn overwrite_arguments(name: &[u8]) {
    // A supervisor inherits what its guard has found out.
    static AREA: OnceLock<(usize, usize)> = OnceLock::new();
    let (start, end) = *AREA.get_or_init(|| argument_area().unwrap_or((0, 0)));
    if start == 0 || end <= start || name.len() >= end - start {
        return;
    }
    // SAFETY: the kernel says that [start, end) is this process's argument area, which is writable memory of the
    // initial stack; nothing in a keeper reads the arguments any more.
    unsafe { std::ptr::write_bytes(start as *mut u8, 0, end - start) };
    // SAFETY: as above; `name` is shorter than the area and does not overlap it.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr(), start as *mut u8, name.len()) };
}

/// Fields 48 and 49 of `proc_pid_stat(5)`.
fn argument_area() -> Option<(usize, usize)> {
    let mut text = [0; 1024];
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let read = rustix::fs::open("/proc/self/stat", flags, rustix::fs::Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut text));
    let text = read.ok().and_then(|count| text.get(..count))?;
    let tail = text.get(text.iter().rposition(|byte| *byte == b')')? + 2..)?;
    // The first field behind the name is field 3.
    let mut fields = tail.split(|byte| *byte == b' ').skip(45);
    let mut address = || std::str::from_utf8(fields.next()?).ok()?.parse::<usize>().ok();
    Some((address()?, address()?))
}

/// Leaves without destructors or exit handlers: a keeper shares its image with the host program.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` never returns and touches no memory of ours.
    unsafe { libc::_exit(status) }
}

/// Memory that guard and supervisors share: one word a supervisor.
#[derive(Debug)]
pub(crate) struct SharedWords {
    start: *mut u32,
    words: usize,
}

impl SharedWords {
    /// Maps `words` zeroed words that stay shared across fork.
    pub(crate) fn new(words: usize) -> io::Result<Self> {
        let length = words * size_of::<u32>();
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
                rustix::mm::MapFlags::SHARED,
            )
        }?;
        Ok(Self { start: start.cast(), words })
    }

    /// The word at `index`.
    pub(crate) fn word(&self, index: usize) -> Option<&std::sync::atomic::AtomicU32> {
        if index >= self.words {
            return None;
        }
        // SAFETY: `index` is within the mapping, which is never unmapped.
        let place = unsafe { self.start.add(index) };
        // SAFETY: the mapping is page-aligned, lives as long as the process, and is accessed as atomics only.
        Some(unsafe { std::sync::atomic::AtomicU32::from_ptr(place) })
    }
}

/// `close_range(2)`; false where the kernel has none.
pub(crate) fn close_range(first: RawFd, last: RawFd) -> bool {
    // SAFETY: the caller means to close descriptors whoever owns them; keepers call this before they own any other.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first.cast_unsigned(), last.cast_unsigned(), 0u32) };
    result == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Closes one descriptor.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: as in `close_range`.
    unsafe { libc::close(fd) };
}

/// Takes ownership of a descriptor that this process was started with.
pub(crate) fn adopt_fd(fd: RawFd) -> OwnedFd {
    // SAFETY: called once a descriptor at process start, for descriptors that were put there for this purpose.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Borrows a descriptor that the guard gave us by number and that stays open as long as we live.
pub(crate) fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: lifeline, owner and passed descriptors of a supervisor are kept by its first act and never closed while
    // they are borrowed.
    unsafe { BorrowedFd::borrow_raw(fd) }
}
