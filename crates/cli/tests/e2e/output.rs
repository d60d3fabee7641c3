//! What a model gets to read: decoded, folded, cut; and reads that change nothing.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Deadline, Rig};

use crate::common::{at, kill_with_proof, number, outcome, rig, start, text};

/// A page as a program reads it.
#[track_caller]
fn page(rig: &Rig, id: &str, words: &[&str]) -> Value {
    rig.kennel(["output", "--json", id].iter().chain(words)).finish().exits(0).json()
}

/// Let a shell go on that waits in `read x < go`.
fn let_go(rig: &Rig) {
    std::fs::write(rig.work().join("go"), "\n").expect("the other end of the FIFO");
}

#[test]
fn row_13_a_character_is_whole_in_every_page_of_a_live_task() {
    // Symptom: whoever reads page by page gets replacement characters at the borders (opencode#15385).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let id = start(
        &rig,
        &format!("mkfifo go; printf 'a\\342\\202'; echo >'{}'; read x < go; printf '\\254b'", fifo.word()),
    );
    fifo.line();
    assert!(
        Deadline::usual().until(|| text(&page(&rig, &id, &[]), "text") == "a"),
        "{}",
        page(&rig, &id, &[])
    );
    let first = page(&rig, &id, &[]);
    assert_eq!((text(&first, "text").as_str(), number(&first, "next_offset")), ("a", 1), "{first}");
    let_go(&rig);
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let second = page(&rig, &id, &["--from", "1"]);
    assert_eq!((text(&second, "text").as_str(), number(&second, "next_offset")), ("€b", 5), "{second}");
}

