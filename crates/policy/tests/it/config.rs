//! Layers of configuration: what each may say, and what is refused.

use super::request;
use policy::{ConfigError, Decision, LayerKind, Policy};

fn decide(layers: &[(LayerKind, &str)], line: &str) -> Decision {
    Policy::with_layers(layers).expect("valid layers").check(&request(line)).decision
}

fn refused(layers: &[(LayerKind, &str)]) -> ConfigError {
    Policy::with_layers(layers).expect_err("refused layers")
}

/// The example of the documentation.
fn example() -> String {
    let page = include_str!("../../src/rules/page-head.md");
    page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example").to_owned()
}

#[test]
fn the_documented_example_adds_tightens_and_loosens() {
    let example = example();
    let layers = [(LayerKind::User, example.as_str())];
    for (line, expected) in [
        ("git push --force", Decision::Allow),
        ("sudo ls", Decision::Deny),
        ("kubectl get pods --context=prod", Decision::Deny),
        ("kubectl get pods --context=dev", Decision::Allow),
        ("git push --mirror", Decision::Deny),
        ("echo shutdown", Decision::Allow),
        ("sudo \"shut\"down -h now", Decision::Deny),
        ("echo $(ls", Decision::Deny),
        ("$X", Decision::Deny),
        ("rm -rf /srv/data/x", Decision::Deny),
        ("rm -rf /scratch/x", Decision::Allow),
        ("rm -rf /", Decision::Deny),
        ("rm tests/fixtures/a.json", Decision::Ask),
        ("cd tests && mv fixtures/a b", Decision::Ask),
        ("rm tests/other", Decision::Allow),
    ] {
        assert_eq!(decide(&layers, line), expected, "{line}");
    }
    assert_eq!(Policy::with_layers(&layers).unwrap().non_interactive(), Decision::Deny);
}

#[test]
fn a_project_only_tightens() {
    let user = "[rules]\n\"vcs.force-push\" = \"allow\"";
    let tighter = "[rules]\n\"vcs.force-push\" = \"deny\"";
    assert_eq!(
        decide(&[(LayerKind::User, user), (LayerKind::Project, tighter)], "git push -f"),
        Decision::Deny
    );
    assert_eq!(refused(&[(LayerKind::Project, user)]), ConfigError::ProjectLoosens("vcs.force-push".into()));
    for text in [
        "[context]\ntemp = [\"/\"]",
        "[context]\nworkspace = \"/\"",
        "allow_hard = true",
        "[defaults]\ndynamic = \"allow\"",
        "[defaults]\nnon_interactive = \"allow\"",
    ] {
        assert!(matches!(refused(&[(LayerKind::Project, text)]), ConfigError::ProjectLoosens(_)), "{text}");
    }
    let protected = "[context]\nprotected = [\"/home/dev/project/data\"]";
    assert_eq!(decide(&[(LayerKind::Project, protected)], "rm -rf data"), Decision::Deny);
}

#[test]
fn hard_rules_need_the_explicit_key() {
    let soft = "[rules]\n\"device.write\" = \"ask\"";
    assert_eq!(refused(&[(LayerKind::User, soft)]), ConfigError::HardRule("device.write".into()));
    let hard = "allow_hard = true\n[rules]\n\"device.write\" = \"ask\"";
    assert_eq!(decide(&[(LayerKind::User, hard)], "dd if=a of=/dev/sda"), Decision::Ask);
}

#[test]
fn what_cannot_be_understood_is_an_error() {
    for text in [
        "[rules",
        "unknown = 1",
        "[rules]\n\"device.write\" = \"maybe\"",
        "[rules]\n\"no.such\" = \"deny\"",
        "[other]\na = 1",
        "blocked_commands = [\"\"]",
        "blocked_commands = [\"a | b\"]",
        "[[rule]]\nid = \"x\"",
        "[defaults]\nx = \"ask\"",
        "[[rule]]\nid = \"x\"\nprogram = \"a b\"\nverdict = \"deny\"\nreason = \"r\"",
    ] {
        assert!(Policy::with_layers(&[(LayerKind::User, text)]).is_err(), "{text}");
    }
}

