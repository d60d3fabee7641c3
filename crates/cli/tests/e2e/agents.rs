//! An agent's command line under a leash: `kennel run --report r.json -- claude …`, and what it leaves behind.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use testkit::{Fifo, Rig, Terminal};

use crate::common::{AT_ONCE, at, kill_with_proof, rig, text};

/// A stand-in for an agent: it answers, and two of its tool calls have left something running, each in its own way.
fn agent(rig: &Rig) -> (Fifo, Fifo) {
    let (one, two) = (rig.fifo("one"), rig.fifo("two"));
    let script = format!(
        "#!/bin/bash\n\
         if [ \"$1\" = -p ]; then echo \"$2: $(cat)\"; else test -t 0 && test -t 1 && echo on a terminal; fi\n\
         bash -c 'setsid \"$HOSTILE\" --ready {} deaf </dev/null >/dev/null 2>&1 &'\n\
         bash -c 'env -i \"$HOSTILE\" --ready {} daemon 3 </dev/null >/dev/null 2>&1 &'\n\
         read -r _ <>{}.done\n\
         exit 7\n",
        one.word(),
        two.word(),
        one.word(),
    );
    let path = rig.work().join("claude");
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    rustix::fs::mkfifoat(rustix::fs::CWD, format!("{}.done", one.word()), rustix::fs::Mode::RWXU)
        .expect("a FIFO");
    (one, two)
}

/// The agent ends once both are in place; their pids.
fn left_behind(one: &mut Fifo, two: &mut Fifo) -> Vec<i64> {
    let mut pids = vec![i64::from(one.pid()), i64::from(two.pid())];
    std::fs::write(format!("{}.done", one.word()), "\n").expect("the agent reads");
    pids.sort_unstable();
    pids
}

/// The report names both, in every list that it has for them; the task that they are now is ended with proof.
#[track_caller]
fn check(rig: &Rig, left: &[i64], lifelines: [&mut Fifo; 2]) -> Value {
    let report = std::fs::read(rig.work().join("r.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("one object");
    let numbers = |list: Value, field: &str| {
        let list = list.as_array().cloned().unwrap_or_default();
        let mut pids: Vec<i64> = list
            .iter()
            .filter_map(|entry| if field.is_empty() { entry.as_i64() } else { at(entry, field).as_i64() })
            .collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(numbers(at(&report, "background_pids"), ""), left, "{report}");
    assert_eq!(numbers(at(&report, "survivors"), "pid"), left, "{report}");
    assert_eq!(at(&report, "exit_code"), 7, "{report}");
    kill_with_proof(rig, &text(&report, "task_id"));
    for lifeline in lifelines {
        assert!(lifeline.ends_within(AT_ONCE));
    }
    report
}

#[test]
fn a_headless_agent_is_captured_and_its_leftovers_are_reported() {
    // Symptom: `claude -p` returns, and three servers that its tools started go on, unknown to anybody.
    let rig = rig();
    let (mut one, mut two) = agent(&rig);
    let words = ["run", "--report", "r.json", "--", "./claude", "-p", "fix it"];
    let running = rig.kennel(words).input("the prompt").spawn();
    let left = left_behind(&mut one, &mut two);
    let done = running.finish();
    done.exits(7);
    assert_eq!(done.text(), "fix it: the prompt\n");
    let report = check(&rig, &left, [&mut one, &mut two]);
    assert_eq!(text(&report, "stdout"), "fix it: the prompt\n");
}

#[test]
fn an_agent_on_a_terminal_is_as_bare_and_its_leftovers_are_reported() {
    // Symptom: under a wrapper the agent sees no terminal; or it does, and nobody learns what it left.
    let rig = rig();
    let (mut one, mut two) = agent(&rig);
    let mut shell = Terminal::bash(&rig);
    shell.send("\"$KENNEL\" run --tty --report r.json -- ./claude; echo status=$?\n");
    shell.expect("on a terminal");
    let left = left_behind(&mut one, &mut two);
    shell.expect("status=7");
    let report = check(&rig, &left, [&mut one, &mut two]);
    assert_eq!(text(&report, "stdout"), "", "with --tty nothing is captured");
    shell.send("exit\n");
}

#[test]
fn what_is_handed_to_others_is_told() {
    // Symptom: the container that a task started outlives its kill, and nothing ever said that it would.
    let rig = rig();
    let outcome = rig.kennel(["run", "--json", "false && docker run -d alpine sleep 60"]).finish().json();
    let notices = at(&outcome, "notices");
    let told = notices.as_array().and_then(|all| all.iter().find(|it| text(it, "kind") == "handed_off"));
    let told = told.expect("a notice");
    assert_eq!(text(told, "service"), "docker", "{outcome}");
    assert_eq!(text(told, "command"), "docker run -d alpine sleep 60", "{outcome}");
    let events = rig.kennel(["run", "--events", "false && ssh host make"]).finish().text();
    assert!(
        events.lines().any(|line| line.contains("\"handed_off\"") && line.contains("\"ssh\"")),
        "{events}"
    );
}
