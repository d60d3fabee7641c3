//! `kennel hook install`: our entry in an agent's file, the rest of it untouched.

use std::fmt::Write as _;

use serde_json::{Value, json};
use testkit::Rig;

use crate::common::rig;

const CLIENTS: [(&str, &str); 4] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
];

fn hook(rig: &Rig, verb: &str, client: &str) -> testkit::Finished {
    let mut call = rig.kennel(["hook", verb, "--client", client]);
    call.env_remove("CLAUDE_CONFIG_DIR").env_remove("CODEX_HOME").finish()
}

fn file(rig: &Rig, name: &str) -> String {
    std::fs::read_to_string(rig.home().join(name)).unwrap_or_default()
}

#[test]
fn what_is_installed_works_and_is_the_agents_format() {
    // Symptom: an entry that the agent does not read, or a command that does not run.
    let rig = rig();
    let mut page = String::new();
    for (client, name) in CLIENTS {
        hook(&rig, "install", client).exits(0);
        let text = file(&rig, name);
        let root: Value = serde_json::from_str(&text).expect("JSON");
        let found = find_command(&root).expect("a command");
        let input = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "cwd": "/repo"});
        let done = rig.bash(&found).input(input.to_string()).finish();
        assert!(done.text().contains("deny") && done.text().contains("fs.delete.root"), "{done}");
        let _infallible =
            write!(page, "{name}\n{}", text.replace(&rig.binary().display().to_string(), "KENNEL"));
    }
    insta::assert_snapshot!("installed", page);
}

fn find_command(value: &Value) -> Option<String> {
    match value {
        Value::Object(map) => map
            .get("command")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .or_else(|| map.values().find_map(find_command)),
        Value::Array(items) => items.iter().find_map(find_command),
        _ => None,
    }
}

#[test]
fn it_is_idempotent_and_can_be_taken_back() {
    // Symptom: two entries after two calls; others' hooks are lost; the file is rewritten for nothing.
    let rig = rig();
    for (client, name) in CLIENTS {
        let path = rig.home().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        let theirs = json!({"zeta": 1, "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "their check"}]}],
            "BeforeTool": [{"matcher": "x", "hooks": [{"type": "command", "command": "their check"}]}],
            "beforeShellExecution": [{"command": "their check"}]}, "alpha": [], "version": 1});
        let before = serde_json::to_string_pretty(&theirs).expect("text") + "\n";
        std::fs::write(&path, &before).expect("the file");
        hook(&rig, "install", client).exits(0);
        let once = file(&rig, name);
        assert!(once.contains("their check") && once.contains("check --hook"), "{once}");
        let done = hook(&rig, "install", client);
        assert!(done.exits(0).text().contains("already"), "{done}");
        assert_eq!(file(&rig, name), once);
        assert_eq!(file(&rig, &format!("{name}.kennel-backup")), before);
        // One that another place of the program has installed is replaced.
        std::fs::write(&path, once.replace(&rig.binary().display().to_string(), "'/old place/kennel'"))
            .expect("old");
        hook(&rig, "install", client).exits(0);
        assert_eq!(file(&rig, name), once);
        hook(&rig, "uninstall", client).exits(0);
        assert_eq!(file(&rig, name), before);
        let done = hook(&rig, "uninstall", client);
        assert!(done.exits(0).text().contains("not installed"), "{done}");
    }
}

#[test]
fn print_changes_nothing_and_odd_files_are_left_alone() {
    // Symptom: a file with a comment is overwritten by an empty one.
    let rig = rig();
    let done = rig.kennel(["hook", "install", "--client", "cursor", "--print"]).finish();
    assert!(done.exits(0).text().contains("failClosed"), "{done}");
    assert!(!rig.home().join(".cursor").exists());
    let path = rig.home().join(".gemini/settings.json");
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    for odd in ["// a comment\n{}", "[]", "{\"hooks\": []}", "{\"hooks\": {\"BeforeTool\": 7}}"] {
        std::fs::write(&path, odd).expect("the file");
        let done = hook(&rig, "install", "gemini");
        assert_eq!(done.code(), 1, "{odd}: {done}");
        assert!(done.errors().contains("by hand") && done.errors().contains("check --hook gemini"), "{done}");
        assert_eq!(file(&rig, ".gemini/settings.json"), odd);
    }
    let done = rig.kennel(["hook", "install", "--client", "cursor"]).env("KENNEL_TASK", "bash-x:y").finish();
    done.exits(126);
    rig.kennel(["hook", "install"]).finish().exits(64);
    rig.kennel(["hook", "install", "--client", "emacs"]).finish().exits(64);
}
