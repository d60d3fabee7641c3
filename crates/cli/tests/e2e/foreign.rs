//! What is not ours to judge, and what others hold: records of another machine or PID namespace, members under a tracer
//! outside.

use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Deadline, Rig, lacks, lacks_program};

use crate::common::{AT_ONCE, at, kill_with_proof, listed, number, rig, start, text};

fn record_of(rig: &Rig, id: &str) -> PathBuf {
    Path::new(&text(&listed(rig, id), "output_file")).with_file_name("record.json")
}

/// Listed with where it is from, not signalled, not collected.
#[track_caller]
fn stays_untouched(rig: &Rig, id: &str, record: &Path) {
    let before = std::fs::read(record).expect("a record");
    rig.kennel(["gc", "--older-than", "0s"]).finish().exits(0);
    let task = listed(rig, id);
    assert_ne!(at(&task, "origin"), Value::Null, "{task}");
    assert_eq!(text(&task, "status"), "running", "{task}");
    rig.kennel(["kill", "--grace", "0ms", id]).finish().exits(1);
    assert_eq!(std::fs::read(record).expect("the record is still there"), before);
}

#[test]
fn a_record_of_another_pid_namespace_survives() {
    // Symptom: a container and its host share a state directory, and the host's `gc` kills whoever has the pids of the
    // container's tasks, or calls these lost.
    let rig = rig();
    let probe = rig.bash("unshare -pf --mount-proc true").finish().code() == 0;
    if lacks("a PID namespace by unshare", probe) {
        return;
    }
    let mut fifo = rig.fifo("ready");
    let inside = format!(
        "\"$KENNEL\" start --no-check 'exec \"$HOSTILE\" --ready \"{}\" deaf'; exec sleep 70",
        fifo.word()
    );
    let words = ["-pf", "--kill-child", "--mount-proc", "bash", "-c", &inside];
    let mut running = rig.program("unshare").args(words).spawn();
    fifo.pid();
    running.await_out("\n");
    let id = running.out_so_far().trim().to_owned();
    let record = record_of(&rig, &id);
    stays_untouched(&rig, &id, &record);
    assert!(fifo.held(), "it was signalled from outside");
    running.signal(Signal::KILL);
    running.finish();
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    // Nobody here can know that it has ended.
    stays_untouched(&rig, &id, &record);
}

#[test]
fn a_record_of_another_machine_survives() {
    // Symptom: a home directory on two machines; `gc` on one ends what has the same pids here as a task has there.
    let rig = rig();
    let id = start(&rig, "exec sleep 70");
    let ours = record_of(&rig, &id);
    let mut record: Value = serde_json::from_slice(&std::fs::read(&ours).expect("a record")).expect("JSON");
    let foreign = format!("bash-{}", "0".repeat(26));
    *record.pointer_mut("/id").expect("an id") = foreign.clone().into();
    *record.pointer_mut("/origin/machine").expect("a machine") = "f".repeat(32).into();
    let theirs = ours.parent().and_then(Path::parent).expect("a directory of tasks").join(&foreign);
    std::fs::create_dir(&theirs).expect("a directory");
    let theirs = theirs.join("record.json");
    std::fs::write(&theirs, record.to_string()).expect("a record");
    stays_untouched(&rig, &foreign, &theirs);
    // Ours has the very pids that the foreign one names.
    assert_eq!(text(&listed(&rig, &id), "status"), "running");
    kill_with_proof(&rig, &id);
}

#[test]
fn a_member_under_an_outside_tracer_is_told_and_goes_with_it() {
    // Symptom: somebody debugs a server of the task; the kill hangs, or says that nothing is left while a zombie is.
    let rig = rig();
    if lacks_program(&["strace"]) {
        return;
    }
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word()));
    let pid = fifo.pid();
    let tracer = rig.program("strace").args(["-p", &pid.to_string(), "-o", "/dev/null"]).spawn();
    let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let traced = || status().lines().any(|line| line == format!("TracerPid:\t{}", tracer.pid()));
    if lacks("a tracer's rights", Deadline::usual().until(traced)) {
        tracer.finish();
        kill_with_proof(&rig, &id);
        return;
    }
    tracer.signal(Signal::STOP);
    let done = rig.kennel(["kill", "--grace", "0ms", "--json", &id]).finish();
    let report = done.exits(1).json();
    assert_eq!(at(&report, "success"), false, "{report}");
    assert_eq!(number(&report, "/survivors/0/pid"), i64::from(pid), "{report}");
    let held = text(&report, "/survivors/0/held");
    assert!(held.ends_with(&format!("held by tracer {}", tracer.pid())), "{report}");
    tracer.signal(Signal::KILL);
    tracer.finish();
    assert!(Deadline::usual().until(|| text(&listed(&rig, &id), "status") == "killed"));
}
