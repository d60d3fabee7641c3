//! Input for a task that was started with a pipe or a terminal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use supervisor::ByteStr;
use supervisor::wire::{
    FromSupervisor, INPUT_BYTES_MAX, InputAnswer, InputOrder, InputRefusal, TerminalSize, ToSupervisor,
};

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::keys::{Key, Modes, type_text};
use crate::link::Link;

/// How long a task may take to read what it is sent.
pub const INPUT_WAIT_DEFAULT: Duration = Duration::from_secs(10);
/// A supervisor that does not answer at all.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What to give a task to read, in this order: text, keys, end.
#[derive(Debug, Clone, Default)]
#[must_use = "input does nothing until a task is sent it"]
pub struct Input {
    text: Vec<u8>,
    keys: Vec<String>,
    eof: bool,
    wait: Option<Duration>,
}

impl Input {
    /// This text: as it is into a pipe; on a terminal it is typed, newlines as the Enter key, or pasted where it has
    /// several lines and the program has asked for bracketed paste.
    pub fn text(text: impl AsRef<OsStr>) -> Self {
        Self { text: text.as_ref().as_bytes().to_vec(), ..Self::default() }
    }

    /// A key of the terminal: `C-c`, `Enter`, `Up`, `M-x`, `F1`, or several with spaces between.
    pub fn key(names: impl Into<String>) -> Self {
        Self::default().and_key(names)
    }

    /// Nothing but the end.
    pub fn end() -> Self {
        Self { eof: true, ..Self::default() }
    }

    /// A key after what was said before.
    pub fn and_key(mut self, names: impl Into<String>) -> Self {
        self.keys.push(names.into());
        self
    }

    /// Nothing follows: a pipe is closed; on a terminal the end-of-file character is typed.
    pub fn eof(mut self) -> Self {
        self.eof = true;
        self
    }

    /// How long the task may take to read it; by default 10 s.
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// Whether what it comes to depends on what the program has asked its terminal for.
    pub(crate) fn needs_modes(&self) -> bool {
        !self.keys.is_empty() || self.text.strip_suffix(b"\n").unwrap_or(&self.text).contains(&b'\n')
    }

    fn keys(&self) -> Result<Vec<Key>> {
        let mut keys = Vec::new();
        for name in self.keys.iter().flat_map(|names| names.split_whitespace()) {
            keys.push(Key::parse(name).ok_or_else(|| {
                Error::BadRequest {
                    what: format!("{name:?} is not a key"),
                    hint: "keys are C-c, M-x, Enter, Tab, Esc, Up, Home, PageUp, F1 to F12, or one character"
                        .to_owned(),
                }
            })?);
        }
        Ok(keys)
    }

    /// The bytes for a terminal, whose modes are asked for only where they matter; for a pipe there are none.
    pub(crate) fn bytes(&self, modes: Option<Modes>, id: &str) -> Result<Vec<u8>> {
        let keys = self.keys()?;
        let Some(modes) = modes else {
            let why = InputRefusal::NoTerminal;
            let refused = || Error::Input { id: id.to_owned(), why, written: 0 };
            return if keys.is_empty() { Ok(self.text.clone()) } else { Err(refused()) };
        };
        let mut bytes = Vec::new();
        type_text(&self.text, modes, &mut bytes);
        for key in keys {
            key.encode(modes, &mut bytes);
        }
        Ok(bytes)
    }

    pub(crate) fn ends(&self) -> bool {
        self.eof
    }

    pub(crate) fn patience(&self) -> Duration {
        self.wait.unwrap_or(INPUT_WAIT_DEFAULT)
    }
}

/// What became of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputReport {
    /// Bytes that the task's pipe or terminal has taken.
    pub written: u64,
}

/// A connection for input, for front ends that pass on what somebody types.
#[derive(Debug)]
pub struct InputPort {
    link: Link,
    id: String,
}

impl InputPort {
    pub(crate) async fn open(id: &str, dir: &Path) -> Result<Self> {
        let connected = tokio::select! {
            connected = Link::connect_patiently(dir) => connected.ok(),
            () = Deadline::after(ANSWER_WITHIN).passed() => None,
        };
        let link = connected.ok_or_else(|| Error::TaskEnded { id: id.to_owned() })?;
        Ok(Self { link, id: id.to_owned() })
    }

