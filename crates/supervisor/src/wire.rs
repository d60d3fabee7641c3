//! What host, guard and supervisor say to each other.
//!
//! Host and supervisor (and any `kennel` that connects to a task's control socket) speak frames of JSON over a stream
//! socket: a little-endian `u32` length, then the object. Host and guard speak single datagrams of a fixed layout, with
//! descriptors attached: what the guard reads becomes private memory of every supervisor that it makes later.

use serde::{Deserialize, Serialize};

use crate::bytes::ByteStr;
use crate::end::{End, StoppedBy};
use crate::lifecycle::{OnOutputCap, OnOwnerExit, OnTimeout, Survivors};
pub use crate::wire_confine::{
    AccessSpec, ConfineSpec, Enforced, EntrySpec, LimitsSpec, ModeSpec, NetworkSpec, Protection, SandboxSpec,
    expected_protections,
};
pub use crate::wire_input::{
    INPUT_BYTES_MAX, InputAnswer, InputKind, InputOrder, InputRefusal, InputState, SizeSince, TerminalSize,
    TerminalState,
};

/// Version of the control protocol; a peer of another major refuses.
pub const PROTOCOL: u32 = 1;

/// The largest frame that is accepted: a command of some megabytes with a large environment fits.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// To the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ToSupervisor {
    /// The request; the first frame of the host, and only of the host.
    Launch(Box<Launch>),
    /// Tell me of new output from now on.
    Attach {
        /// Do not let the spool drop what I have not acknowledged: the command waits for me, as for a pipe.
        lossless: bool,
    },
    /// A lossless reader has taken everything before this offset.
    Ack {
        /// Offset in the spool.
        offset: u64,
    },
    /// End the task.
    Kill(KillOrder),
    /// Go on without the owner.
    Keep,
    /// Go on in the background: durable, and no longer cancelled by a disconnect.
    Background,
    /// Tell me how it stands.
    Status,
    /// Write the record again, its file is damaged; then as [`ToSupervisor::Status`].
    Record,
    /// SIGSTOP to the tree.
    Pause,
    /// SIGCONT to the tree.
    Resume,
    /// Give the task this to read.
    Input(InputOrder),
    /// Forget what of my input is not written yet; the answer says how much was.
    DropInput,
    /// Give the task's terminal another size.
    Resize(TerminalSize),
}

/// An order to end the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillOrder {
    /// First signal.
    pub signal: i32,
    /// Milliseconds until SIGKILL.
    pub grace_ms: u64,
    /// Whether SIGKILL follows.
    pub force: bool,
    /// On whose behalf.
    pub by: StoppedBy,
}

/// From the supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FromSupervisor {
    /// The leader runs its program.
    Started(Started),
    /// There is output up to this offset.
    Grew {
        /// Bytes written to the spool since the task began.
        total: u64,
    },
    /// Something that the caller should know.
    Notice(Notice),
    /// The leader has ended, or the task went to the background; members live on.
    Report(Box<Report>),
    /// The tree is empty. The last frame.
    Ended(Box<Report>),
    /// The kill order was taken.
    KillTaken,
    /// What a kill order came to.
    Killed(KillAnswer),
    /// What an input order or a resize came to.
    Input(InputAnswer),
    /// How it stands.
    Status(Box<Report>),
    /// The task's directory is this one from now on; also the answer to `Keep` and `Background`.
    Moved {
        /// The task's directory.
        dir: ByteStr,
    },
    /// The frame was not understood.
    Refused {
        /// Why.
        why: String,
    },
}

/// A task has started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    /// Leader.
    pub pid: i32,
    /// The supervisor itself.
    pub supervisor_pid: i32,
    /// The task's directory.
    pub dir: ByteStr,
    /// The boundary in force.
    pub boundary: Boundary,
    /// The tag was set on the leader.
    pub tagged: bool,
    /// What was asked for its protection, and what is in force.
    #[serde(default)]
    pub protections: Vec<Protection>,
}

/// The kernel mechanism that says who is a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// A PID namespace with our own init.
    PidNamespace,
    /// A cgroup v2 leaf.
    Cgroup,
    /// Orphans come to the supervisor (`PR_SET_CHILD_SUBREAPER`).
    Subreaper,
    /// The process group only.
    ProcessGroup,
}

/// Which boundary is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryChoice {
    /// A cgroup where one was handed to the user, else the subreaper.
    #[default]
    Auto,
    /// The subreaper alone.
    Subreaper,
    /// A cgroup v2 leaf, and the subreaper.
    Cgroup,
    /// A PID namespace, and the subreaper.
    PidNamespace,
}

