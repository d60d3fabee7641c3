//! One signal to every member of a tree that Kennel did not start.

use std::cell::RefCell;

use proctree::{Leader, ProcId, Signal, SignalReport, signal_group_except};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::{Judge, Refused, RefusedMember};
use super::list::tree_of_process;

/// A signal that may be sent to a tree: those by which one ends, stops or continues what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSignal {
    name: &'static str,
    signal: Signal,
}

/// All of them.
pub const SIGNALS: [TreeSignal; 7] = [
    TreeSignal { name: "SIGTERM", signal: Signal::TERM },
    TreeSignal { name: "SIGINT", signal: Signal::INT },
    TreeSignal { name: "SIGHUP", signal: Signal::HUP },
    TreeSignal { name: "SIGQUIT", signal: Signal::QUIT },
    TreeSignal { name: "SIGKILL", signal: Signal::KILL },
    TreeSignal { name: "SIGSTOP", signal: Signal::STOP },
    TreeSignal { name: "SIGCONT", signal: Signal::CONT },
];

impl TreeSignal {
    /// By name, with or without `SIG`, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase();
        let bare = name.strip_prefix("SIG").unwrap_or(&name);
        SIGNALS.into_iter().find(|signal| signal.name.strip_prefix("SIG") == Some(bare))
    }

    /// As on the wire, `SIGTERM`.
    pub fn name(self) -> &'static str {
        self.name
    }

    pub(super) fn raw(self) -> Signal {
        self.signal
    }
}

/// What a signal to a tree met. Each pid is in one of the lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeSignalReport {
    /// Every member that was found and may be signalled has got the signal, or would have.
    pub success: bool,
    /// The signal; `none` for a dry run.
    pub signal_sent: String,
    /// Who got it; for a dry run, who would.
    pub pids: Vec<i32>,
    /// Who had gone when their turn came.
    pub gone: Vec<i32>,
    /// Who lives and may not be signalled by us, or whose identity could not be verified.
    pub failed: Vec<i32>,
    /// Who must not be signalled, and why.
    pub refused: Vec<RefusedMember>,
    /// False where the system cannot list processes: then nothing was signalled.
    pub supported: bool,
    /// True if no member can have been missed.
    pub complete: bool,
}

impl TreeSignalReport {
    pub(super) fn new(signal: &str, sent: SignalReport, refused: Vec<RefusedMember>) -> Self {
        let SignalReport { delivered, not_permitted, gone, skipped, supported, complete, .. } = sent;
        let failed: Vec<i32> = not_permitted.into_iter().chain(skipped).collect();
        Self {
            success: supported && failed.is_empty() && refused.is_empty(),
            signal_sent: signal.to_owned(),
            pids: delivered,
            gone,
            failed,
            refused,
            supported,
            complete,
        }
    }
}

/// Signals every member of the tree, each by identity.
///
/// Members that must not be signalled, whoever asks (the caller and its ancestors, Kennel's keepers, other users'
/// processes), are left out and named in the report.
///
/// # Errors
/// When the leader itself is one of those, or is not there: then nothing was signalled.
pub fn signal_tree(leader: impl Into<Leader>, signal: TreeSignal) -> Result<TreeSignalReport, Refused> {
    let judge = Judge::new();
    let leader = judge.leader(leader.into())?;
    let spared = Spared::new(&judge);
    let sent = signal_group_except(leader, signal.raw(), &|id| spared.is(id));
    Ok(TreeSignalReport::new(signal.name(), sent, spared.into_list()))
}

/// What [`signal_tree`] would do now. Nothing is signalled.
///
/// # Errors
/// As [`signal_tree`].
pub fn dry_run(leader: impl Into<Leader>) -> Result<TreeSignalReport, Refused> {
    let judge = Judge::new();
    let leader = judge.leader(leader.into())?;
    let tree = tree_of_process(leader);
    let mut report = TreeSignalReport {
        signal_sent: "none".to_owned(),
        supported: tree.supported,
        complete: tree.complete,
        ..TreeSignalReport::default()
    };
    for member in &tree.members {
        match judge.objection(ProcId { pid: member.pid, start_ticks: member.start }) {
            Some(why) => report.refused.push(RefusedMember { pid: member.pid, why }),
            None => report.pids.push(member.pid),
        }
    }
    report.success = report.supported && report.refused.is_empty();
    Ok(report)
}

/// The members to which the judge objects, each once.
pub(super) struct Spared<'a> {
    judge: &'a Judge,
    list: RefCell<Vec<RefusedMember>>,
}

impl<'a> Spared<'a> {
    pub(super) fn new(judge: &'a Judge) -> Self {
        Self { judge, list: RefCell::default() }
    }

    /// RACE(exec-start): after the list was read a member executes another program, which changes nothing, or it ends and
    /// its pid goes to a stranger; closed by comparing the start time, which an exec keeps, with a pidfd in hand.
    pub(super) fn is(&self, id: ProcId) -> bool {
        fault::point("exec-start");
        let Some(why) = self.judge.objection(id) else { return false };
        let mut list = self.list.borrow_mut();
        if list.iter().all(|member| member.pid != id.pid) {
            list.push(RefusedMember { pid: id.pid, why });
        }
        true
    }

    pub(super) fn into_list(self) -> Vec<RefusedMember> {
        self.list.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_signals_have_a_name_here() {
        let check = |text, name| assert_eq!(TreeSignal::named(text).map(TreeSignal::name), name, "{text}");
        check("TERM", Some("SIGTERM"));
        check("sigkill", Some("SIGKILL"));
        check("Cont", Some("SIGCONT"));
        for bad in ["", "SIG", "USR1", "SEGV", "9", "SIGSIGTERM", "TERM "] {
            check(bad, None);
        }
    }
}
