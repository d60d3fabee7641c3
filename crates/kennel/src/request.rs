//! What a caller asks for.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::check::Answer;
use crate::limits::Limits;
use crate::sandbox::SandboxChoice;
pub use supervisor::wire::BoundaryChoice;
pub use supervisor::wire::TerminalSize;
pub use supervisor::{OnOutputCap, OnOwnerExit, OnTimeout, Survivors};

/// A command line for a shell, or a program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A line for bash.
    Shell(OsString),
    /// A program and its arguments, run without a shell.
    Argv(Vec<OsString>),
}

/// How long a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timeout {
    /// What the door says: 120 s in a session for an agent, none in a wrapper or in the background.
    #[default]
    DoorDefault,
    /// This long; an agent's door clamps it to `timeout_max` and reports that.
    After(Duration),
    /// No limit.
    None,
}

/// Where the command's standard input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// That of this process, with its other inherited descriptors. Only with [`crate::GuardStart::Fork`].
    Inherit,
    /// A pipe into which [`crate::Task::send`] writes.
    Pipe,
}

/// Where the command's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Into the spool, stdout and stderr apart: exact order within each, approximate between them.
    #[default]
    Split,
    /// Into the spool through one pipe: one exact order, no telling apart.
    Merged,
    /// To stdout and stderr of this process; nothing is captured. Only with [`crate::GuardStart::Fork`].
    Inherit,
}

/// The size of a terminal when nothing is said: that of the first ones.
pub const TERMINAL_SIZE_DEFAULT: TerminalSize = TerminalSize { cols: 80, rows: 24 };

/// A request to run a command. Made by [`Request::shell`] or [`Request::argv`].
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until a session runs it"]
pub struct Request {
    pub(crate) command: Command,
    pub(crate) description: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) timeout: Timeout,
    pub(crate) on_timeout: OnTimeout,
    pub(crate) survivors: Option<Survivors>,
    pub(crate) on_owner_exit: Option<OnOwnerExit>,
    pub(crate) stdin: Stdin,
    pub(crate) output: Output,
    pub(crate) terminal: Option<i32>,
    pub(crate) grace: Duration,
    pub(crate) output_cap_bytes: Option<u64>,
    pub(crate) on_output_cap: OnOutputCap,
    pub(crate) max_output: Option<usize>,
    pub(crate) answer: Option<Answer>,
    pub(crate) boundary: BoundaryChoice,
    pub(crate) boundary_required: bool,
    pub(crate) stdin_bytes: Option<Vec<u8>>,
    pub(crate) pty: Option<TerminalSize>,
    pub(crate) sandbox: SandboxChoice,
    pub(crate) limits: Limits,
}

/// The seed's grace between SIGTERM and SIGKILL.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(5);
/// What goes to a model at most, per stream, in characters.
pub const MAX_OUTPUT_DEFAULT: usize = 30_000;
/// What a task's spool keeps at most, in bytes.
pub const OUTPUT_CAP_DEFAULT: u64 = 64 << 20;
/// What the output of all tasks of a user takes at most, in bytes.
pub const OUTPUT_TOTAL_DEFAULT: u64 = 2 << 30;

impl Request {
    /// A line for bash.
    pub fn shell(line: impl AsRef<OsStr>) -> Self {
        Self::new(Command::Shell(line.as_ref().to_owned()))
    }

    /// A program and its arguments, without a shell.
    pub fn argv<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Self {
        Self::new(Command::Argv(arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect()))
    }

    fn new(command: Command) -> Self {
        Self {
            command,
            description: None,
            cwd: None,
            env: Vec::new(),
            timeout: Timeout::default(),
            on_timeout: OnTimeout::default(),
            survivors: None,
            on_owner_exit: None,
            stdin: Stdin::default(),
            output: Output::default(),
            terminal: None,
            grace: GRACE_DEFAULT,
            output_cap_bytes: None,
            on_output_cap: OnOutputCap::default(),
            max_output: None,
            answer: None,
            boundary: BoundaryChoice::Auto,
            boundary_required: false,
            stdin_bytes: None,
            pty: None,
            sandbox: SandboxChoice::default(),
            limits: Limits::default(),
        }
    }

