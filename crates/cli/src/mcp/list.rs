//! Listing tasks, within what an answer may be long.

use kennel::{Status, TaskInfo};
use serde::Serialize;

use super::answer::{Refusal, Reply};
use super::server::Call;
use super::text;
use crate::render;

/// Tasks in one answer: all that run, and the newest of the others.
const TASKS_MAX: usize = 100;
/// Of a command in the list.
const COMMAND_CHARS_MAX: usize = 500;

#[derive(Debug, Serialize)]
struct Listed {
    tasks: Vec<TaskInfo>,
    /// Older ones that are not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<usize>,
}

/// The tool.
pub(crate) async fn list(call: &mut Call<'_>) -> Result<Reply, Refusal> {
    let status = call.arguments.choice(
        &["status"],
        &[
            ("running", Some(Status::Running)),
            ("completed", Some(Status::Completed)),
            ("failed", Some(Status::Failed)),
            ("killed", Some(Status::Killed)),
            ("lost", Some(Status::Lost)),
            ("all", None),
        ],
    )?;
    let listed = listed(call, status.flatten()).await?;
    let text = in_words(&listed, &call.notes());
    Reply::done(&listed, text)
}

async fn listed(call: &Call<'_>, status: Option<Status>) -> Result<Listed, Refusal> {
    let all = call.server.engine().tasks(call.server.tenant()).await?;
    let wanted = |task: &TaskInfo| match status {
        Some(status) => task.status == status,
        // Calls that came and went were answered when they ended.
        None => task.background || task.status == Status::Running,
    };
    let mut tasks: Vec<TaskInfo> = all.into_iter().filter(wanted).collect();
    let total = tasks.len();
    if total > TASKS_MAX {
        // Stable: both halves stay oldest first.
        tasks.sort_by_key(|task| task.status == Status::Running);
        tasks.drain(..total - TASKS_MAX);
        tasks.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    }
    for task in &mut tasks {
        task.command = render::shorten(&task.command, COMMAND_CHARS_MAX);
    }
    let omitted = total - tasks.len();
    Ok(Listed { tasks, omitted: (omitted > 0).then_some(omitted) })
}

fn in_words(listed: &Listed, notes: &[String]) -> String {
    let mut lines: Vec<String> = listed.tasks.iter().map(text::task).collect();
    if lines.is_empty() {
        lines.push("No tasks.".to_owned());
    }
    if let Some(omitted) = listed.omitted {
        lines.push(format!("[{omitted} older tasks are not shown]"));
    }
    lines.extend(notes.iter().cloned());
    text::squeeze(&lines.join("\n"), text::CHARS_MAX)
}

/// A result of the promised shape for a list that could not be made.
pub(crate) fn failed(refusal: &Refusal) -> serde_json::Value {
    serde_json::json!({"tasks": [], "success": false, "error": refusal.line()})
}