/// By what it is known that nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// `waitpid(-1, __WALL)` in the subreaper said ECHILD: no descendant exists.
    Echild,
    /// The cgroup is not populated.
    CgroupEmpty,
    /// The PID namespace's init was reaped.
    NamespaceGone,
    /// Nothing was found; no mechanism of the kernel vouches for it.
    BestEffort,
}

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// The spool is at its cap: the middle is being dropped.
    SpoolCapped {
        /// Offset of the first byte that is no longer kept.
        offset: u64,
    },
    /// All tasks together are at their total: this one's spool stays smaller than its cap.
    SpoolLimited {
        /// What it keeps at most.
        bytes: u64,
    },
    /// A limit is near; for output it is the spool's cap.
    LimitNear {
        /// Which.
        limit: String,
        /// What is used, in the limit's unit: bytes.
        used: u64,
        /// The limit.
        max: u64,
    },
    /// No output for a while; the task goes on.
    Quiet {
        /// For how long, milliseconds.
        ms: u64,
    },
    /// A member has begun to listen on a TCP or UDP port.
    Listening {
        /// Which member.
        pid: i32,
        /// The port.
        port: u16,
    },
    /// Output could not be stored.
    SpoolLost {
        /// Bytes lost so far.
        bytes: u64,
        /// The errno's text.
        why: String,
    },
    /// The timeout is over and the task goes on in the background.
    Backgrounded,
    /// The directory after the command is not known; the previous one stays.
    CwdUnknown,
    /// A value was changed.
    Clamped {
        /// Of which setting.
        name: String,
        /// What was asked.
        asked: u64,
        /// What is used.
        used: u64,
    },
    /// A protection that was asked for is not in force, or weaker.
    Weaker {
        /// Which.
        name: String,
        /// Why.
        why: String,
    },
    /// The policy asked, and the command ran.
    Asked {
        /// What it asked about.
        rules: Vec<RuleHit>,
        /// Who said yes.
        consent: Consent,
    },
    /// The policy was switched off for this command.
    Unchecked,
    /// A member of the foreground is blocked reading the task's input.
    WaitingForInput {
        /// Which.
        pid: i32,
    },
    /// Variables that look like secrets were looked for, and these were taken out of the environment.
    Scrubbed {
        /// Their names.
        names: Vec<String>,
    },
    /// The session's directory was gone; the command ran in the session's root.
    CwdReset {
        /// The directory that was.
        gone: String,
        /// Where the command ran.
        used: String,
    },
    /// The command asks another service to start something, which a kill of the task does not reach.
    HandedOff {
        /// `docker`, `systemd`, `at`, `tmux` and the like.
        service: String,
        /// The command that asks.
        command: String,
    },
    /// The task crossed a limit and is being ended.
    LimitCrossed {
        /// As in its end.
        limit: String,
        /// What was used: bytes, processes and threads, milliseconds, bytes, descriptors.
        used: u64,
        /// What was allowed, in the same unit.
        max: u64,
    },
    /// The command could not signal a process of another task of its session: its sandbox forbids that.
    SignalRefused {
        /// Which process.
        pid: i32,
        /// Its task, which `kennel kill` ends.
        task_id: String,
    },
    /// Written by a newer Kennel.
    #[serde(other)]
    Unknown,
}

/// A rule that a command matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleHit {
    /// Stable id.
    pub id: String,
    /// One sentence.
    pub reason: String,
    /// Byte offsets into the command: from, to. For an argument vector, into its words joined by spaces.
    pub span: (u32, u32),
}

/// Why a command ran about which the policy asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Somebody, or a setting, said yes.
    Given,
    /// Nobody could be asked, and the door lets it run.
    Assumed,
    /// Nobody was asked: it is bound by a sandbox instead.
    Sandboxed,
}

