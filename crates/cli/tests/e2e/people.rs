//! What a person sees: every help page, tables, panels, the display of a running command, hostile names.

use insta::assert_snapshot;
use testkit::{Rig, lacks_program};

use crate::common::{kill_with_proof, rig, start};

/// Every verb, and the verbs of verbs.
#[rustfmt::skip]
const PAGES: &[&[&str]] = &[
    &[], &["run"], &["start"], &["tasks"], &["output"], &["wait"], &["kill"], &["gc"], &["doctor"], &["completions"],
    &["session"], &["session", "open"], &["session", "close"], &["session", "list"], &["session", "show"],
    &["send"], &["check"], &["hook"], &["hook", "install"], &["hook", "uninstall"], &["tree"], &["signal"], &["track"],
    &["mcp"], &["mcp", "install"], &["mcp", "uninstall"], &["serve"], &["config"], &["config", "show"], &["config", "path"],
    &["trust"], &["schema"], &["man"],
];

#[test]
fn every_help_page() {
    let rig = rig();
    let mut pages = String::new();
    for page in PAGES {
        let done = rig.kennel(page.iter().copied().chain(["--help"])).finish();
        done.exits(0);
        pages.extend(["$ kennel ", &page.join(" "), " --help\n", &done.text(), "\n"]);
    }
    assert_snapshot!("help", pages);
}

