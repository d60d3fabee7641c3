//! What goes over the control socket about a task's input and its terminal.

use serde::{Deserialize, Serialize};

use crate::bytes::ByteStr;

/// One order holds at most so many bytes; a sender waits for the answer before it sends the next.
pub const INPUT_BYTES_MAX: usize = 16 << 10;

/// Through what a task that takes input is given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A pipe on descriptor 0.
    Pipe,
    /// A pseudo-terminal on descriptors 0, 1 and 2.
    Terminal,
}

/// Size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TerminalSize {
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
}

/// From which output offset on a terminal had a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeSince {
    /// Offset in the spool.
    pub offset: u64,
    /// The size from there on.
    #[serde(flatten)]
    pub size: TerminalSize,
}

/// Bytes for the task to read, then perhaps the end of its input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputOrder {
    /// At most [`INPUT_BYTES_MAX`].
    pub bytes: ByteStr,
    /// Nothing follows: closes the pipe, or types the terminal's end-of-file character.
    pub eof: bool,
}

/// What an [`InputOrder`] or a resize came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputAnswer {
    /// Bytes that the kernel has taken.
    pub written: u64,
    /// Why not all of it.
    pub refused: Option<InputRefusal>,
}

/// Why input was not, or not wholly, written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputRefusal {
    /// The task was started without `--stdin` and `--pty`.
    NoInput,
    /// It has a pipe and no terminal.
    NoTerminal,
    /// EPIPE: no process holds the reading end any more.
    ReaderClosed,
    /// The end of the input was sent before.
    AfterEof,
    /// The sender gave up before the task read on.
    GivenUp,
    /// The sender did not wait for the answer to its last orders.
    TooMuch,
    /// A terminal in line mode keeps 4095 bytes of a line and drops the rest.
    LineTooLong,
    /// Another errno of `write(2)` or `ioctl(2)`.
    Failed(i32),
}

/// How the input of a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputState {
    /// Pipe or terminal.
    pub kind: InputKind,
    /// More can be sent.
    pub open: bool,
    /// Bytes that the kernel has taken so far.
    pub written_bytes: u64,
    /// Bytes that wait for the task to read on.
    pub pending_bytes: u64,
    /// Whether a member is blocked reading it; `None` where the kernel does not let us see.
    pub waiting: Option<bool>,
    /// The terminal, if it is one.
    pub terminal: Option<TerminalState>,
}

/// How a terminal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalState {
    /// Its size.
    #[serde(flatten)]
    pub size: TerminalSize,
    /// `ICANON`: input goes to the reader line by line.
    pub line_mode: bool,
    /// `ECHO`: what is typed is shown.
    pub echo: bool,
    /// The foreground process group.
    pub foreground: Option<i32>,
}