/// A live member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberInfo {
    /// Process id.
    pub pid: i32,
    /// Start time, clock ticks since boot.
    pub start_ticks: u64,
    /// Its command line, or its name in brackets.
    pub command: String,
    /// Why it could not be killed, when it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// How a task stands, or stood at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The leader's end; `None` while it runs.
    pub end: Option<End>,
    /// The leader's exit code as a shell reports it.
    pub exit_code: Option<i32>,
    /// Statuses of the last pipeline, where the shell gave them.
    pub pipestatus: Option<Vec<i32>>,
    /// The shell's directory at its end, where it gave it.
    pub cwd: Option<ByteStr>,
    /// Live members.
    pub members: Vec<MemberInfo>,
    /// By what it is known that none is left.
    pub proof: Option<Proof>,
    /// Bytes written to stdout.
    pub stdout_bytes: u64,
    /// Bytes written to stderr.
    pub stderr_bytes: u64,
    /// Bytes that are no longer kept.
    pub dropped_bytes: u64,
    /// Milliseconds from the start to the leader's end, or to now.
    pub duration_ms: u64,
    /// Resources of all that was reaped.
    pub usage: Usage,
    /// The task's directory.
    pub dir: ByteStr,
    /// Its output is in the state directory.
    pub durable: bool,
    /// Its input, if it takes any.
    #[serde(default)]
    pub input: Option<InputState>,
    /// What was asked for its protection, and what is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protections: Vec<Protection>,
}

/// Resources used by every process of the task that has been reaped (`getrusage(2)`, `RUSAGE_CHILDREN`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// User CPU time, milliseconds.
    pub user_ms: u64,
    /// System CPU time, milliseconds.
    pub system_ms: u64,
    /// Largest resident set of one process, bytes.
    pub max_rss_bytes: u64,
    /// Most processes seen at once, where somebody looked.
    pub processes_peak: u64,
}

/// What a kill order came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KillAnswer {
    /// Nothing is left, and it is proved.
    pub empty: bool,
    /// The proof.
    pub proof: Option<Proof>,
    /// SIGKILL was needed.
    pub forced: bool,
    /// Who lives on, and why.
    pub members: Vec<MemberInfo>,
    /// Milliseconds from the order to the answer.
    pub waited_ms: u64,
    /// The leader's exit code, when it has ended.
    pub exit_code: Option<i32>,
}

/// Everything that a supervisor needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Launch {
    /// See [`PROTOCOL`].
    pub protocol: u32,
    /// Task id.
    pub id: String,
    /// Secret half of the environment marker.
    pub token: String,
    /// Tag value, see `confine::Tag`.
    pub tag: Option<u64>,
    /// Session id.
    pub session_id: String,
    /// What to run.
    pub command: CommandSpec,
    /// The command as people read it.
    pub display: String,
    /// The caller's description.
    pub description: Option<String>,
    /// Absolute working directory.
    pub cwd: ByteStr,
    /// `NAME=value` strings, marker included.
    pub env: Vec<ByteStr>,
    /// Attributes of the host that the command inherits, where the guard may have others by now.
    pub inherited: Option<InheritedSpec>,
    /// Session and group of the leader.
    pub placement: PlacementSpec,
    /// Where descriptor 0 comes from.
    pub stdin: StdinSpec,
    /// Where descriptors 1 and 2 go.
    pub output: OutputSpec,
    /// Wall-clock limit.
    pub timeout_ms: Option<u64>,
    /// See [`OnTimeout`].
    pub on_timeout: OnTimeout,
    /// See [`Survivors`].
    pub survivors: Survivors,
    /// See [`OnOwnerExit`].
    pub on_owner_exit: OnOwnerExit,
    /// Grace of the ladder after a timeout.
    pub grace_ms: u64,
    /// Most bytes of output that are kept.
    pub output_cap_bytes: u64,
    /// Most bytes that all tasks of the durable directory take together.
    pub output_total_bytes: u64,
    /// See [`OnOutputCap`].
    #[serde(default)]
    pub on_output_cap: OnOutputCap,
    /// A directory for task directories on tmpfs.
    pub volatile_dir: Option<ByteStr>,
    /// A directory for task directories that last.
    pub durable_dir: ByteStr,
    /// Be in the durable directory from the start.
    pub durable: bool,
    /// A disconnect of the host is a cancel.
    pub cancel_on_disconnect: bool,
    /// Owner, for the record.
    pub owner_pid: i32,
    /// See [`BoundaryChoice`].
    #[serde(default)]
    pub boundary: BoundaryChoice,
    /// Without that boundary nothing is started.
    #[serde(default)]
    pub boundary_required: bool,
    /// Notices of the door, kept in the record.
    #[serde(default)]
    pub notices: Vec<Notice>,
    /// A pseudo-terminal of this size on descriptors 0, 1 and 2, whatever the fields above say.
    #[serde(default)]
    pub terminal: Option<TerminalSize>,
    /// What binds the command.
    #[serde(default)]
    pub confine: ConfineSpec,
}

