//! Ending a task, with proof.

use std::time::Duration;

use kennel::{Kill, KillReport, TaskInfo};

use super::answer::{Refusal, Reply};
use super::consent::{self, Consent};
use super::server::Call;
use crate::render;

const GRACE_DEFAULT_MS: u64 = 5_000;
const GRACE_MAX_MS: u64 = 600_000;

/// The names of an id, the one that errors use first.
pub(crate) const ID: [&str; 3] = ["shell_id", "bash_id", "task_id"];

/// The tool.
pub(crate) async fn kill(call: &mut Call<'_>) -> Result<Reply, Refusal> {
    let id = call.arguments.required_text(&ID)?;
    let signal = call.arguments.choice(
        &["signal"],
        &[("SIGTERM", libc::SIGTERM), ("SIGKILL", libc::SIGKILL), ("SIGINT", libc::SIGINT)],
    )?;
    let force = call.arguments.flag(&["force"])?.unwrap_or(true);
    let grace_ms =
        call.arguments.number(&["timeout", "timeout_ms"])?.unwrap_or(GRACE_DEFAULT_MS).min(GRACE_MAX_MS);
    let task = call.server.engine().task(call.server.tenant(), &id).await?;
    match confirmed(call, &task.info()?).await? {
        Consent::NotNeeded | Consent::Given => {}
        Consent::AskBack(question) => return Ok(Reply::Ask(question)),
        Consent::Refused => {
            return Err(Refusal::own("not_confirmed", format!("nobody confirmed the end of {}", task.id()))
                .with_hint(format!("a person can end it: kennel kill {}", task.id())));
        }
    }
    let signal = signal.unwrap_or(libc::SIGTERM);
    let mut kill = Kill::with_signal(signal).grace(Duration::from_millis(grace_ms));
    if signal == libc::SIGKILL {
        kill = Kill::now();
    }
    if !force && signal != libc::SIGKILL {
        kill = kill.no_force();
    }
    let report = task.kill(kill.telling_freed_ports()).await?;
    let text = in_words(&report, &call.notes());
    Reply::done(&report, text)
}

/// A person's yes, where the server was told to ask about tasks of this age.
async fn confirmed(call: &Call<'_>, task: &TaskInfo) -> Result<Consent, Refusal> {
    let Some(limit) = call.server.engine().options().confirm_kill_after else {
        return Ok(Consent::NotNeeded);
    };
    let age = age(task);
    if task.status != kennel::Status::Running || age < limit {
        return Ok(Consent::NotNeeded);
    }
    let command = render::shorten(&render::escape(&task.command), 500);
    consent::ask(call, format!("End task {} that has run for {} s?\n{command}", task.id, age.as_secs())).await
}

fn age(task: &TaskInfo) -> Duration {
    let started: Option<jiff::Timestamp> = task.started_at.parse().ok();
    let age = started.map(|started| jiff::Timestamp::now().duration_since(started));
    age.and_then(|age| Duration::try_from(age).ok()).unwrap_or_default()
}

fn in_words(report: &KillReport, notes: &[String]) -> String {
    let mut lines = Vec::new();
    if report.signal_sent == "none" && report.success {
        lines.push(format!("Task {} had ended already.", report.shell_id));
    } else if report.success {
        let force = if report.force_killed { ", then SIGKILL" } else { "" };
        lines.push(format!(
            "Task {} and everything it started is dead ({}{force}, {} ms).",
            report.shell_id, report.signal_sent, report.waited_ms
        ));
    } else {
        let why = report.error.as_deref().unwrap_or("something of it lives on");
        lines.push(format!("Task {} is not dead: {why}.", report.shell_id));
    }
    lines.extend(report.survivors.iter().map(|survivor| {
        let held = survivor.held.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        format!(
            "  lives: {} (pid {}){held}",
            render::shorten(&render::escape(&survivor.command), 80),
            survivor.pid
        )
    }));
    if let Some(code) = report.exit_code {
        lines.push(format!("Exit code {code}."));
    }
    if !report.freed_ports.is_empty() {
        let ports: Vec<String> = report.freed_ports.iter().map(u16::to_string).collect();
        lines.push(format!("Free again: port {}.", ports.join(", ")));
    }
    if !report.freed_sockets.is_empty() {
        lines.push(format!("Nobody listens any more on {}.", report.freed_sockets.join(", ")));
    }
    lines.extend(notes.iter().cloned());
    super::text::shorten(&lines.join("\n"), super::text::CHARS_MAX)
}

/// A result of the promised shape for a kill that could not be tried.
pub(crate) fn failed(id: Option<&str>, refusal: &Refusal) -> serde_json::Value {
    serde_json::json!({
        "success": false, "shell_id": id.unwrap_or_default(), "signal_sent": "none", "force_killed": false,
        "error": refusal.line(), "survivors": [], "freed_ports": [], "waited_ms": 0,
    })
}
