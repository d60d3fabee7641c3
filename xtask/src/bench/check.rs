//! What a verdict costs: each of the given lines in one process, and a whole process that answers one line or one hook.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Bench, median, timed};

/// Cold processes of each kind.
const STARTS: usize = 100;
const HOOK: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make test"},"cwd":"/tmp"}"#;

impl Bench {
    pub(super) fn check(&mut self, root: &Path) -> anyhow::Result<()> {
        println!("==> verdicts");
        let given = std::fs::read_to_string(root.join("tests/acceptance/cases/safety-given.jsonl"))?;
        let mut queries = String::new();
        for line in given.lines() {
            let case: Value = serde_json::from_str(line)?;
            let query = json!({"id": "", "command": case["command"], "cwd": "/home/dev/project", "home": "/home/dev"});
            queries += &query.to_string();
            queries.push('\n');
        }
        let mut program = Command::new(root.join("target/release/examples/check_stdin"));
        let answers = String::from_utf8(fed(&mut program, &queries)?)?;
        let costs: Result<Vec<Value>, _> = answers.lines().map(serde_json::from_str).collect();
        let mut costs: Vec<f64> = costs?.iter().filter_map(|answer| answer["us"].as_f64()).collect();
        costs.sort_by(f64::total_cmp);
        let at = |share: usize| costs.get(costs.len() * share / 100).copied().unwrap_or(f64::NAN);
        self.plain("verdict on a given line, median", at(50), "us", 50.0);
        self.plain("verdict on a given line, 99th percentile", at(99), "us", 1000.0);
        self.plain("verdict on a given line, worst", costs.last().copied().unwrap_or(f64::NAN), "us", 1e5);

        let (mut check, mut hook) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            check.push(timed(Command::new(&self.kennel).args(["check", "make test"]).stdout(Stdio::null()))?);
            let since = Instant::now();
            fed(Command::new(&self.kennel).args(["check", "--hook", "claude"]), HOOK)?;
            hook.push(since.elapsed().as_secs_f64() * 1e6);
        }
        self.plain("`kennel check`, cold", median(&check) / 1e3, "ms", 10.0);
        self.plain("hook, cold", median(&hook) / 1e3, "ms", 20.0);
        Ok(())
    }
}

/// What it writes when it has read `input`.
fn fed(command: &mut Command, input: &str) -> anyhow::Result<Vec<u8>> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("failed to start")?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output()
    })?;
    anyhow::ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(output.stdout)
}
