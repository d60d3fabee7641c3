//! Run a program under a watchdog and collect what it says.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use crate::{Deadline, Tag, pidfd, signal, sys};

/// A program that is about to run.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    input: Option<Vec<u8>>,
    limit: Duration,
}

impl Invocation {
    #[expect(clippy::disallowed_methods, reason = "the harness starts the programs under test")]
    pub(crate) fn new(program: &OsStr, tag: Tag, user: Option<u32>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(uid) = user {
            command.uid(uid).gid(uid);
        }
        sys::tagged(&mut command, tag);
        Self { command, input: None, limit: Duration::from_secs(20) }
    }

    /// Add a word.
    pub fn arg(&mut self, word: impl AsRef<OsStr>) -> &mut Self {
        self.command.arg(word);
        self
    }

    /// Add words.
    pub fn args<W: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = W>) -> &mut Self {
        self.command.args(words);
        self
    }

    /// Set a variable.
    pub fn env(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.command.env(name, value);
        self
    }

    /// Unset a variable.
    pub fn env_remove(&mut self, name: &str) -> &mut Self {
        self.command.env_remove(name);
        self
    }

    /// Start in this directory.
    pub fn current_dir(&mut self, dir: impl AsRef<Path>) -> &mut Self {
        self.command.current_dir(dir);
        self
    }

    /// What the program reads from its standard input (nothing otherwise).
    pub fn input(&mut self, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.input = Some(bytes.into());
        self.command.stdin(Stdio::piped());
        self
    }

    /// Any other standard input.
    pub fn stdin(&mut self, stdin: impl Into<Stdio>) -> &mut Self {
        self.command.stdin(stdin);
        self
    }

    /// Any other standard output, which is then not collected.
    pub fn stdout(&mut self, stdout: impl Into<Stdio>) -> &mut Self {
        self.command.stdout(stdout);
        self
    }

    /// A soft and hard limit of open files.
    pub fn open_files(&mut self, soft: u64) -> &mut Self {
        sys::open_files(&mut self.command, soft);
        self
    }

    /// The watchdog's time, twenty seconds otherwise.
    pub fn within(&mut self, limit: Duration) -> &mut Self {
        self.limit = limit;
        self
    }

    /// The bare command, for a caller that has its own way of starting it.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Start it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(&mut self) -> Running {
        let mut child = self.command.spawn().expect("start the program under test");
        let deadline = Deadline::after(self.limit);
        if let (Some(bytes), Some(mut stdin)) = (self.input.take(), child.stdin.take()) {
            std::thread::spawn(move || {
                stdin.write_all(&bytes).ok();
            });
        }
        let out = child.stdout.take().map(|pipe| Drain::new(pipe.into()));
        let err = child.stderr.take().map(|pipe| Drain::new(pipe.into()));
        let gone = pidfd(child.id()).expect("a pidfd of an unreaped child");
        let mut line = format!("{:?}", self.command);
        if let Some((end, _)) = line.char_indices().nth(600) {
            line.truncate(end);
        }
        Running { child, gone, out: out.unwrap_or_default(), err: err.unwrap_or_default(), deadline, line }
    }

    /// Run it to its end.
    ///
    /// # Panics
    /// When it has not ended in time.
    pub fn finish(&mut self) -> Finished {
        self.spawn().finish()
    }
}

/// What one pipe has given so far.
#[derive(Debug, Default)]
struct Drain {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Drain {
    fn new(pipe: OwnedFd) -> Self {
        let _ = rustix::io::ioctl_fionbio(&pipe, true);
        Self { pipe: Some(pipe), bytes: Vec::new() }
    }

    /// Read what there is.
    fn take(&mut self) {
        let mut buffer = [0_u8; 1 << 14];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// A program that runs. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    gone: OwnedFd,
    out: Drain,
    err: Drain,
    deadline: Deadline,
    line: String,
}

impl Running {
    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What its stdout has given so far.
    pub fn out_so_far(&self) -> String {
        String::from_utf8_lossy(&self.out.bytes).into_owned()
    }

