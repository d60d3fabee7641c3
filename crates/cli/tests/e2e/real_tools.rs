//! Rows of REAL-TOOLS.md: inputs that broke real tools, as far as the command line reaches them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Deadline;

use crate::common::{AT_ONCE, at, du, end, kill_with_proof, listed, number, outcome, rig, start, text};

#[test]
fn row_01_a_background_job_does_not_hold_the_call() {
    // Symptom: hung until the sleep ended (opencode#48414, goose#2822, crush#2653).
    let rig = rig();
    let done = rig.kennel(["run", "--json", "sleep 300 & echo started"]).finish();
    assert!(done.elapsed < AT_ONCE, "{done}");
    let it = done.json();
    assert_eq!((text(&it, "stdout").as_str(), end(&it)), ("started\n", ("exited".into(), 0)), "{it}");
    let survivors = at(&it, "survivors");
    assert_eq!(at(&it, "background_pids").as_array().map(Vec::len), Some(1), "{it}");
    assert!(text(&survivors, "/0/command").contains("sleep 300"), "{it}");
    kill_with_proof(&rig, &text(&it, "task_id"));
}

#[test]
fn row_02_a_chatty_survivor_does_not_extend_the_drain() {
    // Symptom: a child that goes on writing re-armed the drain for ever (opencode#22012: 1 h 44 min).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("\"$HOSTILE\" --ready '{}' chatty 1 & sleep .3; echo done", fifo.word());
    let done = rig.kennel(["run", "--json", &command]).finish();
    fifo.pid();
    assert!(done.elapsed < AT_ONCE, "{done}");
    let it = done.json();
    assert!(text(&it, "stdout").lines().any(|line| line == "done"), "{it}");
    let id = text(&it, "task_id");
    let bytes = || number(&listed(&rig, &id), "output_bytes");
    let first = bytes();
    assert!(Deadline::usual().until(|| bytes() > first), "the rest does not go into the spool");
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn row_03_a_process_substitution_does_not_hold_the_call() {
    // Symptom: end of file never came (codex#7846, 4337).
    let rig = rig();
    let done = rig.kennel(["run", "--json", "exec > >(tee -a log) 2>&1; echo hi"]).finish();
    assert!(done.elapsed < AT_ONCE, "{done}");
    let it = done.json();
    // What tee still held at the shell's end may come after the drain: then tee was a survivor, and the spool has it.
    let id = text(&it, "task_id");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    assert_eq!(rig.kennel(["output", "--raw", &id]).finish().text(), "hi\n", "{it}");
    assert_eq!(end(&it), ("exited".into(), 0));
}

#[test]
fn row_04_a_timeout_keeps_the_output_and_kills_the_detached() {
    // Symptom: output thrown away; the detached child lived (claude-code#34266, codex#34742).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo before; setsid \"$HOSTILE\" --ready '{}' deaf & sleep 60", fifo.word());
    let words = ["run", "--json", "--timeout", "1s", "--grace", "300ms", &command];
    let it = rig.kennel(words).finish().json();
    fifo.pid();
    assert!(fifo.ends_within(AT_ONCE));
    assert_eq!((text(&it, "stdout").as_str(), end(&it)), ("before\n", ("timed_out".into(), 124)), "{it}");
    assert_eq!((text(&it, "proof").as_str(), at(&it, "background_pids")), ("echild", json!([])), "{it}");
}

#[test]
fn row_05_a_killed_loop_starts_no_further_child() {
    // Symptom: "stopped", while the loop went on for 20 minutes (claude-code#85200).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!(
        "exec 9>'{}'; echo 1 >&9; for i in 1 2 3 4 5; do timeout 100 sleep 20; echo next >&9; done",
        fifo.word()
    );
    let id = start(&rig, &command);
    fifo.line();
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE), "something of the loop lives: {:?}", rig.processes());
    let it = listed(&rig, &id);
    assert_eq!(
        (text(&it, "status").as_str(), text(&it, "/end/cause").as_str()),
        ("killed", "stopped"),
        "{it}"
    );
}

