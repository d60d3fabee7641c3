//! Signals of the caller, its descriptors and its terminal.
#![expect(unsafe_code, reason = "signalfd, the signal mask and registering descriptors have no safe wrapper")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::FdFlags;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Descriptors above 2 that this process was started with and that an exec would pass on.
///
/// One `poll(2)` over the usual numbers tells which are open; the size of `/proc/self/fd` (their count, Linux 6.2) tells
/// whether that was all. Else the directory is listed, which costs ten times as much.
pub(crate) fn inherited_descriptors() -> Vec<i32> {
    let usual = open_below(USUAL_FDS);
    let count = rustix::fs::stat("/proc/self/fd").map_or(0, |stat| stat.st_size);
    let open = if usize::try_from(count) == Ok(usual.len()) { usual } else { listed_descriptors() };
    open.into_iter().filter(|fd| *fd > 2 && survives_exec(*fd)).collect()
}

const USUAL_FDS: i32 = 256;

fn open_below(limit: i32) -> Vec<i32> {
    let mut polled: Vec<libc::pollfd> =
        (0..limit).map(|fd| libc::pollfd { fd, events: 0, revents: 0 }).collect();
    let length = libc::nfds_t::try_from(polled.len()).unwrap_or(0);
    // SAFETY: the array is valid for `length` entries; a timeout of 0 returns at once.
    unsafe { libc::poll(polled.as_mut_ptr(), length, 0) };
    polled.iter().filter(|entry| entry.revents & libc::POLLNVAL == 0).map(|entry| entry.fd).collect()
}

fn listed_descriptors() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn survives_exec(fd: i32) -> bool {
    // SAFETY: only its flags are read; a number that is not open gives EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_getfd(borrowed).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
}

/// A signal, and whether the kernel sent it: a terminal's Ctrl-C, which the whole foreground group has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caught {
    pub(crate) number: i32,
    pub(crate) from_terminal: bool,
}

/// Signals of this process as a stream.
#[derive(Debug)]
pub(crate) struct Signals {
    fd: AsyncFd<OwnedFd>,
}

impl Signals {
    /// Blocks the signals and reads them instead. An ignored one stays ignored.
    pub(crate) fn catch(numbers: &[i32]) -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: writes a whole sigset_t through a valid pointer.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        for number in numbers {
            // SAFETY: the set was initialised above.
            unsafe { libc::sigaddset(set.as_mut_ptr(), *number) };
        }
        // SAFETY: the set is initialised; the old mask is not asked for.
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) };
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd: async_fd(fd, Interest::READABLE)? })
    }

    /// A descriptor of its own that is readable while a signal waits.
    pub(crate) fn waiting(&self) -> io::Result<OwnedFd> {
        self.fd.get_ref().try_clone()
    }

    /// The next signal.
    pub(crate) async fn next(&self) -> Caught {
        let read = |fd: &OwnedFd| {
            let mut bytes = [0u8; size_of::<libc::signalfd_siginfo>()];
            rustix::io::read(fd, &mut bytes)?;
            // ssi_signo, ssi_errno, ssi_code: the first three 32-bit words (signalfd(2)).
            let word = |at: usize| {
                bytes
                    .get(at..at + 4)
                    .and_then(|word| word.first_chunk::<4>())
                    .map_or(0, |word| i32::from_ne_bytes(*word))
            };
            Ok(Caught { number: word(0), from_terminal: word(8) == libc::SI_KERNEL })
        };
        match self.fd.async_io(Interest::READABLE, read).await {
            Ok(caught) => caught,
            Err(_no_signals_any_more) => std::future::pending().await,
        }
    }
}

