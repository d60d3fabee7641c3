//! `kennel schema`: the shapes of everything machine-readable.

use schemars::{Schema, schema_for};

use crate::args::SchemaOptions;
use crate::check::CheckReport;
use crate::fault::Fault;
use crate::render;
use crate::start::StartReport;
use crate::track::TrackAnswer;

const NAMES: [&str; 19] = [
    "outcome",
    "event",
    "task",
    "tasks",
    "task_output",
    "kill",
    "send",
    "start",
    "check",
    "gc",
    "doctor",
    "tree",
    "signal",
    "track",
    "config",
    "screen",
    "session",
    "sessions",
    "session_closed",
];

/// Prints a schema, or the names.
pub(crate) fn schema(options: &SchemaOptions) -> Result<u8, Fault> {
    let Some(name) = &options.name else {
        render::answer(&format!("{}\n", NAMES.join("\n")));
        return Ok(0);
    };
    match named(&name.to_lowercase()) {
        Some(schema) => {
            render::json(&schema);
            Ok(0)
        }
        None => {
            Err(Fault::usage(format!("there is no schema {name:?}"), format!("one of {}", NAMES.join(", "))))
        }
    }
}

fn named(name: &str) -> Option<Schema> {
    Some(match name {
        "outcome" => schema_for!(kennel::Outcome),
        "event" => schema_for!(kennel::Event),
        "task" => schema_for!(kennel::TaskInfo),
        "tasks" => schema_for!(kennel::TaskList),
        "task_output" | "output" => schema_for!(kennel::TaskOutput),
        "screen" => schema_for!(kennel::Screen),
        "kill" => schema_for!(kennel::KillReport),
        "send" => schema_for!(kennel::InputReport),
        "start" => schema_for!(StartReport),
        "check" => schema_for!(CheckReport),
        "gc" => schema_for!(kennel::Collected),
        "tree" => schema_for!(kennel::tree::Tree),
        "signal" => schema_for!(kennel::tree::TreeSignalReport),
        "track" => schema_for!(TrackAnswer),
        "doctor" => schema_for!(kennel::Probe),
        "session" => schema_for!(kennel::SessionInfo),
        "sessions" => schema_for!(kennel::SessionList),
        "session_closed" => schema_for!(kennel::SessionClosed),
        "config" => kennel::config::config_schema(),
        _ => return None,
    })
}
