//! The server over HTTP, and what must not get through.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Deadline, Rig, Running};

use super::client::hostile;
use crate::common::{AT_ONCE, rig};

/// A running `kennel serve` and how to reach it.
pub(crate) struct Server {
    running: Running,
    address: String,
    tokens: Vec<String>,
}

impl Server {
    /// With two tokens.
    pub(crate) fn start(rig: &Rig) -> Self {
        let tokens: Vec<String> = ["first", "second"].map(|name| format!("{name}-token-0123456789")).into();
        let file = rig.home().join("tokens");
        std::fs::write(&file, tokens.join("\n")).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("private");
        let words = ["serve", "--listen", "127.0.0.1:0", "--token-file"];
        let mut running = rig.kennel(words).arg(&file).within(Duration::from_secs(60)).spawn();
        running.await_out("/mcp");
        let said = running.out_so_far();
        assert!(!said.contains("-token-"), "an old token is not printed: {said}");
        let url =
            said.lines().find_map(|line| line.strip_prefix("listening on http://")).expect("an address");
        let address = url.trim_end_matches("/mcp").to_owned();
        Self { running, address, tokens }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
        stream
    }

    /// Sends a request with these header lines and gives status and body.
    pub(crate) fn request(&self, headers: &[String], body: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        let head = format!(
            "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\nconnection: close\r\n{}\r\n",
            body.len(),
            headers.iter().fold(String::new(), |all, line| all + line + "\r\n"),
        );
        let _refused_early = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        answer(stream)
    }

    pub(crate) fn headers(&self, token: usize) -> Vec<String> {
        vec![format!("host: {}", self.address), format!("authorization: Bearer {}", self.tokens[token])]
    }

    /// A tool call of the 2026 era, complete in itself.
    fn call_body(tool: &str, arguments: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments,
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}}}})
        .to_string()
        .into_bytes()
    }

    fn call_headers(&self, token: usize, tool: &str) -> Vec<String> {
        let mut headers = self.headers(token);
        headers.extend([
            "mcp-protocol-version: 2026-07-28".to_owned(),
            "mcp-method: tools/call".to_owned(),
            format!("mcp-name: {tool}"),
        ]);
        headers
    }

    #[track_caller]
    fn call(&self, token: usize, tool: &str, arguments: &Value) -> Value {
        let (status, body) = self.request(&self.call_headers(token, tool), &Self::call_body(tool, arguments));
        assert_eq!(status, 200, "{body}");
        let (_field, message) = body.split_at(body.find('{').expect("JSON in it"));
        let mut values = serde_json::Deserializer::from_str(message).into_iter::<Value>();
        values.next().expect("a message").expect("JSON")["result"].clone()
    }

    pub(crate) fn stop(self) {
        let since = Deadline::usual();
        self.running.signal(Signal::TERM);
        self.running.finish().exits(0);
        assert!(since.elapsed() < AT_ONCE);
    }
}

pub(crate) fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    let _reset_after_a_refusal = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

#[test]
fn only_those_with_a_token_from_this_machine_get_in() {
    // Symptom: a web page that a browser shows runs commands on the machine.
    let rig = rig();
    let server = Server::start(&rig);
    let body = Server::call_body("TaskList", &json!({}));
    let good = server.call_headers(0, "TaskList");
    let host = format!("host: {}", server.address);
    let token = format!("authorization: Bearer {}", server.tokens[0]);
    let with = |line: &str| [good.clone(), vec![line.to_owned()]].concat();
    let refused = [
        (vec![host.clone()], 401),
        (vec![host.clone(), "authorization: Bearer wrong".to_owned()], 401),
        (vec![host.clone(), format!("authorization: Basic {}", server.tokens[0])], 401),
        (with("origin: http://example.org"), 403),
        (with("origin: null"), 403),
        (with("host: example.org"), 403),
        (vec!["host: example.org".to_owned(), token.clone()], 403),
        (vec![token], 403),
    ];
    for (headers, wanted) in refused {
        let (status, answer) = server.request(&headers, &body);
        assert_eq!(status, wanted, "{headers:?}: {answer}");
        assert!(!answer.contains(&server.tokens[0]), "{answer}");
    }
    assert_eq!(server.request(&with("origin: http://localhost:3000"), &body).0, 200);
    let mut health = server.connect();
    write!(health, "GET /healthz HTTP/1.1\r\n{host}\r\nconnection: close\r\n\r\n").expect("sent");
    assert_eq!(answer(health), (200, "ok\n".to_owned()));
    server.stop();
}

