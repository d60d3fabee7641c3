//! `run --pty`: what is typed at the caller's terminal, or comes in on stdin, goes to the command's own terminal as it is;
//! so do changes of size. The caller's terminal is raw meanwhile: its keys are the command's, Ctrl-C and Ctrl-Z too.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use kennel::{Error, InputPort, Task, TerminalSize};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;

use crate::sys::{Terminal, async_fd};

/// Below what a terminal in line mode keeps of one line, so that a long paste is typed in pieces.
const READ_BYTES: usize = 1024;

/// Signals of the caller that are the relay's business.
pub(crate) const SIGNALS: [i32; 2] = [libc::SIGWINCH, libc::SIGCONT];

/// What goes on between two terminals. Dropping it puts the caller's back as it was.
#[derive(Debug)]
pub(crate) struct Relay {
    terminal: Option<Terminal>,
    typing: JoinHandle<()>,
}

impl Relay {
    /// Begins: raw mode, where the caller types at a terminal, and a reader of stdin.
    pub(crate) fn begin(task: &Task) -> Self {
        let terminal = Terminal::of_stdin();
        if let Some(terminal) = &terminal {
            terminal.make_raw();
        }
        let task = task.clone();
        let typing = tokio::spawn(async move {
            // What cannot be typed any more is nobody's loss: the command has ended, and the end is told elsewhere.
            let _ended = type_all(&task).await;
        });
        Self { terminal, typing }
    }

    /// The caller is about to be stopped: its shell gets the terminal as it was.
    pub(crate) fn pause(&self) {
        if let Some(terminal) = &self.terminal {
            terminal.restore();
        }
    }

    /// The caller goes on, or its terminal has another size.
    pub(crate) async fn follow(&self, task: &Task, signal: i32) {
        if signal == libc::SIGCONT
            && let Some(terminal) = &self.terminal
        {
            terminal.make_raw();
        }
        if let Some(size) = size_of_caller() {
            let _ended = task.resize(size).await;
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.typing.abort();
        self.pause();
    }
}

/// The size of the terminal at which the caller sits.
pub(crate) fn size_of_caller() -> Option<TerminalSize> {
    Terminal::of_caller()?.size()
}

/// What the caller's terminal understands, if the command's output goes there.
#[expect(clippy::disallowed_methods, reason = "the environment is read in cli")]
pub(crate) fn term_of_caller() -> Option<OsString> {
    std::env::var_os("TERM")
        .filter(|name| !name.is_empty() && rustix::termios::isatty(rustix::stdio::stdout()))
}

async fn type_all(task: &Task) -> kennel::Result<()> {
    let mut port = task.input_port().await?;
    let mut typed = Typed::of(rustix::stdio::stdin());
    loop {
        let bytes = typed.next().await.unwrap_or_default();
        if bytes.is_empty() {
            return port.eof().await;
        }
        write(&mut port, &bytes).await?;
    }
}

async fn write(port: &mut InputPort, bytes: &[u8]) -> kennel::Result<()> {
    match port.write(bytes).await {
        // A line that the terminal would cut: a person hears the bell there.
        Err(Error::Input { .. }) => Ok(()),
        other => other,
    }
}

/// Standard input, read without ever holding up the rest.
enum Typed {
    /// A terminal, pipe or socket. Looked at before each read: it may be shared, so it is not made non-blocking.
    Waiting(AsyncFd<OwnedFd>),
    /// A file.
    Direct(BorrowedFd<'static>),
}

impl Typed {
    fn of(fd: BorrowedFd<'static>) -> Self {
        let twin = rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(io::Error::from);
        match twin.and_then(|twin| async_fd(twin, Interest::READABLE)) {
            Ok(fd) => Self::Waiting(fd),
            Err(_not_pollable) => Self::Direct(fd),
        }
    }

    /// What has come; empty at the end.
    async fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; READ_BYTES];
        let count = match self {
            Self::Direct(fd) => rustix::io::retry_on_intr(|| rustix::io::read(*fd, &mut bytes))?,
            Self::Waiting(fd) => {
                let read = |fd: &OwnedFd| {
                    if !is_readable(fd.as_fd()) {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    Ok(rustix::io::retry_on_intr(|| rustix::io::read(fd, &mut bytes))?)
                };
                fd.async_io(Interest::READABLE, read).await?
            }
        };
        bytes.truncate(count);
        Ok(bytes)
    }
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}
