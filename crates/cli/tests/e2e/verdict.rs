//! `run` and `start` between the policy and the command: refused, asked, overridden, and recorded.

use serde_json::json;
use testkit::{Deadline, Terminal};

use crate::common::{at, kill, rig, text};

/// The policy asks about it, and it does no harm.
const ASKED: &str = "\"$NO_SUCH_VARIABLE\" || echo ran";

#[test]
fn what_is_denied_does_not_run() {
    // Symptom: the refusal is printed and the command runs; or 125, as if we had failed.
    let rig = rig();
    for verb in ["run", "start"] {
        for words in
            [&["touch ran; rm -rf /"][..], &["--", "sh", "-c", "touch ran; rm -rf --no-preserve-root /"]]
        {
            let done = rig.kennel([verb].iter().chain(words)).finish();
            assert_eq!(done.code(), 126, "{done}");
            for part in ["fs.delete.root", "why", "instead"] {
                assert!(done.errors().contains(part), "no {part}: {done}");
            }
            assert!(done.text().is_empty() && !rig.work().join("ran").exists(), "{done}");
        }
    }
    assert!(Deadline::usual().until(|| rig.processes().is_empty()), "{:?}", rig.processes());
    let object = rig.kennel(["run", "--json", "rm -rf /"]).finish().exits(126).json();
    assert_eq!((at(&object, "exit_code"), text(&object, "/error/code")), (json!(-1), "denied".to_owned()));
    assert_eq!(text(&object, "/verdict/rules/0/id"), "fs.delete.root");
    let schema = rig.kennel(["schema", "outcome"]).finish().exits(0).json();
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    assert!(schema.is_valid(&object), "{object}");
}

#[test]
fn what_is_asked_runs_with_a_notice_where_nobody_can_be_asked() {
    // Symptom: a script that worked for years stops at a question; or nobody learns that there was one.
    let rig = rig();
    let done = rig.kennel(["run", ASKED]).finish();
    done.exits(0);
    assert!(done.text() == "ran\n" && done.errors().contains("exec.dynamic"), "{done}");
    rig.kennel(["run", "--ask", "deny", ASKED]).finish().exits(126);
    let done = rig.kennel(["run", "--ask", "allow", ASKED]).finish();
    assert!(done.text() == "ran\n" && !done.errors().contains("kennel:"), "{done}");
    let outcome = rig.kennel(["run", "--json", ASKED]).finish().json();
    assert_eq!(text(&outcome, "/verdict/decision"), "ask");
    assert_eq!(text(&outcome, "/verdict/rules/0/id"), "exec.dynamic");
    assert_eq!(text(&outcome, "/notices/0/consent"), "assumed");
    // Symptom: a program that follows the events learns of the question only at the end.
    let done = rig.kennel(["run", "--events", ASKED]).finish();
    let events: Vec<serde_json::Value> =
        done.text().lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let asked = events.iter().find(|event| text(event, "kind") == "asked").expect("a notice");
    assert_eq!((text(asked, "type"), text(asked, "consent")), ("notice".to_owned(), "assumed".to_owned()));
    let outcome = rig.kennel(["run", "--json", "true"]).finish().json();
    assert_eq!(at(&outcome, "verdict"), json!({"decision": "allow", "rules": []}));
}

#[test]
fn no_check_overrides_and_is_recorded() {
    // Symptom: nobody can tell afterwards that the check was off.
    let rig = rig();
    let harmless = "false && rm -rf /; echo ran";
    rig.kennel(["run", harmless]).finish().exits(126);
    let outcome = rig.kennel(["run", "--no-check", "--json", harmless]).finish().exits(0).json();
    assert_eq!(text(&outcome, "/notices/0/kind"), "unchecked");
    assert!(outcome.get("verdict").is_none(), "{outcome}");
    let id =
        rig.kennel(["start", "--no-check", &format!("{harmless}; sleep 70")]).finish().exits(0).last_line();
    kill(&rig, &id);
    let outcome = rig.kennel(["wait", "--json", &id]).finish().json();
    assert_eq!(text(&outcome, "/notices/0/kind"), "unchecked", "{outcome}");
}

#[test]
fn inside_a_task_nothing_loosens() {
    // Symptom: the agent that was refused adds --no-check and goes on.
    let rig = rig();
    for loosening in ["--no-check", "--ask allow"] {
        let inner = format!("\"$KENNEL\" run {loosening} 'touch ran'");
        let done = rig.kennel(["run", "--no-check", &inner]).finish();
        assert_eq!(done.code(), 126, "{done}");
        assert!(done.errors().contains(loosening) && done.errors().contains("inside a task"), "{done}");
    }
    assert!(!rig.work().join("ran").exists());
    rig.kennel(["run", "--no-check", "\"$KENNEL\" run --ask deny true"]).finish().exits(0);
}

#[test]
fn wrong_rules_stop_run_and_start() {
    // Symptom: a typo in the rules switches them off.
    let rig = rig();
    let dir = rig.home().join(".config/kennel");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("config.toml"), "[polcy]").expect("the rules");
    for verb in ["run", "start"] {
        let done = rig.kennel([verb, "touch ran"]).finish();
        assert_eq!(done.code(), 125, "{done}");
        assert!(done.errors().contains("config.toml"), "{done}");
    }
    assert!(!rig.work().join("ran").exists());
}

#[test]
fn a_person_at_the_terminal_is_asked() {
    // Symptom: the question is never put, or the answer goes to the command.
    let rig = rig();
    let mut terminal = Terminal::bash(&rig);
    let line = format!("\"$KENNEL\" run '{ASKED}; read x; echo \"<$x>\"'\n");
    terminal.send(&line);
    terminal.expect("exec.dynamic");
    terminal.expect("[y/N]");
    terminal.send("y\nmine\n");
    terminal.expect("\nran");
    terminal.expect("<mine>");
    terminal.expect("READY> ");
    terminal.send(&line);
    terminal.expect("[y/N]");
    terminal.send("\n");
    terminal.expect("nothing was run");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=126");
    terminal.send(&line);
    terminal.expect("[y/N]");
    terminal.send("\x03");
    terminal.expect("READY> ");
    terminal.send("echo status=$?\n");
    terminal.expect("status=130");
}
