//! Writing to the caller's stdout and stderr without ever being deaf to signals while a reader is slow.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::sys::{async_fd, reopen_nonblocking};

/// One of the caller's streams.
#[derive(Debug)]
pub(crate) enum Sink {
    /// Nothing was written yet: most short commands never do, to one stream at least.
    Untouched(BorrowedFd<'static>),
    /// A pipe or terminal, by a non-blocking description of our own.
    Waiting(AsyncFd<OwnedFd>),
    /// A file, which does not block for long, or a socket.
    Direct(BorrowedFd<'static>),
}

impl Sink {
    pub(crate) fn new(fd: BorrowedFd<'static>) -> Self {
        Self::Untouched(fd)
    }

    fn open(fd: BorrowedFd<'static>) -> Self {
        match reopen_nonblocking(fd).map(|own| async_fd(own, Interest::WRITABLE)) {
            Some(Ok(own)) => Self::Waiting(own),
            _ => Self::Direct(fd),
        }
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// `BrokenPipe` when the reader has gone.
    pub(crate) async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if let Self::Untouched(fd) = self {
            *self = Self::open(*fd);
        }
        while !bytes.is_empty() {
            let written = match self {
                Self::Waiting(fd) => match rustix::io::write(fd.get_ref(), bytes) {
                    Err(Errno::AGAIN) => {
                        fd.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, bytes)?)).await?
                    }
                    other => other?,
                },
                Self::Untouched(fd) | Self::Direct(fd) => {
                    rustix::io::retry_on_intr(|| rustix::io::write(*fd, bytes))?
                }
            };
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}
