//! What a task may use: who takes more is ended, says so with figures, and nobody else notices.

use std::time::Duration;

use serde_json::Value;
use testkit::Rig;

use crate::common::{at, end, kill_with_proof, listed, number, rig, start, text};

/// From crossing a limit to the last process's end: a second where nothing else runs, which beside other tests is no bound.
const WITHIN: Duration = Duration::from_secs(5);
const MIB: i64 = 1 << 20;

/// As whoever runs the tests, and as an ordinary user.
fn rigs() -> Vec<Rig> {
    let ordinary = rustix::process::geteuid().is_root().then(|| rig().owned_by(65_534));
    std::iter::once(rig()).chain(ordinary).collect()
}

/// Runs a habit of the hostile program under a limit, beside a neighbour: it is ended in time. The outcome.
#[track_caller]
fn hog(rig: &Rig, option: &str, value: &str, habit: &str) -> Value {
    let neighbour = start(rig, "exec sleep 70");
    let mut fifo = rig.fifo(&format!("ready{option}"));
    // The shell stays: it is the tree that is counted and ended, not one process.
    let command = format!("\"$HOSTILE\" --ready '{}' {habit} & wait; sleep 70", fifo.word());
    let running = rig.kennel(["run", "--no-check", "--json", option, value, &command]).spawn();
    fifo.line();
    assert!(fifo.ends_within(WITHIN), "{habit}: {} live", rig.processes().len());
    let outcome = running.finish().json();
    assert_eq!(text(&listed(rig, &neighbour), "status"), "running");
    kill_with_proof(rig, &neighbour);
    outcome
}

/// The limit that ended it, what was used and what was allowed.
#[track_caller]
fn crossed(outcome: &Value) -> (String, i64, i64) {
    assert_eq!(text(outcome, "/end/cause"), "limit", "{outcome}");
    assert_eq!(text(outcome, "proof"), "echild", "{outcome}");
    let notices = at(outcome, "notices");
    let told =
        notices.as_array().into_iter().flatten().find(|notice| text(notice, "kind") == "limit_crossed");
    assert_eq!(told.map(|notice| at(notice, "used")), Some(at(outcome, "/end/used")), "{outcome}");
    (text(outcome, "/end/limit"), number(outcome, "/end/used"), number(outcome, "/end/max"))
}

/// How the limit is held, by its protection.
fn enforced(outcome: &Value) -> (String, String) {
    (text(outcome, "/protections/0/name"), text(outcome, "/protections/0/enforced"))
}

