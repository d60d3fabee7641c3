//! A named pipe as ready signal and lifeline: named, because a command started in the background inherits descriptors 0
//! to 2 only.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Mode, OFlags};

use crate::Deadline;

/// The reading end of a FIFO. A fixture writes a line when it is in place and keeps its end open for as long as one of its
/// processes lives.
///
/// A fixture that is to *read* from it opens it with `<>`: with `<` it would wait for ever if the test had written and
/// closed before.
#[derive(Debug)]
pub struct Fifo {
    path: PathBuf,
    reader: OwnedFd,
    seen: Vec<u8>,
}

impl Fifo {
    /// Make one at `path`.
    ///
    /// # Panics
    /// When the file system refuses.
    pub fn create(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        rustix::fs::mkfifoat(CWD, &path, Mode::from_bits_truncate(0o666)).expect("make a FIFO");
        rustix::fs::chmod(&path, Mode::from_bits_truncate(0o666)).expect("open the FIFO to other users");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let reader = rustix::fs::open(&path, flags, Mode::empty()).expect("open the FIFO");
        Self { path, reader, seen: Vec::new() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path as text, for use in a command.
    ///
    /// # Panics
    /// Never: test paths are UTF-8.
    pub fn word(&self) -> &str {
        self.path.to_str().expect("test paths are UTF-8")
    }

    /// Wait for the next line.
    ///
    /// # Panics
    /// When none comes within twenty seconds.
    pub fn line(&mut self) -> String {
        let deadline = Deadline::usual();
        loop {
            if let Some(end) = self.seen.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.seen.drain(..=end).collect();
                return String::from_utf8_lossy(&line).trim_end().to_owned();
            }
            assert!(!deadline.passed(), "no ready line in {}", self.path.display());
            let _closed = self.take(deadline);
        }
    }

    /// Wait for the next line and read it as a pid.
    ///
    /// # Panics
    /// When none comes, or it is no number.
    pub fn pid(&mut self) -> u32 {
        self.line().parse().expect("a pid in the ready line")
    }

    /// Whether, within `limit`, every process that held the other end has closed it or died.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        let deadline = Deadline::after(limit);
        while !deadline.passed() {
            if self.take(deadline) {
                return true;
            }
        }
        self.take(Deadline::after(Duration::ZERO))
    }

    /// Whether somebody holds the other end at this moment.
    pub fn held(&mut self) -> bool {
        !self.take(Deadline::after(Duration::ZERO))
    }

    /// Wait for something to read, and keep it; true at end of file.
    fn take(&mut self, deadline: Deadline) -> bool {
        let mut poll = [PollFd::new(&self.reader, PollFlags::IN)];
        if !deadline.poll(&mut poll) {
            return false;
        }
        let hung_up = poll.first().is_some_and(|fd| fd.revents().contains(PollFlags::HUP));
        let mut buffer = [0_u8; 4096];
        match rustix::io::read(&self.reader, &mut buffer) {
            Ok(0) => true,
            Ok(count) => {
                self.seen.extend_from_slice(buffer.get(..count).unwrap_or_default());
                false
            }
            Err(_) => hung_up,
        }
    }
}
