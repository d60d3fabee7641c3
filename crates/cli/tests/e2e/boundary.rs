//! The boundaries beside the subreaper: what they promise, and that they can be had or are said not to be.

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Deadline, Process, Rig, lacks, signal};

use crate::common::{AT_ONCE, at, kill_with_proof, listed, number, rig, text};
use crate::hostile::HABITS;

/// Whether this user on this machine can have it.
fn can_be_had(rig: &Rig, boundary: &str) -> bool {
    let done = rig.kennel(["run", "--boundary", boundary, "--require", "true"]).finish();
    !lacks(&format!("a boundary of the kind {boundary} for this user"), done.code() == 0)
}

#[track_caller]
fn start_in(rig: &Rig, boundary: &str, command: &str) -> String {
    let words = ["start", "--no-check", "--boundary", boundary, "--require", command];
    let done = rig.kennel(words).finish();
    done.exits(0);
    done.last_line()
}

fn outcome_in(rig: &Rig, boundary: &str, command: &str) -> Value {
    rig.kennel(["run", "--no-check", "--json", "--boundary", boundary, "--require", command]).finish().json()
}

/// SIGKILL to supervisor and guard, neither of which can notice the other's end.
fn kill_both_keepers(rig: &Rig, id: &str) {
    let task = listed(rig, id);
    let keepers =
        ["guard_pid", "supervisor_pid"].map(|field| u32::try_from(number(&task, field)).expect("a pid"));
    for number in [Signal::STOP, Signal::KILL] {
        for pid in keepers {
            assert!(signal(pid, number), "{pid}");
        }
    }
    let gone = |pid: u32| Process::read(pid).is_none_or(|it| !it.lives());
    assert!(Deadline::usual().until(|| keepers.into_iter().all(gone)));
}

#[test]
fn every_habit_is_killed_in_every_boundary() {
    // Symptom: what the subreaper alone ends lives on inside a stronger boundary.
    for (boundary, proof) in [("pid_namespace", "namespace_gone"), ("cgroup", "cgroup_empty")] {
        if !can_be_had(&rig(), boundary) {
            continue;
        }
        for words in HABITS {
            let rig = rig();
            let mut fifo = rig.fifo("ready");
            let id = start_in(
                &rig,
                boundary,
                &format!("\"$HOSTILE\" --ready '{}' {words} & sleep 70", fifo.word()),
            );
            fifo.line();
            let report = kill_with_proof(&rig, &id);
            // A bomb can starve the supervisor of a loaded machine; then the guard has the last word, and it has reaped all.
            let by_the_guard = text(&report, "error").contains("did not answer");
            let proof = if by_the_guard { "echild" } else { proof };
            assert_eq!(text(&report, "proof"), proof, "{words}: {report}");
            assert!(fifo.ends_within(AT_ONCE), "{boundary}, {words}: {:?}", rig.processes());
        }
    }
}

#[test]
fn a_command_in_a_pid_namespace_ends_as_outside() {
    // Symptom: in a container of its own a command's status, signals or output are other ones.
    let rig = rig();
    if !can_be_had(&rig, "pid_namespace") {
        return;
    }
    let cases =
        [("exit 3", "exited", 3), ("kill -9 $$", "signaled", 137), ("kill -TERM $$", "signaled", 143)];
    for (command, cause, code) in cases {
        let it = outcome_in(&rig, "pid_namespace", command);
        assert_eq!((text(&it, "/end/cause").as_str(), number(&it, "exit_code")), (cause, code), "{it}");
        assert_eq!(text(&it, "boundary"), "pid_namespace");
        assert_eq!(text(&it, "proof"), "namespace_gone");
        assert_eq!(at(&it, "background_pids"), serde_json::json!([]), "the reaper is no member: {it}");
    }
    let missing = rig.kennel(["run", "--boundary", "pid_namespace", "--", "/nonexistent/program"]).finish();
    missing.exits(127);
}

#[test]
fn a_background_job_outlives_the_shell_in_a_pid_namespace() {
    // Symptom: the shell is the namespace's init, and a server that it has started dies with it.
    let rig = rig();
    if !can_be_had(&rig, "pid_namespace") {
        return;
    }
    let mut fifo = rig.fifo("ready");
    let it = outcome_in(&rig, "pid_namespace", &format!("\"$HOSTILE\" --ready '{}' setsid >&2", fifo.word()));
    fifo.line();
    assert_eq!(at(&it, "background_pids").as_array().map(Vec::len), Some(1), "{it}");
    assert!(fifo.held());
    kill_with_proof(&rig, &text(&it, "task_id"));
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_pid_namespace_dies_with_both_of_its_keepers() {
    // Symptom: guard and supervisor are killed in the same instant, and what they kept runs on.
    let rig = rig();
    if !can_be_had(&rig, "pid_namespace") {
        return;
    }
    let mut fifo = rig.fifo("ready");
    let id = start_in(
        &rig,
        "pid_namespace",
        &format!("\"$HOSTILE\" --ready '{}' daemon & exec \"$HOSTILE\" deaf", fifo.word()),
    );
    fifo.line();
    kill_both_keepers(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert_eq!(text(&listed(&rig, &id), "status"), "lost");
}

#[test]
fn everything_in_a_pid_namespace_can_be_signalled_without_harm() {
    // Symptom: `kill -9 -1` and `kill -9 $PPID` end the keepers, the session, or the user's desktop.
    let rig = rig();
    if !can_be_had(&rig, "pid_namespace") {
        return;
    }
    let mut bystander = rig.program(testkit::hostile());
    let running = bystander.arg("hold").spawn();
    for command in ["kill -9 -1; exec sleep 70", "kill -9 $PPID; exec sleep 70"] {
        let id = start_in(&rig, "pid_namespace", command);
        kill_with_proof(&rig, &id);
    }
    assert!(!running.has_ended(), "a bystander was hit");
    running.signal(Signal::KILL);
    running.finish();
}

#[test]
fn a_cgroup_is_found_by_its_name_when_both_keepers_are_dead() {
    // Symptom: a task that has shed tag and marker is never found again once guard and supervisor were killed.
    let rig = rig();
    if !can_be_had(&rig, "cgroup") {
        return;
    }
    let mut fifo = rig.fifo("ready");
    let shed = format!("ulimit -R unlimited; exec env -i \"$HOSTILE\" --ready '{}' daemon", fifo.word());
    let id = start_in(&rig, "cgroup", &format!("({shed}) & exec \"$HOSTILE\" deaf"));
    fifo.line();
    kill_both_keepers(&rig, &id);
    rig.kennel(["gc"]).finish().exits(0);
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let task = listed(&rig, &id);
    assert_eq!(text(&task, "status"), "lost", "{task}");
}

#[test]
fn a_boundary_that_cannot_be_had_is_named_or_an_error() {
    // Symptom: asked for a cgroup, given none, and told nothing.
    let rig = rig();
    let required = rig.kennel(["run", "--boundary", "cgroup", "--require", "true"]).finish();
    if lacks("a user who cannot have a cgroup", required.code() != 0) {
        return;
    }
    required.exits(125);
    let it = rig.kennel(["run", "--json", "--boundary", "cgroup", "exit 3"]).finish().json();
    assert_eq!(number(&it, "exit_code"), 3);
    assert_eq!(text(&it, "boundary"), "subreaper");
    assert_eq!(text(&it, "/protections/0/name"), "boundary", "{it}");
}
