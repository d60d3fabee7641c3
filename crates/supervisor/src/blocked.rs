//! In which call a process is blocked, and whether that call waits for one pipe or terminal.
//!
//! From the kernel's view alone: `/proc/PID/task/TID/syscall` names the call and its arguments, the links in
//! `/proc/PID/fd` what its descriptors are, the process's memory the sets of `poll` and `select`. Links are read, never
//! followed: a stat of what is behind one may hang with its file server.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;

/// Descriptors of one call that are looked at.
const FDS_MAX: usize = 1024;

/// A pipe or terminal as the processes that hold it see it.
#[derive(Debug)]
pub(crate) struct InputEnd {
    /// What `/proc/PID/fd/N` links to: `pipe:[7]`, `/dev/pts/3`.
    link: Vec<u8>,
    /// The number of the terminal as `stat` gives it; who has it as controlling one reaches it as `/dev/tty` too.
    tty_nr: Option<i32>,
}

impl InputEnd {
    /// What is behind a descriptor of ours; of a pipe either end.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Option<Self> {
        let link = fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
        let tty_nr = rustix::termios::isatty(fd).then(|| rustix::fs::fstat(fd).ok()).flatten();
        let tty_nr = tty_nr.map(|stat| tty_number(stat.st_rdev));
        Some(Self { link: link.into_os_string().into_vec(), tty_nr })
    }

    /// Whether descriptor `fd` of the process is it; an error where the link may not be read.
    fn is(&self, pid: i32, fd: i32, tty_nr: i32) -> Result<bool, Hidden> {
        match fs::read_link(format!("/proc/{pid}/fd/{fd}")) {
            Ok(link) => {
                let link = link.into_os_string().into_vec();
                Ok(link == self.link || link == b"/dev/tty" && self.tty_nr == Some(tty_nr))
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Hidden),
            Err(_closed) => Ok(false),
        }
    }
}

/// As `proc_pid_stat(5)` gives `tty_nr`.
fn tty_number(device: u64) -> i32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    ((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)).cast_signed()
}

/// The kernel does not let us see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hidden;

/// Whether a thread of the process is blocked in a call that waits for `input`.
pub(crate) fn waits_for(pid: i32, input: &InputEnd) -> Result<bool, Hidden> {
    let Ok(Some(stat)) = proctree::read_stat(pid) else { return Ok(false) };
    if stat.state != b'S' && stat.num_threads <= 1 {
        return Ok(false);
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Ok(false) };
    let mut hidden = false;
    for thread in threads.flatten() {
        let Ok(tid) = thread.file_name().to_string_lossy().parse() else { continue };
        match thread_waits_for(pid, tid, stat.tty_nr, input) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(Hidden) => hidden = true,
        }
    }
    if hidden { Err(Hidden) } else { Ok(false) }
}

