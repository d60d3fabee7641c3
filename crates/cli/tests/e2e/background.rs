//! Tasks in the background: start, list, read, wait, kill.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Deadline, Process};

use crate::common::{AT_ONCE, at, kill, kill_with_proof, listed, number, rig, start, text};

#[test]
fn start_returns_an_id_that_works_everywhere() {
    // Symptom: the id that was printed is not the id that is listed.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo hello; exec \"$HOSTILE\" --ready '{}' hold", fifo.word());
    let done = rig.kennel(["start", "--json", "--description", "a server", &command]).finish();
    let it = done.exits(0).json();
    let id = text(&it, "task_id");
    let pid = fifo.pid();
    assert_eq!(number(&it, "pid"), i64::from(pid), "{it}");
    assert!(id.starts_with("bash-") && id.len() == 31, "{id}");
    let read = || std::fs::read_to_string(text(&it, "output_file")).expect("the file that was named");
    assert!(Deadline::usual().until(|| read() == "hello\n"), "{:?}", read());
    let task = listed(&rig, &id);
    assert_eq!((text(&task, "status").as_str(), number(&task, "pid")), ("running", i64::from(pid)), "{task}");
    assert_eq!(text(&task, "description"), "a server");
    assert_eq!(text(&task, "command"), command);
    assert_eq!(text(&task, "cwd"), rig.work().display().to_string());
    for name in
        ["started_at", "session_id", "boundary", "supervisor_pid", "guard_pid", "output_file", "output_bytes"]
    {
        assert!(!at(&task, name).is_null(), "no {name} in {task}");
    }
    let table = rig.kennel(["tasks"]).finish().exits(0).text();
    assert!(table.contains(id.get(..9).expect("ASCII")) && table.contains("running"), "{table}");
    let panel = rig.kennel(["kill", &id]).finish();
    panel.exits(0);
    assert!(panel.text().contains("SIGTERM"), "{panel}");
    assert!(fifo.ends_within(AT_ONCE));
    assert_eq!(text(&listed(&rig, &id), "status"), "killed");
}

#[test]
fn command_substitution_returns_at_once() {
    // Symptom: `$(kennel start …)` waits for the task, because a keeper holds the caller's pipe.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let script = format!(
        "id=$(\"$KENNEL\" start \"exec \\\"\\$HOSTILE\\\" --ready '{}' deaf\"); echo \"got $id\"",
        fifo.word()
    );
    let done = rig.bash(&script).finish();
    assert!(done.elapsed < AT_ONCE && done.eof, "somebody holds our pipe: {done}");
    let id = done.text().trim().strip_prefix("got ").expect("an id").to_owned();
    fifo.pid();
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn start_over_ssh_returns_at_once() {
    // Symptom: `ssh host kennel start …` hangs until the task ends.
    let rig = rig();
    let options =
        ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "ConnectTimeout=2", "localhost"];
    let reachable = !testkit::lacks_program(&["ssh"]);
    if !reachable {
        return;
    }
    let up = rig.program("ssh").args(options).arg("true").finish().code() == 0;
    if testkit::lacks("an sshd on localhost that lets us in", up) {
        return;
    }
    let remote =
        format!("KENNEL_STATE_DIR='{}' '{}' start 'sleep 30'", rig.state().display(), rig.binary().display());
    let done = rig.program("ssh").args(options).arg(remote).finish();
    done.exits(0);
    kill_with_proof(&rig, &done.last_line());
}

#[test]
fn a_started_task_is_detached_from_its_starter() {
    // Symptom: Ctrl-C in the shell that started a server ends the server; a closed terminal hangs it up.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' hold", fifo.word()));
    let leader = Process::read(fifo.pid()).expect("the leader");
    assert_eq!((leader.session, leader.group), (leader.pid, leader.pid));
    let mut descriptors = leader.descriptors();
    descriptors.retain(|(number, _)| *number <= 2 || !descriptor_is_fifo(&leader, *number, fifo.word()));
    let targets: Vec<_> = descriptors.iter().map(|(number, target)| (*number, target.as_str())).collect();
    assert_eq!(targets.first(), Some(&(0, "/dev/null")));
    assert_eq!(targets.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2], "{targets:?}");
    kill_with_proof(&rig, &id);
}

fn descriptor_is_fifo(leader: &Process, number: u32, fifo: &str) -> bool {
    std::fs::read_link(format!("/proc/{}/fd/{number}", leader.pid))
        .is_ok_and(|target| target.as_os_str() == fifo)
}

#[test]
fn wait_passes_the_status_on_and_leaves_the_task_alone() {
    // Symptom: giving up on a wait kills what was waited for.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' hold", fifo.word()));
    fifo.pid();
    rig.kennel(["wait", "--timeout", "200ms", &id]).finish().exits(124);
    assert!(fifo.held());
    let (zero, seven, nine) = (start(&rig, "true"), start(&rig, "exit 7"), start(&rig, "exit 9"));
    rig.kennel(["wait", &zero, &seven, &nine]).finish().exits(7);
    rig.kennel(["wait", &zero, &zero]).finish().exits(0);
    let list = rig.kennel(["wait", "--json", &zero, &seven]).finish().json();
    assert_eq!(list.as_array().map(Vec::len), Some(2), "{list}");
    kill_with_proof(&rig, &id);
}

