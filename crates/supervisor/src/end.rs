//! How a task ended, from wait status only, and the exit code that a shell would report.

use serde::{Deserialize, Serialize};

/// On whose behalf a task was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Somebody asked for it: `kennel kill`, `KillShell`, `Task::kill`.
    User,
    /// The call was cancelled: Ctrl-C, a dropped future, a cancelled request.
    Cancel,
    /// The session was closed.
    Session,
    /// The owner of the task has gone.
    OwnerExit,
    /// The guard of the session was killed; its owner lives.
    GuardExit,
    /// Kennel, by a rule of the request (`--survivors kill`).
    Kennel,
}

/// The end of a task's leader. It never changes once it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum End {
    /// It returned by itself.
    Exited {
        /// 0–255.
        code: i32,
    },
    /// A signal that was not ours ended it.
    Signaled {
        /// `SIGSEGV` and the like.
        signal: String,
        /// A core file was written.
        core: bool,
    },
    /// Its time was over.
    TimedOut,
    /// It was ended on purpose.
    Stopped {
        /// By whom.
        by: StoppedBy,
    },
    /// It crossed a limit.
    Limit {
        /// `memory`, `pids`, `cpu_time`, `file_size`, `open_files`, `output`.
        limit: String,
        /// What was used when it was noticed: bytes, processes and threads, milliseconds, bytes,
        /// descriptors, bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<u64>,
        /// What was allowed, in the same unit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<u64>,
    },
    /// Its keepers were killed, or the machine stopped, and its end was not seen.
    Lost {
        /// What is known.
        why: String,
    },
    /// No instruction of it ever ran.
    NotStarted {
        /// Why.
        why: String,
    },
}

/// A limit that was crossed, with the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crossed {
    /// As in [`End::Limit`].
    pub(crate) limit: &'static str,
    /// What was used.
    pub(crate) used: u64,
    /// What was allowed.
    pub(crate) max: u64,
}

impl From<Crossed> for End {
    fn from(Crossed { limit, used, max }: Crossed) -> Self {
        Self::Limit { limit: limit.to_owned(), used: Some(used), max: Some(max) }
    }
}

/// A wait status, decoded (`wait(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitStatus {
    /// WIFEXITED with this code.
    Exited(i32),
    /// WIFSIGNALED with this signal.
    Signaled {
        /// Signal number.
        signal: i32,
        /// WCOREDUMP.
        core: bool,
    },
}

impl WaitStatus {
    /// Decodes a raw status of a process that has ended; `None` for stopped and continued ones.
    pub fn from_raw(raw: i32) -> Option<Self> {
        if libc::WIFEXITED(raw) {
            return Some(Self::Exited(libc::WEXITSTATUS(raw)));
        }
        libc::WIFSIGNALED(raw)
            .then(|| Self::Signaled { signal: libc::WTERMSIG(raw), core: libc::WCOREDUMP(raw) })
    }

    /// `$?` of a shell.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal, .. } => 128 + signal,
        }
    }
}

impl From<WaitStatus> for End {
    fn from(status: WaitStatus) -> Self {
        match status {
            WaitStatus::Exited(code) => Self::Exited { code },
            WaitStatus::Signaled { signal, core } => Self::Signaled { signal: signal_name(signal), core },
        }
    }
}

impl End {
    /// The exit code of an outcome: that of the leader as a shell reports it, 124 after our timeout.
    ///
    /// `status` is the leader's wait status where it was seen.
    pub fn exit_code(&self, status: Option<WaitStatus>) -> i32 {
        match (self, status) {
            (Self::TimedOut, _) => 124,
            (Self::Exited { code }, _) => *code,
            (_, Some(status)) => status.shell_code(),
            (Self::Signaled { signal, .. }, None) => signal_number(signal).map_or(-1, |number| 128 + number),
            (_, None) => -1,
        }
    }
}

const NAMES: [(&str, i32); 31] = [
    ("SIGHUP", libc::SIGHUP),
    ("SIGINT", libc::SIGINT),
    ("SIGQUIT", libc::SIGQUIT),
    ("SIGILL", libc::SIGILL),
    ("SIGTRAP", libc::SIGTRAP),
    ("SIGABRT", libc::SIGABRT),
    ("SIGBUS", libc::SIGBUS),
    ("SIGFPE", libc::SIGFPE),
    ("SIGKILL", libc::SIGKILL),
    ("SIGUSR1", libc::SIGUSR1),
    ("SIGSEGV", libc::SIGSEGV),
    ("SIGUSR2", libc::SIGUSR2),
    ("SIGPIPE", libc::SIGPIPE),
    ("SIGALRM", libc::SIGALRM),
    ("SIGTERM", libc::SIGTERM),
    ("SIGSTKFLT", libc::SIGSTKFLT),
    ("SIGCHLD", libc::SIGCHLD),
    ("SIGCONT", libc::SIGCONT),
    ("SIGSTOP", libc::SIGSTOP),
    ("SIGTSTP", libc::SIGTSTP),
    ("SIGTTIN", libc::SIGTTIN),
    ("SIGTTOU", libc::SIGTTOU),
    ("SIGURG", libc::SIGURG),
    ("SIGXCPU", libc::SIGXCPU),
    ("SIGXFSZ", libc::SIGXFSZ),
    ("SIGVTALRM", libc::SIGVTALRM),
    ("SIGPROF", libc::SIGPROF),
    ("SIGWINCH", libc::SIGWINCH),
    ("SIGIO", libc::SIGIO),
    ("SIGPWR", libc::SIGPWR),
    ("SIGSYS", libc::SIGSYS),
];

/// `SIGTERM` for 15; real-time signals as `SIGRTMIN+n` of the kernel's range (32 and up).
pub fn signal_name(number: i32) -> String {
    NAMES.iter().find(|(_, known)| *known == number).map_or_else(
        || if number > 31 { format!("SIGRTMIN+{}", number - 32) } else { format!("signal {number}") },
        |(name, _)| (*name).to_owned(),
    )
}

/// 15 for `SIGTERM`, `TERM`, `term` or `15`.
pub fn signal_number(name: &str) -> Option<i32> {
    let upper = name.to_ascii_uppercase();
    let long = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    NAMES.iter().find(|(known, _)| *known == long).map(|(_, number)| *number).or_else(|| {
        let number = name.parse().ok()?;
        (1..=64).contains(&number).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_shells() {
        let check = |end: End, status, code| assert_eq!(end.exit_code(status), code);
        check(End::Exited { code: 7 }, Some(WaitStatus::Exited(7)), 7);
        check(End::Signaled { signal: "SIGKILL".into(), core: false }, None, 137);
        check(End::TimedOut, Some(WaitStatus::Signaled { signal: 15, core: false }), 124);
        check(
            End::Stopped { by: StoppedBy::User },
            Some(WaitStatus::Signaled { signal: 15, core: false }),
            143,
        );
        check(End::Lost { why: String::new() }, None, -1);
    }

    #[test]
    fn names_and_numbers_agree() {
        for number in 1..=64 {
            let name = signal_name(number);
            if number <= 31 {
                assert_eq!(signal_number(&name), Some(number), "{name}");
            }
        }
        assert_eq!(signal_number("term"), Some(15));
        assert_eq!(signal_number("0"), None);
        assert_eq!(signal_number("SIGNOPE"), None);
    }
}