    /// Send it a signal.
    pub fn signal(&self, number: Signal) {
        let _ = rustix::process::pidfd_send_signal(&self.gone, number);
    }

    /// Whether it has ended, without waiting.
    pub fn has_ended(&self) -> bool {
        let mut polled = [PollFd::new(&self.gone, PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Wait until stdout has this text.
    ///
    /// # Panics
    /// When the program ends or the watchdog fires first.
    pub fn await_out(&mut self, text: &str) -> &mut Self {
        self.await_text(text, |running| &running.out.bytes)
    }

    /// Wait until stderr has this text.
    ///
    /// # Panics
    /// When the program ends or the watchdog fires first.
    pub fn await_err(&mut self, text: &str) -> &mut Self {
        self.await_text(text, |running| &running.err.bytes)
    }

    fn await_text(&mut self, text: &str, stream: impl Fn(&Self) -> &Vec<u8>) -> &mut Self {
        let mut ended = false;
        loop {
            if String::from_utf8_lossy(stream(self)).contains(text) {
                return self;
            }
            assert!(!ended, "{} ended without {text:?}; {}", self.line, self.so_far());
            ended = self.step();
        }
    }

    /// Wait for its end.
    ///
    /// # Panics
    /// When it has not ended in time.
    pub fn finish(mut self) -> Finished {
        while !self.step() {}
        let status = self.child.wait().expect("the status of our own child");
        let eof = self.out.pipe.is_none() && self.err.pipe.is_none();
        Finished {
            status,
            out: std::mem::take(&mut self.out.bytes),
            err: std::mem::take(&mut self.err.bytes),
            elapsed: self.deadline.elapsed(),
            eof,
            line: self.line.clone(),
        }
    }

    /// Wait for output or the end; true at the end, when the pipes have been read dry.
    fn step(&mut self) -> bool {
        let mut polls: Vec<_> = [&self.out, &self.err]
            .into_iter()
            .filter_map(|drain| drain.pipe.as_ref())
            .map(|pipe| PollFd::new(pipe, PollFlags::IN))
            .collect();
        polls.push(PollFd::from_borrowed_fd(self.gone.as_fd(), PollFlags::IN));
        let woken = self.deadline.poll(&mut polls);
        let ended = polls.last().is_some_and(|poll| poll.revents().contains(PollFlags::IN));
        drop(polls);
        self.out.take();
        self.err.take();
        assert!(woken || !self.deadline.passed(), "watchdog: {} did not end; {}", self.line, self.so_far());
        ended
    }

    fn so_far(&self) -> String {
        let (out, err) = (String::from_utf8_lossy(&self.out.bytes), String::from_utf8_lossy(&self.err.bytes));
        format!("stdout {out:?}, stderr {err:?}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            signal(self.child.id(), Signal::KILL);
            self.child.wait().ok();
        }
    }
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its wait status.
    pub status: ExitStatus,
    /// What it wrote to stdout.
    pub out: Vec<u8>,
    /// What it wrote to stderr.
    pub err: Vec<u8>,
    /// How long it ran.
    pub elapsed: Duration,
    /// Whether both pipes had reached end of file when it ended, that is, whether nobody else held them.
    pub eof: bool,
    line: String,
}

impl Finished {
    /// Exit status as a shell counts it: 128 + n for signal n.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Its stdout as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Its stderr as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// The last line of its stdout.
    pub fn last_line(&self) -> String {
        self.text().lines().last().unwrap_or_default().trim().to_owned()
    }

    /// Its stdout as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let parsed = serde_json::from_slice(&self.out);
        assert!(parsed.is_ok(), "{parsed:?} in {self}");
        parsed.unwrap_or_default()
    }

    /// The same, after checking the exit status.
    ///
    /// # Panics
    /// When the status is another.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code(), code, "exit status of {self}");
        self
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?}): stdout {:?}, stderr {:?}", self.line, self.status, self.text(), self.errors())
    }
}
