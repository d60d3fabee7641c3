//! What all tasks keep together, and what happens at a cap.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Deadline, Rig, slow};

use crate::common::{at, du, end, kill_with_proof, number, rig, text};

/// `kennel start` under a total of this size.
#[track_caller]
fn start_under(rig: &Rig, total: &str, words: &[&str]) -> String {
    let done = rig.kennel(["start"].iter().chain(words)).env("KENNEL_OUTPUT_TOTAL", total).finish();
    done.exits(0);
    done.last_line()
}

fn written(rig: &Rig) -> Vec<i64> {
    let all = rig.kennel(["tasks", "--json"]).finish().exits(0).json();
    let tasks = at(&all, "tasks").as_array().cloned().unwrap_or_default();
    tasks.iter().map(|task| number(task, "output_bytes")).collect()
}

fn notices(rig: &Rig, id: &str) -> Vec<String> {
    let it = rig.kennel(["wait", "--json", id]).finish().json();
    let all = at(&it, "notices").as_array().cloned().unwrap_or_default();
    all.iter().map(|notice| text(notice, "kind")).collect()
}

#[test]
fn a_full_spool_ends_the_task_where_that_is_asked() {
    // Symptom: a command that has gone mad writes for hours, and its answer is in the part that was dropped.
    let rig = rig();
    let words = ["run", "--json", "--output-cap", "1M", "--on-output-cap", "kill", "yes"];
    let it = rig.kennel(words).finish().json();
    assert_eq!((end(&it).0.as_str(), text(&it, "/end/limit").as_str()), ("limit", "output"), "{it}");
    assert_eq!((at(&it, "success"), text(&it, "status").as_str()), (json!(false), "failed"), "{it}");
    assert_eq!(at(&it, "background_pids"), Value::Array(Vec::new()), "{it}");
    assert!(text(&it, "stdout").starts_with("y\ny\n"), "the head is kept");
    let fits = ["run", "--json", "--output-cap", "1M", "--on-output-cap", "kill", "head -c 500000 /dev/zero"];
    assert_eq!(end(&rig.kennel(fits).finish().json()), ("exited".to_owned(), 0));
}

#[test]
fn the_output_of_all_tasks_stays_within_the_total() {
    // Symptom: each task is bounded, and a hundred of them fill the disk.
    const TOTAL: u64 = 16 << 20;
    let rig = rig();
    let finished = start_under(&rig, "16M", &["head -c 6000000 /dev/zero"]);
    rig.kennel(["wait", "--tree", &finished]).finish().exits(0);
    let ids: Vec<String> = (0..8).map(|_| start_under(&rig, "16M", &["yes"])).collect();
    let all_wrote = || {
        assert!(du(&rig.state()) <= TOTAL + TOTAL / 100, "{} bytes", du(&rig.state()));
        let written = written(&rig);
        written.len() == ids.len() + 1 && written.iter().all(|bytes| *bytes > 5 << 20)
    };
    assert!(Deadline::usual().until(all_wrote), "{:?}", written(&rig));
    for id in &ids {
        kill_with_proof(&rig, id);
    }
    for id in &ids {
        let kinds = notices(&rig, id);
        assert!(kinds.iter().any(|kind| kind == "spool_limited"), "{kinds:?}");
        let kept = rig.kennel(["output", "--raw", id]).finish().exits(0).out.len();
        assert!(kept >= 12 << 10, "{kept} bytes kept");
    }
}

#[test]
fn finished_tasks_go_when_the_total_is_over() {
    // Symptom: a machine that ran many noisy commands in an hour has no disk left.
    let rig = rig();
    let id = start_under(&rig, "16M", &["head -c 6000000 /dev/zero"]);
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let gc = |total: &str| rig.kennel(["gc", "--json"]).env("KENNEL_OUTPUT_TOTAL", total).finish().json();
    assert_eq!(at(&gc("16M"), "removed"), json!([]));
    // Not before whoever waits for its end had time to read it.
    assert!(Deadline::usual().until(|| at(&gc("4M"), "removed") == json!([id])));
}

#[test]
fn a_hundred_floods_for_half_a_minute() {
    // Symptom: each task is bounded, and a hundred of them fill the disk; none can be ended while they do.
    const TOTAL: u64 = 256 << 20;
    if slow() {
        return;
    }
    let rig = rig();
    let ids: Vec<String> = (0..100).map(|_| start_under(&rig, "256M", &["exec nice -n 19 yes"])).collect();
    let over = |disk: u64| disk > TOTAL + TOTAL / 100;
    let flooding = Deadline::after(Duration::from_secs(30));
    let passed = flooding.until(|| over(du(&rig.state())));
    assert!(!passed, "{} bytes after {:?}", du(&rig.state()), flooding.elapsed());
    let (some, rest) = ids.split_at(10);
    for id in some {
        let asked = Deadline::after(Duration::from_secs(10));
        kill_with_proof(&rig, id);
        assert!(!asked.passed(), "{id} took {:?}", asked.elapsed());
    }
    let words = ["kill", "--grace", "200ms", "--json"];
    let rest = rest.iter().map(String::as_str);
    let killed = rig.kennel(words.into_iter().chain(rest)).within(Duration::from_secs(60)).finish();
    let reports = killed.exits(0).json();
    let all = reports.as_array().expect("a list").iter();
    assert!(all.clone().all(|report| text(report, "proof") == "echild") && all.count() == 90, "{reports}");
}
