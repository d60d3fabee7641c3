//! How the command ended, for the caller: exit status, report, what is said.

use std::path::Path;

use anyhow::Context as _;
use kennel::{Notice, Outcome, Status, StoppedBy, Task, VerdictSummary};

use crate::args::RunOptions;
use crate::fault::Fault;
use crate::limits;
use crate::progress::Progress;
use crate::render;
use crate::sys::Terminal;

/// What of the output has reached the caller.
pub(super) struct Shown {
    /// Everything that came could be written.
    pub(super) all: bool,
    /// How much came, where it was streamed.
    pub(super) bytes: Option<u64>,
}

impl Shown {
    /// Says what a full disk has swallowed; false when the caller has not got everything.
    fn is_whole(&self, outcome: &Outcome) -> bool {
        let lost = outcome.notices.iter().find_map(|notice| match notice {
            Notice::SpoolLost { why, .. } => Some(why),
            _ => None,
        });
        let missing =
            self.bytes.map_or(0, |came| (outcome.stdout_bytes + outcome.stderr_bytes).saturating_sub(came));
        if let (Some(why), 1..) = (lost, missing) {
            render::error(
                &format!("{missing} bytes of output could not be stored and are lost: {why}"),
                Some("free space where the state is kept, or set KENNEL_STATE_DIR to another place"),
            );
            return false;
        }
        self.all
    }
}

pub(super) async fn finish(
    options: &RunOptions,
    task: &Task,
    interrupted: Option<i32>,
    (terminal, progress): (Option<Terminal>, Progress),
    shown: &Shown,
) -> Result<u8, Fault> {
    let outcome = task.outcome().await.map_err(|error| Fault::of_command(&error))?;
    progress.finish(&outcome);
    if !outcome.survivors.is_empty() || outcome.status == Status::Running {
        let _it_ended_meanwhile = task.keep().await;
        name_survivors(&outcome);
    }
    let by_force = !matches!(outcome.end, Some(kennel::End::Exited { .. }));
    if let Some(terminal) = terminal.filter(|_| by_force) {
        terminal.restore();
    }
    if options.command.json {
        render::json(&outcome);
    }
    if let Some(file) = &options.report {
        write_report(file, &outcome)?;
    }
    match &outcome.end {
        Some(kennel::End::NotStarted { why }) => render::error(why, None),
        Some(kennel::End::Lost { why }) => {
            render::error(&format!("the command's end is not known: {why}"), None);
        }
        Some(kennel::End::Stopped { by: StoppedBy::GuardExit }) => {
            render::error(
                "the guard of the command was killed; everything that it started has been ended",
                None,
            );
        }
        _ => {}
    }
    if matches!(outcome.end, Some(kennel::End::TimedOut)) && !options.command.json && !options.events {
        render::note(&format!(
            "timed out after {} ms; everything it started has been ended",
            outcome.duration_ms
        ));
    }
    for notice in &outcome.notices {
        if let Notice::SignalRefused { pid, task_id } = notice {
            render::note(&format!(
                "the sandbox refused a signal to {pid}; kennel kill {task_id} ends its task"
            ));
        }
    }
    if let Some(crossed) = outcome.end.as_ref().and_then(limits::crossed)
        && !options.command.json
        && !options.events
    {
        render::note(&format!("over the limit of {crossed}; everything it started has been ended"));
    }
    let code = match interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(125),
        None => exit_status(&outcome),
    };
    let whole = shown.is_whole(&outcome);
    // A success of which something is missing is none for who pipes it on.
    Ok(if code == 0 && !whole { 125 } else { code })
}

/// The exit status of `run` and `wait` for an outcome.
pub(crate) fn exit_status(outcome: &Outcome) -> u8 {
    match outcome.exit_code {
        Some(code) => u8::try_from(code).unwrap_or(125),
        // It went to the background at its timeout.
        None => 124,
    }
}

fn name_survivors(outcome: &Outcome) {
    let id = &outcome.task_id;
    if outcome.status == Status::Running {
        return render::note(&format!("the command goes on in the background; kennel kill {id} ends it"));
    }
    for survivor in &outcome.survivors {
        render::note(&format!(
            "still running: {} (pid {})",
            render::shorten(&survivor.command, 60),
            survivor.pid
        ));
    }
    render::note(&format!(
        "kennel kill {id} ends {}",
        if outcome.survivors.len() == 1 { "it" } else { "them" }
    ));
}

pub(super) fn write_report(file: &Path, outcome: &impl serde::Serialize) -> Result<(), Fault> {
    let write = || -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(outcome)?;
        text.push(b'\n');
        std::fs::write(file, text)?;
        Ok(())
    };
    write().with_context(|| format!("write the report {}", file.display())).map_err(Fault::own)
}

/// Our own failure in the shape of a result.
pub(super) fn failed_outcome(fault: &Fault) -> serde_json::Value {
    let code = if fault.denied().is_some() { "denied" } else { "failed" };
    let mut error = serde_json::json!({"code": code, "message": fault.what()});
    if let Some(hint) = fault.hint() {
        error["hint"] = hint.into();
    }
    failed_result(&error, fault.denied().map(|denied| VerdictSummary::of(&denied.verdict)))
}

/// The result of a command that we did not start, with the error that says why.
pub(crate) fn failed_result(error: &serde_json::Value, verdict: Option<VerdictSummary>) -> serde_json::Value {
    let mut outcome = serde_json::json!({
        "status": "failed", "success": false, "stdout": "", "stderr": "", "exit_code": -1, "duration_ms": 0,
        "truncated": false, "stdout_bytes": 0, "stderr_bytes": 0, "dropped_bytes": 0, "task_id": "", "session_id": "",
        "end": {"cause": "not_started", "why": error["message"]}, "cwd": "", "survivors": [], "background_pids": [],
        "boundary": "subreaper", "protections": [],
        "usage": {"user_ms": 0, "system_ms": 0, "max_rss_bytes": 0, "processes_peak": 0}, "invalid_utf8": 0,
        "error": error,
    });
    if let Some(verdict) = verdict {
        outcome["verdict"] = serde_json::to_value(verdict).unwrap_or_default();
    }
    outcome
}
