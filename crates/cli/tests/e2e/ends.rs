//! How a command ended, and what the caller gets for it.

use rustix::process::Signal;
use serde_json::json;
use testkit::Deadline;

use crate::common::{AT_ONCE, at, end, number, outcome, rig, text};

#[test]
fn both_streams_and_the_status_pass_through() {
    // Symptom: a wrapper mixes the streams, or turns 3 into 1.
    let rig = rig();
    let done = rig.kennel(["run", "echo out; echo err >&2; exit 3"]).finish();
    assert_eq!((done.code(), done.text().as_str(), done.errors().as_str()), (3, "out\n", "err\n"));
}

#[test]
fn the_object_has_every_field() {
    // Symptom: a caller must guess what was cut, what is alive, or which protection was in force.
    let rig = rig();
    let it = outcome(&rig, "echo out; echo err >&2; exit 3");
    assert_eq!(text(&it, "status"), "failed");
    assert_eq!((text(&it, "stdout").as_str(), text(&it, "stderr").as_str()), ("out\n", "err\n"));
    assert_eq!(end(&it), ("exited".into(), 3));
    assert_eq!(at(&it, "success"), json!(false));
    assert_eq!(at(&it, "truncated"), json!(false));
    let bytes = (number(&it, "stdout_bytes"), number(&it, "stderr_bytes"), number(&it, "dropped_bytes"));
    assert_eq!(bytes, (4, 4, 0));
    assert_eq!(at(&it, "background_pids"), json!([]));
    assert_eq!(at(&it, "survivors"), json!([]));
    assert_eq!(number(&it, "invalid_utf8"), 0);
    assert!(number(&it, "duration_ms") < 20_000);
    assert_eq!(text(&it, "cwd"), rig.work().display().to_string());
    for name in ["task_id", "session_id", "boundary", "proof", "protections", "usage"] {
        assert!(!at(&it, name).is_null(), "no {name} in {it}");
    }
    for name in ["user_ms", "system_ms", "max_rss_bytes", "processes_peak"] {
        assert!(at(&it, &format!("/usage/{name}")).is_number(), "no usage.{name} in {it}");
    }
}

#[test]
fn the_exit_status_is_the_command_s() {
    // Symptom: 127 reported as 1; a signal reported as success.
    let rig = rig();
    for (command, code) in [
        ("true", 0),
        ("false", 1),
        ("exit 255", 255),
        ("no-such-program-here", 127),
        ("/", 126),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
        ("syntax error (", 2),
    ] {
        let done = rig.kennel(["run", command]).finish();
        assert_eq!(done.code(), code, "{command}: {done}");
    }
}

#[test]
fn an_argument_vector_runs_without_a_shell() {
    // Symptom: `$HOME` or a blank in an argument is interpreted once more.
    let rig = rig();
    let done = rig.kennel(["run", "--", "printf", "%s|", "a b", "$HOME", "*", "--", ""]).finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "a b|$HOME|*|--||"), "{done}");
    rig.kennel(["run", "--", "no-such-program-here", "x"]).finish().exits(127);
    rig.kennel(["run", "--", "/", "x"]).finish().exits(126);
}

#[test]
fn options_end_at_the_first_command_word() {
    // Symptom: `kennel run ls --json` eats the command's own option.
    let rig = rig();
    let done = rig.kennel(["run", "echo", "--json", "--timeout"]).finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "--json --timeout\n"));
}

#[test]
fn a_timeout_is_124_and_keeps_what_came() {
    // Symptom: output that had already come is thrown away with the timeout.
    let rig = rig();
    let it = outcome(&rig, "true");
    assert_eq!(end(&it), ("exited".into(), 0));
    let done = rig.kennel(["run", "--timeout", "300ms", "--json", "echo before; sleep 60"]).finish();
    let it = done.json();
    assert_eq!(done.code(), 124, "{done}");
    assert_eq!(end(&it), ("timed_out".into(), 124), "{it}");
    assert_eq!(text(&it, "stdout"), "before\n");
    assert_eq!(at(&it, "success"), json!(false));
    assert_eq!(text(&it, "proof"), "echild");
    assert!(done.elapsed < AT_ONCE * 2, "{done}");
}

