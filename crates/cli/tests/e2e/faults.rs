//! Keepers that are held or killed at a named place (`crates/fault`).

use rustix::process::Signal;
use testkit::{Barrier, Deadline, Finished, Process, Rig, lacks_faults, signal};

use crate::common::{AT_ONCE, at, listed, number, rig, text};

#[test]
fn record_first_a_leader_without_keepers_is_known() {
    // RACE(record-first). Symptom: both keepers are killed right after the fork, and the command runs on, unknown.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut barrier = Barrier::at(&rig, "record-first");
    let command = format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word());
    let starting = rig.kennel(["start", &command]).env("KENNEL_FAULT", barrier.order()).spawn();
    let supervisor = barrier.reached();
    fifo.pid();
    let guard = rig.named("knl-guard").first().map(|guard| guard.pid).expect("a guard");
    assert!(signal(guard, Signal::STOP));
    assert!(signal(supervisor, Signal::KILL));
    assert!(signal(guard, Signal::KILL));
    starting.finish();
    let gone = |pid| Deadline::usual().until(|| Process::read(pid).is_none_or(|it| !it.lives()));
    assert!(gone(supervisor) && gone(guard));
    rig.kennel(["gc"]).finish().exits(0);
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let all = rig.kennel(["tasks", "--all", "--json"]).finish().json();
    let id = text(&all, "/tasks/0/id");
    assert_eq!(text(&listed(&rig, &id), "status"), "lost", "{all}");
}

/// Where a writer of the spool is killed, and what was started with which cap so that it comes by there.
const SPOOL_DEATHS: &[(&str, &str, &str)] = &[
    // In the linear half, in the ring, at the border, as it grows, as it forgets the oldest entry.
    ("spool-stored@3", "64M", FLOOD),
    ("spool-indexed@3", "64M", FLOOD),
    ("spool-counted@3", "64M", FLOOD),
    ("spool-stored@40", "256K", FLOOD),
    ("spool-indexed@40", "256K", FLOOD),
    ("spool-counted@40", "256K", FLOOD),
    ("spool-sealed", "256K", FLOOD),
    ("spool-claimed@2", "64M", FLOOD),
    ("spool-forgot", "4K", IN_TURN),
];
/// On both streams in turn, at a pace at which they are not taken together, until it is held.
const IN_TURN: &str = "mkfifo p; exec 3<>p; while :; do echo out; echo err >&2; read -t 0.002 x <&3; done";
const FLOOD: &str = "\"$HOSTILE\" flood 40";

/// What is kept, byte by byte.
fn kept(rig: &Rig, id: &str) -> Finished {
    rig.kennel(["output", "--raw", id]).finish()
}

/// A writer that is held where it is, then killed: nothing that a reader had before is lost.
fn dies_at(place: &str, cap: &str, command: &str) {
    let rig = rig();
    let mut barrier = Barrier::at(&rig, place);
    let words = ["start", "--output-cap", cap, command];
    let started = rig.kennel(words).env("KENNEL_FAULT", barrier.order()).finish();
    let id = started.exits(0).last_line();
    let supervisor = barrier.reached();
    let before = kept(&rig, &id).exits(0).out.clone();
    assert!(signal(supervisor, Signal::KILL));
    let lost = || text(&listed(&rig, &id), "status") == "lost";
    assert!(Deadline::usual().until(lost), "{place}: {}", listed(&rig, &id));
    let after = kept(&rig, &id).exits(0).out.clone();
    assert!(after.starts_with(&before), "{place}: {} bytes before, {} after", before.len(), after.len());
    let it = rig.kennel(["wait", "--json", &id]).finish().json();
    let written = number(&it, "stdout_bytes") + number(&it, "stderr_bytes");
    let counted = written - number(&it, "dropped_bytes");
    assert_eq!(counted, i64::try_from(after.len()).expect("a small number"), "{place}: {it}");
    if command == FLOOD {
        // Head and newest part: lines of 64 bytes that count up, with one gap at most.
        let text = String::from_utf8_lossy(&after).into_owned();
        let lines: Vec<u64> =
            text.lines().filter(|line| line.len() == 63).filter_map(|line| line.parse().ok()).collect();
        let gaps = lines.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert!(gaps <= 1 && lines.first() == Some(&0), "{place}: {gaps} gaps in {} lines", lines.len());
    }
    assert_eq!(at(&it, "success"), serde_json::json!(false), "{place}");
}

#[test]
fn a_writer_killed_at_any_place_of_the_spool_loses_nothing() {
    // Symptom: the supervisor is killed, and output that somebody had read already is gone or garbled.
    if lacks_faults() {
        return;
    }
    for (place, cap, command) in SPOOL_DEATHS {
        dies_at(place, cap, command);
    }
}