/// What to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandSpec {
    /// A line for this shell.
    Shell {
        /// The shell's file.
        shell: ByteStr,
        /// How it is spoken to.
        #[serde(default)]
        dialect: Dialect,
        /// The line.
        line: ByteStr,
        /// Whether the end report of DESIGN 5 is wanted.
        wrapped: bool,
        /// The command can change its directory and no report will tell: say so.
        cwd_unknown: bool,
    },
    /// A program and its arguments.
    Argv(Vec<ByteStr>),
}

/// How a shell is told to run one line and to read no start-up files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `bash --norc --noprofile -c LINE`.
    #[default]
    Bash,
    /// `sh -c LINE`.
    Posix,
    /// `zsh -f -c LINE`.
    Zsh,
    /// `fish --no-config -c LINE`.
    Fish,
}

impl Dialect {
    /// Its options before `-c`.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["--norc", "--noprofile"],
            Self::Posix => &[],
            Self::Zsh => &["-f"],
            Self::Fish => &["--no-config"],
        }
    }
}

/// Session and group of the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlacementSpec {
    /// Its own session.
    OwnSession,
    /// This process group.
    Group(i32),
}

/// Where descriptor 0 comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StdinSpec {
    /// `/dev/null`.
    Null,
    /// The caller's own, passed on with its other inherited descriptors.
    Inherit,
    /// A pipe into which clients write.
    Pipe,
}

/// Where descriptors 1 and 2 go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSpec {
    /// Two pipes.
    Split,
    /// One pipe for both.
    Merged,
    /// The caller's own; nothing is captured.
    Inherit,
}

/// `confine::Inherited` on the wire.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct InheritedSpec {
    /// umask.
    pub umask: Option<u32>,
    /// Nice value.
    pub nice: i32,
    /// Soft and hard limits.
    pub limits: Vec<(Option<u64>, Option<u64>)>,
    /// CPUs.
    pub cpus: Vec<u32>,
}

impl From<confine::Inherited> for InheritedSpec {
    fn from(inherited: confine::Inherited) -> Self {
        let confine::Inherited { umask, nice, limits, cpus } = inherited;
        Self { umask, nice, limits, cpus }
    }
}

impl From<InheritedSpec> for confine::Inherited {
    fn from(spec: InheritedSpec) -> Self {
        let InheritedSpec { umask, nice, limits, cpus } = spec;
        Self { umask, nice, limits, cpus }
    }
}

/// Puts a message into a frame.
///
/// # Panics
/// Never: the types of this module have no map with non-string keys and no failing serializer.
pub fn frame<T: Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    if serde_json::to_writer(&mut bytes, message).is_err() {
        bytes.truncate(4);
        bytes.extend_from_slice(b"null");
    }
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    if let Some(head) = bytes.get_mut(..4) {
        head.copy_from_slice(&length.to_le_bytes());
    }
    bytes
}

/// Takes the first whole frame out of `buffer`.
///
/// # Errors
/// A frame longer than [`FRAME_BYTES_MAX`] or one that is not the JSON of `T`.
pub fn take_frame<T: for<'de> Deserialize<'de>>(buffer: &mut Vec<u8>) -> Result<Option<T>, String> {
    let Some(length) = buffer.first_chunk::<4>().map(|head| u32::from_le_bytes(*head) as usize) else {
        return Ok(None);
    };
    if length > FRAME_BYTES_MAX {
        return Err(format!("a frame of {length} bytes is longer than {FRAME_BYTES_MAX}"));
    }
    let Some(body) = buffer.get(4..4 + length) else { return Ok(None) };
    let message = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    buffer.drain(..4 + length);
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_and_one_at_a_time() {
        let mut buffer = frame(&ToSupervisor::Keep);
        buffer.extend(frame(&ToSupervisor::Ack { offset: 7 }));
        let rest = buffer.split_off(buffer.len() - 3);
        assert!(matches!(take_frame(&mut buffer), Ok(Some(ToSupervisor::Keep))));
        assert!(matches!(take_frame::<ToSupervisor>(&mut buffer), Ok(None)));
        buffer.extend(rest);
        assert!(matches!(take_frame(&mut buffer), Ok(Some(ToSupervisor::Ack { offset: 7 }))));
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_huge_or_foreign_frame_is_refused() {
        assert!(take_frame::<ToSupervisor>(&mut u32::MAX.to_le_bytes().to_vec()).is_err());
        assert!(take_frame::<ToSupervisor>(&mut frame(&"what?")).is_err());
    }
}
