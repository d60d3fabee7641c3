//! Errors: Kennel could not do its part. A command that fails is an [`crate::Outcome`], not an error.

use std::io;
use std::path::PathBuf;

/// Why a request was not carried out. The text is a fragment that fits after "failed to run the command: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request itself is wrong; nothing was started.
    #[error("{what}")]
    BadRequest {
        /// What, with the value.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The policy refuses the command, or asks and nobody said yes; nothing ran.
    #[error("{}", refusal(.verdict))]
    Denied {
        /// The command as people read it.
        command: String,
        /// Why, with what to do instead.
        verdict: Box<policy::Verdict>,
    },
    /// The command's program or directory could not be used; nothing ran.
    #[error("{why}")]
    NotStarted {
        /// Why.
        why: String,
        /// 127 not found, 126 not executable, 125 our part (missing directory, no shell).
        exit_code: i32,
    },
    /// No task has this id.
    #[error("no task has the id {id:?}")]
    UnknownTask {
        /// The id or prefix.
        id: String,
    },
    /// More than one task's id begins so.
    #[error("{id:?} is the beginning of {} task ids: {}", .matches.len(), .matches.join(", "))]
    AmbiguousTask {
        /// The prefix.
        id: String,
        /// The ids.
        matches: Vec<String>,
    },
    /// An id that cannot be one.
    #[error("{id:?} is not an id: ids are 1 to 64 of A-Z a-z 0-9 . _ -, and do not begin with a dot")]
    MalformedId {
        /// The text.
        id: String,
    },
    /// A directory for state cannot be used.
    #[error("the state directory {} cannot be used: {why}", .path.display())]
    StateDir {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A record on disk cannot be read.
    #[error("the record of task {id} cannot be read: {source}")]
    Record {
        /// Which task.
        id: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What is known of a session on disk cannot be read or written.
    #[error("{doing} the session {id}: {source}")]
    SessionFile {
        /// Which session.
        id: String,
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No session has this name.
    #[error("no session is named {id:?}")]
    UnknownSession {
        /// The name.
        id: String,
    },
    /// As many tasks run as are allowed.
    #[error("{what}")]
    Quota {
        /// Which limit, and where it stands.
        what: String,
    },
    /// `kennel::init()` was not called and no binary was named.
    #[error("kennel::init() was not called at the start of main, and no kennel binary was named")]
    NotInitialised,
    /// The guard could not be made.
    #[error("the guard could not be started: {source}")]
    Guard {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The guard or supervisor of the task has gone.
    #[error("{what}")]
    KeeperGone {
        /// Which, and what is known.
        what: String,
    },
    /// The task has ended, and takes no more orders.
    #[error("the task {id} has ended")]
    TaskEnded {
        /// Its id.
        id: String,
    },
    /// The task was not given the input, or not all of it.
    #[error("{}", crate::input::refusal(*.why, *.written))]
    Input {
        /// The task's id.
        id: String,
        /// Why.
        why: supervisor::wire::InputRefusal,
        /// Bytes that were written.
        written: u64,
    },
    /// A regular expression is wrong.
    #[error("the regular expression {pattern:?} is wrong: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why.
        why: String,
    },
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// What the person or program can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::BadRequest { hint, .. } => hint.clone(),
            Self::UnknownTask { .. } => {
                "kennel tasks --all (TaskList) shows the tasks that are known".to_owned()
            }
            Self::UnknownSession { .. } => "kennel session list shows the sessions that are known".to_owned(),
            Self::Quota { .. } => {
                "end a task that is not needed (kennel tasks, kennel kill ID), or raise the limit".to_owned()
            }
            Self::AmbiguousTask { .. } => "give more characters of the id".to_owned(),
            Self::Record { .. } => {
                "nothing of it runs, or its keeper would have written the record again; its output is still in the \
                 directory of its name under the state directory, which can be removed"
                    .to_owned()
            }
            Self::StateDir { .. } => "set KENNEL_STATE_DIR to a directory that only you can write".to_owned(),
            Self::Denied { verdict, .. } => remedy(verdict)?,
            Self::TaskEnded { id } => format!("kennel output {id} shows what it wrote"),
            Self::Input { why, .. } => crate::input::remedy(*why)?,
            Self::NotInitialised => "call kennel::init() as the first statement of main".to_owned(),
            Self::NotStarted { exit_code: 127, .. } => "check the name and PATH".to_owned(),
            Self::NotStarted { exit_code: 126, .. } => {
                "check that the file is an executable program".to_owned()
            }
            _ => return None,
        })
    }

    /// A short stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "bad_request",
            Self::Denied { .. } => "denied",
            Self::NotStarted { .. } => "not_started",
            Self::UnknownTask { .. } => "unknown_task",
            Self::AmbiguousTask { .. } => "ambiguous_task",
            Self::MalformedId { .. } => "malformed_id",
            Self::StateDir { .. } => "state_dir",
            Self::Record { .. } => "record",
            Self::SessionFile { .. } => "session_file",
            Self::UnknownSession { .. } => "unknown_session",
            Self::Quota { .. } => "quota",
            Self::NotInitialised => "not_initialised",
            Self::Guard { .. } => "guard",
            Self::KeeperGone { .. } => "keeper_gone",
            Self::TaskEnded { .. } => "task_ended",
            Self::Input { .. } => "input",
            Self::Pattern { .. } => "pattern",
            Self::Io { .. } => "io",
        }
    }

    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}

fn refusal(verdict: &policy::Verdict) -> String {
    let begin = match verdict.decision {
        policy::Decision::Deny => "the policy refuses the command",
        _ => "the policy asks before the command, and nobody said yes",
    };
    match verdict.worst() {
        Some(finding) => format!("{begin}: {} (rule {})", finding.reason, finding.rule),
        None => begin.to_owned(),
    }
}

fn remedy(verdict: &policy::Verdict) -> Option<String> {
    let finding = verdict.worst()?;
    let instead = Some(finding.instead.clone()).filter(|instead| !instead.is_empty());
    if verdict.decision == policy::Decision::Deny {
        return instead;
    }
    let allow = format!("a person can allow it: \"{}\" = \"allow\" under [rules]", finding.rule);
    Some(instead.map_or(allow.clone(), |instead| format!("{instead}; or {allow}")))
}

/// Result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;