#[test]
fn a_timeout_may_turn_the_command_into_a_task() {
    // Symptom: a hidden rule decides between killing and going on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo before; exec \"$HOSTILE\" --ready '{}' hold", fifo.word());
    let words = ["run", "--timeout", "1s", "--on-timeout", "background", "--json", &command];
    let it = rig.kennel(words).finish().json();
    assert_eq!(text(&it, "status"), "running", "{it}");
    assert_eq!(text(&it, "stdout"), "before\n");
    fifo.pid();
    assert!(fifo.held(), "the command was killed");
    crate::common::kill_with_proof(&rig, &text(&it, "task_id"));
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn pipestatus_is_told() {
    // Symptom: `false | true` is a success and nobody can know better.
    let rig = rig();
    let it = outcome(&rig, "false | true");
    assert_eq!((end(&it), at(&it, "pipestatus")), (("exited".into(), 0), json!([1, 0])), "{it}");
    let it = outcome(&rig, "yes | head -1");
    assert_eq!((text(&it, "stdout").as_str(), text(&it, "stderr").as_str()), ("y\n", ""), "{it}");
    assert_eq!(at(&it, "pipestatus"), json!([141, 0]), "SIGPIPE must not be inherited as ignored: {it}");
}

#[test]
fn an_interrupted_run_leaves_nothing_and_keeps_its_output() {
    // Row 19. Symptom: the wrapper goes, the shell and its children go on (codex#42717).
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        if signal == Signal::HUP && hangup_is_ignored() {
            // We run under nohup, and so does what we start: it is to ignore the signal, as another test says.
            continue;
        }
        let rig = rig();
        let mut fifo = rig.fifo("ready");
        let command = format!("echo partial; \"$HOSTILE\" --ready '{}' daemon; sleep 60", fifo.word());
        let mut running = rig.kennel(["run", &command]).spawn();
        fifo.pid();
        running.await_out("partial");
        running.signal(signal);
        let done = running.finish();
        assert_eq!((done.code(), done.text().as_str()), (code, "partial\n"), "{done}");
        assert!(fifo.ends_within(AT_ONCE), "a daemon outlived {signal:?}: {:?}", rig.processes());
    }
}

/// The lowest bit of `SigIgn` (`proc_pid_status(5)`) is signal 1.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[test]
fn a_second_interrupt_skips_the_grace() {
    // Symptom: Ctrl-C twice, and still ten seconds of waiting for a program that ignores it.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word());
    let running = rig.kennel(["run", &command]).spawn();
    fifo.pid();
    // Two signals at once are one to the kernel while the first is pending: press until it has ended, as people do.
    let clock = Deadline::usual();
    assert!(clock.until(|| {
        running.signal(Signal::INT);
        running.has_ended()
    }));
    assert_eq!(running.finish().code(), 130);
    assert!(clock.elapsed() < AT_ONCE, "{:?}", clock.elapsed());
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn output_streams_while_the_command_runs() {
    // Symptom: everything comes at the end.
    let rig = rig();
    let gate = rig.work().join("gate");
    let script = format!("mkfifo '{0}'; echo first; read x < '{0}'; echo second", gate.display());
    let mut running = rig.kennel(["run", &script]).spawn();
    running.await_out("first\n");
    std::fs::write(&gate, "go\n").expect("open the gate");
    assert_eq!(running.finish().text(), "first\nsecond\n");
}

#[test]
fn a_report_goes_into_a_file_and_stdout_stays_the_command_s() {
    // Symptom: `--json` or nothing.
    let rig = rig();
    let report = rig.work().join("r.json");
    let words = ["run", "--report", "r.json", "echo out; exit 4"];
    let done = rig.kennel(words).finish();
    assert_eq!((done.code(), done.text().as_str()), (4, "out\n"));
    let report = std::fs::read(report).expect("the report");
    let it: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(end(&it), ("exited".into(), 4));
}

#[test]
fn adopted_survivors_are_named_with_the_way_to_kill_them() {
    // Symptom: "it ended", and a server that nobody knows of goes on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("\"$HOSTILE\" --ready '{}' daemon", fifo.word());
    let done = rig.kennel(["run", &command]).finish();
    done.exits(0);
    fifo.pid();
    assert!(done.errors().contains("kennel kill"), "{done}");
    let id = done.errors().split_whitespace().find(|word| word.contains("bash-")).map(ToOwned::to_owned);
    let id = id.expect("the id on stderr");
    let id = id.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    crate::common::kill_with_proof(&rig, id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn survivors_are_killed_where_asked() {
    // Symptom: only one way to treat what a command leaves.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("\"$HOSTILE\" --ready '{}' daemon", fifo.word());
    let it = rig.kennel(["run", "--survivors", "kill", "--json", &command]).finish().json();
    fifo.pid();
    assert!(fifo.ends_within(AT_ONCE), "{it}");
    assert_eq!(end(&it), ("exited".into(), 0), "{it}");
}
