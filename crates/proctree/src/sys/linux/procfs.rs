//! Reads of `/proc` through buffers on the stack: the callers may be out of memory, processes and threads.

use std::ffi::CStr;
use std::fmt::{self, Write as _};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::{Mode, OFlags, RawDir, open, stat};
use rustix::io::{Errno, read};

use super::exists;
use crate::parse::children::Pids;
use crate::parse::limits::parse_rttime_hard;
use crate::parse::number;
use crate::parse::stat::{Stat, parse_stat};
use crate::sys::ChildEvent;

/// What one read of a seq file returns at most: a page.
const PAGE_BYTES: usize = 4096;

/// A path below `/proc`, on the stack and ended by NUL.
pub(super) struct ProcPath {
    bytes: [u8; 64],
    len: usize,
}

impl ProcPath {
    pub(super) fn new(args: fmt::Arguments<'_>) -> io::Result<Self> {
        let mut path = Self { bytes: [0; 64], len: 0 };
        // The last byte is never written, so there is always a NUL.
        path.write_fmt(args).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(path)
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

impl fmt::Write for ProcPath {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.checked_add(text.len()).filter(|&end| end < self.bytes.len()).ok_or(fmt::Error)?;
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

pub(crate) fn read_stat(pid: i32) -> io::Result<Option<Stat>> {
    let mut buffer = [0; 1024];
    let Some(len) = read_start(format_args!("/proc/{pid}/stat"), &mut buffer)? else { return Ok(None) };
    let text = buffer.get(..len).unwrap_or_default();
    parse_stat(text).map(Some).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

pub(crate) fn rttime_hard_limit(pid: i32) -> Option<u64> {
    let mut buffer = [0; 2048];
    let len = read_start(format_args!("/proc/{pid}/limits"), &mut buffer).ok()??;
    parse_rttime_hard(buffer.get(..len)?)
}

/// Hands `/proc/PID/FILE` to `chunk` piece by piece until it returns false. `None` if there is no such process.
pub(crate) fn for_each_chunk(
    pid: i32,
    file: &str,
    chunk: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<Option<()>> {
    let Some(fd) = open_proc(format_args!("/proc/{pid}/{file}"), OFlags::RDONLY)? else { return Ok(None) };
    read_chunks(&fd, chunk)
}

/// The children of every thread of `pid`.
pub(crate) fn for_each_child(pid: i32, found: &mut dyn FnMut(ChildEvent)) -> io::Result<()> {
    if pid <= 0 {
        return Ok(());
    }
    if !children_files_exist() {
        return for_each_child_by_scan(pid, found);
    }
    // 2 + threads links: for the usual one thread this saves listing the directory.
    match stat(ProcPath::new(format_args!("/proc/{pid}/task"))?.as_c_str()) {
        Ok(task) if task.st_nlink == 3 => return children_file(pid, pid, found).map(drop),
        Ok(_) => {}
        Err(Errno::NOENT | Errno::SRCH) if exists(pid) => return Err(io::ErrorKind::PermissionDenied.into()),
        Err(Errno::NOENT | Errno::SRCH) => return Ok(()),
        Err(e) => return Err(e.into()),
    }
    let Some(tasks) = open_proc(format_args!("/proc/{pid}/task"), OFlags::RDONLY | OFlags::DIRECTORY)? else {
        return Ok(());
    };
    for_each_number::<1024>(&tasks, &mut |tid, _| {
        found(ChildEvent::NextThread);
        children_file(pid, tid, found).map(drop)
    })
}

/// The children of the calling thread.
pub(crate) fn for_each_child_of_thread(found: &mut dyn FnMut(i32)) -> io::Result<()> {
    let mut only_children = |event| match event {
        ChildEvent::Child(child) => found(child),
        ChildEvent::NextThread => {}
    };
    match open_proc(format_args!("/proc/thread-self/children"), OFlags::RDONLY)? {
        Some(fd) => pids_of(&fd, &mut only_children),
        None => for_each_child_by_scan(rustix::process::getpid().as_raw_pid(), &mut only_children),
    }
}

/// The pid of every process that `/proc` lists.
pub(crate) fn for_each_pid(found: &mut dyn FnMut(i32)) -> io::Result<()> {
    for_each_process(&mut |pid, _| found(pid))
}

/// Every process that `/proc` lists, by pid and inode number of its entry there. A process on the same pid gets
/// another inode, because the entry of a process is unhashed when it is reaped. (The numbers wrap after 2^32 inodes.)
pub(crate) fn for_each_process(found: &mut dyn FnMut(i32, u64)) -> io::Result<()> {
    let dir = open_proc(format_args!("/proc"), OFlags::RDONLY | OFlags::DIRECTORY)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    for_each_number::<8192>(&dir, &mut |pid, inode| {
        found(pid, inode);
        Ok(())
    })
}

/// Machine id, boot id, PID-namespace inode.
pub(crate) fn host_id() -> io::Result<(String, String, u64)> {
    let machine = read_line(c"/etc/machine-id").unwrap_or_default();
    let boot = read_line(c"/proc/sys/kernel/random/boot_id")?;
    let pidns = stat(c"/proc/self/ns/pid")?.st_ino;
    Ok((machine, boot, pidns))
}

/// Whether the kernel has `CONFIG_PROC_CHILDREN`. Asked once: it cannot change while we run.
fn children_files_exist() -> bool {
    const UNKNOWN: u8 = 0;
    const PRESENT: u8 = 1;
    const MISSING: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        PRESENT => true,
        MISSING => false,
        _ => match stat(c"/proc/thread-self/children") {
            Ok(_) => {
                ANSWER.store(PRESENT, Ordering::Relaxed);
                true
            }
            Err(Errno::NOENT) if stat(c"/proc/thread-self").is_ok() => {
                ANSWER.store(MISSING, Ordering::Relaxed);
                false
            }
            // No /proc at all, or out of descriptors: nothing was learned.
            Err(_) => true,
        },
    }
}

/// The slow way: every process whose parent is `pid`.
fn for_each_child_by_scan(pid: i32, found: &mut dyn FnMut(ChildEvent)) -> io::Result<()> {
    for_each_pid(&mut |candidate| {
        if matches!(read_stat(candidate), Ok(Some(stat)) if stat.ppid == pid) {
            found(ChildEvent::Child(candidate));
        }
    })
}

/// One children file. A thread that has gone has no children any more: they are its siblings' now.
fn children_file(pid: i32, tid: i32, found: &mut dyn FnMut(ChildEvent)) -> io::Result<Option<()>> {
    let Some(fd) = open_proc(format_args!("/proc/{pid}/task/{tid}/children"), OFlags::RDONLY)? else {
        return Ok(None);
    };
    pids_of(&fd, found).map(Some)
}

fn pids_of(fd: &OwnedFd, found: &mut dyn FnMut(ChildEvent)) -> io::Result<()> {
    let mut pids = Pids::default();
    let mut child = |pid| found(ChildEvent::Child(pid));
    read_chunks(fd, &mut |chunk| {
        pids.feed(chunk, &mut child);
        true
    })?;
    pids.finish(&mut child);
    Ok(())
}

/// `None` for ENOENT and ESRCH: what the file was about has gone.
pub(super) fn open_proc(path: fmt::Arguments<'_>, flags: OFlags) -> io::Result<Option<OwnedFd>> {
    match open(ProcPath::new(path)?.as_c_str(), flags | OFlags::CLOEXEC, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// `None` for ESRCH in the middle, which is an answer too.
pub(super) fn read_chunks(fd: &OwnedFd, chunk: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<Option<()>> {
    let mut buffer = [0; PAGE_BYTES];
    loop {
        match read(fd, &mut buffer) {
            Ok(0) => return Ok(Some(())),
            Ok(len) => {
                if !chunk(buffer.get(..len).unwrap_or_default()) {
                    return Ok(Some(()));
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::SRCH | Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The first read of a file whose whole text one read returns.
fn read_start(path: fmt::Arguments<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let Some(fd) = open_proc(path, OFlags::RDONLY)? else { return Ok(None) };
    loop {
        match read(&fd, &mut *buffer) {
            Ok(len) => return Ok(Some(len)),
            Err(Errno::INTR) => {}
            Err(Errno::SRCH | Errno::NOENT) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The entries of a directory that are numbers, with their inodes, through a stack buffer of `SIZE` bytes.
pub(super) fn for_each_number<const SIZE: usize>(
    dir: impl AsFd,
    found: &mut dyn FnMut(i32, u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); SIZE];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) => {
                if let Some(value) = number(entry.file_name().to_bytes()) {
                    found(value, entry.ino())?;
                }
            }
            Err(Errno::NOENT | Errno::SRCH) => break,
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

fn read_line(path: &CStr) -> io::Result<String> {
    let fd = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut buffer = [0; 128];
    let len = read(&fd, &mut buffer)?;
    let text = buffer.get(..len).unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}
