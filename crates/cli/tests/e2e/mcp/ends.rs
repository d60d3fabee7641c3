//! How the server ends, and what is left then.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::client::{Client, Era, hostile};
use crate::common::{AT_ONCE, kill_with_proof, listed, rig, text};

/// What the design promises; the machine may be busy.
const TWO_SECONDS: Duration = Duration::from_secs(2);

#[test]
fn the_end_of_input_ends_everything_in_two_seconds() {
    // Symptom (row 18): the agent closes the connection and its servers run for days.
    let rig = rig();
    let mut client = Client::start(&rig);
    let mut fifos = Vec::new();
    for (number, habit) in ["hold", "deaf", "daemon", "stopped"].into_iter().cycle().take(10).enumerate() {
        let mut fifo = rig.fifo(&format!("ready{number}"));
        client.background(&format!("{} --ready '{}' {habit}; sleep 300", hostile(), fifo.word()));
        fifo.pid();
        fifos.push(fifo);
    }
    let (code, took) = client.close();
    assert_eq!(code, Some(0));
    assert!(took < TWO_SECONDS + AT_ONCE / 5, "{took:?}");
    // Dead before the server ended: nobody has to be waited for.
    assert!(fifos.iter_mut().all(|fifo| fifo.ends_within(Duration::from_millis(500))));
}

#[test]
fn a_signal_ends_everything() {
    // Symptom: SIGTERM ends the server and leaves its tasks.
    for signal in [Signal::TERM, Signal::INT] {
        let rig = rig();
        let mut fifo = rig.fifo("ready");
        let mut client = Client::start(&rig);
        client.background(&format!("exec {} --ready '{}' deaf", hostile(), fifo.word()));
        fifo.pid();
        testkit::signal(client.pid(), signal);
        assert_eq!(client.wait(), Some(0), "{signal:?}");
        assert!(fifo.ends_within(AT_ONCE));
    }
}

#[test]
fn a_killed_server_leaves_nothing() {
    // Symptom (row 18): the server is killed with SIGKILL and hundreds of orphans live on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut client = Client::start(&rig);
    client.background(&format!("setsid nohup {} --ready '{}' deaf", hostile(), fifo.word()));
    fifo.pid();
    testkit::signal(client.pid(), Signal::KILL);
    client.wait();
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_killed_client_whose_pipes_live_on_leaves_nothing() {
    // Symptom: the client is killed, another process still holds the server's input, and everything runs on.
    let rig = rig();
    let (mut asked, mut ready) = (rig.fifo("asked"), rig.fifo("ready"));
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Bash", "arguments": {
        "command": format!("{} --ready '{}' deaf", hostile(), ready.word()), "run_in_background": true}}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let script = format!(
        "exec 3<>pipe; printf '%s\\n' '{hello}' '{call}' >&3; \"$KENNEL\" mcp <&3 >/dev/null & echo $! >'{}'; wait",
        asked.word()
    );
    rustix::fs::mknodat(
        rustix::fs::CWD,
        rig.work().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_bits_truncate(0o600),
        0,
    )
    .expect("a pipe");
    let held =
        std::fs::OpenOptions::new().read(true).write(true).open(rig.work().join("pipe")).expect("held open");
    let client = rig.bash(&script).spawn();
    let server = asked.pid();
    ready.pid();
    client.signal(Signal::KILL);
    assert!(ready.ends_within(AT_ONCE), "a task lives");
    let gone = testkit::pidfd(server).is_none_or(|handle| {
        let mut poll = [rustix::event::PollFd::from_borrowed_fd(
            std::os::fd::AsFd::as_fd(&handle),
            rustix::event::PollFlags::IN,
        )];
        let limit = rustix::time::Timespec { tv_sec: 5, tv_nsec: 0 };
        rustix::event::poll(&mut poll, Some(&limit)).is_ok_and(|ready| ready == 1)
    });
    assert!(gone, "the server lives");
    drop(held);
    client.finish();
}

#[test]
fn a_probing_copy_disturbs_nothing() {
    // Symptom: a client that starts a second copy to look at it ends the tasks of the first.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut client = Client::start(&rig);
    let id = client.background(&format!("exec {} --ready '{}' hold", hostile(), fifo.word()));
    fifo.pid();
    let mut probe = Client::with(&rig, &[], Era::Modern, json!({}));
    assert!(probe.ask("server/discover", json!({})).get("supportedVersions").is_some());
    assert_eq!(probe.close().0, Some(0));
    let silent = rig.kennel(["mcp"]).finish();
    silent.exits(0);
    assert_eq!(silent.text(), "", "nothing was asked");
    assert!(fifo.held());
    client.works("KillShell", &json!({"shell_id": id}));
}

#[test]
fn kept_tasks_are_found_by_the_next_server() {
    // Symptom (row 26): the server is restarted, the list is empty and the tasks cannot be reached.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut client = Client::start(&rig);
    let command = format!("echo kept; exec {} --ready '{}' hold", hostile(), fifo.word());
    let started = client.works("Bash", &json!({"command": command, "run_in_background": true, "keep": true}));
    let id = started["task_id"].as_str().expect("an id").to_owned();
    fifo.pid();
    assert_eq!(client.close().0, Some(0));
    assert!(fifo.held(), "it was to be kept");
    let mut next = Client::start(&rig);
    let list = next.works("TaskList", &json!({"status": "running"}));
    assert_eq!(list["tasks"][0]["id"], json!(id), "{list}");
    assert_eq!(next.works("TaskOutput", &json!({"task_id": id, "block": false}))["text"], json!("kept\n"));
    assert_eq!(next.works("KillShell", &json!({"shell_id": id}))["success"], json!(true));
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_terminal_sees_what_a_server_started() {
    // Symptom: the agent's tasks cannot be found from the terminal beside it.
    let rig = rig();
    let mut client = Client::start(&rig);
    let id = client.background("sleep 300");
    assert_eq!(text(&listed(&rig, &id), "status"), "running");
    kill_with_proof(&rig, &id);
    let page = client.works("TaskOutput", &json!({"task_id": id}));
    assert_eq!(page["status"], json!("killed"), "{page}");
}

#[test]
fn what_is_not_the_protocol_ends_the_server_with_a_reason() {
    // Symptom: a person who starts the server by hand and types sees nothing, for ever.
    let rig = rig();
    let done = rig.kennel(["mcp"]).input("hello\n").finish();
    assert!(done.text().is_empty() || done.text().starts_with('{'), "{done}");
}
