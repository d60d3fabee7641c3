//! Input through a pipe: `start --stdin`, `send`, `--eof`.

use testkit::{Finished, Rig};

use crate::common::{AT_ONCE, at, kill_with_proof, number, rig, text};

/// `kennel start --stdin COMMAND`: the id.
fn start(rig: &Rig, command: &str) -> String {
    let done = rig.kennel(["start", "--stdin", "--no-check", command]).finish();
    done.exits(0);
    done.last_line()
}

fn send(rig: &Rig, id: &str, words: &[&str]) -> Finished {
    let mut invocation = rig.kennel(["send", id]);
    invocation.args(words);
    invocation.finish()
}

/// Fills the task's pipe, until it takes no more.
fn fill(rig: &Rig, id: &str) {
    let mut send = rig.kennel(["send", "--timeout", "200ms", "--file", "-", id]);
    let done = send.input(vec![b'x'; 300_000]).finish();
    assert!(done.elapsed < AT_ONCE, "{done}");
    assert!(
        done.exits(1).errors().contains("did not read its input in time; 65536 bytes were written"),
        "{done}"
    );
}

fn output(rig: &Rig, id: &str) -> String {
    rig.kennel(["output", "--raw", id]).finish().exits(0).text()
}

#[test]
fn what_is_sent_is_what_is_read() {
    // Symptom: text arrives with a newline that nobody sent, or not before the end.
    let rig = rig();
    let id = start(&rig, "head -c 5; echo; cat");
    send(&rig, &id, &["héll"]).exits(0);
    let done = send(&rig, &id, &["--json", "one\ntwo", "--eof"]);
    assert_eq!(number(&done.exits(0).json(), "written"), 7);
    rig.kennel(["wait", &id]).finish().exits(0);
    assert_eq!(output(&rig, &id), "héll\none\ntwo");
    let late = send(&rig, &id, &["late"]);
    assert!(late.exits(1).errors().contains("has ended"), "{late}");
}

#[test]
fn a_large_input_waits_for_its_reader_and_for_nobody_else() {
    // Symptom: the supervisor hangs in a write, and nothing can be asked or killed until the task reads.
    let rig = rig();
    let mut go = rig.fifo("go");
    let mut ready = rig.fifo("ready");
    let id = start(&rig, &format!("echo up >'{}'; read x <>'{}'; wc -c", ready.word(), go.word()));
    ready.line();
    fill(&rig, &id);
    let mut sender = rig.kennel(["send", "--json", "--file", "-", "--eof", &id]);
    let sending = sender.input(vec![b'x'; 3_000_000]).spawn();
    // Everything else is answered while it waits.
    let info = || rig.kennel(["output", "--json", &id]).finish();
    assert_eq!(text(&info().exits(0).json(), "status"), "running");
    let refused = send(&rig, &id, &["--timeout", "100ms", "more"]);
    assert!(refused.exits(1).errors().contains("did not read"), "{refused}");
    assert!(!sending.has_ended());
    std::fs::write(go.path(), "go\n").expect("let the reader begin");
    assert_eq!(number(&sending.finish().exits(0).json(), "written"), 3_000_000);
    rig.kennel(["wait", &id]).finish().exits(0);
    assert_eq!(output(&rig, &id).trim(), "3065536");
    assert!(go.ends_within(AT_ONCE));
}

#[test]
fn a_reader_that_does_not_read_is_a_fact_with_a_number() {
    // Symptom: `send` waits for ever, or says that everything arrived.
    let rig = rig();
    let mut ready = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' deaf", ready.word()));
    ready.pid();
    fill(&rig, &id);
    kill_with_proof(&rig, &id);
}

#[test]
fn a_closed_reader_is_an_error() {
    // Symptom: text sent to nobody is reported as written.
    let rig = rig();
    let mut ready = rig.fifo("ready");
    let id = start(&rig, &format!("exec <&-; exec \"$HOSTILE\" --ready '{}' hold", ready.word()));
    ready.pid();
    for _again in 0..2 {
        let done = send(&rig, &id, &["hello"]);
        assert!(done.exits(1).errors().contains("EPIPE"), "{done}");
    }
    kill_with_proof(&rig, &id);
}

#[test]
fn a_task_without_input_says_how_to_get_one() {
    // Symptom: text vanishes into /dev/null.
    let rig = rig();
    let mut ready = rig.fifo("ready");
    let id = crate::common::start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' hold", ready.word()));
    ready.pid();
    let done = send(&rig, &id, &["hello"]);
    assert!(done.exits(1).errors().contains("--stdin"), "{done}");
    send(&rig, &id, &[]).exits(64);
    kill_with_proof(&rig, &id);
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' hold", ready.word()));
    ready.pid();
    let done = send(&rig, &id, &["--key", "C-c"]);
    assert!(done.exits(1).errors().contains("--pty"), "{done}");
    assert!(send(&rig, &id, &["--resize", "10x10"]).exits(1).errors().contains("--pty"));
    assert!(send(&rig, &id, &["--key", "Q-x"]).exits(1).errors().contains("not a key"));
    kill_with_proof(&rig, &id);
}

#[test]
fn a_kill_does_not_wait_for_input_that_nobody_reads() {
    // Symptom: the sender of a killed task hangs.
    let rig = rig();
    let mut ready = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' deaf", ready.word()));
    ready.pid();
    fill(&rig, &id);
    let sending = rig.kennel(["send", "--timeout", "1h", &id, "more"]).spawn();
    kill_with_proof(&rig, &id);
    let done = sending.finish();
    // The reader went first, or the keeper did.
    assert!(done.elapsed < AT_ONCE, "{done}");
    assert!(["EPIPE", "has ended"].iter().any(|why| done.exits(1).errors().contains(why)), "{done}");
}

#[test]
fn a_foreground_call_can_be_given_input_too() {
    // Symptom: `run --stdin` reads the caller's own stdin, or nothing.
    let rig = rig();
    let mut run =
        rig.kennel(["run", "--stdin", "--json", "--description", "reader", "read x; echo \"<$x>\""]);
    let running = run.input("not this\n").spawn();
    let id = || {
        let tasks = rig.kennel(["tasks", "--all", "--json"]).finish().json();
        at(&tasks, "/tasks/0/input").as_str().map(|_| text(&tasks, "/tasks/0/id"))
    };
    let mut found = None;
    assert!(testkit::Deadline::usual().until(|| {
        found = id();
        found.is_some()
    }));
    send(&rig, &found.unwrap_or_default(), &["this\n"]).exits(0);
    assert_eq!(text(&running.finish().exits(0).json(), "stdout"), "<this>\n");
}

#[test]
fn merged_output_is_one_stream_in_order() {
    // Symptom: `cmd 2>&1` had an order, two pipes do not.
    let rig = rig();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done";
    let done = rig.kennel(["run", "--merge", "--json", script]).finish().exits(0).json();
    let wanted = "o1 e1 o2 e2 o3 e3 o4 e4 o5 e5 o6 e6 o7 e7 o8 e8 o9 e9 ".replace(' ', "\n");
    assert_eq!((text(&done, "stdout"), text(&done, "stderr")), (wanted, String::new()));
}