/// Ids, times and places differ from run to run.
fn redacted(rig: &Rig, text: &str) -> String {
    let mut out = text.replace(&*rig.work().to_string_lossy(), "WORK");
    let id = |word: &str| word.strip_prefix("bash-").is_some_and(|rest| rest.len() == 26);
    let words: Vec<String> = out.split_whitespace().filter(|word| id(word)).map(str::to_owned).collect();
    for word in words {
        out = out.replace(&word, "bash-ID");
    }
    for (pattern, instead) in
        [(r"\d+ (s ago|ms)", "N $1"), (r"\bs-[0-9a-z]{26}\b", "s-ID"), (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME")]
    {
        out = regex::Regex::new(pattern).expect("a pattern").replace_all(&out, instead).into_owned();
    }
    out
}

#[test]
fn every_screen() {
    let rig = rig();
    let mut screens = String::new();
    let mut show = |words: &[&str]| {
        let done = rig.kennel(words).finish();
        screens +=
            &redacted(&rig, &format!("$ kennel {}\n{}{}\n", words.join(" "), done.text(), done.errors()));
    };
    show(&["tasks"]);
    show(&["session", "list"]);
    show(&["session", "open", "mine"]);
    let id = start(&rig, "sleep 300");
    show(&["session", "list"]);
    show(&["session", "show", "mine"]);
    show(&["tasks"]);
    show(&["kill", "--grace", "100ms", &id]);
    show(&["kill", &id]);
    show(&["tasks"]);
    show(&["session", "close", "mine"]);
    show(&["session", "close", "mine"]);
    show(&["output", "bash-none"]);
    show(&["run", "--timeout", "nonsense", "true"]);
    show(&["gc", "--older-than", "0s"]);
    assert_snapshot!("screens", screens);
}

#[test]
fn hostile_names_do_not_speak_to_the_terminal() {
    // Symptom: a command sets the title, fills the clipboard or turns the text around when it is listed.
    let rig = rig();
    let hostile = "\u{1b}]52;c;aGk=\u{7}\u{1b}]0;owned\u{7}\u{202e}txt.exe";
    let directory = rig.work().join("d\u{1b}]0;owned\u{7}\u{202e}");
    std::fs::create_dir(&directory).expect("a directory");
    let command = format!("sleep 300 # {hostile}");
    let done = rig.kennel(["start", "--description", hostile, &command]).current_dir(&directory).finish();
    done.exits(0);
    let id = done.last_line();
    rig.kennel(["session", "open", "mine"]).current_dir(&directory).finish().exits(0);
    let screens: [&[&str]; 5] = [
        &["tasks"],
        &["session", "list"],
        &["session", "show", "mine"],
        &["check", &command],
        &["kill", &id],
    ];
    for words in screens {
        let done = rig.kennel(words).env("CLICOLOR_FORCE", "").finish();
        let shown = done.text() + &done.errors();
        assert!(
            !shown.is_empty() && !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{words:?}: {shown:?}"
        );
    }
    rig.kennel(["session", "close", "mine"]).finish().exits(0);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let rig = rig();
    let id = start(&rig, "true");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let shown =
        |name: &str, value: &str| rig.kennel(["tasks"]).env(name, value).finish().text().contains('\u{1b}');
    assert!(!shown("X", "") && shown("CLICOLOR_FORCE", "1"));
    let both = rig.kennel(["tasks"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").finish();
    assert!(!both.text().contains('\u{1b}'));
}

#[test]
fn completions_and_man_pages_are_made() {
    let rig = rig();
    for shell in ["bash", "zsh", "fish"] {
        let done = rig.kennel(["completions", shell]).finish();
        done.exits(0);
        assert!(done.text().contains("kennel") && done.text().contains("session"), "{shell}");
    }
    rig.kennel(["man", "pages"]).finish().exits(0);
    assert!(rig.work().join("pages/kennel-run.1").is_file());
}

#[test]
fn a_bundle_holds_no_command_and_no_output() {
    let rig = rig();
    let id = start(&rig, "echo xyzzy-output # xyzzy-command");
    rig.kennel(["wait", "--tree", &id]).finish().exits(0);
    let done = rig.kennel(["doctor", "--bundle"]).env("SECRET_THING", "xyzzy-environment").finish();
    done.exits(0);
    assert!(done.json()["tasks"].as_array().is_some_and(|tasks| tasks.len() == 1), "{done}");
    assert!(!done.text().contains("xyzzy"), "{done}");
}

#[test]
fn a_person_at_a_terminal() {
    // Symptom: the spinner runs through the output, or stays on the screen.
    if lacks_program(&["tmux"]) {
        return;
    }
    let rig = rig();
    let socket = rig.work().join("tmux");
    let tmux = |words: &[&str]| {
        let mut all = vec!["-S", socket.to_str().expect("a path"), "-f", "/dev/null"];
        all.extend(words);
        let mut invocation = rig.program("tmux");
        invocation.args(all).env("TERM", "xterm-256color");
        invocation.finish()
    };
    tmux(&["new-session", "-d", "-x", "100", "-y", "30", "bash", "--norc", "--noprofile"]).exits(0);
    let screen = || tmux(&["capture-pane", "-p"]).text();
    let wait_for = |text: &str| {
        let seen = testkit::Deadline::usual().until(|| screen().contains(text));
        assert!(seen, "no {text:?} on\n{}", screen());
    };
    let enter = |line: &str| {
        tmux(&["send-keys", line, "Enter"]).exits(0);
    };
    let go = rig.work().join("go");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &go, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
    enter("\"$KENNEL\" run --description building 'echo first; read x < go; echo last; exit 3'");
    wait_for("building · ");
    std::fs::write(&go, "x\n").expect("let it go on");
    wait_for("✘ building · exit 3");
    let shown = screen();
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    assert!(lines.contains(&"first") && lines.contains(&"last"), "{shown}");
    assert!(!shown.contains('⠋') && !shown.contains('⠙'), "{shown}");
    enter("id=$(\"$KENNEL\" start 'sleep 300'); clear; KENNEL_CONFIRM_KILL_AFTER=0 \"$KENNEL\" kill $id");
    wait_for("End it? [y/N]");
    enter("n");
    wait_for("nothing was ended");
    enter("\"$KENNEL\" tasks");
    wait_for("running");
    enter("\"$KENNEL\" kill --yes $id");
    wait_for("is dead");
    tmux(&["kill-server"]);
}

#[test]
fn a_watched_list_shows_what_changes() {
    // Symptom: `--watch` shows its first list for ever, or the same list again and again.
    let rig = rig();
    let mut watched = rig.kennel(["tasks", "--watch"]).spawn();
    watched.await_out("No tasks.");
    let id = start(&rig, "sleep 300");
    watched.await_out(&id).await_out("running");
    kill_with_proof(&rig, &id);
    watched.await_out("killed");
    watched.signal(rustix::process::Signal::INT);
    let shown = watched.finish();
    assert_eq!((shown.text().matches("No tasks.").count(), shown.code()), (1, 130), "{shown}");
}