#[test]
fn row_14_one_line_of_fifty_megabytes_and_its_offset() {
    // Symptom: panic, or half characters (mofa#1065, inspect_ai#4658).
    let rig = rig();
    let id = start(&rig, "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let it = page(&rig, &id, &[]);
    let kept = text(&it, "text");
    assert_eq!(at(&it, "truncated"), json!(true), "{kept}");
    assert!((20_000..=30_000).contains(&kept.chars().count()), "{} characters", kept.chars().count());
    assert!(kept.starts_with("xxx") && kept.ends_with("x\nlast\n"));
    let (head, mark) = kept.split_once("\n[… ").expect("a mark");
    assert!(mark.contains(&format!("read on from offset {} of {id}", head.len())), "{mark}");
    let on = page(&rig, &id, &["--from", &head.len().to_string(), "--max-output", "100"]);
    let on = text(&on, "text");
    assert!(on.chars().count() <= 100 && on.starts_with('x') && on.ends_with("last\n"), "{on}");
}

#[test]
fn row_15_progress_is_its_last_state_and_raw_on_disk() {
    // Symptom: 100 copies of a progress line for the model (copilot-cli#3191).
    let rig = rig();
    let command =
        "for i in $(seq 100); do printf '\\r%3d%%' $i; done; echo; printf '\\033[32mgreen\\033[0m\\n'";
    let it = outcome(&rig, command);
    assert_eq!((text(&it, "stdout").as_str(), at(&it, "truncated")), ("100%\ngreen\n", json!(false)), "{it}");
    let raw = rig.kennel(["output", "--raw", &text(&it, "task_id")]).finish().exits(0).out.clone();
    assert_eq!(raw.len(), 100 * 5 + 1 + 15);
    assert_eq!(number(&it, "stdout_bytes"), 100 * 5 + 1 + 15);
    // The caller's own pipe gets what was written.
    assert_eq!(rig.kennel(["run", command]).finish().out, raw);
}

#[test]
fn row_16_binary_is_summarised_and_raw_on_disk() {
    // Symptom: binary poured into the context.
    let rig = rig();
    let it = outcome(&rig, "head -c 1000000 /dev/urandom");
    let shown = text(&it, "stdout");
    assert!(shown.contains("binary output: application/octet-stream, 1000000 bytes"), "{shown}");
    assert!(shown.len() < 200 && at(&it, "truncated") == json!(true), "{it}");
    assert_eq!(rig.kennel(["output", "--raw", &text(&it, "task_id")]).finish().out.len(), 1_000_000);
    let it = outcome(&rig, "cat \"$KENNEL\" | head -c 100000; echo said >&2");
    assert!(text(&it, "stdout").contains("application/x-executable, 100000 bytes"), "{it}");
    assert_eq!(text(&it, "stderr"), "said\n");
}

#[test]
fn short_output_passes_as_it_is() {
    // Symptom: a tool that trims, pads or "cleans" what it was given.
    let rig = rig();
    for written in ["", "\n", "no newline", "a\tb  \r\nc\n\n\n", "\0", "€𝄞\u{301}", "\u{feff}x\n"] {
        std::fs::write(rig.work().join("text"), written).expect("a file");
        let it = outcome(&rig, "cat text; cat text >&2");
        assert_eq!(
            (text(&it, "stdout"), text(&it, "stderr")),
            (written.to_owned(), written.to_owned()),
            "{it}"
        );
        assert_eq!((number(&it, "invalid_utf8"), at(&it, "truncated")), (0, json!(false)), "{it}");
    }
}

#[test]
fn other_encodings_do_not_panic() {
    let rig = rig();
    std::fs::write(rig.work().join("latin1"), b"na\xefve caf\xe9\n").expect("a file");
    let wide: Vec<u8> = "\u{feff}wide €𝄞\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(rig.work().join("wide"), wide).expect("a file");
    let it = rig.kennel(["run", "--json", "cat latin1; cat wide >&2"]).env("LC_ALL", "C").finish().json();
    assert_eq!(text(&it, "stdout"), "na\u{fffd}ve caf\u{fffd}\n", "{it}");
    assert_eq!((text(&it, "stderr").as_str(), number(&it, "invalid_utf8")), ("wide €𝄞\n", 2), "{it}");
}

#[test]
fn what_was_dropped_at_the_cap_is_told_where_it_is_missing() {
    // Symptom: head and newest part are shown as if they were one text.
    let rig = rig();
    let it = rig
        .kennel(["run", "--json", "--output-cap", "4K", "seq 100000 | head -c 8190; echo; echo end"])
        .finish()
        .json();
    let (shown, dropped) = (text(&it, "stdout"), number(&it, "dropped_bytes"));
    assert!(dropped > 0 && at(&it, "truncated") == json!(true), "{it}");
    assert!(shown.starts_with("1\n2\n") && shown.ends_with("\nend\n"), "{shown}");
    assert_eq!(shown.matches(&format!("[… {dropped} bytes are no longer kept …]")).count(), 1, "{shown}");
}

#[test]
fn reads_by_lines_stream_time_and_pattern() {
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!(
        "mkfifo go; for i in 1 2 3; do echo out$i; echo err$i >&2; done; echo >'{}'; read x < go; echo late",
        fifo.word()
    );
    let id = start(&rig, &command);
    fifo.line();
    let read = |words: &[&str]| text(&page(&rig, &id, words), "text");
    assert!(Deadline::usual().until(|| read(&["--stream", "stderr"]) == "err1\nerr2\nerr3\n"));
    assert_eq!(read(&["--tail", "2", "--stream", "stdout"]), "out2\nout3\n");
    assert_eq!(read(&["--grep", "^...2$", "--stream", "stderr"]), "err2\n");
    assert_eq!(read(&["--since", "1h"]).lines().count(), 6);
    // Older than a tenth of a second by then, whatever the machine does meanwhile.
    assert!(
        Deadline::usual().until(|| read(&["--since", "200ms"]).is_empty()),
        "{}",
        read(&["--since", "200ms"])
    );
    let_go(&rig);
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    assert_eq!(read(&["--tail", "1"]), "late\n");
    rig.kennel(["output", "--grep", "(", &id]).finish().exits(64);
}

#[test]
fn a_reader_of_a_flood_comes_back() {
    // Symptom: a read of a task that writes faster than the reader never ends.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    // What is kept is small, so that a slow machine has read it long before the watchdog.
    let command = format!("echo up >'{}'; exec yes", fifo.word());
    let words = ["start", "--output-cap", "4M", &command];
    let id = rig.kennel(words).finish().exits(0).last_line();
    fifo.line();
    let done = rig.kennel(["output", "--json", "--grep", "^n", &id]).finish();
    assert!(done.elapsed < Duration::from_secs(15), "{done}");
    let page = done.exits(0).json();
    let said = text(&page, "text");
    assert!(said.lines().all(|line| line.contains("are no longer kept")), "{said}");
    // Symptom: it counted as gone what had gone behind the end of what it read.
    let gone = said.split_whitespace().nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(gone <= number(&page, "next_offset"), "{page}");
    kill_with_proof(&rig, &id);
}
