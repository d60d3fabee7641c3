//! Our entry in the configuration of agents.

use serde_json::{Value, json};
use testkit::Rig;

use crate::common::rig;

fn install(rig: &Rig, verb: &str, client: &str, more: &[&str]) -> String {
    let done = rig.kennel(["mcp", verb, "--client", client]).args(more).finish();
    done.exits(0);
    done.text()
}

#[test]
fn an_entry_comes_and_goes_and_nothing_else_changes() {
    // Symptom: the installer rewrites a person's configuration.
    let rig = rig();
    let files = [
        ("claude", ".claude.json", "mcpServers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
    ];
    for (client, file, key) in files {
        let file = rig.home().join(file);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        let before = json!({"theme": "dark", key: {"other": {"command": "x"}}});
        std::fs::write(&file, before.to_string()).expect("written");
        let read =
            || -> Value { serde_json::from_slice(&std::fs::read(&file).expect("there")).expect("JSON") };
        install(&rig, "install", client, &[]);
        let after = read();
        assert_eq!((&after["theme"], &after[key]["other"]), (&json!("dark"), &json!({"command": "x"})));
        let entry = &after[key]["kennel"];
        assert_eq!(entry["args"], json!(["mcp"]), "{entry}");
        assert_eq!(entry["command"].as_str(), rig.binary().to_str(), "{entry}");
        assert!(install(&rig, "install", client, &[]).contains("already"));
        install(&rig, "uninstall", client, &[]);
        assert_eq!(read(), before, "{client}");
    }
}

#[test]
fn codex_keeps_its_comments() {
    // Symptom: the comments of config.toml are gone.
    let rig = rig();
    let file = rig.home().join(".codex/config.toml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    let before = "# mine\nmodel = \"x\" # the good one\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    std::fs::write(&file, before).expect("written");
    install(&rig, "install", "codex", &[]);
    let after = std::fs::read_to_string(&file).expect("there");
    assert!(after.starts_with(before) && after.contains("[mcp_servers.kennel]"), "{after}");
    install(&rig, "uninstall", "codex", &[]);
    assert_eq!(std::fs::read_to_string(&file).expect("there").trim_end(), before.trim_end());
}

#[test]
fn print_shows_and_changes_nothing() {
    let rig = rig();
    for client in ["claude", "codex", "gemini", "cursor", "vscode"] {
        let shown = install(&rig, "install", client, &["--print"]);
        assert!(shown.contains("kennel") && shown.contains("mcp"), "{client}: {shown}");
    }
    assert_eq!(std::fs::read_dir(rig.home()).expect("a home").count(), 0);
    install(&rig, "install", "claude", &["--project"]);
    let project: Value =
        serde_json::from_slice(&std::fs::read(rig.work().join(".mcp.json")).expect("there")).expect("JSON");
    assert_eq!(project["mcpServers"]["kennel"]["args"], json!(["mcp"]));
}
