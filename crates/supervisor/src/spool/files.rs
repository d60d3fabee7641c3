//! Pipes and files of the writer.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, pwrite, retry_on_intr};

use super::writer::Drained;

/// Whether the pipe holds bytes, without taking any.
pub(super) fn peek(pipe: BorrowedFd<'_>) -> io::Result<Drained> {
    let waiting = rustix::io::ioctl_fionread(pipe)?;
    if waiting > 0 {
        return Ok(Drained::Some(waiting));
    }
    fault::point("peek-late");
    let mut polled = [PollFd::from_borrowed_fd(pipe, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    let [seen] = polled;
    // RACE(peek-late): bytes that came between the two looks show as readable; the next turn takes them.
    let ended = seen.revents().contains(PollFlags::HUP) && !seen.revents().contains(PollFlags::IN);
    Ok(if ended { Drained::Eof } else { Drained::Dry })
}

pub(super) fn open_once<'slot>(
    slot: &'slot mut Option<OwnedFd>,
    dir: &OwnedFd,
    name: &str,
) -> Result<&'slot OwnedFd, Errno> {
    if slot.is_none() {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        *slot = Some(openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?);
    }
    slot.as_ref().ok_or(Errno::BADF)
}

pub(super) fn copy(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    let mut at = 0;
    loop {
        let count = retry_on_intr(|| rustix::io::pread(from, &mut buffer, at))?;
        if count == 0 {
            return Ok(());
        }
        let mut rest = buffer.get(..count).unwrap_or_default();
        while !rest.is_empty() {
            let written = retry_on_intr(|| pwrite(to, rest, at))?;
            at += written as u64;
            rest = rest.get(written..).unwrap_or_default();
        }
    }
}
