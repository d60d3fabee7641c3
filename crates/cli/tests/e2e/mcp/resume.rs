//! Sessions of the 2025 era over HTTP: what a broken connection means, and what the end of the session does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::Fifo;

use super::client::hostile;
use super::http::Server;
use crate::common::rig;

/// What the server gives a client to come back, and then some.
const NOBODY_COMES_BACK: Duration = Duration::from_secs(25);
/// Far less than that.
const AT_THE_ENDS_ORDER: Duration = Duration::from_secs(4);

/// Opens a session; gives its header line.
fn session(server: &Server) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let (_, head, _) = exchange(server, "POST", "", &hello);
    let id =
        head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session").to_owned();
    let header = format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(exchange(server, "POST", &header, &ready).0, 202);
    header
}

/// Sends a request and leaves the connection open.
fn send(server: &Server, method: &str, more: &str, body: &Value) -> TcpStream {
    let mut stream = server.connect();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers = server.headers(0).join("\r\n");
    write!(
        stream,
        "{method} /mcp HTTP/1.1\r\n{headers}\r\n{more}content-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    stream
}

/// Status, head and body of a whole answer.
fn exchange(server: &Server, method: &str, more: &str, body: &Value) -> (u16, String, String) {
    let text = std::io::read_to_string(send(server, method, more, body)).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (status, head.to_lowercase(), body.to_owned())
}

fn call(command: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "Bash", "arguments": {"command": command}}})
}

/// A call that ends with its client, or with its session.
fn call_that_holds(server: &Server, header: &str, fifo: &Fifo) -> TcpStream {
    let command = format!("exec {} --ready '{}' hold", hostile(), fifo.word());
    send(server, "POST", header, &call(&command))
}

/// The id of the first event on the stream.
fn first_event(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines();
    let id = lines.find_map(|line| line.expect("readable").strip_prefix("id: ").map(str::to_owned));
    id.expect("an id").trim().to_owned()
}

#[test]
fn a_call_for_which_nobody_comes_back_is_cancelled() {
    // Symptom: the client hangs up and the command runs on for as long as it likes.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let server = Server::start(&rig);
    let header = session(&server);
    let stream = call_that_holds(&server, &header, &fifo);
    fifo.pid();
    drop(stream);
    assert!(fifo.ends_within(NOBODY_COMES_BACK));
    server.stop();
}

#[test]
fn a_client_comes_back_for_its_answer() {
    // The transport of 2025-11-25: a broken connection is no cancellation.
    let rig = rig();
    let server = Server::start(&rig);
    let header = session(&server);
    let go = rig.home().join("go");
    let command = format!("mkfifo '{0}'; read -r line <'{0}'; echo \"$line\"", go.display());
    let stream = send(&server, "POST", &header, &call(&command));
    let event = first_event(&stream);
    drop(stream);
    let back = send(&server, "GET", &format!("{header}last-event-id: {event}\r\n"), &Value::Null);
    assert!(testkit::Deadline::usual().until(|| go.exists()));
    std::fs::write(&go, "came back\n").expect("it reads");
    let answer = std::io::read_to_string(back).expect("an answer");
    assert!(answer.contains("came back"), "{answer}");
    server.stop();
}

#[test]
fn the_end_of_a_session_ends_its_calls() {
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let server = Server::start(&rig);
    let header = session(&server);
    let stream = call_that_holds(&server, &header, &fifo);
    first_event(&stream);
    fifo.pid();
    let (status, ..) = exchange(&server, "DELETE", &header, &Value::Null);
    assert!(matches!(status, 200 | 202 | 204), "{status}");
    assert!(fifo.ends_within(AT_THE_ENDS_ORDER));
    server.stop();
}
