//! The pseudo-terminal of a task: made by us, ours as session leader, the leader's to use.
//!
//! The supervisor leads the terminal's session, and the leader has a foreground group of its own in it: so that group
//! is not orphaned, and the terminal's stop characters stop it. We keep the other side open too: a command that closes
//! its descriptors and opens `/dev/tty` later finds the terminal, and the master never reports a hang-up.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetwinsize,
};

use super::Task;
use crate::wire::{SizeSince, TerminalSize, TerminalState};

/// What a terminal in line mode keeps of a line (`N_TTY_BUF_SIZE` with room for its end, `termios(3)`).
pub(super) const LINE_BYTES_MAX: usize = 4095;
/// What may lie between a writer and us: 8 KiB in the kernel's flip buffers and 4 KiB in the line discipline, doubled.
/// `FIONREAD` sees only the latter.
pub(super) const HELD_BYTES_MAX: u64 = 24 << 10;
/// Sizes that are remembered for the replay of the screen.
const SIZES_MAX: usize = 256;
/// End of file where the program has switched its character off.
const CTRL_D: u8 = 4;

/// The side that we hold.
#[derive(Debug)]
pub(super) struct Terminal {
    master: OwnedFd,
    other_side: OwnedFd,
    /// Characters of the line that was begun and not ended, as far as we typed it.
    line: Cell<usize>,
}

