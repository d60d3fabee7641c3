//! What the MCP server costs: its start against a bare server of the same protocol library, a call against the library's
//! own, and its memory while it holds a hundred tasks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{Bench, median};

/// Starts of each server, in turn.
const STARTS: usize = 40;
/// Timed calls.
const CALLS: usize = 500;
/// Tasks that run while memory is measured.
const TASKS: usize = 100;

impl Bench {
    pub(super) fn mcp(&mut self, bare: &Path) -> anyhow::Result<()> {
        println!("==> the MCP server");
        let (kennel, state) = (self.kennel.clone(), self.state.path().to_owned());
        let ours = || {
            let mut command = Command::new(&kennel);
            command.arg("mcp").env("KENNEL_STATE_DIR", &state);
            command
        };
        let (mut starts, mut bare_starts) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            starts.push(Server::start(&mut ours())?.1);
            bare_starts.push(Server::start(&mut Command::new(bare))?.1);
        }
        let yardstick = ("bare rmcp server", median(&bare_starts));
        self.ratio(("MCP server, start to tools/list", median(&starts)), yardstick, 3.0);

        let library_us = self.calls(Some(&kennel))?.0;
        let (mut server, _) = Server::start(&mut ours())?;
        let mut calls = Vec::new();
        for call in 0..CALLS + 20 {
            let since = Instant::now();
            server.call("Bash", &json!({"command": "true"}))?;
            if call >= 20 {
                calls.push(since.elapsed().as_secs_f64() * 1e6);
            }
        }
        self.plain("MCP `Bash true` over the library's call", (median(&calls) - library_us) / 1e3, "ms", 0.5);
        for _ in 0..TASKS {
            server.call("Bash", &json!({"command": "sleep 60", "run_in_background": true}))?;
        }
        self.plain("MCP server, memory with 100 running tasks", server.resident_mib()?, "MiB", 15.0);
        Ok(())
    }
}

/// A server on pipes.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts it and lists its tools; with the microseconds that took.
    fn start(command: &mut Command) -> anyhow::Result<(Self, f64)> {
        let since = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {command:?}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("no pipe")?);
        let mut server = Self { child, input, output, next: 0 };
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}),
        )?;
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        server.ask("tools/list", &json!({}))?;
        Ok((server, since.elapsed().as_secs_f64() * 1e6))
    }

    fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        let line = format!("{message}\n");
        self.input.as_mut().context("no pipe")?.write_all(line.as_bytes()).context("failed to write")
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))?;
        let mut line = String::new();
        self.output.read_line(&mut line).context("failed to read")?;
        let answer: Value = serde_json::from_str(&line).context("failed to read an answer")?;
        answer.get("result").cloned().with_context(|| format!("failed: {answer}"))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<()> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        anyhow::ensure!(result.get("isError") == Some(&json!(false)), "{result}");
        Ok(())
    }

    fn resident_mib(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        Ok(kib.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _status = self.child.wait();
    }
}