    /// Writes bytes as they are, at the pace of the task's reader.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::TaskEnded`].
    ///
    /// # Cancel safety
    /// A dropped future leaves it open how much was written, and the port unusable.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.send(bytes, false, Duration::MAX).await.map(drop)
    }

    /// Closes the pipe, or types the end-of-file character.
    ///
    /// # Errors
    /// As [`InputPort::write`].
    pub async fn eof(&mut self) -> Result<()> {
        self.send(b"", true, INPUT_WAIT_DEFAULT).await.map(drop)
    }

    /// Gives the terminal another size.
    ///
    /// # Errors
    /// As [`InputPort::write`].
    pub async fn resize(&mut self, size: TerminalSize) -> Result<()> {
        let answer = self.ask(&ToSupervisor::Resize(size), Deadline::after(ANSWER_WITHIN)).await?;
        match answer {
            Some(InputAnswer { refused: Some(why), .. }) => Err(self.refused(why, 0)),
            Some(_) => Ok(()),
            None => Err(self.deaf()),
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8], eof: bool, patience: Duration) -> Result<InputReport> {
        let deadline = Deadline::after(patience);
        let mut written = 0;
        let mut chunks = bytes.chunks(INPUT_BYTES_MAX).peekable();
        loop {
            let chunk = chunks.next().unwrap_or_default();
            let last = chunks.peek().is_none();
            let order = InputOrder { bytes: ByteStr(chunk.to_vec()), eof: eof && last };
            let answer = match self.ask(&ToSupervisor::Input(order), deadline).await? {
                Some(answer) => answer,
                None => self.give_up().await?,
            };
            written += answer.written;
            if let Some(why) = answer.refused {
                return Err(self.refused(why, written));
            }
            if last {
                return Ok(InputReport { written });
            }
        }
    }

    /// The task has not read on in time. The next answer is either that of the order, which came through after all, or
    /// says how much of it was written.
    async fn give_up(&mut self) -> Result<InputAnswer> {
        let answer = self.ask(&ToSupervisor::DropInput, Deadline::after(ANSWER_WITHIN)).await?;
        answer.ok_or_else(|| self.deaf())
    }

    /// Sends an order and waits for its answer; `None` when it has not come in time.
    async fn ask(&mut self, order: &ToSupervisor, deadline: Deadline) -> Result<Option<InputAnswer>> {
        let ended = || Error::TaskEnded { id: self.id.clone() };
        self.link.send(order).await.map_err(|_gone| ended())?;
        loop {
            let received = tokio::select! {
                received = self.link.receive() => received,
                () = deadline.passed() => return Ok(None),
            };
            match received {
                Ok(Some(FromSupervisor::Input(answer))) => return Ok(Some(answer)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return Err(ended()),
            }
        }
    }

    fn refused(&self, why: InputRefusal, written: u64) -> Error {
        Error::Input { id: self.id.clone(), why, written }
    }

    fn deaf(&self) -> Error {
        Error::KeeperGone { what: format!("the supervisor of {} does not answer", self.id) }
    }
}

/// Why input was refused, as people read it.
pub(crate) fn refusal(why: InputRefusal, written: u64) -> String {
    let what = match why {
        InputRefusal::NoInput => "the task takes no input",
        InputRefusal::NoTerminal => "the task has a pipe and no terminal",
        InputRefusal::ReaderClosed => "nothing reads the task's input any more (EPIPE)",
        InputRefusal::AfterEof => "the end of the task's input was sent before",
        InputRefusal::GivenUp => "the task did not read its input in time",
        InputRefusal::TooMuch => "more was sent than the protocol allows before an answer",
        InputRefusal::LineTooLong => {
            "a line is longer than the 4095 bytes that a terminal in line mode keeps of one"
        }
        InputRefusal::Failed(errno) => {
            return format!("the kernel refused the input: {}", std::io::Error::from_raw_os_error(errno));
        }
    };
    if written > 0 { format!("{what}; {written} bytes were written") } else { what.to_owned() }
}

/// What to do about it.
pub(crate) fn remedy(why: InputRefusal) -> Option<String> {
    let hint = match why {
        InputRefusal::NoInput => "start it with --stdin (a pipe) or --pty (a terminal)",
        InputRefusal::NoTerminal => "send text or --eof; keys and sizes need a task started with --pty",
        InputRefusal::GivenUp => "send the rest when it reads again",
        InputRefusal::LineTooLong => "send shorter lines, or give the task a pipe",
        _ => return None,
    };
    Some(hint.to_owned())
}
