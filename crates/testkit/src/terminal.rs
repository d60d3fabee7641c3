//! A terminal that the test holds, with a program in its own session on it.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;

use crate::{Deadline, Rig, signal, sys};

/// The master side of a PTY. Dropping it hangs the terminal up and kills the program.
#[derive(Debug)]
pub struct Terminal {
    master: OwnedFd,
    child: Child,
    seen: Vec<u8>,
    read_from: usize,
}

impl Terminal {
    /// Start an interactive bash without job-control noise in the prompt; `$KENNEL` and `$HOSTILE` are set as in [`Rig::bash`].
    ///
    /// # Panics
    /// When no PTY can be had.
    pub fn bash(rig: &Rig) -> Self {
        let mut invocation = rig.program("bash");
        invocation.args(["--norc", "--noprofile", "-i"]).env("PS1", "READY> ").env("TERM", "dumb");
        let mut terminal = Self::start(invocation.into_command());
        terminal.expect("READY> ");
        terminal
    }

    /// Start a command on a new terminal of 80 by 24.
    ///
    /// # Panics
    /// When no PTY can be had.
    pub fn start(mut command: Command) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a PTY");
        rustix::pty::grantpt(&master).expect("grant the PTY");
        rustix::pty::unlockpt(&master).expect("unlock the PTY");
        let name = rustix::pty::ptsname(&master, Vec::new()).expect("the name of the PTY");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&name, flags, Mode::empty()).expect("the other side of the PTY");
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&slave, size).expect("the size of the PTY");
        let twin = || slave.try_clone().map(Stdio::from).expect("another handle of the PTY");
        command.stdin(twin()).stdout(twin()).stderr(twin());
        sys::on_terminal(&mut command);
        let child = command.spawn().expect("start a program on the PTY");
        rustix::io::ioctl_fionbio(&master, true).expect("a PTY that does not block");
        Self { master, child, seen: Vec::new(), read_from: 0 }
    }

    /// The program's pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Type this; `"\x03"` is Ctrl-C, `"\x1a"` Ctrl-Z.
    ///
    /// # Panics
    /// When the terminal does not take it.
    pub fn send(&mut self, keys: &str) -> &mut Self {
        let written = rustix::io::write(&self.master, keys.as_bytes());
        assert_eq!(written, Ok(keys.len()), "type {keys:?}");
        self
    }

    /// Wait until the terminal shows this, after what was waited for before. Returns what was shown up to there.
    ///
    /// # Panics
    /// When it does not within twenty seconds.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        let deadline = Deadline::usual();
        loop {
            let fresh =
                String::from_utf8_lossy(self.seen.get(self.read_from..).unwrap_or_default()).into_owned();
            if let Some(at) = fresh.find(text) {
                self.read_from += at + text.len();
                return fresh;
            }
            let open = self.take(deadline);
            assert!(
                open && !deadline.passed(),
                "the terminal does not show {text:?}; it shows {:?}",
                self.screen()
            );
        }
    }

    /// Everything that was shown.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// The local modes of the terminal, to see whether they were restored.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn local_modes(&self) -> rustix::termios::LocalModes {
        rustix::termios::tcgetattr(&self.master).expect("the modes of the PTY").local_modes
    }

    /// Read what there is; false when the other side has gone.
    fn take(&mut self, deadline: Deadline) -> bool {
        deadline.poll(&mut [PollFd::new(&self.master, PollFlags::IN)]);
        let mut buffer = [0_u8; 4096];
        match rustix::io::read(&self.master, &mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.seen.extend_from_slice(buffer.get(..count).unwrap_or_default());
                true
            }
            Err(error) => error == rustix::io::Errno::AGAIN || error == rustix::io::Errno::INTR,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::KILL);
        self.child.wait().ok();
    }
}
