//! Who waits for input, by the kernel's word: a member of the foreground that is blocked reading what we feed.

use serde_json::Value;
use testkit::{Deadline, Rig, lacks_program};

use crate::common::{at, kill_with_proof, listed, rig, text};

/// `kennel start WORDS`: the id.
#[track_caller]
fn start(rig: &Rig, words: &[&str]) -> String {
    let done = rig.kennel(["start", "--no-check"]).args(words).finish();
    done.exits(0);
    done.last_line()
}

/// The list says so, within the usual time.
#[track_caller]
fn comes_to(rig: &Rig, id: &str, waits: bool) {
    let seen = || at(&listed(rig, id), "waiting_for_input") == Value::Bool(waits);
    assert!(Deadline::usual().until(seen), "{}", listed(rig, id));
}

fn wait_notices(outcome: &Value) -> usize {
    let notices = at(outcome, "notices");
    let of_wait = |notice: &&Value| text(notice, "kind") == "waiting_for_input";
    notices.as_array().map_or(0, |all| all.iter().filter(of_wait).count())
}

#[test]
fn a_reader_of_the_pipe_is_seen_in_list_reads_and_text() {
    // Row 6. Symptom: `cat`, `read x`, `grep foo` in the background hang for hours and look busy.
    let rig = rig();
    for line in ["cat", "read x; echo \"<$x>\"", "grep foo"] {
        let id = start(&rig, &["--stdin", line]);
        comes_to(&rig, &id, true);
        let read = rig.kennel(["output", "--json", &id]).finish().json();
        assert_eq!(at(&read, "waiting_for_input"), true, "{read}");
        let table = rig.kennel(["tasks"]).finish().text();
        assert!(table.contains("waits for input"), "{table}");
        kill_with_proof(&rig, &id);
    }
}

#[test]
fn who_does_not_read_does_not_wait() {
    // Symptom: a build that runs for minutes without a word is said to wait for the user.
    let rig = rig();
    let id = start(&rig, &["--stdin", "sleep 300"]);
    comes_to(&rig, &id, false);
    kill_with_proof(&rig, &id);
    let id = start(&rig, &["sleep 300"]);
    assert_eq!(at(&listed(&rig, &id), "waiting_for_input"), Value::Null);
    kill_with_proof(&rig, &id);
}

#[test]
fn select_poll_and_epoll_wait_too() {
    // Symptom: only a plain read is seen, and no line editor, browser of files or event loop ever waits.
    if lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let calls = [
        "select.select([0], [], [])",
        "p = select.poll(); p.register(0, select.POLLIN); p.poll()",
        "e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()",
        "threading.Thread(target=sys.stdin.read).start(); time.sleep(300)",
    ];
    for call in calls {
        let script = format!("import select, sys, threading, time; {call}");
        for door in ["--stdin", "--pty"] {
            let id = start(&rig, &[door, "python3", "-c", &script]);
            comes_to(&rig, &id, true);
            kill_with_proof(&rig, &id);
        }
    }
    let id =
        start(&rig, &["--pty", "python3", "-c", "import select; select.select([], [0], [], 0); input()"]);
    comes_to(&rig, &id, true);
    kill_with_proof(&rig, &id);
}

#[test]
fn on_a_terminal_only_the_foreground_waits() {
    // Symptom: a job in the background makes the whole terminal look as if it waited.
    let rig = rig();
    let id = start(&rig, &["--pty", "set -m; sleep 300"]);
    comes_to(&rig, &id, false);
    kill_with_proof(&rig, &id);
    let id = start(&rig, &["--pty", "read x </dev/tty; sleep 300"]);
    comes_to(&rig, &id, true);
    rig.kennel(["send", &id, "on\n"]).finish().exits(0);
    comes_to(&rig, &id, false);
    let screen = rig.kennel(["output", "--screen", "--json", &id]).finish().json();
    assert_eq!(at(&screen, "waiting_for_input"), false, "{screen}");
    kill_with_proof(&rig, &id);
}

#[test]
fn a_timeout_says_that_the_command_waited() {
    // Symptom: "timed out", and nobody knows that it only wanted an answer.
    let rig = rig();
    let run = |line: &str| {
        rig.kennel(["run", "--json", "--stdin", "--timeout", "1s", "--grace", "100ms", line]).finish().json()
    };
    let waited = run("echo 'name?'; read x");
    assert_eq!((wait_notices(&waited), text(&waited, "/end/cause")), (1, "timed_out".into()), "{waited}");
    assert_eq!(wait_notices(&run("sleep 300")), 0);
    assert_eq!(wait_notices(&run("read -t 0.6 x; exit 3")), 0);
}

#[test]
fn each_wait_is_told_once() {
    // Symptom: a notice a second for as long as nobody answers, or none after the first answer.
    let rig = rig();
    let mut watched = rig.kennel(["run", "--events", "--stdin", "read x; read y; exit 3"]).spawn();
    watched.await_out("\"started\"");
    let started: Value = watched
        .out_so_far()
        .lines()
        .next()
        .and_then(|line| serde_json::from_str(line).ok())
        .expect("an event");
    let id = text(&started, "task_id");
    for seq in [2, 3] {
        watched.await_out(&format!("{{\"seq\":{seq},"));
        // Who asks finds the same wait and does not make a second one of it.
        comes_to(&rig, &id, true);
        rig.kennel(["send", &id, "line\n"]).finish().exits(0);
    }
    let done = watched.finish();
    assert_eq!((done.code(), done.text().matches("\"notice\"").count()), (3, 2), "{done}");
}
