//! `kennel start`: the id on the last line, and back at once.

use kennel::{GuardStart, OnOwnerExit};
use serde::Serialize;

use crate::args::StartOptions;
use crate::ask::Asking;
use crate::fault::Fault;
use crate::render;
use crate::run::{common_request, open_session};

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct StartReport {
    /// Task id.
    pub(crate) task_id: String,
    /// Leader.
    pub(crate) pid: i32,
    /// Where its output is kept.
    pub(crate) output_file: String,
}

/// Starts the command.
pub(crate) async fn start(options: StartOptions, guard: GuardStart) -> Result<u8, Fault> {
    let asking = Asking::new(&options.command, None)?;
    let session = open_session(&options.command, guard, &asking).await?;
    // Without an owner the task is on its own; with one, its own or the session's, it lives as long as that.
    let request = common_request(&options.command)?;
    let request = if options.command.keep || !session.is_bound() {
        request.on_owner_exit(OnOwnerExit::Keep)
    } else {
        request
    };
    let task = session.start(request).await.map_err(|error| asking.fault(&error))?;
    asking.tell_unasked();
    let pid = task.pid().await.map_err(|error| Fault::of_command(&error))?;
    if options.command.json {
        let info = task.info().map_err(|error| Fault::of_command(&error))?;
        let output_file = info.output_file.unwrap_or_default();
        render::json(&StartReport { task_id: task.id().to_owned(), pid, output_file });
    } else {
        render::answer(&format!("{}\n", task.id()));
    }
    Ok(0)
}
