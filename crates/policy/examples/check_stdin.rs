//! Reads `{"id", "command", "cwd", "home"}` lines and answers each with `{"id", "verdict"}`; `--explain LINE` shows one.

use std::io::{BufRead, Write};

use policy::{Command, Policy, Request};

#[derive(serde::Deserialize)]
struct Query {
    id: String,
    command: String,
    cwd: String,
    home: String,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::builtin();
    let mut out = std::io::stdout().lock();
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--explain") {
        for line in args {
            let request = Request {
                command: Command::Shell(&line),
                cwd: "/home/dev/project",
                home: "/home/dev",
                workspace: None,
            };
            let verdict = policy.explain(&request);
            writeln!(out, "{}", serde_json::to_string_pretty(&verdict)?)?;
        }
        return Ok(());
    }
    for line in std::io::stdin().lock().lines() {
        let query: Query = serde_json::from_str(&line?)?;
        let request = Request {
            command: Command::Shell(&query.command),
            cwd: &query.cwd,
            home: &query.home,
            workspace: None,
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "an example that measures itself; no code of the library"
        )]
        let start = std::time::Instant::now();
        let verdict = policy.check(&request);
        let us = f64::from(u32::try_from(start.elapsed().as_nanos() / 100)?) / 10.0;
        let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
        let answer =
            serde_json::json!({ "id": query.id, "verdict": verdict.decision, "us": us, "rules": rules });
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