#[test]
fn a_hog_of_memory_is_ended_with_the_figure_that_it_took() {
    // Symptom: a test with a leak takes the machine down; or what was counted is not what was used.
    for rig in rigs() {
        let it = hog(&rig, "--memory", "64M", "greedy-memory 40 60");
        let (limit, used, max) = crossed(&it);
        assert_eq!((limit.as_str(), max), ("memory", 64 * MIB), "{it}");
        // On the way up, or at its 100 MiB; its own and the shell's few MiB are the error.
        assert!(used > 64 * MIB && used < 108 * MIB, "{it}");
        assert_eq!(enforced(&it), ("memory_limit".to_owned(), "partly".to_owned()));
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    // Symptom: a pool of forked workers is killed for memory that none of them has of its own.
    for rig in rigs() {
        let mut fifo = rig.fifo("ready");
        let command = format!(
            "\"$HOSTILE\" --ready '{}' shared-memory 40 4 & read -t 1 _ <>'{}'; kill -9 0",
            fifo.word(),
            rig.fifo("never").word()
        );
        let done = rig.kennel(["run", "--no-check", "--json", "--memory", "100M", &command]).finish();
        assert_eq!(end(&done.json()), ("signaled".to_owned(), 137), "{done}");
        fifo.line();
        assert!(fifo.ends_within(WITHIN));
    }
}

#[test]
fn a_bomb_of_processes_is_ended() {
    // Symptom: a fork bomb under --pids 50 goes on while it is being counted.
    for rig in rigs() {
        // Each forks two, down to 1,023.
        let bomb =
            "f() { [ $1 -gt 0 ] && { f $(($1 - 1)) & f $(($1 - 1)) & }; wait; kill -STOP $BASHPID; }; f 9";
        let words = ["run", "--no-check", "--json", "--pids", "50", bomb];
        let it = rig.kennel(words).finish().json();
        let (limit, used, max) = crossed(&it);
        assert_eq!((limit.as_str(), max), ("pids", 50), "{it}");
        assert!(used > 50 && number(&it, "/usage/processes_peak") > 20, "{it}");
    }
}

#[test]
fn threads_are_counted_too() {
    let threads = "python3 -c 'import threading, time\nfor _ in range(40): threading.Thread(target=time.sleep, args=(60,)).start()'";
    if testkit::lacks_program(&["python3"]) {
        return;
    }
    let it = rig().kennel(["run", "--json", "--pids", "20", threads]).finish().json();
    assert_eq!(crossed(&it).0, "pids");
}

#[test]
fn cpu_time_is_that_of_all_processes_alive_or_reaped() {
    // Symptom: a limit for each process, which a loop of short ones never meets.
    for rig in rigs() {
        let many = "while :; do (for i in {1..2000}; do :; done); done";
        for command in ["while :; do :; done", many, "(while :; do :; done) & (while :; do :; done) & wait"] {
            let it = rig.kennel(["run", "--json", "--cpu-time", "300ms", command]).finish().json();
            let (limit, used, max) = crossed(&it);
            assert_eq!((limit.as_str(), max), ("cpu_time", 300), "{it}");
            // A look is due when the rest could be used up on all processors; then it is ended.
            assert!(used > 300 && used < 1300, "{command}: {it}");
            let reaped = number(&it, "/usage/user_ms") + number(&it, "/usage/system_ms");
            assert!(reaped >= 280, "what was counted is in the usage of what was reaped: {it}");
        }
    }
}

#[test]
fn no_file_grows_beyond_the_limit() {
    // Symptom: a log without end fills the disk of everybody else.
    for rig in rigs() {
        let it = hog(&rig, "--file-size", "1M", "greedy-disk filled");
        assert_eq!(crossed(&it), ("file_size".to_owned(), MIB + 1, MIB), "{it}");
        let size = std::fs::metadata(rig.work().join("filled")).expect("the file").len();
        assert_eq!(size, 1_048_577);
        // The kernel's signal ends the command itself, or the last command of its line.
        for command in ["cat /dev/zero > filled", "true; cat /dev/zero > filled"] {
            let it = rig.kennel(["run", "--json", "--file-size", "1M", command]).finish().json();
            assert_eq!(crossed(&it).0, "file_size", "{it}");
        }
        let fits = "head -c 1M /dev/zero > fits && wc -c < fits";
        let done = rig.kennel(["run", "--file-size", "1M", fits]).finish();
        assert_eq!(done.text(), "1048576\n", "{done}");
    }
}

#[test]
fn a_hog_of_descriptors_is_ended() {
    // Symptom: a leak of descriptors goes on failing and retrying.
    for rig in rigs() {
        let it = hog(&rig, "--open-files", "64", "greedy-files 100");
        let (limit, used, max) = crossed(&it);
        assert_eq!((limit.as_str(), used > 64, max), ("open_files", true, 64), "{it}");
        assert_eq!(enforced(&it), ("open_files_limit".to_owned(), "fully".to_owned()));
        let done = rig.kennel(["run", "--open-files", "64", "ulimit -n"]).finish();
        assert_eq!(done.text(), "65\n", "{done}");
    }
}

#[test]
fn survivors_of_the_leader_are_held_to_the_limits_too() {
    // Symptom: what was put into the background may take what it likes once the shell has gone.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    // The hog begins by the shell's end: memory that it takes before is no survivor's.
    let hog = format!("\"$HOSTILE\" --ready '{}' greedy-memory 40 60", fifo.word());
    let command = format!("mkfifo gone; (read x <gone; exec {hog}) & exec 3>gone; exit 0");
    let id = {
        let done = rig.kennel(["start", "--no-check", "--memory", "64M", &command]).finish();
        done.exits(0);
        done.last_line()
    };
    fifo.line();
    assert!(fifo.ends_within(WITHIN), "{:?}", rig.processes());
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let task = listed(&rig, &id);
    assert_eq!(end(&task), ("exited".to_owned(), 0), "an end never changes: {task}");
}

#[test]
fn a_limit_that_cannot_be_held_is_said_or_an_error() {
    // Symptom: asked for half a processor, given all of them, and told nothing.
    let rig = rig();
    let it = rig.kennel(["run", "--json", "--cpu-share", "50", "true"]).finish().json();
    assert_eq!(end(&it), ("exited".to_owned(), 0));
    let (name, level) = enforced(&it);
    assert_eq!(name, "cpu_share", "{it}");
    if !testkit::lacks("a user without a cgroup v2 cpu controller", level == "no") {
        rig.kennel(["run", "--require", "--cpu-share", "50", "true"]).finish().exits(125);
    }
    for words in [["--pids", "0"], ["--cpu-time", "0"], ["--memory", "0"], ["--pids", "-1"]] {
        let done = rig.kennel(["run"].into_iter().chain(words).chain(["true"])).finish();
        done.exits(64);
    }
    let none = rig.kennel(["run", "--json", "true"]).finish().json();
    assert_eq!(at(&none, "protections"), serde_json::json!([]), "{none}");
}

#[test]
fn limits_can_be_configured() {
    // Symptom: an agent's host has no way to bound what the agent runs.
    let rig = rig();
    std::fs::write(rig.work().join("kennel.toml"), "cpu_time = \"200ms\"\nmemory = \"1G\"\npids = 500")
        .expect("a file");
    let it = rig.kennel(["run", "--json", "while :; do :; done"]).finish().json();
    assert_eq!(crossed(&it).0, "cpu_time");
    let names: Vec<String> =
        at(&it, "protections").as_array().into_iter().flatten().map(|it| text(it, "name")).collect();
    assert_eq!(names, ["memory_limit", "pids_limit", "cpu_time_limit"], "{it}");
    let it = rig.kennel(["run", "--json", "--cpu-time", "70s", "exit 3"]).finish().json();
    assert_eq!(end(&it), ("exited".to_owned(), 3), "an option goes over a file: {it}");
}