#[test]
fn argument_vectors_are_judged_too() {
    let check = |words: &[&str]| {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let request = policy::Request { command: policy::Command::Argv(&argv), ..request("") };
        Policy::builtin().check(&request).decision
    };
    assert_eq!(check(&["rm", "-rf", "/"]), Decision::Deny);
    assert_eq!(check(&["sh", "-c", "rm -rf /"]), Decision::Deny);
    assert_eq!(check(&["echo", "rm -rf /; $(x)"]), Decision::Allow);
    assert_eq!(check(&["rm", "-rf", "*"]), Decision::Allow, "no shell, no glob");
    assert_eq!(check(&["git", "push", "--force"]), Decision::Ask);
    assert_eq!(check(&[]), Decision::Allow);
}

#[test]
fn verdicts_are_deterministic_and_serialise() {
    let verdict = super::verdict("cd /tmp && sudo rm -rf \"$X\" /etc");
    assert_eq!(verdict, super::verdict("cd /tmp && sudo rm -rf \"$X\" /etc"));
    let worst = verdict.worst().unwrap();
    assert_eq!((worst.rule.as_str(), worst.cwd.as_str()), ("fs.delete.system", "/tmp"));
    assert_eq!(worst.argv, ["rm", "-rf", "…", "/etc"]);
    assert_eq!(
        "cd /tmp && sudo rm -rf \"$X\" /etc".get(worst.span.0 as usize..worst.span.1 as usize),
        Some("sudo rm -rf \"$X\" /etc")
    );
    let json = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<policy::Verdict>(&json).unwrap(), verdict);
}

#[test]
fn the_root_a_system_directory_and_a_home_are_no_workspaces() {
    let decide = |cwd: &str, home: &str, line: &str| {
        let request = policy::Request { command: policy::Command::Shell(line), cwd, home, workspace: None };
        Policy::builtin().check(&request).decision
    };
    for cwd in ["/", "/etc", "/home", "/home/dev", "/usr/lib", "/root"] {
        assert_eq!(decide(cwd, "/home/dev", "rm -rf /etc"), Decision::Deny, "{cwd}");
        assert_eq!(decide(cwd, "/home/dev", "rm -rf *"), Decision::Deny, "{cwd}");
        assert_eq!(decide(cwd, "/home/dev", "rm -rf ~"), Decision::Deny, "{cwd}");
    }
    for cwd in ["/app", "/srv/www/x", "/usr/src/app", "/opt/x", "/tmp/x", "/root/work"] {
        assert_eq!(decide(cwd, "/root", "rm -rf build && echo x > out"), Decision::Allow, "{cwd}");
        assert_eq!(decide(cwd, "/root", "rm -rf /root"), Decision::Deny, "{cwd}");
    }
    assert_eq!(decide("/root", "/root", "echo x > a.txt && rm a.txt"), Decision::Allow);
    assert_eq!(decide("/root", "/root", "rm -rf work"), Decision::Ask);
    assert_eq!(decide("/root", "/root", "echo x >> .bashrc"), Decision::Ask);
    // Symptom: HOME=/tmp/h, as test rigs and CI have it, and `rm -rf ~` is only a temporary directory.
    for line in [
        "rm -rf ~",
        "rm -rf ~/*",
        "rm -rf /tmp/*",
        "rm -rf /tmp",
        "find /tmp/h -delete",
        "rm -rf /tmp/h/.ssh",
    ] {
        assert_eq!(decide("/tmp/w", "/tmp/h", line), Decision::Deny, "{line}");
    }
    assert_eq!(decide("/tmp/w", "/tmp/h", "rm -rf ~/Documents"), Decision::Ask);
    for line in
        ["rm -rf /tmp/x", "rm -rf \"$(mktemp -d)\"", "T=$(mktemp -d); rm -rf \"$T\"/*", "rm -rf /tmp/x*"]
    {
        assert_eq!(decide("/tmp/w", "/tmp/h", line), Decision::Allow, "{line}");
    }
}