/// Stops this process as the terminal's or another's wish says, after the task has been stopped.
pub(crate) fn stop_self() {
    // SAFETY: no memory is involved.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Ends this process at once, from any thread: no destructors, no buffers.
pub(crate) fn exit_now(code: u8) -> ! {
    // SAFETY: no memory is involved, and it does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// The caller's terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    tty: OwnedFd,
    modes: Termios,
    /// Our process group.
    pub(crate) group: i32,
}

impl Terminal {
    /// The terminal on one of the standard descriptors that is also our controlling one.
    pub(crate) fn of_caller() -> Option<Self> {
        Self::of_stdin()
            .or_else(|| Self::on(rustix::stdio::stdout()))
            .or_else(|| Self::on(rustix::stdio::stderr()))
    }

    /// The one at which the caller types.
    pub(crate) fn of_stdin() -> Option<Self> {
        Self::on(rustix::stdio::stdin())
    }

    fn on(fd: BorrowedFd<'_>) -> Option<Self> {
        if !isatty(fd) {
            return None;
        }
        tcgetpgrp(fd).ok()?;
        let tty = rustix::io::fcntl_dupfd_cloexec(fd, 3).ok()?;
        let modes = tcgetattr(&tty).ok()?;
        Some(Self { tty, modes, group: rustix::process::getpgrp().as_raw_nonzero().get() })
    }

    /// Every key as it comes, nothing echoed. Only from the foreground: a job in the background would be stopped.
    pub(crate) fn make_raw(&self) {
        if self.is_ours() {
            let mut raw = self.modes.clone();
            raw.make_raw();
            let _terminal_gone = tcsetattr(&self.tty, OptionalActions::Drain, &raw);
        }
    }

    /// Its size, if it has one.
    pub(crate) fn size(&self) -> Option<kennel::TerminalSize> {
        let size = tcgetwinsize(&self.tty).ok()?;
        (size.ws_col > 0 && size.ws_row > 0)
            .then_some(kennel::TerminalSize { cols: size.ws_col, rows: size.ws_row })
    }

    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|group| group.as_raw_nonzero().get() == self.group)
    }

    /// Puts the modes back that the command may have changed before something ended it. Only from the foreground:
    /// another job's modes are not ours.
    pub(crate) fn restore(&self) {
        if self.is_ours() {
            let _terminal_gone = tcsetattr(&self.tty, OptionalActions::Drain, &self.modes);
        }
    }
}

/// A second open file description of the same pipe or terminal, which can be non-blocking without the other users of
/// descriptor `fd` noticing; `None` for files and sockets.
pub(crate) fn reopen_nonblocking(fd: impl AsFd) -> Option<OwnedFd> {
    use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat, open};
    let stat = fstat(&fd).ok()?;
    if fcntl_getfl(&fd).ok()? & OFlags::RWMODE == OFlags::RDONLY {
        // A stream that may not be written to must not become one that may.
        return None;
    }
    if !matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::CharacterDevice) {
        return None;
    }
    let path = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Registers a descriptor that this value then owns alone.
pub(crate) fn async_fd(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is valid and stays open; nobody replaces or closes it while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

/// Whether a signal is ignored, as `nohup` leaves SIGHUP.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the kernel writes a whole sigaction through a valid pointer; nothing is changed.
    let status = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed above and, on success, filled by the kernel.
    status == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Where the C runtime begins the program.
///
/// Does what the program relies on of the standard library's start: 0, 1 and 2 are open, so that nothing of ours gets
/// their numbers, and SIGPIPE is ignored, so that a reader that goes is an error and not our death.
#[cfg(not(test))]
#[unsafe(no_mangle)]
extern "C" fn main(_argc: libc::c_int, _argv: *const *const libc::c_char) -> libc::c_int {
    for fd in 0..3 {
        // SAFETY: only the flags of a descriptor are read; one that is not open gives EBADF.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
            // A stream that the caller closed: writing to it has to fail, as it would have.
            let way = if fd == 0 { libc::O_RDWR } else { libc::O_RDONLY };
            // SAFETY: the path is NUL-terminated. The lowest free number is `fd`, because those below it are open.
            unsafe { libc::open(c"/dev/null".as_ptr(), way) };
        }
    }
    // SAFETY: no handler is involved.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    libc::c_int::from(crate::entry())
}
