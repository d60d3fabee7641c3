//! A client that does no more than the protocol asks, so that tests can do what real clients do not.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Deadline, Rig};

/// Far above what an answer needs.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Which protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25, with a handshake.
    Legacy,
    /// 2026-07-28, every request complete in itself.
    Modern,
}

/// The fixtures by a literal path: the policy asks about a program whose name is in a variable.
pub(crate) fn hostile() -> std::path::Display<'static> {
    testkit::hostile().display()
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A client and the server that it has started.
#[derive(Debug)]
pub(crate) struct Client {
    era: Era,
    capabilities: Value,
    server: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    next: i64,
    /// Messages that were not the answer that was waited for.
    pub(crate) heard: Vec<Value>,
}

impl Client {
    /// A legacy client of `kennel mcp`.
    pub(crate) fn start(rig: &Rig) -> Self {
        Self::with(rig, &[], Era::Legacy, json!({}))
    }

    pub(crate) fn with(rig: &Rig, words: &[&str], era: Era, capabilities: Value) -> Self {
        let mut invocation = rig.kennel(["mcp"]);
        invocation.args(words).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut command = invocation.into_command();
        command.stderr(std::process::Stdio::inherit());
        let mut server = command.spawn().expect("start the server");
        let (input, output) = (server.stdin.take(), server.stdout.take().expect("a pipe"));
        let mut client =
            Self { era, capabilities, server, input, messages: listen(output), next: 0, heard: Vec::new() };
        if era == Era::Legacy {
            let capabilities = client.capabilities.clone();
            client.ask(
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"}}),
            );
            client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.id()
    }

    pub(crate) fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("the input is open").write_all(bytes).expect("the server reads");
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        if self.era == Era::Modern {
            let meta = params.as_object_mut().expect("an object").entry("_meta").or_insert_with(|| json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        self.messages.recv_timeout(ANSWER_WITHIN).expect("a message in time")
    }

    /// The answer to a request: its result, or its error.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        let own = |message: &Value| message.get("method").is_none() && message.get("id") == Some(&json!(id));
        let message = match self.heard.iter().position(own) {
            Some(at) => self.heard.remove(at),
            None => loop {
                let message = self.message();
                if own(&message) {
                    break message;
                }
                self.heard.push(message);
            },
        };
        message.get("result").cloned().unwrap_or(message)
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Sends a tool call.
    pub(crate) fn send_call(&mut self, tool: &str, arguments: &Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.answer(id)
    }

    /// Calls a tool that does its work; gives the structured result.
    #[track_caller]
    pub(crate) fn works(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result.get("isError"), Some(&json!(false)), "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Starts a background command; gives the task's id.
    #[track_caller]
    pub(crate) fn background(&mut self, command: &str) -> String {
        let outcome = self.works("Bash", &json!({"command": command, "run_in_background": true}));
        outcome["task_id"].as_str().expect("an id").to_owned()
    }

    /// Closes the server's input, so that it ends; its exit status and how long that took.
    pub(crate) fn close(mut self) -> (Option<i32>, Duration) {
        let since = Deadline::usual();
        drop(self.input.take());
        let status = ended(&mut self.server);
        (status, since.elapsed())
    }

    /// Waits for the server's end, whatever ends it.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        ended(&mut self.server)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        if !std::thread::panicking() {
            ended(&mut self.server);
        }
    }
}

fn ended(server: &mut Child) -> Option<i32> {
    let mut status = None;
    Deadline::usual().until(|| {
        status = server.try_wait().ok().flatten();
        status.is_some()
    });
    let _by_now = server.kill();
    let _reaped = server.wait();
    status.and_then(|status| status.code())
}

fn listen(output: ChildStdout) -> Receiver<Value> {
    let (messages, inbox) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            let message = serde_json::from_str(&line).expect("stdout is the protocol's alone");
            if messages.send(message).is_err() {
                return;
            }
        }
    });
    inbox
}

/// The text that the model reads.
pub(crate) fn words(result: &Value) -> String {
    result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default().to_owned()
}
