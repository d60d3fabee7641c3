//! The policy as its users see it: one line in, one verdict out.

mod adversarial;
mod benign;
mod config;
mod families;
mod gaps;
mod lines;

use policy::{Command, Decision, Policy, Request, Verdict};

/// The context of all tables: an ordinary user in a project.
fn verdict(line: &str) -> Verdict {
    Policy::builtin().explain(&request(line))
}

fn request(line: &str) -> Request<'_> {
    Request { command: Command::Shell(line), cwd: "/home/dev/project", home: "/home/dev", workspace: None }
}

fn check(expected: Decision, lines: &[&str]) {
    let mut wrong = Vec::new();
    for line in lines {
        let verdict = verdict(line);
        if verdict.decision != expected {
            let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
            wrong.push(format!("{:?} {rules:?}: {line:?}", verdict.decision));
        }
    }
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
}
