//! What binds a command: by option, by configuration, and what it keeps of its caller.

use serde_json::Value;
use testkit::{Rig, lacks_program};

use crate::common::{at, rig, text};

/// As whoever runs the tests, and as an ordinary user.
pub(crate) fn rigs() -> Vec<Rig> {
    let ordinary = rustix::process::geteuid().is_root().then(|| rig().owned_by(65_534));
    std::iter::once(rig()).chain(ordinary).collect()
}

/// How far a protection is in force; empty where it was not asked for.
pub(crate) fn enforced(outcome: &Value, name: &str) -> String {
    let protections = at(outcome, "protections");
    let found = protections.as_array().into_iter().flatten().find(|it| text(it, "name") == name);
    found.map(|it| text(it, "enforced")).unwrap_or_default()
}

#[test]
fn the_configuration_binds_who_says_nothing() {
    // Symptom: `sandbox = "read-only"` in a file, and commands write as ever.
    let rig = rig();
    let write = "echo x > made; echo $?";
    let says = |configured: &str, words: &[&str]| {
        std::fs::write(rig.work().join("kennel.toml"), configured).expect("a file");
        std::fs::remove_file(rig.work().join("made")).ok();
        let done = rig.kennel(["run"].iter().chain(words).chain(&[write])).finish();
        done.text().trim().to_owned()
    };
    assert_eq!(says("", &[]), "0");
    assert_eq!(says("sandbox = \"read-only\"", &[]), "1");
    assert_eq!(says("sandbox = \"workspace-write\"", &[]), "0");
    assert_eq!(says("sandbox = \"read-only\"", &["--sandbox", "off"]), "0", "an option goes over a file");
    std::fs::write(rig.work().join("kennel.toml"), "sandbox = \"off\"").expect("a file");
    let done = rig.kennel(["run", write]).env("KENNEL_SANDBOX", "read-only").finish();
    assert_eq!(done.text(), "1\n", "{done}");
    let own = rig.home().join(".config/kennel");
    std::fs::create_dir_all(&own).expect("a directory");
    std::fs::write(own.join("config.toml"), "sandbox = \"read-only\"").expect("a file");
    let done = rig.kennel(["run", write]).finish();
    assert!(done.code() != 0 && done.text().is_empty(), "a project may only tighten: {done}");
}

#[test]
fn the_network_of_the_configuration_is_that_of_the_sandbox() {
    let rig = rig();
    let socket = "python3 -c 'import socket; socket.socket(socket.AF_INET)'";
    if lacks_program(&["python3"]) {
        return;
    }
    let code = |configured: &str, words: &[&str]| {
        std::fs::write(rig.work().join("kennel.toml"), configured).expect("a file");
        rig.kennel(["run"].iter().chain(words).chain(&[socket])).finish().code()
    };
    let bound = ["--sandbox", "workspace-write"];
    assert_eq!(code("", &bound), 1);
    assert_eq!(code("network = \"on\"", &bound), 0);
    assert_eq!(code("network = \"off\"", &["--sandbox", "workspace-write", "--network", "on"]), 0);
    assert_eq!(code("network = \"off\"", &[]), 64, "without a sandbox it would be an empty word");
}

#[test]
fn a_container_is_reserved_and_says_so() {
    let rig = rig();
    let done = rig.kennel(["run", "--sandbox", "container", "true"]).finish();
    done.exits(64);
    assert!(done.errors().contains("reserved"), "{done}");
    std::fs::write(rig.work().join("kennel.toml"), "sandbox = \"container\"").expect("a file");
    let done = rig.kennel(["run", "true"]).finish();
    assert!(done.code() != 0 && done.errors().contains("reserved"), "{done}");
}

#[test]
fn inherited_descriptors_do_not_reach_a_sandboxed_command() {
    // Symptom: what the caller has open, a secret or a socket, is read through descriptor 9 in every sandbox.
    for rig in rigs() {
        std::fs::write(rig.work().join("secret"), "caught\n").expect("a file");
        let says = |words: &[&str]| {
            let script = format!("\"$KENNEL\" run {} 'cat <&9' 9<secret", words.join(" "));
            rig.bash(&script).finish().text()
        };
        assert_eq!(says(&[]), "caught\n");
        for mode in ["read-only", "workspace-write"] {
            assert_eq!(says(&["--sandbox", mode]), "");
            assert_eq!(says(&["--sandbox", mode, "--pass-fds"]), "caught\n");
        }
        let it = rig.kennel(["run", "--json", "--sandbox", "read-only", "true"]).finish().json();
        assert_eq!(enforced(&it, "descriptors"), "fully", "{it}");
    }
}