fn thread_waits_for(pid: i32, tid: i32, tty_nr: i32, input: &InputEnd) -> Result<bool, Hidden> {
    let any = |fds: Vec<i32>| {
        for fd in fds {
            if input.is(pid, fd, tty_nr)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let call = match fs::read(format!("/proc/{pid}/task/{tid}/syscall")) {
        Ok(text) => match parse_syscall(&text) {
            Some(call) => call,
            // "running", or in the kernel for another reason than a call.
            None => return Ok(false),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && gone(pid, tid) => return Ok(false),
        Err(_not_permitted_or_not_built_in) => return by_wait_channel(pid, tid).and_then(any),
    };
    match Wait::of(&call) {
        Wait::Fd(fd) => any(vec![fd]),
        Wait::Poll { address, count } => {
            any(poll_set(&memory(pid, address, count.min(FDS_MAX) * POLL_ENTRY_BYTES)?))
        }
        Wait::Select { address: 0, .. } | Wait::Nothing => Ok(false),
        Wait::Select { address, count } => {
            let count = count.min(FDS_MAX);
            any(select_set(&memory(pid, address, count.div_ceil(64) * 8)?, count))
        }
        Wait::Epoll(fd) => match fs::read(format!("/proc/{pid}/fdinfo/{fd}")) {
            Ok(text) => any(epoll_set(&text)),
            Err(_) => Err(Hidden),
        },
        Wait::Restarted => by_wait_channel(pid, tid).and_then(any),
    }
}

fn gone(pid: i32, tid: i32) -> bool {
    fs::symlink_metadata(format!("/proc/{pid}/task/{tid}")).is_err()
}

/// Where the call cannot be seen: the function in which the thread sleeps. It tells a read, and the usual descriptor is
/// taken for the one that is read.
fn by_wait_channel(pid: i32, tid: i32) -> Result<Vec<i32>, Hidden> {
    match fs::read(format!("/proc/{pid}/task/{tid}/wchan")) {
        Ok(name) => match name.as_slice() {
            b"n_tty_read" | b"pipe_read" | b"anon_pipe_read" | b"pipe_wait" => Ok(vec![0]),
            // 0: it runs, or we may not know. The others sleep for many reasons.
            b"0" | b"wait_woken" => Err(Hidden),
            name if [b"poll".as_slice(), b"select", b"ep_"].iter().any(|part| contains(name, part)) => {
                Err(Hidden)
            }
            _elsewhere => Ok(Vec::new()),
        },
        Err(_) => Err(Hidden),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A part of a process's memory.
fn memory(pid: i32, address: u64, length: usize) -> Result<Vec<u8>, Hidden> {
    let file = File::open(format!("/proc/{pid}/mem")).map_err(|_| Hidden)?;
    let mut bytes = vec![0; length];
    // What has just returned from its call may have another stack by now.
    let read = file.read_at(&mut bytes, address).unwrap_or(0);
    bytes.truncate(read);
    Ok(bytes)
}

/// A blocked call: its number and its first two arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    number: i64,
    arguments: [u64; 2],
}

/// `proc_pid_syscall(5)`: number in decimal, six arguments, stack and program counter in hexadecimal; `-1` and no
/// arguments where the thread is blocked outside a call; `running`.
fn parse_syscall(text: &[u8]) -> Option<Call> {
    let text = std::str::from_utf8(text).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let number = fields.next()?.parse().ok().filter(|number| *number >= 0)?;
    let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    Some(Call { number, arguments: [argument()?, argument()?] })
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// One descriptor.
    Fd(i32),
    /// An array of `struct pollfd`.
    Poll { address: u64, count: usize },
    /// An `fd_set` of descriptors to read.
    Select { address: u64, count: usize },
    /// What an epoll set holds.
    Epoll(i32),
    /// A poll that was stopped and goes on: its arguments are not told.
    Restarted,
    /// Nothing that input could end.
    Nothing,
}

impl Wait {
    fn of(call: &Call) -> Self {
        let [first, second] = call.arguments;
        // The kernel takes the low half for an int.
        let fd = |value: u64| i32::from_ne_bytes(low_half(value));
        let count = |value: u64| usize::try_from(fd(value)).unwrap_or(0);
        match call.number {
            libc::SYS_read | libc::SYS_readv | libc::SYS_splice => Self::Fd(fd(first)),
            libc::SYS_sendfile => Self::Fd(fd(second)),
            libc::SYS_ppoll => Self::Poll { address: first, count: count(second) },
            libc::SYS_pselect6 => Self::Select { address: second, count: count(first) },
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Self::Epoll(fd(first)),
            libc::SYS_restart_syscall => Self::Restarted,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => Self::Poll { address: first, count: count(second) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => Self::Select { address: second, count: count(first) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => Self::Epoll(fd(first)),
            _ => Self::Nothing,
        }
    }
}

fn low_half(value: u64) -> [u8; 4] {
    let [.., a, b, c, d] = value.to_be_bytes();
    u32::from_be_bytes([a, b, c, d]).to_ne_bytes()
}

const POLL_ENTRY_BYTES: usize = 8;

/// Descriptors that are polled for reading: `int fd; short events, revents`.
fn poll_set(bytes: &[u8]) -> Vec<i32> {
    let (entries, _rest) = bytes.as_chunks::<POLL_ENTRY_BYTES>();
    let wanted = entries.iter().filter_map(|[a, b, c, d, e, f, ..]| {
        let fd = i32::from_ne_bytes([*a, *b, *c, *d]);
        (i16::from_ne_bytes([*e, *f]) & libc::POLLIN != 0 && fd >= 0).then_some(fd)
    });
    wanted.collect()
}

/// Descriptors of an `fd_set`: longs of bits, the lowest first.
fn select_set(bytes: &[u8], count: usize) -> Vec<i32> {
    let (words, _rest) = bytes.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    let is_set = |fd: &usize| words.get(fd / 64).is_some_and(|word| word >> (fd % 64) & 1 == 1);
    (0..count).filter(is_set).filter_map(|fd| i32::try_from(fd).ok()).collect()
}

/// `proc_pid_fdinfo(5)`: `tfd:        5 events:       19 data: …`, events in hexadecimal.
fn epoll_set(text: &[u8]) -> Vec<i32> {
    let text = String::from_utf8_lossy(text);
    let target = |line: &str| {
        let mut fields = line.strip_prefix("tfd:")?.split_ascii_whitespace();
        let fd = fields.next()?.parse().ok()?;
        let events = fields.nth(1).and_then(|events| u32::from_str_radix(events, 16).ok())?;
        (events & libc::EPOLLIN.cast_unsigned() != 0).then_some(fd)
    };
    text.lines().filter_map(target).take(FDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_a_call() {
        let call = |number, first, second| Some(Call { number, arguments: [first, second] });
        assert_eq!(
            parse_syscall(b"0 0x0 0x7ffe10 0x1000 0x0 0x0 0x0 0x7ffd 0x7f\n"),
            call(0, 0, 0x007f_fe10)
        );
        for odd in ["", "running\n", "-1 0x7ffd 0x7f\n", "0", "0 0x0", "0 0 0", "x 0x0 0x0", "0 0xg 0x0"] {
            assert_eq!(parse_syscall(odd.as_bytes()), None, "{odd:?}");
        }
    }

    #[test]
    fn sets_of_descriptors_are_read() {
        let entry =
            |fd: i32, events: i16| [fd.to_ne_bytes().as_slice(), &events.to_ne_bytes(), &[0; 2]].concat();
        let polled = [entry(0, libc::POLLIN), entry(4, libc::POLLOUT), entry(-1, libc::POLLIN), vec![9; 5]];
        assert_eq!(poll_set(&polled.concat()), [0]);
        assert_eq!(select_set(&[1 << 0 | 1 << 3, 2_u64, 1].map(u64::to_ne_bytes).concat(), 70), [0, 3, 65]);
        assert_eq!(select_set(&[], 70), [0; 0]);
        let text =
            b"pos:\t0\nflags:\t02\ntfd:        0 events:       19 data: 0 pos:0\ntfd: 7 events: 4\ntfd: x\n";
        assert_eq!(epoll_set(text), [0]);
    }

    #[test]
    fn arguments_are_taken_as_the_kernel_takes_them() {
        let read = |fd| Call { number: libc::SYS_read, arguments: [fd, 0] };
        assert_eq!(Wait::of(&read(0xffff_ffff_0000_0003)), Wait::Fd(3));
        assert_eq!(Wait::of(&read(u64::MAX)), Wait::Fd(-1));
        assert_eq!(Wait::of(&Call { number: libc::SYS_nanosleep, arguments: [0, 0] }), Wait::Nothing);
    }

    #[test]
    fn the_number_of_a_terminal_is_the_one_of_stat() {
        // /dev/pts/3 and /dev/pts/300: major 136.
        assert_eq!(tty_number(rustix::fs::makedev(136, 3)), 0x8803);
        assert_eq!(tty_number(rustix::fs::makedev(136, 300)), 0x0010_882c);
    }
}
