//! The answer: a decision and everything that led to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may happen to a command, from harmless to forbidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Nothing dangerous was seen. This is not "safe": see the limits in `docs/policy-rules.md`.
    Allow,
    /// Recoverable, sometimes wanted, or not knowable from the text.
    Ask,
    /// Irreversible loss, loss of secrets or of control.
    Deny,
}

/// One reason for a decision other than allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable id of the rule, such as `fs.delete.root`.
    pub rule: String,
    /// What this finding alone would decide.
    pub decision: Decision,
    /// Byte offsets into the command: from, to. For an argument vector, into its words joined by spaces.
    pub span: (u32, u32),
    /// One sentence.
    pub reason: String,
    /// The command as it would run, as far as that is known; `…` stands for what is not.
    pub argv: Vec<String>,
    /// The directory in which it would run.
    pub cwd: String,
    /// What to do instead; empty where there is nothing better.
    pub instead: String,
}

/// Something that another process is asked to start: it is nobody's descendant here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOff {
    /// Who is asked: `docker`, `systemd`, `at`, `tmux` and the like.
    pub service: String,
    /// The command that asks.
    pub argv: Vec<String>,
}

/// The decision about one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst of the findings.
    pub decision: Decision,
    /// In the order of the command, without repetitions.
    pub findings: Vec<Finding>,
    /// What is handed to others, each once. No reason to refuse: it outlives a kill, and one should know.
    pub hand_offs: Vec<HandOff>,
    /// How the command was read: one line for each command that would run, in order.
    pub trace: Vec<String>,
}

impl Verdict {
    /// The finding that decided: the first of the worst.
    pub fn worst(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.decision == self.decision)
    }
}