#[test]
fn row_06_a_background_reader_of_stdin_ends_at_once() {
    // Symptom: blocked for 17 h 45 min on stdin (claude-code#79175).
    let rig = rig();
    for command in ["cat", "read x", "grep foo"] {
        let id = start(&rig, command);
        let done = rig.kennel(["wait", "--timeout", "10s", &id]).finish();
        assert_ne!(done.code(), 124, "{command}: {done}");
    }
}

#[test]
fn row_07_a_command_that_dies_at_once_loses_nothing() {
    // Symptom: stderr lost, session unknown (DesktopCommander#395, 195).
    let rig = rig();
    let id = start(&rig, "echo oops >&2; echo out; exit 3");
    let done = rig.kennel(["wait", "--json", &id]).finish();
    assert_eq!(done.code(), 3, "{done}");
    let it = done.json();
    assert_eq!((text(&it, "stderr").as_str(), text(&it, "stdout").as_str()), ("oops\n", "out\n"), "{it}");
    let stderr = rig.kennel(["output", "--stream", "stderr", &id]).finish();
    assert_eq!(stderr.text(), "oops\n", "{stderr}");
}

#[test]
fn row_08_endless_output_is_bounded_and_counted() {
    // Symptom: log files of 1.4 TB (claude-code#35886, 41540, 42388).
    let rig = rig();
    let words = ["start", "--output-cap", "1M", "\"$HOSTILE\" flood 40"];
    let id = rig.kennel(words).finish().exits(0).last_line();
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let disk = du(&rig.state());
    assert!(disk < 2 << 20, "{disk} bytes on disk under a cap of 1 MiB");
    let kept = rig.kennel(["output", "--raw", &id]).finish().exits(0).out.clone();
    assert!(kept.len() <= (1 << 20) + 4096, "{} bytes kept", kept.len());
    let head = format!("{:063}\n{:063}\n", 0, 1);
    assert!(kept.starts_with(head.as_bytes()), "the head is lost");
    assert!(kept.ends_with(b"end\n"), "the newest part is lost");
    let it = rig.kennel(["wait", "--json", &id]).finish().json();
    let written = 40 * (1 << 20) + 4;
    assert_eq!(number(&it, "stdout_bytes"), written, "{it}");
    let dropped = number(&it, "dropped_bytes");
    let text_kept = i64::try_from(kept.len()).expect("a small number");
    assert!((written - dropped - text_kept).abs() < 4096, "{dropped} dropped of {written}, {text_kept} kept");
}

#[test]
fn row_09_a_task_that_reads_its_own_log_is_bounded() {
    // Symptom: fed itself: 404 GB (claude-code#33705).
    let rig = rig();
    let command = "echo seed; for i in $(seq 40); do cat \"$KENNEL_STATE_DIR\"/*/*/output.log \
                   \"$KENNEL_STATE_DIR\"/*/output.log 2>/dev/null; done";
    let id = rig.kennel(["start", "--output-cap", "64K", command]).finish().exits(0).last_line();
    rig.kennel(["wait", "--tree", "--timeout", "15s", &id]).finish();
    assert!(du(&rig.state()) < 1 << 20, "{} bytes", du(&rig.state()));
    kill_with_proof_or_ended(&rig, &id);
}

/// It may have ended by itself.
fn kill_with_proof_or_ended(rig: &testkit::Rig, id: &str) {
    let done = crate::common::kill(rig, id);
    done.exits(0);
    assert_eq!(at(&done.json(), "success"), json!(true), "{done}");
}