#[test]
fn one_bearer_does_not_see_the_tasks_of_another() {
    let rig = rig();
    let server = Server::start(&rig);
    let own =
        server.call(0, "Bash", &json!({"command": "echo secret; sleep 300", "run_in_background": true}));
    let id = own["structuredContent"]["task_id"].clone();
    let listed = |token| server.call(token, "TaskList", &json!({}))["structuredContent"]["tasks"].clone();
    assert_eq!(listed(0)[0]["id"], id);
    assert_eq!(listed(1), json!([]));
    for (tool, arguments) in [
        ("TaskOutput", json!({"task_id": id, "block": false})),
        ("KillShell", json!({"shell_id": id})),
        ("TaskInput", json!({"task_id": id, "text": "x"})),
    ] {
        let result = server.call(1, tool, &arguments);
        assert_eq!(result["isError"], json!(true), "{tool}: {result}");
        assert!(result.to_string().contains("no task has the id") && !result.to_string().contains("secret"));
    }
    // Symptom: the beginning of an id was looked up among all tasks, and the answer named another's ids.
    let second = server.call(0, "Bash", &json!({"command": "sleep 300", "run_in_background": true}));
    for prefix in ["bash-", id.as_str().and_then(|id| id.get(..8)).expect("an id")] {
        let result = server.call(1, "TaskOutput", &json!({"task_id": prefix, "block": false}));
        assert!(result.to_string().contains("no task has the id"), "{result}");
    }
    server.call(0, "KillShell", &json!({"shell_id": second["structuredContent"]["task_id"]}));
    let session = |token| {
        let outcome = server.call(token, "Bash", &json!({"command": "true", "session_id": "same"}));
        outcome["structuredContent"]["session_id"].clone()
    };
    assert_eq!((session(0), session(1)), (json!("same"), json!("same")));
    let long = "n".repeat(64);
    let outcome = server.call(0, "Bash", &json!({"command": "true", "session_id": long}));
    assert_eq!(outcome["structuredContent"]["session_id"], json!(long), "{outcome}");
    assert_eq!(
        server.call(0, "KillShell", &json!({"shell_id": id}))["structuredContent"]["success"],
        json!(true)
    );
    server.stop();
}

#[test]
fn a_client_that_hangs_up_cancels_its_call() {
    // Symptom: the connection breaks and the command runs on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let server = Server::start(&rig);
    let command = format!("exec {} --ready '{}' hold", hostile(), fifo.word());
    let body = Server::call_body("Bash", &json!({"command": command}));
    let mut stream = server.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n{}\r\n",
        body.len(),
        server.call_headers(0, "Bash").iter().fold(String::new(), |all, line| all + line + "\r\n"),
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).expect("sent");
    fifo.pid();
    drop(stream);
    assert!(fifo.ends_within(AT_ONCE));
    server.stop();
}

#[test]
fn large_and_slow_bodies_are_turned_away() {
    // Symptom: one client fills the memory, or holds a place for ever.
    let rig = rig();
    let server = Server::start(&rig);
    let (status, _) = server.request(&server.headers(0), &vec![b' '; (4 << 20) + 1]);
    assert_eq!(status, 413);
    let (status, _) = server.request(&[format!("host: {}", server.address)], &vec![b' '; 8 << 20]);
    assert!(status == 401 || status == 0, "a stranger's body was read: {status}");
    if !testkit::slow() {
        let mut stream = server.connect();
        let headers = server.headers(0).join("\r\n");
        write!(stream, "POST /mcp HTTP/1.1\r\n{headers}\r\ncontent-length: 100\r\n\r\n{{").expect("sent");
        assert_eq!(answer(stream).0, 408);
    }
    server.stop();
}

#[test]
fn idle_connections_give_way() {
    // Symptom: a thousand connections that say nothing keep everybody out.
    let rig = rig();
    let server = Server::start(&rig);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(1 << 20);
    let count = usize::try_from(limit.saturating_sub(200)).unwrap_or(0).min(1000);
    let idle: Vec<TcpStream> = (0..count).map(|_| server.connect()).collect();
    let result = server.call(0, "Bash", &json!({"command": "echo alive"}));
    assert_eq!(result["structuredContent"]["stdout"], json!("alive\n"));
    drop(idle);
    let pid = server.running.pid();
    let open = || std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(usize::MAX, Iterator::count);
    assert!(Deadline::usual().until(|| open() < 40), "{} descriptors", open());
    server.stop();
}

#[test]
fn a_token_is_made_once_and_kept_from_others() {
    let rig = rig();
    let mut first = rig.kennel(["serve", "--listen", "127.0.0.1:0"]).spawn();
    first.await_out("token: knl_");
    let file = rig.state().join("serve.token");
    let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).expect("readable").trim().to_owned();
    assert!(first.out_so_far().contains(&token) && token.len() >= 60, "{}", first.out_so_far());
    first.signal(Signal::INT);
    first.finish().exits(0);
    let mut second = rig.kennel(["serve", "--listen", "127.0.0.1:0"]).spawn();
    second.await_out("listening");
    second.signal(Signal::TERM);
    let said = second.finish();
    assert!(!said.text().contains("knl_"), "printed again: {said}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("opened");
    let refused = rig.kennel(["serve", "--listen", "127.0.0.1:0"]).finish();
    assert!(refused.exits(1).errors().contains("chmod 600"), "{refused}");
    rig.kennel(["serve", "--listen", "0.0.0.0:0"]).finish().exits(64);
}

#[test]
fn a_body_that_is_no_message_gets_the_protocols_answer() {
    // Symptom: 415, as if the type of the body were wrong.
    let rig = rig();
    let server = Server::start(&rig);
    for (body, code, id) in [
        (&b"{\"jsonrpc\": \"2.0\", "[..], -32700, Value::Null),
        (br#"{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"x": "\ud83d"}}"#, -32700, json!(3)),
        (br"[]", -32600, Value::Null),
    ] {
        let (status, answer) = server.request(&server.headers(0), body);
        let answer: Value = serde_json::from_str(answer.trim()).unwrap_or(Value::String(answer));
        assert_eq!(
            (status, &answer["error"]["code"], &answer["id"]),
            (400, &json!(code), &id),
            "{}: {answer}",
            String::from_utf8_lossy(body)
        );
    }
    server.stop();
}
