//! `kennel mcp install|uninstall`: our entry in the configuration of an agent, and nothing else in it.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table};

use crate::args::{McpClientArg, McpClientOptions, McpVerb};
use crate::fault::Fault;
use crate::hostfile::{pretty, put};
use crate::{config, render};

/// Our name among the servers.
const NAME: &str = "kennel";
/// Codex ends a call after this many seconds; our longest is ten minutes.
const CODEX_CALL_SECONDS: i64 = 660;

/// How a file holds its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// JSON, an object of servers under this key.
    Json(&'static str),
    /// TOML, tables `[mcp_servers.NAME]`.
    Toml,
}

/// An agent's file and our entry in it.
struct Client {
    name: &'static str,
    file: PathBuf,
    format: Format,
    entry: Value,
}

/// Installs or uninstalls.
pub(crate) fn change(verb: &McpVerb) -> Result<u8, Fault> {
    let (options, install) = match verb {
        McpVerb::Install(options) => (options, true),
        McpVerb::Uninstall(options) => (options, false),
    };
    if config::inside_task() && !options.print {
        return Err(Fault::refused(
            "the configuration of agents is not changed from inside a task",
            "only who started the task may; run it in your own shell, or use --print",
        ));
    }
    let client = client(options)?;
    let before = read(&client)?;
    let after = match client.format {
        Format::Json(key) => in_json(&client, key, &before, install),
        Format::Toml => in_toml(&client, &before, install),
    }?;
    if options.print {
        render::answer(&after);
        return Ok(0);
    }
    let (name, shown) = (client.name, client.file.display());
    if same(&before, &after) {
        let state = if install { "is installed already" } else { "is not installed" };
        render::answer(&format!("the server for {name} {state}: {shown}\n"));
        return Ok(0);
    }
    let done = if install { "installed" } else { "uninstalled" };
    put(&client.file, &after, &format!("the server for {name} is {done}"), "")
}

fn client(options: &McpClientOptions) -> Result<Client, Fault> {
    let home = config::home();
    let here = std::env::current_dir().context("find the current directory").map_err(Fault::own)?;
    let binary = std::env::current_exe().context("find this program").map_err(Fault::own)?;
    let command = binary.to_string_lossy().into_owned();
    let plain = json!({"command": command, "args": ["mcp"]});
    let typed = json!({"type": "stdio", "command": command, "args": ["mcp"]});
    let dir = |variable: &str, usual: &str| config::absolute(variable).unwrap_or_else(|| home.join(usual));
    let place = |project: &str, user: PathBuf| if options.project { here.join(project) } else { user };
    let settings = || dir("XDG_CONFIG_HOME", ".config");
    let (name, file, format, entry) = match options.client {
        McpClientArg::Claude => {
            let user =
                config::absolute("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone()).join(".claude.json");
            ("claude", place(".mcp.json", user), Format::Json("mcpServers"), typed)
        }
        McpClientArg::Codex => {
            let user = dir("CODEX_HOME", ".codex").join("config.toml");
            ("codex", place(".codex/config.toml", user), Format::Toml, plain)
        }
        McpClientArg::Gemini => {
            let user = home.join(".gemini/settings.json");
            ("gemini", place(".gemini/settings.json", user), Format::Json("mcpServers"), plain)
        }
        McpClientArg::Cursor => {
            let user = home.join(".cursor/mcp.json");
            ("cursor", place(".cursor/mcp.json", user), Format::Json("mcpServers"), plain)
        }
        McpClientArg::Vscode => {
            let user = settings().join("Code/User/mcp.json");
            ("vscode", place(".vscode/mcp.json", user), Format::Json("servers"), typed)
        }
    };
    Ok(Client { name, file, format, entry })
}

fn read(client: &Client) -> Result<String, Fault> {
    match fs::read_to_string(&client.file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(by_hand(client, &error.to_string())),
    }
}

fn by_hand(client: &Client, why: &str) -> Fault {
    Fault::undone(
        format!("{}: {why}", client.file.display()),
        format!("correct it, or add this server by hand as {NAME:?}:\n{}", pretty(&client.entry)),
    )
}

fn in_json(client: &Client, key: &str, before: &str, install: bool) -> Result<String, Fault> {
    let odd = || by_hand(client, "it does not have the shape of this agent's configuration");
    let mut root: Value = if before.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(before).map_err(|error| by_hand(client, &format!("it is not JSON: {error}")))?
    };
    let object = root.as_object_mut().ok_or_else(odd)?;
    if install {
        let servers = object.entry(key).or_insert_with(|| json!({}));
        let servers = servers.as_object_mut().ok_or_else(odd)?;
        // What a person added to our entry (an environment, a timeout) stays.
        let entry = servers.entry(NAME).or_insert_with(|| json!({}));
        let entry = entry.as_object_mut().ok_or_else(odd)?;
        for (name, value) in client.entry.as_object().into_iter().flatten() {
            entry.insert(name.clone(), value.clone());
        }
    } else if let Some(servers) = object.get_mut(key) {
        let servers = servers.as_object_mut().ok_or_else(odd)?;
        if servers.shift_remove(NAME).is_some() && servers.is_empty() {
            object.shift_remove(key);
        }
    }
    Ok(pretty(&root))
}

fn in_toml(client: &Client, before: &str, install: bool) -> Result<String, Fault> {
    let odd = || by_hand(client, "mcp_servers is not a table");
    let mut root: DocumentMut =
        before.parse().map_err(|error| by_hand(client, &format!("it is not TOML: {error}")))?;
    if install {
        let servers = root.entry("mcp_servers").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or_else(odd)?;
        let entry = servers.entry(NAME).or_insert_with(|| Item::Table(Table::new()));
        let entry = entry.as_table_like_mut().ok_or_else(odd)?;
        let command = client.entry.get("command").and_then(Value::as_str).unwrap_or_default();
        entry.insert("command", toml_edit::value(command));
        entry.insert("args", toml_edit::value(Array::from_iter(["mcp"])));
        if !entry.contains_key("tool_timeout_sec") {
            entry.insert("tool_timeout_sec", toml_edit::value(CODEX_CALL_SECONDS));
        }
    } else if let Some(servers) = root.get_mut("mcp_servers") {
        let servers = servers.as_table_like_mut().ok_or_else(odd)?;
        servers.remove(NAME);
        if servers.is_empty() {
            root.remove("mcp_servers");
        }
    }
    Ok(root.to_string())
}

/// Whether nothing but the layout differs.
fn same(before: &str, after: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    before == after
        || json(before).is_some_and(|before| Some(before) == json(after))
        || before.trim().is_empty() && after.trim().trim_matches(['{', '}']).trim().is_empty()
}
