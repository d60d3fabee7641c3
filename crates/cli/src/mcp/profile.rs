//! One engine under the names that different agents know.

use std::sync::Arc;

use kennel::{InputReport, KillReport, Outcome, TaskList, TaskOutput};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::{catalog, schema, words};

/// Whose names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Kennel's own: `Bash`, `TaskOutput`, `KillShell`, `TaskList`, `TaskInput`.
    #[default]
    Kennel,
    /// Those of Claude Code: `Bash`, `BashOutput`, `TaskStop`.
    Claude,
    /// Those of Codex: `exec_command`, `write_stdin`.
    Codex,
    /// Those of Gemini CLI: `run_shell_command` and its companions.
    Gemini,
}

/// What a tool does, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Runs a command.
    Run,
    /// The same with the habits of Codex: no timeout, ten seconds of patience.
    Exec,
    /// Reads a task's output.
    Read,
    /// The same from where the last read ended.
    ReadOn,
    /// Ends a task.
    Kill,
    /// Lists tasks.
    List,
    /// Writes to a task.
    Write,
    /// Writes to a task and reads on.
    WriteAndRead,
}

/// Every name under which a tool may be called, whatever the profile lists.
const NAMES: [(&str, Work); 13] = [
    ("Bash", Work::Run),
    ("run_shell_command", Work::Run),
    ("exec_command", Work::Exec),
    ("TaskOutput", Work::Read),
    ("read_background_output", Work::Read),
    ("BashOutput", Work::ReadOn),
    ("KillShell", Work::Kill),
    ("KillBash", Work::Kill),
    ("TaskStop", Work::Kill),
    ("TaskList", Work::List),
    ("list_background_processes", Work::List),
    ("TaskInput", Work::Write),
    ("write_stdin", Work::WriteAndRead),
];

impl Work {
    /// What the tool of this name does.
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, work)| *work)
    }

    fn annotations(self) -> ToolAnnotations {
        let (read_only, destructive, idempotent, open_world) = match self {
            Self::Run | Self::Exec | Self::Write | Self::WriteAndRead => (false, true, false, true),
            Self::Read | Self::ReadOn | Self::List => (true, false, true, false),
            Self::Kill => (false, true, true, false),
        };
        ToolAnnotations::from_raw(
            None,
            Some(read_only),
            Some(destructive),
            Some(idempotent),
            Some(open_world),
        )
    }

    fn output(self) -> JsonObject {
        match self {
            Self::Run | Self::Exec => schema::of::<Outcome>(),
            Self::Write => schema::or_error::<InputReport>("written"),
            Self::Read | Self::ReadOn | Self::WriteAndRead => schema::or_error::<TaskOutput>("task_id"),
            Self::Kill => schema::of::<KillReport>(),
            Self::List => schema::or_error::<TaskList>("tasks"),
        }
    }
}

/// A tool as a profile lists it.
struct Face {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    input: Value,
}

impl Profile {
    /// The profile's tools, always in the same order.
    pub(crate) fn tools(self) -> Vec<Tool> {
        self.faces().iter().filter_map(tool).collect()
    }

    fn faces(self) -> Vec<Face> {
        let face = |name, title, about, input| Face { name, title, about, input };
        let bash = face("Bash", "Run a command", words::BASH, catalog::bash());
        let kill = |name| face(name, "End a task", words::KILL_SHELL, catalog::kill());
        let list = face("TaskList", "List tasks", words::TASK_LIST, catalog::list());
        let input = face("TaskInput", "Write to a task", words::TASK_INPUT, catalog::input());
        let read = face("TaskOutput", "Read a task", words::TASK_OUTPUT, catalog::read("task_id"));
        match self {
            Self::Kennel => vec![bash, read, kill("KillShell"), list, input],
            Self::Claude => {
                let read = face("BashOutput", "Read a task", words::BASH_OUTPUT, catalog::read("bash_id"));
                vec![bash, read, kill("TaskStop"), list, input]
            }
            Self::Codex => {
                let exec = face("exec_command", "Run a command", words::EXEC_COMMAND, catalog::exec());
                let write = face("write_stdin", "Write to a command", words::WRITE_STDIN, catalog::write());
                vec![exec, write, kill("KillShell"), list]
            }
            Self::Gemini => vec![
                face("run_shell_command", "Run a command", words::RUN_SHELL_COMMAND, catalog::gemini_run()),
                face(
                    "list_background_processes",
                    "List background processes",
                    words::LIST_BACKGROUND,
                    json!({"type": "object", "properties": {}}),
                ),
                face(
                    "read_background_output",
                    "Read a background process",
                    words::READ_BACKGROUND,
                    catalog::gemini_read(),
                ),
                kill("KillShell"),
            ],
        }
    }
}

fn tool(face: &Face) -> Option<Tool> {
    let work = Work::named(face.name)?;
    let input = face.input.as_object().cloned().unwrap_or_default();
    Some(
        Tool::new(face.name, face.about, Arc::new(input))
            .with_title(face.title)
            .with_raw_output_schema(Arc::new(work.output()))
            .with_annotations(work.annotations()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Profile; 4] = [Profile::Kennel, Profile::Claude, Profile::Codex, Profile::Gemini];

    #[test]
    fn a_list_of_tools_is_small_enough_for_every_client() {
        for profile in ALL {
            let tools = profile.tools();
            let text = serde_json::to_string(&tools).unwrap();
            assert!(text.chars().count() <= 8_000, "{profile:?}: {} characters", text.chars().count());
            assert!(tools.len() <= 8 && words::INSTRUCTIONS.len() <= 1_800);
            for tool in tools {
                let about = tool.description.clone().unwrap_or_default();
                assert!(about.len() <= 1_800, "{}: {} bytes", tool.name, about.len());
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                assert!(tool.name.len() <= 25 && tool.name.bytes().all(plain), "{}", tool.name);
                assert!(tool.title.is_some() && tool.annotations.is_some() && tool.output_schema.is_some());
            }
        }
    }

    #[test]
    fn schemas_say_nothing_that_a_client_does_not_know() {
        for tool in ALL.into_iter().flat_map(Profile::tools) {
            let text = serde_json::to_string(&tool).unwrap();
            for word in
                ["\"$ref\"", "\"$defs\"", "\"oneOf\"", "\"anyOf\"", "\"format\"", "uint64", "\"null\""]
            {
                assert!(!text.contains(word), "{} has {word}", tool.name);
            }
            assert_eq!(tool.input_schema.get("type"), Some(&json!("object")));
            assert_eq!(tool.output_schema.unwrap().get("type"), Some(&json!("object")));
        }
    }

    #[test]
    fn the_lists_are_as_they_were() {
        for profile in ALL {
            let name = format!("tools_{profile:?}").to_lowercase();
            insta::assert_snapshot!(name, serde_json::to_string_pretty(&profile.tools()).unwrap());
        }
    }
}
