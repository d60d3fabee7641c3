//! Many processes, one registry, no daemon.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::common::{at, kill_with_proof, rig, start, text};

#[test]
fn eight_processes_start_two_hundred_tasks_at_once() {
    // Symptom: a record torn or lost when many write at once. Done-when 8.
    let rig = rig();
    let script = "for i in $(seq 25); do \"$KENNEL\" start \"echo $1.$i\" || echo FAILED; done";
    let mut starters: Vec<_> = (0..8)
        .map(|number| {
            let mut starter = rig.program("bash");
            starter.args(["-c", script, "starter", &number.to_string()]).within(Duration::from_secs(60));
            starter.spawn()
        })
        .collect();
    let mut ids = BTreeSet::new();
    for starter in starters.drain(..) {
        let done = starter.finish();
        assert!(done.code() == 0 && !done.text().contains("FAILED"), "{done}");
        ids.extend(done.text().lines().map(ToOwned::to_owned));
    }
    assert_eq!(ids.len(), 200);
    let words: Vec<&str> =
        ["wait", "--tree", "--timeout", "30s"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    rig.kennel(words).within(Duration::from_secs(60)).finish().exits(0);
    let list = rig.kennel(["tasks", "--all", "--json"]).finish().exits(0).json();
    let tasks = at(&list, "tasks");
    let tasks = tasks.as_array().expect("a list");
    assert_eq!(tasks.len(), 200);
    for task in tasks {
        assert!(ids.contains(&text(task, "id")), "{task}");
        assert_eq!(
            (text(task, "status").as_str(), at(task, "exit_code")),
            ("completed", Value::from(0)),
            "{task}"
        );
    }
}

#[test]
fn expired_tasks_are_removed_with_their_files() {
    // Symptom: the state directory grows for ever; or a running task's files are removed.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let old = start(&rig, "echo old");
    rig.kennel(["wait", "--tree", &old]).finish().exits(0);
    let running = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' hold", fifo.word()));
    fifo.pid();
    rig.kennel(["gc"]).finish().exits(0);
    assert_eq!(text(&crate::common::listed(&rig, &old), "status"), "completed", "an hour has not passed");
    rig.kennel(["gc", "--older-than", "0"]).finish().exits(0);
    assert_eq!(text(&crate::common::listed(&rig, &old), "status"), "");
    assert_eq!(text(&crate::common::listed(&rig, &running), "status"), "running");
    assert!(!find(&rig.state(), &old), "files of an expired task");
    kill_with_proof(&rig, &running);
}

/// Whether something below this directory has `needle` in its name.
fn find(dir: &std::path::Path, needle: &str) -> bool {
    let Ok(mut entries) = std::fs::read_dir(dir) else { return false };
    entries.any(|entry| {
        entry.is_ok_and(|entry| {
            entry.file_name().to_string_lossy().contains(needle) || find(&entry.path(), needle)
        })
    })
}

#[test]
fn a_malformed_record_hides_no_other() {
    // Symptom: one torn file on disk and no task is listed any more.
    let rig = rig();
    let id = start(&rig, "echo fine");
    let broken = start(&rig, "echo broken");
    rig.kennel(["wait", "--tree", &id, &broken]).finish().exits(0);
    let record = record_of(&rig.state(), &broken).expect("a record");
    std::fs::write(&record, b"{\"version\":1,").expect("tear it");
    let list = rig.kennel(["tasks", "--all"]).finish();
    assert!(list.text().contains(id.get(..9).expect("ASCII")), "{list}");
    let done = rig.kennel(["output", &broken]).finish();
    assert!(done.code() == 0 || done.errors().contains("record"), "{done}");
    rig.kennel(["gc"]).finish();
    assert_eq!(rig.kennel(["output", &id]).finish().text(), "fine\n");
}

fn record_of(dir: &std::path::Path, id: &str) -> Option<std::path::PathBuf> {
    std::fs::read_dir(dir).ok()?.filter_map(Result::ok).find_map(|entry| {
        let path = entry.path();
        let fits = path.ends_with("record.json") && path.to_string_lossy().contains(id);
        if fits { Some(path) } else { record_of(&path, id) }
    })
}

#[test]
fn a_damaged_record_of_a_running_task_hides_nothing() {
    // Symptom: "No tasks.", and the process runs on where nobody can end it.
    let rig = rig();
    for damage in ["printf '{' >", "true >", "rm"] {
        let id = start(&rig, "exec sleep 300");
        let script = format!("{damage} \"$KENNEL_STATE_DIR/tasks/{id}/record.json\"");
        rig.bash(&script).finish().exits(0);
        let list = rig.kennel(["tasks"]).finish();
        assert!(list.text().contains(&id) && list.text().contains("running"), "{damage}: {list}");
        rig.bash(&script).finish().exits(0);
        kill_with_proof(&rig, &id);
    }
}

#[test]
fn a_record_that_nobody_can_mend_is_named() {
    // Symptom: a finished task vanishes from the list without a word.
    let rig = rig();
    let id = start(&rig, "true");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    rig.bash(&format!("printf '{{' > \"$KENNEL_STATE_DIR/tasks/{id}/record.json\"")).finish().exits(0);
    let list = rig.kennel(["tasks"]).finish();
    list.exits(0);
    assert!(list.errors().contains(&id), "{list}");
    let killed = rig.kennel(["kill", &id]).finish();
    assert!(killed.code() != 0 && killed.errors().contains("hint:"), "{killed}");
}
