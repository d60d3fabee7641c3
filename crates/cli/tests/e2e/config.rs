//! Configuration: its layers, who may say what, and that values reach the doors.

use std::path::Path;

use testkit::{Finished, Rig};

use crate::common::{at, rig, text};

/// Writes a file of settings: the user's, or one of a project.
fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(file, text).expect("the settings");
}

fn user(rig: &Rig, text: &str) {
    write(&rig.home().join(".config/kennel/config.toml"), text);
}

/// The line of `kennel config show --origin` about a key.
fn shown(rig: &Rig, key: &str) -> String {
    let done = rig.kennel(["config", "show", "--origin"]).finish();
    let line =
        done.exits(0).text().lines().find(|line| line.starts_with(&format!("{key} ="))).map(str::to_owned);
    line.unwrap_or_default()
}

fn kennel(rig: &Rig, words: &[&str]) -> Finished {
    rig.kennel(words).finish()
}

#[test]
fn every_layer_is_read_and_says_so() {
    // Symptom: nobody can tell why a command has the limit that it has.
    let rig = rig();
    assert!(shown(&rig, "timeout_max").ends_with("# built-in"));
    user(&rig, "timeout_max = \"20m\"\n");
    let path = kennel(&rig, &["config", "path"]).exits(0).text();
    assert_eq!(Path::new(path.trim()), rig.home().join(".config/kennel/config.toml"));
    assert!(shown(&rig, "timeout_max").contains(path.trim()), "{}", shown(&rig, "timeout_max"));
    write(&rig.work().join("kennel.toml"), "timeout_max = \"5m\"\n");
    assert!(shown(&rig, "timeout_max").ends_with("work/kennel.toml"));
    let done = rig.kennel(["config", "show", "--origin"]).env("KENNEL_TIMEOUT_MAX", "1h").finish();
    assert!(done.exits(0).text().contains("KENNEL_TIMEOUT_MAX"), "{done}");
    let plain = kennel(&rig, &["config"]);
    assert!(plain.exits(0).text().contains("timeout_max = \"5m\"\n"), "{plain}");
}

#[test]
fn values_reach_the_commands() {
    // Symptom: a setting is accepted and does nothing.
    let rig = rig();
    user(&rig, "timeout_max = \"200ms\"\noutput_max_chars = 40\noutput_cap = 65536\n");
    let outcome = kennel(&rig, &["run", "--timeout", "70s", "--json", "sleep 70"]).exits(124).json();
    assert_eq!(at(&outcome, "/clamped/timeout_ms/used"), 200, "{outcome}");
    let outcome = kennel(&rig, &["run", "--json", "seq 99999"]).exits(0).json();
    assert!(text(&outcome, "stdout").chars().count() <= 40, "{outcome}");
    assert!(at(&outcome, "dropped_bytes").as_u64() > Some(0), "{outcome}");
    let outcome = kennel(&rig, &["run", "--max-output", "600000", "--json", "seq 9"]).exits(0).json();
    assert_eq!(text(&outcome, "stdout").lines().count(), 9, "a flag goes over the file: {outcome}");
    user(&rig, "require_description = true\n");
    let done = kennel(&rig, &["run", "true"]);
    assert!(done.exits(64).errors().contains("--description"), "{done}");
    kennel(&rig, &["run", "--description", "nothing", "true"]).exits(0);
    user(&rig, "retention = 0\n");
    kennel(&rig, &["run", "true"]).exits(0);
    let done = kennel(&rig, &["gc"]);
    assert!(!done.exits(0).text().contains(" 0 removed"), "{done}");
}

