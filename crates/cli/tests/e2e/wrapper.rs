//! Options of `run` and `start`, and odd places to be started from.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::{Deadline, Rig, signal};

use crate::common::{AT_ONCE, at, end, kill_with_proof, listed, outcome, rig, start, text};

/// An id that no account has: limits by user count nobody else.
const LONELY: u32 = 48_878;

/// A rig whose processes are an ordinary user's, whoever runs the tests.
fn ordinary() -> Rig {
    let rig = rig();
    if rustix::process::geteuid().is_root() { rig.owned_by(LONELY) } else { rig }
}

#[test]
fn directory_and_environment_are_the_ones_asked_for() {
    // Symptom: `--env` loses against the inherited value; a relative `--cwd` is taken from elsewhere.
    let rig = rig();
    std::fs::create_dir(rig.work().join("sub")).expect("a directory");
    let words = [
        "run",
        "--cwd",
        "sub",
        "--env",
        "A=1",
        "--env",
        "HOME=/x",
        "--env",
        "B=a=b",
        "echo $PWD $A $HOME $B",
    ];
    let done = rig.kennel(words).env("A", "0").finish();
    assert_eq!(done.text(), format!("{}/sub 1 /x a=b\n", rig.work().display()), "{done}");
}

#[test]
fn the_next_call_s_directory_is_told() {
    // Row 12. Symptom: `cd sub; false` and nobody knows where the shell was.
    let rig = rig();
    std::fs::create_dir(rig.work().join("sub")).expect("a directory");
    let sub = rig.work().join("sub").display().to_string();
    assert_eq!(text(&outcome(&rig, "cd sub"), "cwd"), sub);
    let it = outcome(&rig, "cd sub; false");
    assert_eq!((text(&it, "cwd"), end(&it)), (sub, ("exited".into(), 1)), "{it}");
    assert_eq!(text(&outcome(&rig, "(cd sub)"), "cwd"), rig.work().display().to_string());
}

#[test]
fn merged_output_is_in_exact_order() {
    // Symptom: two pipes were recorded out of order in 48 of 200 runs.
    let rig = rig();
    let it = rig.kennel(["run", "--merge", "--json", "\"$HOSTILE\" alternate 400"]).finish().json();
    let merged = text(&it, "stdout");
    let lines: Vec<usize> = merged.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(lines.iter().copied().eq(0..400), "{merged}");
}

#[test]
fn a_reader_that_goes_ends_the_command() {
    // Symptom: `kennel run yes | head -1` never ends, or prints an error.
    let rig = rig();
    let done = rig.bash("\"$KENNEL\" run yes | head -1; echo ${PIPESTATUS[0]}").finish();
    assert_eq!((done.text().as_str(), done.errors().as_str()), ("y\n141\n", ""));
}

#[test]
fn a_slow_reader_loses_nothing() {
    // Symptom: what a pager has not taken yet is dropped from the stream.
    let rig = rig();
    let script = "\"$KENNEL\" run '\"$HOSTILE\" flood 24' | { read x; sleep 0.3; wc -c; }";
    let done = rig.bash(script).finish();
    assert_eq!(done.text().trim(), (24 * (1 << 20) + 4 - 64).to_string(), "{done}");
}

#[test]
fn a_task_inside_a_task_belongs_to_it() {
    // Symptom: a command detaches itself from its leash with `kennel start --keep`.
    let rig = rig();
    for keep in ["", "--keep"] {
        let mut fifo = rig.fifo(&format!("ready{keep}"));
        let inner =
            format!("\"$KENNEL\" start {keep} \"exec '$HOSTILE' --ready '{}' deaf\"; sleep 70", fifo.word());
        let id = start(&rig, &inner);
        fifo.pid();
        kill_with_proof(&rig, &id);
        assert!(fifo.ends_within(AT_ONCE), "{keep}: {:?}", rig.processes());
    }
}

