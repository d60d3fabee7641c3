//! Every hostile habit, killed with proof.

use testkit::Rig;

use crate::common::{AT_ONCE, kill_with_proof, rig, start};

pub(crate) const HABITS: &[&str] = &[
    "hold",
    "deaf",
    "daemon 3",
    "setsid",
    "clear-env",
    "closed",
    "renamed",
    "clone-parent",
    "inner-subreaper",
    "term-spawner",
    "pair",
    "storm",
    "bomb",
    "wide 200",
    "deep 200",
    "vfork-chain 20",
    "zombie-leader",
    "stopped",
    "traced",
    "closed-output",
];

/// Start the habit in a shell that stays, kill the task, and see that its lifeline ends.
fn killed(rig: &Rig, words: &str) {
    let mut fifo = rig.fifo(&format!("ready-{}", words.replace(' ', "-")));
    let id = start(rig, &format!("\"$HOSTILE\" --ready '{}' {words} & sleep 70", fifo.word()));
    fifo.pid();
    kill_with_proof(rig, &id);
    assert!(fifo.ends_within(AT_ONCE), "{words}: {:?}", rig.processes());
}

#[test]
fn every_habit_is_killed_to_the_last_process() {
    // Symptom: killing the process group leaked 33 of 42 cases.
    for words in HABITS {
        killed(&rig(), words);
    }
}

#[test]
fn every_habit_dies_with_an_interrupted_run() {
    // Symptom: Ctrl-C ends the wrapper, and what detached itself lives.
    for words in HABITS {
        let rig = rig();
        let mut fifo = rig.fifo("ready");
        let command = format!("\"$HOSTILE\" --ready '{}' {words} & sleep 70", fifo.word());
        let running = rig.kennel(["run", "--grace", "200ms", &command]).spawn();
        fifo.pid();
        running.signal(rustix::process::Signal::TERM);
        running.finish().exits(143);
        assert!(fifo.ends_within(AT_ONCE), "{words}: {:?}", rig.processes());
    }
}

#[test]
fn a_task_that_kills_its_parent_is_swept_all_the_same() {
    // Symptom: with the supervisor gone, nobody kills, and the task is listed as running for ever.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' kill-parent", fifo.word()));
    // It may be swept before it has said that it is in place.
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let lost = testkit::Deadline::usual()
        .until(|| crate::common::text(&crate::common::listed(&rig, &id), "status") == "lost");
    assert!(lost, "{}", crate::common::listed(&rig, &id));
}

#[test]
fn an_unlimited_storm_of_signals_to_the_group_spares_the_keepers() {
    // Row 22. Symptom: `kill 0` or `kill -9 -1`-like habits take the supervisor with them.
    let rig = rig();
    let id = start(&rig, "trap '' TERM; kill -TERM 0; kill -9 0; sleep 70");
    let done = rig.kennel(["wait", "--tree", "--json", &id]).finish();
    let it = done.json();
    assert_eq!(crate::common::end(&it), ("signaled".into(), 137), "{it}");
}
