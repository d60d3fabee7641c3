//! `kennel check`: the answer to a person, a script, and the hook of every host.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Finished, Rig};

use crate::common::{at, rig, text};

fn check(rig: &Rig, words: &[&str]) -> Finished {
    rig.kennel(["check"].iter().chain(words)).finish()
}

fn hook(rig: &Rig, host: &str, input: impl Into<Vec<u8>>) -> Finished {
    rig.kennel(["check", "--hook", host]).input(input).finish()
}

/// Writes the user's rules.
fn user_rules(rig: &Rig, text: &str) {
    let dir = rig.home().join(".config/kennel");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("config.toml"), text).expect("the rules");
}

/// What each host sends for a command.
fn inputs(command: &str) -> [(&'static str, Value); 4] {
    [
        (
            "claude",
            json!({"session_id": "s", "transcript_path": "/t", "cwd": "/repo", "permission_mode": "default",
                "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "u",
                "tool_input": {"command": command, "timeout": 120_000}}),
        ),
        (
            "codex",
            json!({"session_id": "s", "turn_id": "t", "transcript_path": null, "cwd": "/repo", "model": "m",
                "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Bash",
                "tool_input": {"command": command}, "tool_use_id": "u"}),
        ),
        (
            "gemini",
            json!({"session_id": "s", "transcript_path": "/t", "cwd": "/repo", "hook_event_name": "BeforeTool",
                "timestamp": "2026-11-30T00:00:00Z", "tool_name": "run_shell_command",
                "tool_input": {"command": command, "dir_path": "sub"}}),
        ),
        (
            "cursor",
            json!({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "generation_id": "g",
                "workspace_roots": ["/repo"], "command": command, "cwd": "/repo/sub"}),
        ),
    ]
}

#[test]
fn the_exit_status_is_the_verdict() {
    // Symptom: a script cannot tell "refused" from "could not say".
    let rig = rig();
    check(&rig, &["ls -l"]).exits(0);
    check(&rig, &["rm -rf /"]).exits(1);
    check(&rig, &["git push --force"]).exits(3);
    check(&rig, &["--", "rm", "-rf", "/"]).exits(1);
    check(&rig, &["--", "echo", "rm -rf /"]).exits(0);
    check(&rig, &["--cwd", "/", "rm -rf ./*"]).exits(1);
    for words in [&[][..], &[""], &["--hook", "frob"], &["--stdin", "ls"], &["--no-such", "ls"]] {
        check(&rig, words).exits(64);
    }
    let done = rig.kennel(["check", "--command-file", "-"]).input("rm -rf /etc").finish();
    assert_eq!(done.code(), 1, "{done}");
    assert!(rig.processes().is_empty());
}

#[test]
fn the_panel_says_what_why_which_rule_and_what_instead() {
    // Symptom: "blocked", and nobody knows by what or what to do.
    let rig = rig();
    let done = check(&rig, &["cd / && sudo rm -rf ."]);
    for part in ["rm -rf", "rule", "fs.delete.root", "why", "instead"] {
        assert!(done.text().contains(part), "no {part}: {done}");
    }
    let hostile = "rm -rf / #\x1b]0;title\x07\u{202e}";
    let done = check(&rig, &[hostile]);
    done.exits(1);
    assert!(!done.text().contains(['\x1b', '\x07', '\u{202e}']), "not escaped: {done}");
    assert!(check(&rig, &["--explain", "env -i bash -c 'rm -rf /'"]).text().contains("read as"));
}

#[test]
fn json_has_decision_rules_and_spans() {
    // Symptom: a program must parse the panel.
    let rig = rig();
    let report = check(&rig, &["--json", "ls; rm -rf /"]).exits(1).json();
    assert_eq!(text(&report, "decision"), "deny");
    assert_eq!(text(&report, "/rules/0/id"), "fs.delete.root");
    assert_eq!(at(&report, "/rules/0/span"), json!([4, 12]));
    let schema = rig.kennel(["schema", "check"]).finish().exits(0).json();
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    assert!(schema.is_valid(&report), "{report}");
    assert_eq!(text(&check(&rig, &["--json", "ls"]).exits(0).json(), "decision"), "allow");
}

#[test]
fn every_line_of_stdin_is_answered() {
    // Symptom: one bad line, and the answers after it are missing or belong to others.
    let rig = rig();
    let input = [
        r#"{"id": 1, "command": "rm -rf ~", "cwd": "/repo", "home": "/home/dev"}"#,
        r#"{"id": "two"}"#,
        "{nonsense",
        r#"{"id": 3, "command": ["rm", "-rf", "/"]}"#,
        "",
        r#"{"id": 4, "command": 7}"#,
        r#"{"id": 5, "command": "ls", "cwd": "/repo", "home": "/home/dev"}"#,
    ];
    let mut bytes = input.join("\n").into_bytes();
    bytes.extend(b"\n\xff\xfe\n{\"id\":6,\"command\":\"git push -f\"}");
    let done = rig.kennel(["check", "--stdin"]).input(bytes).finish();
    done.exits(0);
    let answers: Vec<Value> =
        done.text().lines().map(|line| serde_json::from_str(line).expect("an answer")).collect();
    let told: Vec<(Value, String, bool)> = answers
        .iter()
        .map(|answer| (at(answer, "id"), text(answer, "verdict"), answer.get("error").is_some()))
        .collect();
    let expected = [
        (json!(1), "deny", false),
        (json!("two"), "deny", true),
        (json!(null), "deny", true),
        (json!(3), "deny", false),
        (json!(4), "deny", true),
        (json!(5), "allow", false),
        (json!(null), "deny", true),
        (json!(6), "ask", false),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(id, word, error)| (id, word.to_owned(), error)).collect();
    assert_eq!(told, expected, "{done}");
}

#[test]
fn hooks_answer_each_host_in_its_format() {
    // Symptom: a refusal in another host's format, which lets the command run.
    let rig = rig();
    let mut page = String::new();
    for command in ["cargo test", "git push --force", "rm -rf / # \u{1b}[2J\u{202e}", "rm -rf ../*"] {
        for (host, input) in inputs(command) {
            let done = hook(&rig, host, input.to_string());
            let detected = hook(&rig, "auto", input.to_string());
            assert_eq!(done.text(), detected.text(), "detected as another host");
            assert_eq!(done.code(), detected.code());
            show(&mut page, host, command, &done);
        }
    }
    insta::assert_snapshot!("hooks", page);
}

fn show(page: &mut String, host: &str, what: &str, done: &Finished) {
    let _infallible = writeln!(page, "{host}: {what:?}\n  exit {}", done.code());
    for (name, text) in [("out", done.text()), ("err", done.errors())] {
        for line in text.lines() {
            let _infallible = writeln!(page, "  {name} {line}");
        }
    }
}

#[test]
fn hooks_refuse_what_they_cannot_read() {
    // Symptom: a malformed question ends the hook with an error, and the host lets the command run.
    let rig = rig();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let inputs: [(&str, Vec<u8>); 12] = [
        ("empty", b"".to_vec()),
        ("not JSON", b"rm -rf /".to_vec()),
        ("cut", br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_inp"#.to_vec()),
        ("a list", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("no tool", b"{}".to_vec()),
        ("no command", br#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#.to_vec()),
        ("a number", br#"{"tool_name":"Bash","tool_input":{"command":7}}"#.to_vec()),
        ("a null", br#"{"tool_name":"Bash","tool_input":{"command":null}}"#.to_vec()),
        ("a lone surrogate", br#"{"tool_name":"Bash","tool_input":{"command":"\ud800"}}"#.to_vec()),
        ("not UTF-8", b"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"\xff\"}}".to_vec()),
        ("deep", deep.into_bytes()),
    ];
    let mut page = String::new();
    for (name, input) in inputs {
        for host in ["claude", "codex", "gemini", "cursor", "auto"] {
            let done = hook(&rig, host, input.clone());
            assert!(is_refusal(host, &done), "{name}, {host}: {done}");
            if host == "claude" || host == "auto" {
                show(&mut page, host, name, &done);
            }
        }
    }
    insta::assert_snapshot!("malformed", page);
}

/// Whether the host takes this for a refusal.
fn is_refusal(host: &str, done: &Finished) -> bool {
    let by_status = done.code() == 2 && !done.errors().trim().is_empty();
    let claude = || {
        let word = text(&done.json(), "/hookSpecificOutput/permissionDecision");
        done.code() == 0 && word == "deny"
    };
    if host == "claude" { claude() } else { by_status || (host == "auto" && claude()) }
}

#[test]
fn a_tool_that_runs_nothing_is_none_of_our_business() {
    // Symptom: reading a file is refused because it has no command.
    let rig = rig();
    for host in ["claude", "codex", "gemini", "auto"] {
        let input = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": "/repo",
            "tool_input": {"file_path": "/etc/passwd"}});
        let done = hook(&rig, host, input.to_string());
        assert_eq!((done.code(), done.text().as_str()), (0, "{}\n"), "{host}: {done}");
    }
}

#[test]
fn wrong_rules_refuse_everything() {
    // Symptom: a typo in the rules switches them off, or the hook fails and everything runs.
    let rig = rig();
    for wrong in ["[rules", "blocked = 1", "[rules]\n\"no.such.rule\" = \"deny\"", "\u{0}"] {
        user_rules(&rig, wrong);
        for (host, input) in inputs("ls") {
            let done = hook(&rig, host, input.to_string());
            assert!(is_refusal(host, &done), "{host}: {done}");
            assert!(done.text().contains("config.toml"), "the file is not named: {done}");
        }
        check(&rig, &["ls"]).exits(125);
    }
}

#[test]
fn only_the_users_own_file_makes_failures_harmless() {
    // Symptom: a repository, or a variable that an agent sets, turns a broken hook into a yes.
    let rig = rig();
    let garbage = "{nonsense";
    let repository = rig.work().join("kennel.toml");
    std::fs::write(&repository, "on_hook_failure = \"allow\"").expect("a file of the project");
    let input = json!({"hook_event_name": "beforeShellExecution", "command": "ls", "cwd": rig.work()});
    assert!(is_refusal("cursor", &hook(&rig, "cursor", input.to_string())));
    std::fs::remove_file(&repository).expect("the file of the project");
    let mut asked = rig.kennel(["check", "--hook", "codex"]);
    let done = asked.env("KENNEL_ON_HOOK_FAILURE", "allow").input(garbage).finish();
    assert!(is_refusal("codex", &done), "{done}");
    user_rules(&rig, "on_hook_failure = \"allow\"\nno_such_key = 1\n");
    for (host, input) in inputs("ls") {
        for input in [garbage.to_owned(), input.to_string()] {
            let done = hook(&rig, host, input);
            assert_eq!((done.code(), done.text().as_str()), (0, "{}\n"), "{host}: {done}");
            assert!(done.errors().contains("could not check"), "{host}: {done}");
        }
    }
    user_rules(&rig, "on_hook_failure = \"allow\"\n");
    for (host, input) in inputs("rm -rf /") {
        let done = hook(&rig, host, input.to_string());
        assert!(is_refusal(host, &done), "a verdict is no failure; {host}: {done}");
    }
}

#[test]
fn the_users_rules_are_applied() {
    // Symptom: the rules file is read by one door and not by another.
    let rig = rig();
    let rules = "blocked_commands = [\"shutdown now\"]\n[rules]\n\"vcs.force-push\" = \"allow\"\n\
        [[rule]]\nid = \"acme.deploy\"\nprogram = \"deploy\"\nargs = [\"prod\"]\nverdict = \"deny\"\n\
        reason = \"production is changed by the pipeline\"\ninstead = \"open a pull request\"\n";
    user_rules(&rig, rules);
    check(&rig, &["git push --force"]).exits(0);
    check(&rig, &["sudo shutdown now"]).exits(1);
    let done = check(&rig, &["env A=b deploy prod"]);
    assert!(done.exits(1).text().contains("open a pull request"), "{done}");
    let elsewhere = rig.work().join("conf");
    let done = rig.kennel(["check", "git push --force"]).env("XDG_CONFIG_HOME", &elsewhere).finish();
    done.exits(3);
    // Inside a task the environment is the agent's, and may not loosen.
    let done = rig.kennel(["check", "git push --force"]).env("KENNEL_TASK", "bash-x:y").finish();
    assert_eq!(done.code(), 125, "{done}");
}

#[test]
fn a_host_that_never_ends_its_question_is_answered() {
    // Symptom: the hook hangs until the host gives up on it and runs the command.
    let rig = rig();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let done =
        rig.kennel(["check", "--hook", "codex"]).stdin(reader).within(Duration::from_secs(30)).finish();
    drop(writer);
    assert!(is_refusal("codex", &done), "{done}");
}