#[test]
fn row_10_failures_are_failures() {
    // Symptom: reported as success, exit 0 (claude-code#90659, 94175, 13057).
    let rig = rig();
    for (command, status, cause, code) in [
        ("exit 7", "failed", "exited", 7),
        ("false | true", "completed", "exited", 0),
        ("kill -9 $$", "failed", "signaled", 137),
    ] {
        let id = start(&rig, command);
        let done = rig.kennel(["wait", "--tree", "--json", &id]).finish();
        assert_eq!(i64::from(done.code()), code, "{command}: {done}");
        let it = done.json();
        assert_eq!(end(&it), (cause.into(), code), "{it}");
        assert_eq!(at(&it, "success"), json!(code == 0), "{it}");
        assert_eq!(text(&listed(&rig, &id), "status"), status, "{command}");
    }
    let it = outcome(&rig, "kill -9 $$");
    assert_eq!(text(&it, "/end/signal"), "SIGKILL", "{it}");
}

#[test]
fn row_11_a_wanted_stop_and_a_normal_end_are_told_apart() {
    // Symptom: a wanted kill shown as a failure; a normal end shown as a kill (claude-code#62297, 84464).
    let rig = rig();
    let id = start(&rig, "sleep 60");
    kill_with_proof(&rig, &id);
    let it = listed(&rig, &id);
    assert_eq!(
        (text(&it, "status").as_str(), text(&it, "/end/cause").as_str()),
        ("killed", "stopped"),
        "{it}"
    );
    assert!(!text(&it, "/end/by").is_empty(), "stopped by whom? {it}");
    let id = start(&rig, "true");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let report = crate::common::kill(&rig, &id).exits(0).json();
    assert_eq!(
        (at(&report, "success"), text(&report, "signal_sent").as_str()),
        (json!(true), "none"),
        "{report}"
    );
    let it = listed(&rig, &id);
    assert_eq!(
        (text(&it, "status").as_str(), text(&it, "/end/cause").as_str()),
        ("completed", "exited"),
        "{it}"
    );
}

#[test]
fn row_13_characters_that_come_in_pieces_stay_whole() {
    // Symptom: replacement characters (opencode#15385, agent-os#1548).
    let rig = rig();
    let it = outcome(&rig, "\"$HOSTILE\" slow-utf8 '€𝄞' 5 4");
    assert_eq!((text(&it, "stdout").as_str(), number(&it, "invalid_utf8")), ("€𝄞€𝄞€𝄞€𝄞", 0));
    // Every alignment of a 4-byte character against a read of any size.
    let it = outcome(
        &rig,
        "for i in $(seq 20000); do printf '𝄞'; done; printf 'x'; for i in $(seq 200); do printf '𝄞'; done",
    );
    assert_eq!(number(&it, "invalid_utf8"), 0);
    let it = outcome(&rig, "printf 'a\\377b'");
    assert_eq!((text(&it, "stdout").as_str(), number(&it, "invalid_utf8")), ("a\u{fffd}b", 1), "{it}");
}

#[test]
fn row_14_long_text_is_cut_at_characters() {
    // Symptom: panic, or half characters (mofa#1065, inspect_ai#4658).
    let rig = rig();
    let it = outcome(&rig, "for i in $(seq 40000); do printf '€'; done");
    let kept = text(&it, "stdout");
    assert_eq!(at(&it, "truncated"), json!(true));
    assert!(kept.chars().count() <= 30_000, "{} characters", kept.chars().count());
    assert!(kept.starts_with('€') && kept.ends_with('€') && !kept.contains('\u{fffd}'));
    assert_eq!(number(&it, "stdout_bytes"), 120_000);
    let it = rig
        .kennel(["run", "--json", "--max-output", "1000", "head -c 50000000 /dev/zero | tr '\\0' x"])
        .finish()
        .json();
    assert!(text(&it, "stdout").chars().count() <= 1000);
    assert_eq!(number(&it, "stdout_bytes"), 50_000_000);
}

#[test]
fn row_18_the_host_s_death_ends_what_is_not_kept() {
    // Symptom: hundreds of orphans (pi#3057, claude-code#43944).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let command = format!("{one} hold & nohup {one} deaf & setsid {one} daemon & sleep 60");
    let running = rig.kennel(["run", &command]).spawn();
    for _ in 0..3 {
        fifo.pid();
    }
    running.signal(rustix::process::Signal::KILL);
    let clock = Deadline::usual();
    running.finish();
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert!(clock.elapsed() < Duration::from_millis(1500), "{:?}", clock.elapsed());
}