#[test]
fn terminals_can_be_made_in_a_sandbox() {
    // Symptom: `OSError: out of pty devices` in every test that uses a terminal.
    if lacks_program(&["python3"]) {
        return;
    }
    let make = "python3 -c 'import os, pty; print(os.ttyname(pty.openpty()[1]))'";
    for rig in rigs() {
        for mode in ["read-only", "workspace-write"] {
            let it = rig.kennel(["run", "--json", "--sandbox", mode, make]).finish().json();
            if enforced(&it, "filesystem") == "fully" {
                assert_eq!(text(&it, "stdout"), "/dev/pts/0\n", "{it}");
            }
        }
        if !lacks_program(&["script"]) {
            let command = "script -qc 'tty; echo said' /dev/null";
            let done = rig.kennel(["run", "--sandbox", "workspace-write", command]).finish();
            assert!(done.text().contains("said"), "{done}");
        }
    }
}

#[test]
fn what_the_policy_asks_about_may_run_in_a_sandbox_instead() {
    // Symptom: an agent that may not be asked is stopped by every question, or everything is allowed to it.
    let rig = rig();
    let asked = "git push --force; echo ran > made; echo x > \"$HOME/out\" || echo held";
    let own = rig.home().join(".config/kennel");
    std::fs::create_dir_all(&own).expect("a directory");
    std::fs::write(own.join("config.toml"), "on_ask = \"sandboxed\"").expect("a file");
    let it = rig.kennel(["run", "--json", asked]).finish().json();
    assert_eq!(text(&it, "/notices/0/kind"), "asked", "{it}");
    assert_eq!(text(&it, "/notices/0/consent"), "sandboxed", "{it}");
    assert_eq!(enforced(&it, "filesystem"), "fully", "{it}");
    assert_eq!(enforced(&it, "network"), "fully", "{it}");
    assert_eq!(text(&it, "stdout"), "held\n", "{it}");
    assert!(rig.work().join("made").exists() && !rig.home().join("out").exists());
    // Nothing else changes: what is allowed is not bound, what is denied is refused, an answer is an answer.
    let free = rig.kennel(["run", "--json", "echo x > free"]).finish().json();
    assert_eq!(at(&free, "protections"), serde_json::json!([]), "{free}");
    rig.kennel(["run", "rm -rf /"]).finish().exits(126);
    rig.kennel(["run", "--ask", "deny", asked]).finish().exits(126);
    let given = rig.kennel(["run", "--json", "--ask", "allow", asked]).finish().json();
    assert_eq!(text(&given, "/notices/0/consent"), "given", "{given}");
    // And a sandbox that is asked for stays as tight as it is.
    let tight = rig.kennel(["run", "--sandbox", "read-only", "--network", "on", asked]).finish();
    assert!(!tight.text().contains("ran") && tight.text().contains("held"), "{tight}");
    std::fs::remove_file(own.join("config.toml")).expect("the file");
    std::fs::write(rig.work().join("kennel.toml"), "on_ask = \"sandboxed\"").expect("a file");
    assert_ne!(rig.kennel(["run", "true"]).finish().code(), 0, "a project cannot loosen");
}

#[test]
fn a_refused_signal_names_the_kill_that_works() {
    // Symptom: an agent cannot stop the server that it has started itself, and is not told how.
    let rig = rig();
    let words = ["start", "--session", "mine", "exec sleep 70"];
    let done = rig.kennel(words).finish();
    done.exits(0);
    let id = done.last_line();
    let pid = at(&crate::common::listed(&rig, &id), "pid");
    let kill = format!("kill {pid}");
    let words = ["run", "--json", "--session", "mine", "--sandbox", "read-only", &kill];
    let it = rig.kennel(words).finish().json();
    let told = at(&it, "/notices/0");
    assert_eq!(
        (text(&told, "kind"), text(&told, "task_id")),
        ("signal_refused".to_owned(), id.clone()),
        "{it}"
    );
    assert_eq!(at(&told, "pid"), pid);
    let done = rig.kennel(["run", "--session", "mine", "--sandbox", "read-only", &kill]).finish();
    assert!(done.errors().contains(&format!("kennel kill {id}")), "{done}");
    // Of another session it is nobody's business.
    let other = rig.kennel(["run", "--json", "--sandbox", "read-only", &kill]).finish().json();
    assert_eq!(at(&other, "notices"), Value::Null, "{other}");
    crate::common::kill_with_proof(&rig, &id);
    rig.kennel(["session", "close", "mine"]).finish().exits(0);
}

#[test]
fn the_doctor_expects_what_a_command_finds() {
    // Symptom: `doctor` promises what no command gets.
    for rig in rigs() {
        let it = rig.kennel(["run", "--json", "--sandbox", "workspace-write", "true"]).finish().json();
        let doctor = rig.kennel(["doctor", "--json"]).finish().json();
        for protection in at(&it, "protections").as_array().into_iter().flatten() {
            let line = format!("sandbox: {}", text(protection, "name"));
            let findings = at(&doctor, "findings");
            let found =
                findings.as_array().into_iter().flatten().find(|finding| text(finding, "name") == line);
            let present = found.map(|finding| at(finding, "present"));
            assert_eq!(present, Some(Value::Bool(text(protection, "enforced") == "fully")), "{line}: {it}");
        }
    }
}