    /// What the command is for, in a few words.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Working directory of this call, which then leaves the session where it is; relative ones start at the session's.
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.cwd = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets an environment variable for this command.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Wall-clock limit; zero is taken as [`Timeout::None`] by a wrapper and as the default by an agent's door.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Timeout::After(limit);
        self
    }

    /// The limit, with the choice of none.
    pub fn timeout_choice(mut self, limit: Timeout) -> Self {
        self.timeout = limit;
        self
    }

    /// What the timeout does: kill (default) or go on in the background.
    pub fn on_timeout(mut self, choice: OnTimeout) -> Self {
        self.on_timeout = choice;
        self
    }

    /// What holds the command's processes together; one that cannot be had is named in the outcome's `protections`.
    pub fn boundary(mut self, choice: BoundaryChoice) -> Self {
        self.boundary = choice;
        self
    }

    /// The same, and without it nothing is started.
    pub fn require_boundary(mut self, choice: BoundaryChoice) -> Self {
        self.boundary_required = true;
        self.boundary(choice)
    }

    /// What becomes of processes that outlive the command; by default as the session says.
    pub fn survivors(mut self, choice: Survivors) -> Self {
        self.survivors = Some(choice);
        self
    }

    /// What the owner's end does to the task; by default as the session says.
    pub fn on_owner_exit(mut self, choice: OnOwnerExit) -> Self {
        self.on_owner_exit = Some(choice);
        self
    }

    /// Where standard input comes from.
    pub fn stdin(mut self, choice: Stdin) -> Self {
        self.stdin = choice;
        self
    }

    /// Gives the command these bytes to read, then the end of its input.
    pub fn stdin_bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Pipe;
        self.stdin_bytes = Some(bytes.into());
        self
    }

    /// Gives the command a terminal of its own, on which it reads and writes; what it writes is one stream.
    /// [`crate::Task::send`] types, [`crate::Task::screen`] looks. `TERM` is `xterm-256color` unless the request sets it.
    pub fn pty(mut self, size: TerminalSize) -> Self {
        self.pty = Some(size);
        self
    }

    /// Where the output goes.
    pub fn output(mut self, choice: Output) -> Self {
        self.output = choice;
        self
    }

    /// Lets the command join this process group of the caller's terminal instead of a session of its own.
    pub fn in_process_group(mut self, group: i32) -> Self {
        self.terminal = Some(group);
        self
    }

    /// Time between the first signal and SIGKILL after a timeout or a cancel.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Most bytes of output that are kept; by default `output_cap` of the configuration.
    pub fn output_cap_bytes(mut self, bytes: u64) -> Self {
        self.output_cap_bytes = Some(bytes);
        self
    }

    /// What happens when that is full: by default the middle is dropped.
    pub fn on_output_cap(mut self, choice: OnOutputCap) -> Self {
        self.on_output_cap = choice;
        self
    }

    /// The answer to what the policy asks about this request, for front ends that have asked before: see
    /// [`crate::Session::judge`]. It never overrides a refusal.
    pub fn answered(mut self, answer: Answer) -> Self {
        self.answer = Some(answer);
        self
    }

    /// What binds the command; what this does not say comes from the session.
    pub fn sandbox(mut self, choice: SandboxChoice) -> Self {
        self.sandbox = choice;
        self
    }

    /// What the command may use; what this does not say comes from the session.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Most characters of each stream in the [`crate::Outcome`]; by default `output_max_chars` of the configuration.
    pub fn max_output(mut self, characters: usize) -> Self {
        self.max_output = Some(characters);
        self
    }
}