#[test]
fn row_20_a_server_s_port_is_free_again() {
    // Symptom: port still in use (claude-code#43078, agentcore-cli#1440). Done-when 4.
    if testkit::lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let port = free_port();
    let serve = format!("exec python3 -u -m http.server {port} --bind 127.0.0.1");
    for _ in 0..2 {
        let id = start(&rig, &serve);
        let up = Deadline::usual().until(|| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert!(up, "{}", rig.kennel(["output", &id]).finish());
        assert_eq!(text(&listed(&rig, &id), "status"), "running");
        let seen =
            Deadline::usual().until(|| rig.kennel(["output", &id]).finish().text().contains("Serving HTTP"));
        assert!(seen, "not readable");
        assert_eq!(at(&listed(&rig, &id), "ports"), json!([port]));
        assert_eq!(at(&kill_with_proof(&rig, &id), "freed_ports"), json!([port]));
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "the port is still served");
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

#[test]
fn row_23_a_kill_is_bounded_whatever_the_children_do() {
    // Symptom: the kill call itself never returned (opencode#38291, crush#2653).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let command = format!("{one} deaf & {one} stopped & {one} daemon & {one} pair & {one} traced & sleep 60");
    let id = start(&rig, &command);
    for _ in 0..5 {
        fifo.pid();
    }
    let clock = Deadline::usual();
    let report = kill_with_proof(&rig, &id);
    assert!(clock.elapsed() < Duration::from_secs(6), "{:?}", clock.elapsed());
    assert_eq!(at(&report, "force_killed"), json!(true), "{report}");
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn row_25_a_long_command_and_a_large_environment_work() {
    // Symptom: "argument list too long".
    let rig = rig();
    let long = format!(": '{}'; echo \"${{#PWD}}\" >/dev/null; echo long", "x".repeat(300_000));
    std::fs::write(rig.work().join("long.sh"), &long).expect("a file");
    let done = rig.kennel(["run", "--command-file", "long.sh"]).finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "long\n"));
    let done = rig.kennel(["run", "--command-file", "-"]).input(long.clone()).finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "long\n"));
    let id = rig.kennel(["start", "--command-file", "long.sh"]).finish().exits(0).last_line();
    rig.kennel(["wait", &id]).finish().exits(0);
    let mut many = rig.kennel(["run", "env | grep -c ^MANY_"]);
    for index in 0..5000 {
        many.env(&format!("MANY_{index}"), "some value");
    }
    let done = many.finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "5000\n"));
}

#[test]
fn row_26_kept_tasks_are_there_for_the_next_process() {
    // Symptom: list empty, tasks unreachable (claude-code#55893, 34663).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("echo hello; exec \"$HOSTILE\" --ready '{}' hold", fifo.word()));
    fifo.pid();
    assert_eq!(text(&listed(&rig, &id), "status"), "running");
    assert_eq!(rig.kennel(["output", "--until", "hello", &id]).finish().text(), "hello\n");
    let prefix: String = id.chars().take(10).collect();
    kill_with_proof(&rig, &prefix);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn row_27_a_task_that_closes_its_output_still_runs() {
    // Symptom: taken for ended.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(&rig, &format!("exec \"$HOSTILE\" --ready '{}' closed-output", fifo.word()));
    fifo.pid();
    let done = rig.kennel(["wait", "--timeout", "300ms", &id]).finish();
    assert_eq!(done.code(), 124, "{done}");
    assert_eq!(text(&listed(&rig, &id), "status"), "running");
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn row_28_the_command_line_does_not_clamp() {
    // Symptom: silently clamped by a hidden rule (claude-code#83824, 79879).
    let rig = rig();
    let it = rig.kennel(["run", "--json", "--timeout", "2h", "true"]).finish().json();
    assert_eq!((end(&it), at(&it, "clamped")), (("exited".into(), 0), Value::Null), "{it}");
}