#[test]
fn wait_returns_at_the_leader_s_end_and_tree_at_emptiness() {
    // Symptom: "still running" for ever, because a daemon lives.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("\"$HOSTILE\" --ready '{}' daemon; exit 5", fifo.word()));
    let daemon = fifo.pid();
    rig.kennel(["wait", &id]).finish().exits(5);
    rig.kennel(["wait", "--tree", "--timeout", "200ms", &id]).finish().exits(124);
    let it = listed(&rig, &id);
    assert_eq!((text(&it, "status").as_str(), number(&it, "exit_code")), ("running", 5), "{it}");
    assert_eq!(at(&it, "background_pids"), json!([daemon]), "{it}");
    // Symptom: who came after the leader's end waited for its daemon, because nobody told them of the end.
    rig.kennel(["wait", &id]).finish().exits(5);
    let waiting = rig.kennel(["wait", "--tree", &id]).spawn();
    assert!(testkit::signal(daemon, Signal::KILL));
    assert_eq!(waiting.finish().code(), 5);
    assert_eq!(text(&listed(&rig, &id), "status"), "failed");
}

#[test]
fn output_is_read_from_an_offset_without_being_consumed() {
    // Symptom: reading takes the bytes away; an offset shifts.
    let rig = rig();
    let id = start(&rig, "for i in 1 2 3 4 5; do echo line$i; done; echo oops >&2");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    for _ in 0..2 {
        let all = rig.kennel(["output", "--stream", "stdout", &id]).finish();
        assert_eq!(all.text(), "line1\nline2\nline3\nline4\nline5\n", "{all}");
    }
    assert_eq!(
        rig.kennel(["output", "--tail", "2", "--stream", "stdout", &id]).finish().text(),
        "line4\nline5\n"
    );
    assert_eq!(rig.kennel(["output", "--grep", "line[24]", &id]).finish().text(), "line2\nline4\n");
    let page = rig.kennel(["output", "--json", &id]).finish().json();
    assert_eq!(number(&page, "next_offset"), 35, "{page}");
    let page = rig.kennel(["output", "--json", "--from", "35", &id]).finish().json();
    assert_eq!((text(&page, "text").as_str(), number(&page, "next_offset")), ("", 35), "{page}");
    let raw = rig.kennel(["output", "--raw", &id]).finish();
    assert_eq!(raw.out.len(), 35, "{raw}");
}

#[test]
fn output_follows_to_the_end() {
    // Symptom: `--follow` misses the last lines, or never ends.
    let rig = rig();
    let gate = rig.work().join("gate");
    let id = start(&rig, "mkfifo gate; echo first; read x < gate; echo second; exit 3");
    let mut follow = rig.kennel(["output", "--follow", &id]).spawn();
    follow.await_out("first\n");
    std::fs::write(&gate, "go\n").expect("open the gate");
    assert_eq!(follow.finish().text(), "first\nsecond\n");
}

#[test]
fn a_polite_kill_is_heeded_and_told() {
    // Symptom: SIGKILL at once, and the program cannot clean up.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command =
        format!("trap 'echo cleaned; exit 0' TERM; echo 1 > '{}'; while :; do sleep 0.05; done", fifo.word());
    let id = start(&rig, &command);
    fifo.line();
    let report = kill_with_proof_slowly(&rig, &id);
    assert_eq!(
        (text(&report, "signal_sent").as_str(), at(&report, "force_killed")),
        ("SIGTERM", json!(false)),
        "{report}"
    );
    // The shell says "Terminated" of its sleep on stderr.
    assert_eq!(rig.kennel(["output", "--stream", "stdout", &id]).finish().text(), "cleaned\n");
}

fn kill_with_proof_slowly(rig: &testkit::Rig, id: &str) -> Value {
    let done = rig.kennel(["kill", "--json", id]).finish();
    done.exits(0);
    done.json()
}

#[test]
fn no_force_leaves_and_names_the_deaf() {
    // Symptom: success is reported while the process lives.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word()));
    let pid = fifo.pid();
    let done = rig.kennel(["kill", "--no-force", "--grace", "200ms", "--json", &id]).finish();
    assert_eq!(done.code(), 1, "{done}");
    let report = done.json();
    assert_eq!(
        (at(&report, "success"), number(&report, "/survivors/0/pid")),
        (json!(false), i64::from(pid)),
        "{report}"
    );
    assert!(fifo.held());
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn several_are_killed_at_once() {
    // Symptom: the first that ignores the signal delays all others.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let ids: Vec<_> =
        (0..4).map(|_| start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word()))).collect();
    for _ in &ids {
        fifo.pid();
    }
    let clock = Deadline::usual();
    let mut words = vec!["kill", "--grace", "500ms", "--json"];
    words.extend(ids.iter().map(String::as_str));
    let done = rig.kennel(words).finish();
    assert_eq!(done.exits(0).json().as_array().map(Vec::len), Some(4), "{done}");
    assert!(clock.elapsed() < Duration::from_secs(4), "{:?}", clock.elapsed());
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn killing_twice_is_no_failure() {
    // Symptom: the second kill of the same task is an error, or kills somebody else.
    let rig = rig();
    let id = start(&rig, "sleep 60");
    kill_with_proof(&rig, &id);
    let again = kill(&rig, &id);
    assert_eq!(text(&again.exits(0).json(), "signal_sent"), "none");
}