#[test]
fn a_project_only_tightens_until_it_is_trusted() {
    // Symptom: a cloned repository switches the check off.
    let rig = rig();
    let file = rig.work().join("kennel.toml");
    write(&file, "require_description = true\n");
    kennel(&rig, &["run", "true"]).exits(64);
    write(&file, "[rules]\n\"vcs.force-push\" = \"allow\"\n");
    for words in [&["check", "git push --force"][..], &["run", "true"], &["start", "true"]] {
        let done = kennel(&rig, words);
        assert!(done.exits(125).errors().contains("kennel trust"), "{done}");
    }
    let done = rig.kennel(["trust"]).env("KENNEL_TASK", "bash-x:y").finish();
    done.exits(126);
    kennel(&rig, &["trust"]).exits(0);
    kennel(&rig, &["check", "git push --force"]).exits(0);
    // What is trusted is this text; the next commit is somebody's again.
    write(&file, "[rules]\n\"vcs.force-push\" = \"allow\"\n\"vcs.discard\" = \"allow\"\n");
    kennel(&rig, &["check", "git push --force"]).exits(125);
    kennel(&rig, &["trust", "."]).exits(0);
    kennel(&rig, &["trust", "--revoke", "."]).exits(0);
    kennel(&rig, &["check", "ls"]).exits(125);
    kennel(&rig, &["trust", "/no/such/directory"]).exits(1);
    write(&file, "allow_hard = true\n[rules]\n\"fs.delete.root\" = \"allow\"\n");
    kennel(&rig, &["trust"]).exits(1);
    // Looking at tasks and ending them goes on whatever a file says.
    kennel(&rig, &["tasks"]).exits(0);
}

#[test]
fn inside_a_task_nothing_loosens() {
    // Symptom: the agent exports a variable and has a longer leash.
    let rig = rig();
    for (name, value, code) in [
        ("KENNEL_TIMEOUT_MAX", "2h", 126),
        ("KENNEL_TIMEOUT_MAX", "1m", 0),
        ("KENNEL_ENV_PASS", "AWS_*", 126),
        ("KENNEL_SANDBOX", "workspace-write", 0),
        // It is taken, and means nothing without a sandbox: that is said, not passed over.
        ("KENNEL_NETWORK", "off", 64),
        ("KENNEL_ON_HOOK_FAILURE", "allow", 126),
    ] {
        let inner = format!("{name}='{value}' \"$KENNEL\" run --timeout 60s true");
        let done = kennel(&rig, &["run", "--no-check", &inner]);
        assert_eq!(done.code(), code, "{name}: {done}");
    }
}

#[test]
fn a_mistake_is_named_and_stops_everything() {
    // Symptom: a misspelt key is passed over, and its author believes in it.
    let rig = rig();
    for (wrong, part) in [
        ("timeout_mx = \"1m\"", "timeout_max"),
        ("timeout_max = 30", "unit"),
        ("[rules]\n\"vcs.forcepush\" = \"deny\"", "vcs.force-push"),
        ("sandbox = \"on\"", "workspace-write"),
        ("[rules", "config.toml"),
    ] {
        user(&rig, wrong);
        let done = kennel(&rig, &["run", "true"]);
        assert!(done.exits(125).errors().contains(part), "{wrong}: {done}");
        kennel(&rig, &["config", "show"]).exits(1);
    }
}

#[test]
fn the_schema_knows_every_key() {
    // Symptom: an editor marks a key as wrong that is right.
    let rig = rig();
    let schema = kennel(&rig, &["schema", "config"]).exits(0).json();
    for line in kennel(&rig, &["config", "show"]).exits(0).text().lines() {
        let key = line.split(' ').next().unwrap_or_default();
        assert!(schema.pointer(&format!("/properties/{key}")).is_some(), "{key}");
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let file = serde_json::json!({"timeout_max": "5m", "rules": {"priv.sudo": "deny"}, "blocked_commands": ["a b"],
        "rule": [{"id": "x", "program": "y", "verdict": "ask", "reason": "z"}]});
    assert!(validator.is_valid(&file));
    assert!(!validator.is_valid(&serde_json::json!({"timeout_mx": "5m"})));
}
