//! Where the shell ended and with which pipeline statuses, told by the shell itself (DESIGN 5).
//!
//! `BASH_ENV` names a file that unsets `BASH_ENV` and sets an EXIT trap; the trap writes to a FIFO. Opening a FIFO for
//! reading and writing never blocks, no descriptor stays open for children, the redirection of stderr comes first so
//! that `set -x` (also from an exported `SHELLOPTS`) shows nothing, and `ulimit -f` does not apply to a FIFO. No report means: not known.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};

use super::place::{ENV_FILE, FIFO_FILE, Place};
use crate::bytes::ByteStr;

/// The reading end of the report.
#[derive(Debug)]
pub(super) struct EndReport {
    fifo: OwnedFd,
}

impl EndReport {
    /// Makes FIFO and start-up file; returns the `BASH_ENV` variable for the shell.
    pub(super) fn prepare(place: &Place) -> io::Result<(Self, ByteStr)> {
        mknodat(&place.dir, FIFO_FILE, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fifo = openat(&place.dir, FIFO_FILE, flags, Mode::empty())?;
        let directory = place.path();
        std::fs::write(directory.join(ENV_FILE), start_up(directory.join(FIFO_FILE).as_os_str().as_bytes()))?;
        let mut variable = b"BASH_ENV=".to_vec();
        variable.extend_from_slice(directory.join(ENV_FILE).as_os_str().as_bytes());
        Ok((Self { fifo }, ByteStr(variable)))
    }

    /// What the shell wrote.
    pub(super) fn read(&self) -> Option<(Vec<i32>, ByteStr)> {
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = rustix::io::read(&self.fifo, &mut buffer) {
            text.extend_from_slice(buffer.get(..count)?);
        }
        parse(&text)
    }
}

fn start_up(fifo: &[u8]) -> Vec<u8> {
    let mut trap = br#"{ builtin printf '%s\0' "${PIPESTATUS[@]}" "$PWD"; } 2>/dev/null 1<>"#.to_vec();
    trap.extend(quoted(fifo));
    trap.extend_from_slice(b" || builtin :");
    let mut file = b"{ unset BASH_ENV; trap -- ".to_vec();
    file.extend(quoted(&trap));
    file.extend_from_slice(b" EXIT; } 2>/dev/null\n");
    file
}

/// In single quotes, for any shell.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in text {
        if *byte == b'\'' {
            out.extend_from_slice(br"'\''");
        } else {
            out.push(*byte);
        }
    }
    out.push(b'\'');
    out
}

/// NUL-terminated fields: one or more statuses, then a directory.
fn parse(text: &[u8]) -> Option<(Vec<i32>, ByteStr)> {
    let fields: Vec<&[u8]> = text.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    let (cwd, statuses) = fields.split_last()?;
    let statuses = statuses
        .iter()
        .map(|status| std::str::from_utf8(status).ok()?.parse().ok())
        .collect::<Option<Vec<i32>>>()
        .filter(|statuses| !statuses.is_empty())?;
    cwd.starts_with(b"/").then(|| (statuses, ByteStr(cwd.to_vec())))
}

/// A command line that does not fit into one argument (`MAX_ARG_STRLEN`, 128 KiB), as a file; returns its path.
pub(super) fn command_file(place: &Place, line: &[u8]) -> io::Result<Vec<u8>> {
    let path = place.path().join(super::place::COMMAND_FILE);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(CWD, &path, flags, Mode::RUSR | Mode::WUSR)?);
    io::Write::write_all(&mut &file, line)?;
    Ok(path.as_os_str().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_and_nonsense_is_not() {
        assert_eq!(parse(b"141\x000\0/tmp\0"), Some((vec![141, 0], ByteStr(b"/tmp".to_vec()))));
        for nonsense in [&b""[..], b"\0", b"0\0", b"x\0/tmp\0", b"0\0tmp\0", b"0\0/tmp"] {
            assert_eq!(parse(nonsense), None, "{nonsense:?}");
        }
    }

    #[test]
    fn quotes_survive() {
        assert_eq!(quoted(b"it's"), br"'it'\''s'");
    }
}