impl Terminal {
    /// Becomes leader of a new session with a new terminal of this size; the second value is for the leader.
    ///
    /// # Errors
    /// Those of `setsid(2)`, `openpt(3)` and `TIOCSCTTY`; ENOSPC where the machine's terminals are used up.
    pub(super) fn open(size: TerminalSize) -> io::Result<(Self, OwnedFd)> {
        // In the session of the guard until now, never a group leader: this cannot be refused.
        rustix::process::setsid()?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        unlockpt(&master)?;
        // By descriptor (Linux 4.13): /dev/pts may be another one here, or none.
        let other_side = ioctl_tiocgptpeer(&master, flags)?;
        tcsetwinsize(&other_side, winsize(size))?;
        rustix::process::ioctl_tiocsctty(&other_side)?;
        fcntl_setfl(&master, fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        let leaders = rustix::io::fcntl_dupfd_cloexec(&other_side, 3)?;
        Ok((Self { master, other_side, line: Cell::new(0) }, leaders))
    }

    pub(super) fn master(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    /// The side that the command uses.
    pub(super) fn other_side(&self) -> BorrowedFd<'_> {
        self.other_side.as_fd()
    }

    /// The group to which the terminal's keys go.
    pub(super) fn foreground(&self) -> Option<i32> {
        tcgetpgrp(&self.master).ok().map(|group| group.as_raw_nonzero().get())
    }

    pub(super) fn size(&self) -> Option<TerminalSize> {
        let size = tcgetwinsize(&self.other_side).ok()?;
        Some(TerminalSize { cols: size.ws_col, rows: size.ws_row })
    }

    /// The kernel tells the foreground group by SIGWINCH.
    pub(super) fn resize(&self, size: TerminalSize) -> Result<(), Errno> {
        tcsetwinsize(&self.master, winsize(size))
    }

    pub(super) fn state(&self) -> TerminalState {
        let modes = tcgetattr(&self.other_side).map_or(LocalModes::empty(), |modes| modes.local_modes);
        TerminalState {
            size: self.size().unwrap_or(TerminalSize { cols: 0, rows: 0 }),
            line_mode: modes.contains(LocalModes::ICANON),
            echo: modes.contains(LocalModes::ECHO),
            foreground: self.foreground(),
        }
    }

    /// Length of the longest line that this would make in line mode; 0 in other modes.
    pub(super) fn longest_line(&self, bytes: &[u8]) -> usize {
        let Ok(modes) = tcgetattr(&self.other_side) else { return 0 };
        if !modes.local_modes.contains(LocalModes::ICANON) {
            return 0;
        }
        let begun = self.line.get();
        let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        lines.enumerate().map(|(at, line)| line.len() + if at == 0 { begun } else { 0 }).max().unwrap_or(0)
    }

    /// Follows the line that is being typed, so that [`Terminal::type_eof`] knows whether it is empty.
    pub(super) fn typed(&self, bytes: &[u8]) {
        if let Ok(modes) = tcgetattr(&self.other_side) {
            self.line.set(line_after(self.line.get(), bytes, &modes));
        }
    }

    /// Types the end-of-file character; after a begun line twice, because the first one only hands that line over.
    pub(super) fn type_eof(&self) -> Result<(), Errno> {
        let modes = tcgetattr(&self.other_side).ok();
        let line_mode = modes.as_ref().is_some_and(|modes| modes.local_modes.contains(LocalModes::ICANON));
        let code = modes.map_or(CTRL_D, |modes| modes.special_codes[SpecialCodeIndex::VEOF]);
        let code = if code == 0 { CTRL_D } else { code };
        let keys: &[u8] = if line_mode && self.line.get() > 0 { &[code, code] } else { &[code] };
        rustix::io::write(&self.master, keys)?;
        self.line.set(0);
        Ok(())
    }
}

fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_col: size.cols, ws_row: size.rows, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Characters of the current line after these keys, under the line editing of `termios(3)`. The word-erase character
/// counts as one character: two end-of-file characters after a line that is empty again would be one too many.
fn line_after(mut line: usize, bytes: &[u8], modes: &Termios) -> usize {
    if !modes.local_modes.contains(LocalModes::ICANON) {
        return 0;
    }
    let is = |byte: u8, code: SpecialCodeIndex| byte != 0 && byte == modes.special_codes[code];
    for byte in bytes.iter().copied() {
        let interrupts = modes.local_modes.contains(LocalModes::ISIG)
            && [SpecialCodeIndex::VINTR, SpecialCodeIndex::VQUIT, SpecialCodeIndex::VSUSP]
                .into_iter()
                .any(|code| is(byte, code));
        if matches!(byte, b'\n' | b'\r')
            || interrupts
            || is(byte, SpecialCodeIndex::VEOF)
            || is(byte, SpecialCodeIndex::VKILL)
            || is(byte, SpecialCodeIndex::VEOL)
        {
            line = 0;
        } else if is(byte, SpecialCodeIndex::VERASE) || is(byte, SpecialCodeIndex::VWERASE) {
            line = line.saturating_sub(1);
        } else if byte & 0xc0 != 0x80 {
            // One for a whole UTF-8 character: so many an erase takes away (IUTF8).
            line += 1;
        }
    }
    line
}

impl Task<'_> {
    /// From here on the output is meant for a terminal of this size.
    pub(super) fn note_size(&mut self, size: TerminalSize) {
        let since = SizeSince { offset: self.spool.header().total, size };
        let sizes = &mut self.record.sizes;
        match sizes.last_mut() {
            Some(last) if last.size == size => return,
            Some(last) if last.offset == since.offset => *last = since,
            _ => sizes.push(since),
        }
        if sizes.len() > SIZES_MAX {
            sizes.remove(1);
        }
        self.refresh_record();
        let _the_next_write_says_so = self.place.save(&self.record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes() -> Termios {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        tcgetattr(&master).expect("its modes")
    }

    #[test]
    fn the_line_that_is_being_typed_is_followed() {
        let check = |keys: &str, line| assert_eq!(line_after(0, keys.as_bytes(), &modes()), line, "{keys:?}");
        check("", 0);
        check("ab", 2);
        check("ab\n", 0);
        check("ab\rc", 1);
        check("€", 1);
        check("€\x7f", 0);
        check("ab\x15", 0);
        check("ab\x03", 0);
        check("ab\x04", 0);
        check("\x7f\x7f", 0);
    }
}
