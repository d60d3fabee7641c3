//! What every module needs: a rig around the binary, and its usual words.

use std::time::Duration;

use serde_json::Value;
use testkit::{Finished, Rig};

/// Far above what a call needs and far below what its children live: a call that took longer has hung.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(5);

/// A private place for the `kennel` of this build.
pub(crate) fn rig() -> Rig {
    Rig::new(testkit::binary_or(env!("CARGO_BIN_EXE_kennel")))
}

/// `kennel run --json COMMAND`, whatever its exit status.
pub(crate) fn outcome(rig: &Rig, command: &str) -> Value {
    rig.kennel(["run", "--json", command]).finish().json()
}

/// `kennel start COMMAND`: the id.
#[track_caller]
pub(crate) fn start(rig: &Rig, command: &str) -> String {
    let done = rig.kennel(["start", command]).finish();
    done.exits(0);
    done.last_line()
}

/// `kennel kill --json ID`, with a short grace.
pub(crate) fn kill(rig: &Rig, id: &str) -> Finished {
    rig.kennel(["kill", "--grace", "200ms", "--json", id]).finish()
}

/// Kill and check the claim: success, with a proof, and nobody left.
#[track_caller]
pub(crate) fn kill_with_proof(rig: &Rig, id: &str) -> Value {
    let done = kill(rig, id);
    done.exits(0);
    let report = done.json();
    assert_eq!(report.get("success"), Some(&Value::Bool(true)), "{report}");
    assert_eq!(report.get("survivors"), Some(&Value::Array(Vec::new())), "{report}");
    let proof = text(&report, "proof");
    assert!(["echild", "cgroup_empty", "namespace_gone"].contains(&proof.as_str()), "{report}");
    report
}

/// The task as `kennel tasks --all --json` lists it.
#[track_caller]
pub(crate) fn listed(rig: &Rig, id: &str) -> Value {
    let all = rig.kennel(["tasks", "--all", "--json"]).finish();
    all.exits(0);
    let list = all.json();
    let tasks = list.get("tasks").and_then(Value::as_array).expect("a list of tasks");
    let found = tasks.iter().find(|task| task.get("id").and_then(Value::as_str) == Some(id));
    found.cloned().unwrap_or_default()
}

/// A text field at a JSON pointer or under a plain name.
pub(crate) fn text(value: &Value, name: &str) -> String {
    at(value, name).as_str().unwrap_or_default().to_owned()
}

/// A number field at a JSON pointer or under a plain name.
#[track_caller]
pub(crate) fn number(value: &Value, name: &str) -> i64 {
    let found = at(value, name).as_i64();
    assert!(found.is_some(), "no number {name} in {value}");
    found.unwrap_or_default()
}

/// A field at a JSON pointer or under a plain name; null where there is none.
pub(crate) fn at(value: &Value, name: &str) -> Value {
    let found = if name.starts_with('/') { value.pointer(name) } else { value.get(name) };
    found.cloned().unwrap_or_default()
}

/// Two fields at once: how it ended and with what status.
pub(crate) fn end(value: &Value) -> (String, i64) {
    (text(value, "/end/cause"), at(value, "exit_code").as_i64().unwrap_or(-999))
}

/// Bytes of disk under a directory.
pub(crate) fn du(dir: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let about = path.symlink_metadata().ok()?;
            Some(if about.is_dir() { du(&path) } else { about.blocks() * 512 })
        })
        .sum()
}
