//! `kennel hook install|uninstall`: our entry in an agent's own file of hooks, and nothing else in it.
//!
//! Idempotent; what was there before is kept beside it; the new file replaces the old one in one step.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use crate::args::{ClientArg, ClientOptions, HookOptions, HookVerb};
use crate::fault::Fault;
use crate::hostfile::{pretty, put};
use crate::{config, render};

/// An agent's file of hooks and our entry in it.
struct Client {
    name: &'static str,
    file: PathBuf,
    event: &'static str,
    entry: Value,
    /// What the file must have besides hooks.
    version: Option<u64>,
    /// What its user still has to do.
    advice: &'static str,
}

/// Installs or uninstalls.
pub(crate) fn hook(options: &HookOptions) -> Result<u8, Fault> {
    let (options, install) = match &options.verb {
        HookVerb::Install(options) => (options, true),
        HookVerb::Uninstall(options) => (options, false),
    };
    if config::inside_task() && !options.print {
        return Err(Fault::refused(
            "hooks are not changed from inside a task",
            "only who started the task may; run it in your own shell, or use --print",
        ));
    }
    let client = client(options.client)?;
    change(&client, options, install)
}

fn change(client: &Client, options: &ClientOptions, install: bool) -> Result<u8, Fault> {
    let shown = client.file.display();
    let before = read(client)?;
    let mut root = before.clone().unwrap_or_else(|| Value::Object(Map::new()));
    let changed = if install { add(&mut root, client) } else { remove(&mut root, client.event) };
    let changed = changed.ok_or_else(|| {
        Fault::undone(
            format!("{shown} does not have the shape of a file of hooks of {}", client.name),
            format!("correct it, or add the entry by hand:\n{}", pretty(&client.entry)),
        )
    })?;
    if options.print {
        render::answer(&pretty(&root));
        return Ok(0);
    }
    if !changed {
        let state = if install { "is installed already" } else { "is not installed" };
        render::answer(&format!("the hook for {} {state}: {shown}\n", client.name));
        return Ok(0);
    }
    let done = if install { "installed" } else { "uninstalled" };
    let advice = if install { client.advice } else { "" };
    put(&client.file, &pretty(&root), &format!("the hook for {} is {done}", client.name), advice)
}

fn client(which: ClientArg) -> Result<Client, Fault> {
    let home = config::home();
    let binary = std::env::current_exe().context("find this program").map_err(Fault::own)?;
    let command = |name: &str| format!("{} check --hook {name}", quote(&binary.to_string_lossy()));
    let dir = |variable: &str, usual: &str| config::absolute(variable).unwrap_or_else(|| home.join(usual));
    Ok(match which {
        ClientArg::Claude => Client {
            name: "claude",
            file: dir("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"),
            event: "PreToolUse",
            entry: json!({"matcher": "Bash", "hooks": [
                {"type": "command", "command": command("claude"), "timeout": 5, "onFailure": "block"}]}),
            version: None,
            advice: "",
        },
        ClientArg::Codex => Client {
            name: "codex",
            file: dir("CODEX_HOME", ".codex").join("hooks.json"),
            event: "PreToolUse",
            entry: json!({"matcher": "Bash", "hooks": [
                {"type": "command", "command": command("codex"), "timeout": 5}]}),
            version: None,
            advice: "Codex runs a new hook only after it has been trusted: /hooks in Codex",
        },
        ClientArg::Gemini => Client {
            name: "gemini",
            file: home.join(".gemini/settings.json"),
            event: "BeforeTool",
            entry: json!({"matcher": "run_shell_command", "hooks": [
                {"name": "kennel", "type": "command", "command": command("gemini"), "timeout": 5000}]}),
            version: None,
            advice: "",
        },
        ClientArg::Cursor => Client {
            name: "cursor",
            file: home.join(".cursor/hooks.json"),
            event: "beforeShellExecution",
            entry: json!({"command": command("cursor"), "failClosed": true}),
            version: Some(1),
            advice: "",
        },
    })
}

/// A word for the shell in which hosts run their hooks.
fn quote(word: &str) -> String {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn read(client: &Client) -> Result<Option<Value>, Fault> {
    let shown = client.file.display();
    let by_hand =
        || format!("correct it, or add this to \"{}\" by hand:\n{}", client.event, pretty(&client.entry));
    let text = match fs::read_to_string(&client.file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::undone(format!("{shown}: {error}"), by_hand())),
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| Fault::undone(format!("{shown} is not JSON: {error}"), by_hand()))
}

/// Puts our entry in, unless it is there. `None`: the file has another shape.
fn add(root: &mut Value, client: &Client) -> Option<bool> {
    let there = root.pointer(&format!("/hooks/{}", client.event)).and_then(Value::as_array);
    if there.is_some_and(|entries| entries.contains(&client.entry)) {
        return Some(false);
    }
    // One of another version or place.
    remove(root, client.event)?;
    let root = root.as_object_mut()?;
    if let Some(version) = client.version {
        root.entry("version").or_insert_with(|| version.into());
    }
    let hooks = root.entry("hooks").or_insert_with(|| json!({})).as_object_mut()?;
    hooks.entry(client.event).or_insert_with(|| json!([])).as_array_mut()?.push(client.entry.clone());
    Some(true)
}

/// Takes our entries out, and what is empty then. `None`: the file has another shape.
fn remove(root: &mut Value, event: &str) -> Option<bool> {
    let root = root.as_object_mut()?;
    let Some(hooks) = root.get_mut("hooks") else { return Some(false) };
    let hooks = hooks.as_object_mut()?;
    let Some(entries) = hooks.get_mut(event) else { return Some(false) };
    let entries = entries.as_array_mut()?;
    let before = entries.clone();
    entries.retain_mut(|entry| {
        let Some(handlers) = entry.get_mut("hooks").and_then(Value::as_array_mut) else {
            return !is_ours(entry);
        };
        let were = handlers.len();
        handlers.retain(|handler| !is_ours(handler));
        were == 0 || !handlers.is_empty()
    });
    let changed = *entries != before;
    if changed && entries.is_empty() {
        hooks.shift_remove(event);
        if hooks.is_empty() {
            root.shift_remove("hooks");
        }
    }
    Some(changed)
}

/// Whether a handler calls a `kennel`, wherever it is.
fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
    command.split_once(" check --hook").is_some_and(|(program, _)| {
        program.trim_matches(['\'', '"']).rsplit('/').next().is_some_and(|name| name.starts_with("kennel"))
    })
}
