//! Keepers that are held or killed at a named place (`crates/fault`).

use rustix::process::Signal;
use testkit::{Barrier, Deadline, Process, lacks_faults, signal};

use crate::common::{AT_ONCE, listed, rig, text};

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
