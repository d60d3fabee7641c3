//! The result of a command and the shapes of tasks, kills and reads, as they go over every wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use supervisor::wire::{
    Boundary, Consent, Enforced, InputKind, InputRefusal, Notice, Proof, Protection, RuleHit, Usage,
};
pub use supervisor::{End, StoppedBy};

/// How a command or task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A member lives (of a task), or the leader does (of an outcome).
    Running,
    /// Exited 0.
    Completed,
    /// Exited otherwise, died of a signal, ran out of time, crossed a limit, or never started.
    Failed,
    /// Ended on purpose.
    Killed,
    /// Its end was not seen.
    Lost,
}

impl Status {
    /// The status that an end means.
    pub fn of(end: Option<&End>) -> Self {
        match end {
            None => Self::Running,
            Some(End::Exited { code: 0 }) => Self::Completed,
            Some(End::Stopped { .. }) => Self::Killed,
            Some(End::Lost { .. }) => Self::Lost,
            Some(_) => Self::Failed,
        }
    }

    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Lost => "lost",
        }
    }
}

/// A process of the task that outlived the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Survivor {
    /// Process id.
    pub pid: i32,
    /// Its command line, or its name in brackets.
    pub command: String,
    /// TCP and UDP ports on which it listens.
    pub ports: Vec<u16>,
    /// Unix sockets on which it listens: the path, or `@` and the name of an abstract one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// Why it could not be killed, after a kill that left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// A value that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClampedValue {
    /// What was asked.
    pub asked: u64,
    /// What was used.
    pub used: u64,
}

/// Values that were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clamped {
    /// The timeout, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<ClampedValue>,
}

/// What the policy said about a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictSummary {
    /// allow, ask or deny.
    #[schemars(with = "String")]
    pub decision: policy::Decision,
    /// Why, in the order of the command.
    pub rules: Vec<RuleHit>,
}

impl VerdictSummary {
    /// The summary of a verdict.
    pub fn of(verdict: &policy::Verdict) -> Self {
        let rules = verdict.findings.iter().map(|finding| RuleHit {
            id: finding.rule.clone(),
            reason: finding.reason.clone(),
            span: finding.span,
        });
        Self { decision: verdict.decision, rules: rules.collect() }
    }

    /// From the notices of a command that ran: it was allowed, unless they say otherwise. `None`: not checked.
    pub(crate) fn of_notices(notices: &[Notice]) -> Option<Self> {
        let said = notices.iter().find_map(|notice| match notice {
            Notice::Unchecked => Some(None),
            Notice::Asked { rules, .. } => {
                Some(Some(Self { decision: policy::Decision::Ask, rules: rules.clone() }))
            }
            _ => None,
        });
        said.unwrap_or(Some(Self { decision: policy::Decision::Allow, rules: Vec::new() }))
    }
}

/// Our own failure, in a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// Short stable name.
    pub code: String,
    /// What happened and why.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The result of a command. Every field that applies is present; nothing is guessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Of the command (the leader).
    pub status: Status,
    /// It exited with 0; for a running task: it was started.
    pub success: bool,
    /// Standard output for a model: decoded and cut.
    pub stdout: String,
    /// Standard error for a model.
    pub stderr: String,
    /// As the shell reports it; -1 for our own failure. Absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Milliseconds from the start to the command's end.
    pub duration_ms: u64,
    /// stdout or stderr was cut for the caller.
    pub truncated: bool,
    /// Bytes written to stdout.
    pub stdout_bytes: u64,
    /// Bytes written to stderr.
    pub stderr_bytes: u64,
    /// Bytes beyond the spool's cap, no longer kept.
    pub dropped_bytes: u64,
    /// Task id.
    pub task_id: String,
    /// Session id.
    pub session_id: String,
    /// Where the kept bytes are, once somebody else may want them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_file: Option<String>,
    /// How it ended; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Statuses of the last pipeline, where the shell gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipestatus: Option<Vec<i32>>,
    /// Where the next call of this session starts.
    pub cwd: String,
    /// Values that were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamped: Option<Clamped>,
    /// Live members after the command's end; empty: proved none; absent: not known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_pids: Option<Vec<i32>>,
    /// The same with names and ports.
    pub survivors: Vec<Survivor>,
    /// The boundary in force.
    pub boundary: Boundary,
    /// By what the tree is known to be empty, once it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Protections that were asked for.
    pub protections: Vec<Protection>,
    /// Resources of all processes that were reaped.
    pub usage: Usage,
    /// Bytes of stdout and stderr that were not UTF-8 and were replaced.
    pub invalid_utf8: u64,
    /// What the caller should know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// What the policy said; absent where it was switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictSummary>,
    /// Our own failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskInfo {
    /// Task id.
    pub id: String,
    /// Of the tree: running while any member lives.
    pub status: Status,
    /// The command as given.
    pub command: String,
    /// The caller's description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Leader. Absent where it is not known: the task has just been made, or its keepers died first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; when the tree was found empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Where the kept output is, for a task of the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_file: Option<String>,
    /// Bytes written to both streams.
    pub output_bytes: u64,
    /// Working directory at the start.
    pub cwd: String,
    /// Session id.
    pub session_id: String,
    /// The boundary in force.
    pub boundary: Boundary,
    /// Live members after the leader's end.
    pub background_pids: Vec<i32>,
    /// TCP and UDP ports on which members listen.
    pub ports: Vec<u16>,
    /// Unix sockets on which members listen: the path, or `@` and the name of an abstract one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// Supervisor.
    pub supervisor_pid: i32,
    /// Guard.
    pub guard_pid: i32,
    /// Started in the background, promoted, or adopted; `false` for a foreground call.
    pub background: bool,
    /// Owner, while the task is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_pid: Option<i32>,
    /// Through what [`crate::Task::send`] can reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputKind>,
    /// A member of its foreground is blocked reading that input; absent where there is none, where nobody asked its
    /// supervisor, and where the kernel does not let us see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for_input: Option<bool>,
    /// Machine, boot and PID namespace of a task that is not of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskList {
    /// Oldest first.
    pub tasks: Vec<TaskInfo>,
}

/// The result of a kill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KillReport {
    /// Nothing is left, and it is proved (or the task had ended before).
    pub success: bool,
    /// Task id.
    pub shell_id: String,
    /// First signal of the ladder, or `none`.
    pub signal_sent: String,
    /// SIGKILL was needed.
    pub force_killed: bool,
    /// The leader's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Who lives on, and why.
    pub survivors: Vec<Survivor>,
    /// TCP and UDP ports that the 64 members nearest to the leader listened on and that are free now, where they were asked for
    /// ([`Kill::telling_freed_ports`](crate::Kill::telling_freed_ports)).
    pub freed_ports: Vec<u16>,
    /// Unix sockets of theirs on which nobody listens now, asked for alike. The file of a path stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freed_sockets: Vec<String>,
    /// Milliseconds from the order to the answer.
    pub waited_ms: u64,
    /// By what the tree is known to be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

/// The result of reading a task's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOutput {
    /// Task id.
    pub task_id: String,
    /// Of the tree.
    pub status: Status,
    /// The output, decoded and cut.
    pub text: String,
    /// Where to read on.
    pub next_offset: u64,
    /// Whether `until` matched; absent when it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<bool>,
    /// Something was cut or is no longer kept.
    pub truncated: bool,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Live members after the leader's end.
    pub background_pids: Vec<i32>,
    /// A member of the foreground is blocked reading the task's input; absent where it takes none and where the kernel
    /// does not let us see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for_input: Option<bool>,
}
