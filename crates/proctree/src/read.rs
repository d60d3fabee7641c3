//! Facts about one process, each read once.

use std::io;

use crate::parse::environ::Finder;
use crate::parse::stat::Stat;
use crate::parse::status::{Status, parse_status};
use crate::sys;

/// Longest command line that [`cmdline`] returns; the rest is cut.
const CMDLINE_BYTES_MAX: usize = 128 * 1024;

/// What reading one variable of another process's environment gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerRead {
    /// The first entry of that name, without the name. May be empty.
    Value(Vec<u8>),
    /// The environment was read and has no such entry.
    Absent,
    /// The environment could not be read: no permission, a zombie, gone.
    Unreadable,
}

/// `/proc/PID/stat`; `Ok(None)` when there is no such process, or `/proc` hides it (`hidepid`).
///
/// One open, one read, no heap beyond the 15 bytes of `comm`.
///
/// # Errors
/// Anything else: no descriptors left, no `/proc`, text that is not a stat line. `Unsupported` on Windows.
pub fn read_stat(pid: i32) -> io::Result<Option<Stat>> {
    if pid <= 0 {
        return Ok(None);
    }
    sys::read_stat(pid)
}

/// `/proc/PID/status`, as far as `stat` does not show it: users and tracer. `None` if it cannot be read.
pub fn read_status(pid: i32) -> Option<Status> {
    if pid <= 0 {
        return None;
    }
    let mut text = Vec::new();
    sys::for_each_chunk(pid, "status", &mut |chunk| {
        text.extend_from_slice(chunk);
        true
    })
    .ok()??;
    parse_status(&text)
}

/// The command line as the kernel keeps it: arguments, each ended by NUL, at most 128 KiB.
///
/// A process without one (kernel thread, zombie, erased argv) gives `[comm]`. `None` if nothing can be read.
pub fn cmdline(pid: i32) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let read = sys::for_each_chunk(pid, "cmdline", &mut |chunk| {
        let room = CMDLINE_BYTES_MAX.saturating_sub(text.len());
        text.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        text.len() < CMDLINE_BYTES_MAX
    });
    if matches!(read, Ok(Some(()))) && text.iter().any(|&b| b != 0) {
        return Some(text);
    }
    let stat = read_stat(pid).ok()??;
    let mut named = Vec::with_capacity(stat.comm.len() + 2);
    named.push(b'[');
    named.extend_from_slice(&stat.comm);
    named.push(b']');
    Some(named)
}

/// The value of the variable `name` in the environment that `pid` was executed with.
///
/// This is the memory that the program started with: `setenv` in the program does not show, and a program may
/// overwrite it. A hint, never a proof. Streams through a stack buffer; only the value is on the heap.
///
/// RACE(`environ_exec`): between an exec's change of address space and its set-up of the new environment the file
/// reads as empty, as it does after `env -i` and for a zombie. Narrowed by reading an empty one again, a few times;
/// callers look again before they conclude anything from `Absent`.
pub fn environ_value(pid: i32, name: &str) -> MarkerRead {
    const READS_MAX: usize = 4;
    if pid <= 0 {
        return MarkerRead::Unreadable;
    }
    for _ in 0..READS_MAX {
        let mut finder = Finder::new(name.as_bytes());
        let mut is_empty = true;
        let read = sys::for_each_chunk(pid, "environ", &mut |chunk| {
            is_empty = false;
            finder.feed(chunk);
            !finder.is_done()
        });
        match read {
            Ok(Some(())) if is_empty => std::thread::yield_now(),
            Ok(Some(())) => return finder.finish().map_or(MarkerRead::Absent, MarkerRead::Value),
            Ok(None) | Err(_) => return MarkerRead::Unreadable,
        }
    }
    match read_stat(pid) {
        Ok(Some(stat)) if !matches!(stat.state, b'Z' | b'X') => MarkerRead::Absent,
        _ => MarkerRead::Unreadable,
    }
}

/// The hard limit of `RLIMIT_RTTIME` of a process, in microseconds; `None` if unlimited or unreadable.
///
/// Kennel tags a task by a huge value here, because it survives `env -i`, setsid, exec and namespaces, and
/// `/proc/PID/limits` is readable where `environ` is not.
pub fn rttime_hard_limit(pid: i32) -> Option<u64> {
    if pid <= 0 {
        return None;
    }
    sys::rttime_hard_limit(pid)
}
