//! Reading a task's output and waiting for it.

use std::time::Duration;

use kennel::{Read, Task, TaskOutput};

use super::answer::{Refusal, Reply};
use super::progress::Progress;
use super::server::Call;
use super::text;

const TIMEOUT_DEFAULT_MS: u64 = 30_000;
const TIMEOUT_MAX_MS: u64 = 600_000;
/// Lines that a background process of Gemini's shows by default.
const LINES_DEFAULT: u64 = 100;
/// Room for what is said about the output.
const FACTS_CHARS: usize = 500;

/// The names of an id, the one that errors use first.
pub(crate) const ID: [&str; 3] = ["task_id", "shell_id", "bash_id"];

/// Where a read begins when the call does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// At the beginning, or, for the last lines of a process by pid, before the end.
    Beginning,
    /// Where the last read ended.
    LastRead,
}

/// The tool.
pub(crate) async fn read(call: &mut Call<'_>, from: From) -> Result<Reply, Refusal> {
    let arguments = &mut call.arguments;
    let pid = arguments.number(&["pid"])?;
    let id = match pid {
        Some(_) => arguments.text(&ID)?,
        None => Some(arguments.required_text(&ID)?),
    };
    let delay = arguments.number(&["delay_ms"])?;
    let block = arguments.flag(&["block"])?.unwrap_or(from == From::Beginning && pid.is_none());
    let limit_ms =
        arguments.number(&["timeout", "timeout_ms"])?.unwrap_or(TIMEOUT_DEFAULT_MS).min(TIMEOUT_MAX_MS);
    let offset = arguments.number(&["offset"])?;
    let tail = arguments.number(&["tail", "lines"])?.or(pid.map(|_| LINES_DEFAULT));
    let until = arguments.text(&["until"])?;
    let filter = arguments.text(&["filter"])?;
    let engine = call.server.engine();
    let task = match (id, pid) {
        (Some(id), _) => engine.task(call.server.tenant(), &id).await?,
        (None, pid) => by_pid(call, pid.unwrap_or_default()).await?,
    };
    let start = match (offset, tail, from) {
        (Some(offset), ..) => Read::from(offset),
        (None, Some(lines), _) => Read::tail(lines),
        (None, None, From::LastRead) => Read::from(engine.position(task.id())),
        (None, None, From::Beginning) => Read::from(0),
    };
    let waits = block || until.is_some() || delay.is_some();
    let wait = if waits { Duration::from_millis(delay.unwrap_or(limit_ms)) } else { Duration::ZERO };
    let mut read = start.wait(wait).max_chars(text::CHARS_MAX - FACTS_CHARS);
    if let Some(pattern) = filter {
        read = read.filter(pattern);
    }
    match until {
        Some(pattern) => read = read.until(pattern),
        None if waits => read = read.until_end(),
        None => {}
    }
    let mut notes = call.notes();
    if let Some(offset) = offset {
        let begins = task.offset_of(&read)?;
        if begins < offset {
            notes.push(format!("[offset {offset} is beyond the end: read from the end, {begins}]"));
        }
    }
    let page = wait_for(call, &task, read).await?;
    engine.set_position(task.id(), page.next_offset);
    let text = in_words(&page, &notes);
    Reply::done(&page, text)
}

pub(crate) async fn wait_for(call: &Call<'_>, task: &Task, read: Read) -> Result<TaskOutput, Refusal> {
    let progress = Progress::of(&call.context);
    tokio::select! {
        biased;
        page = task.read(read) => page.map_err(Refusal::from),
        () = call.context.ct.cancelled() => Err(Refusal::own("cancelled", "the call was cancelled; the task goes on")),
        () = call.server.engine().closing() => Err(Refusal::own("closing", "the server is ending")),
        never = progress.tell(task) => match never {},
    }
}

async fn by_pid(call: &Call<'_>, pid: u64) -> Result<Task, Refusal> {
    let engine = call.server.engine();
    let tasks = engine.tasks(call.server.tenant()).await?;
    let found =
        tasks.iter().rev().find(|task| task.pid.and_then(|leader| u64::try_from(leader).ok()) == Some(pid));
    let found = found.ok_or_else(|| {
        Refusal::argument(
            "pid",
            format!("`pid` is {pid}: no task has this leader"),
            "list the background processes".to_owned(),
        )
    })?;
    engine.task(call.server.tenant(), &found.id).await
}

pub(crate) fn in_words(page: &TaskOutput, notes: &[String]) -> String {
    let mut facts = vec![match (page.exit_code, page.background_pids.len()) {
        (Some(code), 0) => format!("[{}, exit code {code}]", page.status.as_str()),
        (Some(code), left) => format!("[exit code {code}; {left} processes of it still run]"),
        (None, _) => format!("[{}; next offset {}]", page.status.as_str(), page.next_offset),
    }];
    match page.matched {
        Some(true) => facts.push("[the pattern matched]".to_owned()),
        Some(false) => facts.push("[the pattern has not matched]".to_owned()),
        None => {}
    }
    if page.waiting_for_input == Some(true) {
        facts.push("[it waits for input]".to_owned());
    }
    facts.extend(notes.iter().cloned());
    let body = page.text.trim_end_matches('\n');
    let gap = if body.is_empty() { "" } else { "\n" };
    format!("{}{gap}{}", body, text::shorten(&facts.join("\n"), FACTS_CHARS))
}

/// A result of the promised shape for a read that failed.
pub(crate) fn failed(id: Option<&str>, refusal: &Refusal) -> serde_json::Value {
    serde_json::json!({"task_id": id.unwrap_or_default(), "success": false, "error": refusal.line()})
}
