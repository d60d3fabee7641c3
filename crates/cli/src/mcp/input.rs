//! Writing to a task, and, for Codex, reading on afterwards.

use std::time::Duration;

use kennel::{Input, InputReport, Read, Task};
use serde_json::Value;

use super::answer::{Refusal, Reply};
use super::output::{self, ID};
use super::server::Call;
use super::text;

/// What Codex calls `yield_time_ms`, for a write.
const YIELD_DEFAULT_MS: u64 = 250;
const YIELD_MAX_MS: u64 = 600_000;

/// The tool that writes.
pub(crate) async fn write(call: &mut Call<'_>) -> Result<Reply, Refusal> {
    let id = call.arguments.required_text(&ID)?;
    let said = call.arguments.text(&["text"])?;
    let keys = keys(call)?;
    let eof = call.arguments.flag(&["eof"])?.unwrap_or(false);
    if said.is_none() && keys.is_none() && !eof {
        return Err(Refusal::argument(
            "text",
            "`text`, `keys` and `eof` are all missing".to_owned(),
            "give one of them; text ends a line with \\n".to_owned(),
        ));
    }
    let task = call.server.engine().task(call.server.tenant(), &id).await?;
    let mut input = Input::text(said.unwrap_or_default());
    if let Some(keys) = keys {
        input = input.and_key(keys);
    }
    if eof {
        input = input.eof();
    }
    let report = send(call, &task, input).await?;
    let mut words = vec![format!("{} bytes written; TaskOutput reads the answer.", report.written)];
    words.extend(call.notes());
    Reply::done(&report, words.join("\n"))
}

/// The tool that writes and reads on.
pub(crate) async fn write_and_read(call: &mut Call<'_>) -> Result<Reply, Refusal> {
    let id = call.arguments.required_text(&["session_id", "task_id"])?;
    let chars = call.arguments.text(&["chars"])?.unwrap_or_default();
    let wait_ms = call.arguments.number(&["yield_time_ms"])?.unwrap_or(YIELD_DEFAULT_MS).min(YIELD_MAX_MS);
    let tokens = call.arguments.number(&["max_output_tokens"])?;
    let engine = call.server.engine();
    let task = engine.task(call.server.tenant(), &id).await?;
    if !chars.is_empty() {
        send(call, &task, Input::text(chars)).await?;
    }
    let most = tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(4)).ok());
    let read = Read::from(engine.position(task.id()))
        .until_end()
        .wait(Duration::from_millis(wait_ms))
        .max_chars(most.unwrap_or(text::CHARS_MAX).clamp(200, text::CHARS_MAX - 500));
    let page = output::wait_for(call, &task, read).await?;
    engine.set_position(task.id(), page.next_offset);
    let words = output::in_words(&page, &call.notes());
    Reply::done(&page, words)
}

/// One word of keys, or several in a list.
fn keys(call: &mut Call<'_>) -> Result<Option<String>, Refusal> {
    match call.arguments.value("keys") {
        None => Ok(None),
        Some(Value::String(keys)) => Ok(Some(keys)),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            let keys: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Ok(Some(keys.join(" ")))
        }
        Some(other) => Err(Refusal::argument(
            "keys",
            format!("`keys` is {other}"),
            "`keys` must be a string such as \"C-c\" or \"Up Enter\"".to_owned(),
        )),
    }
}

async fn send(call: &Call<'_>, task: &Task, input: Input) -> Result<InputReport, Refusal> {
    tokio::select! {
        sent = task.send(input) => sent.map_err(Refusal::from),
        () = call.context.ct.cancelled() => Err(Refusal::own("cancelled", "the call was cancelled")),
        () = call.server.engine().closing() => Err(Refusal::own("closing", "the server is ending")),
    }
}

/// A result of the promised shape for input that was not taken.
pub(crate) fn failed(refusal: &Refusal) -> Value {
    serde_json::json!({"written": refusal.written(), "success": false, "error": refusal.line()})
}
