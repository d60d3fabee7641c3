//! `kennel session`, and what `run` and `start` do in one.

use std::fs;

use serde_json::Value;
use testkit::Rig;

use crate::common::{AT_ONCE, at, rig, text};

fn in_session(rig: &Rig, name: &str, command: &str) -> String {
    let done = rig.kennel(["run", "--session", name, command]).finish();
    done.exits(0);
    done.text().trim_end().to_owned()
}

#[test]
fn the_directory_is_kept_between_processes() {
    // Row 12. Symptom: the directory was lost, or the tool was bricked for good when it had been removed.
    let rig = rig();
    fs::create_dir_all(rig.work().join("sub/deep")).expect("a directory");
    let done = rig.kennel(["session", "open", "mine", "--env", "WHO=me"]).finish();
    done.exits(0);
    assert_eq!(done.text(), "mine\n");
    assert_eq!(in_session(&rig, "mine", "echo $WHO; cd sub"), "me");
    assert_eq!(rig.kennel(["run", "--session", "mine", "cd deep; exit 3"]).finish().code(), 3);
    let deep = rig.work().join("sub/deep");
    assert_eq!(in_session(&rig, "mine", "pwd"), deep.to_string_lossy());
    // A task in the background does not move it, and a plain run has no memory.
    rig.kennel(["start", "--session", "mine", "cd /; true"]).finish().exits(0);
    rig.kennel(["run", "cd /"]).finish().exits(0);
    assert_eq!(in_session(&rig, "mine", "pwd"), deep.to_string_lossy());
    fs::remove_dir(&deep).expect("remove it");
    let done = rig.kennel(["run", "--json", "--session", "mine", "pwd"]).finish();
    let outcome = done.json();
    assert_eq!(text(&outcome, "stdout").trim_end(), rig.work().to_string_lossy(), "{outcome}");
    assert_eq!(text(&outcome, "/notices/0/kind"), "cwd_reset", "{outcome}");
    let shown = rig.kennel(["session", "show", "mine", "--json"]).finish().json();
    assert_eq!(
        (text(&shown, "state"), text(&shown, "cwd")),
        ("open".to_owned(), rig.work().to_string_lossy().into_owned())
    );
    rig.kennel(["session", "close", "mine"]).finish().exits(0);
    assert_eq!(rig.kennel(["session", "show", "mine"]).finish().code(), 1);
}

#[test]
fn a_closed_session_has_no_tasks() {
    // Symptom: the session is gone and its servers are not.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    rig.kennel(["session", "open", "mine"]).finish().exits(0);
    let line = format!("\"$HOSTILE\" --ready '{}' daemon; exec \"$HOSTILE\" --ready '{0}' deaf", fifo.word());
    rig.kennel(["start", "--session", "mine", &line]).finish().exits(0);
    fifo.pid();
    fifo.pid();
    let list = rig.kennel(["session", "list", "--json"]).finish().json();
    assert_eq!(at(&list, "/sessions/0/running").as_array().map(Vec::len), Some(1), "{list}");
    let done = rig.kennel(["session", "close", "mine", "--grace", "100ms", "--json"]).finish();
    done.exits(0);
    let closed = done.json();
    assert_eq!(at(&closed, "/killed/0/success"), Value::Bool(true), "{closed}");
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
}

#[test]
fn a_session_ends_with_its_owner() {
    // Symptom: what an agent has started outlives the agent.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let owner = rig.program("sleep").arg("300").spawn();
    let pid = owner.pid().to_string();
    rig.kennel(["session", "open", "bound", "--owner-pid", &pid]).finish().exits(0);
    let line = format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word());
    rig.kennel(["start", "--session", "bound", &line]).finish().exits(0);
    fifo.pid();
    owner.signal(rustix::process::Signal::KILL);
    let _killed = owner.finish();
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let late = rig.kennel(["run", "--session", "bound", "echo late"]).finish();
    assert!(late.code() != 0 && late.errors().contains("has ended"), "{late}");
    rig.kennel(["session", "close", "bound"]).finish().exits(0);
}

#[test]
fn secrets_are_scrubbed_where_asked() {
    // Symptom: a wrapped tool prints the tokens of the person who started it.
    let rig = rig();
    let with = |words: &[&str]| {
        let mut words = words.to_vec();
        words.push("echo ${GITHUB_TOKEN-none} ${NPM_TOKEN-none}");
        let done = rig.kennel(words).env("GITHUB_TOKEN", "xyzzy").env("NPM_TOKEN", "plugh").finish();
        done.text()
    };
    assert_eq!(with(&["run"]), "xyzzy plugh\n");
    assert_eq!(with(&["run", "--scrub-env"]), "none none\n");
    assert_eq!(with(&["run", "--scrub-env", "--pass-env", "NPM_*"]), "none plugh\n");
    assert_eq!(with(&["run", "--scrub-env", "--env", "GITHUB_TOKEN=mine"]), "mine none\n");
    let done = rig.kennel(["run", "--json", "--scrub-env", "true"]).env("GITHUB_TOKEN", "xyzzy").finish();
    let outcome = done.json();
    assert_eq!(text(&outcome, "/protections/0/name"), "scrub_env", "{outcome}");
    assert_eq!(text(&outcome, "/protections/0/names/0"), "GITHUB_TOKEN", "{outcome}");
}