#[test]
fn an_owner_s_death_ends_what_is_bound_to_it() {
    // Symptom: the agent is gone and its server is not; or the server is gone and was to be kept.
    let rig = rig();
    let owner = rig.program("sleep").arg("60").spawn();
    let pid = owner.pid().to_string();
    let mut bound = rig.fifo("bound");
    let command = format!("exec \"$HOSTILE\" --ready '{}' hold", bound.word());
    let first = rig.kennel(["start", "--owner-pid", &pid, &command]).finish().exits(0).last_line();
    let mut kept = rig.fifo("kept");
    let command = format!("exec \"$HOSTILE\" --ready '{}' hold", kept.word());
    let done = rig.kennel(["start", "--owner-pid", &pid, "--keep", &command]).finish();
    bound.pid();
    kept.pid();
    // Both keepers have had time to see that the program that started the task has gone.
    rig.kennel(["wait", "--timeout", "500ms", &first]).finish().exits(124);
    assert!(bound.held(), "{}", listed(&rig, &first));
    assert!(signal(owner.pid(), rustix::process::Signal::KILL));
    owner.finish();
    assert!(bound.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert!(kept.held());
    kill_with_proof(&rig, &done.last_line());
}

#[test]
fn as_the_first_process_of_a_namespace_it_reaps() {
    // Symptom: as a container's PID 1 it leaves zombies, or takes orphans for its own children.
    if testkit::lacks_program(&["unshare"]) {
        return;
    }
    let rig = rig();
    let flags = if rustix::process::geteuid().is_root() { "--pid" } else { "-Ur --pid" };
    let probe = rig.bash(&format!("unshare {flags} --fork --mount-proc true")).finish();
    if testkit::lacks("PID namespaces for this user", probe.code() == 0) {
        return;
    }
    let command = "setsid sleep 0.05 & setsid setsid sleep 0.1 & echo fine; exit 3";
    let script =
        format!("exec unshare {flags} --fork --mount-proc \"$KENNEL\" run --survivors kill '{command}'");
    let done = rig.bash(&script).finish();
    assert_eq!((done.code(), done.text().as_str()), (3, "fine\n"), "{done}");
}

#[test]
fn a_kill_needs_no_new_process() {
    // Symptom: a fork bomb has used up the user's processes, and the kill fails with EAGAIN. At RLIMIT_NPROC.
    let rig = ordinary();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' wide 60", fifo.word()));
    fifo.pid();
    let script = format!("ulimit -u 1; exec \"$KENNEL\" kill --grace 100ms --json {id}");
    let done = rig.bash(&script).finish();
    assert_eq!(done.code(), 0, "{done}");
    assert_eq!(at(&done.json(), "success"), json!(true), "{done}");
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_read_only_state_directory_is_named() {
    // Symptom: the task runs, and its output is nowhere.
    let rig = ordinary();
    let mode = |bits| {
        let permissions = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(rig.state(), permissions).expect("set the mode");
    };
    mode(0o500);
    let done = rig.kennel(["start", "true"]).finish();
    mode(0o700);
    assert_eq!(done.code(), 125, "{done}");
    assert!(done.errors().contains("state"), "{done}");
}

#[test]
fn a_home_that_cannot_be_used_is_no_obstacle() {
    // Symptom: nothing runs in a container whose HOME does not exist.
    let rig = ordinary();
    let uid = if rustix::process::geteuid().is_root() { LONELY } else { rustix::process::geteuid().as_raw() };
    let places =
        [format!("/tmp/kennel-{uid}"), format!("/dev/shm/kennel-{uid}")].map(std::path::PathBuf::from);
    let new: Vec<_> = places.iter().filter(|place| !place.exists()).collect();
    let mut invocation = rig.kennel(["run", "echo fine"]);
    let done = invocation.env_remove("KENNEL_STATE_DIR").env("HOME", "/proc/none").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "fine\n"), "{done}");
    for place in new {
        std::fs::remove_dir_all(place).ok();
    }
}

#[test]
fn an_ordinary_user_s_tasks_are_contained_as_root_s_are() {
    // Symptom: it works on the developer's machine, where everything is root.
    let rig = ordinary();
    for words in ["daemon 3", "pair", "stopped", "zombie-leader", "traced", "bomb"] {
        let mut fifo = rig.fifo(&words.replace(' ', "-"));
        let id = start(&rig, &format!("\"$HOSTILE\" --ready '{}' {words} & sleep 70", fifo.word()));
        fifo.pid();
        kill_with_proof(&rig, &id);
        assert!(fifo.ends_within(AT_ONCE), "{words}: {:?}", rig.processes());
    }
}

#[test]
fn two_sessions_are_told_apart() {
    // Symptom: one session's list shows the other's tasks.
    let rig = rig();
    let ids: Vec<_> = ["blue", "red"]
        .into_iter()
        .map(|session| rig.kennel(["start", "--session", session, "sleep 70"]).finish().exits(0).last_line())
        .collect();
    let red = rig.kennel(["tasks", "--session", "red", "--json"]).finish().json();
    assert_eq!(at(&red, "tasks").as_array().map(Vec::len), Some(1), "{red}");
    assert_eq!(text(&red, "/tasks/0/id"), *ids.last().expect("two"));
    for id in &ids {
        kill_with_proof(&rig, id);
    }
}

#[test]
fn no_timeout_is_no_timeout() {
    // Symptom: `--timeout 0` ends the command at once.
    let rig = rig();
    rig.kennel(["run", "--timeout", "0", "sleep 0.3; exit 4"]).finish().exits(4);
}

#[test]
fn untrusted_text_is_shown_escaped() {
    // Symptom: a command with an escape sequence repaints the terminal of whoever lists tasks.
    let rig = rig();
    let id = start(&rig, ": '\u{1b}[2J\u{202e}\u{7}'; sleep 70");
    let done = rig.kennel(["tasks"]).finish();
    let table = done.text();
    assert!(!table.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{table:?}");
    let panel = rig.kennel(["kill", "--grace", "100ms", &id]).finish().text();
    assert!(!panel.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{panel:?}");
    assert_eq!(text(&listed(&rig, &id), "status"), "killed");
}

#[test]
fn a_task_that_spins_is_no_burden_for_others() {
    // Symptom: a supervisor at rest wakes up, or spins with its task.
    let rig = rig();
    let id = start(&rig, "sleep 70");
    let ticks = || -> u64 {
        let keepers = rig.processes().into_iter().filter(|process| process.comm.starts_with("knl-"));
        let switches = |pid: u32| -> Option<u64> {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let row = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            row.trim().parse().ok()
        };
        keepers.filter_map(|keeper| switches(keeper.pid)).sum()
    };
    // It comes to rest after a moment: then a second passes without one wake-up.
    let rested = Deadline::usual().until(|| {
        let before = ticks();
        rig.program("sleep").arg("1").finish().exits(0);
        ticks() == before
    });
    assert!(rested, "the keepers of a sleeping task never rest");
    kill_with_proof(&rig, &id);
}
