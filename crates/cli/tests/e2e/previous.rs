//! What an earlier version has left, or still runs, is listed, read and ended by this one. `tests/fixtures/protocol-1` is as
//! that version wrote and spoke it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Rig, Running};

use crate::common::{at, listed, rig, text};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../../tests/fixtures/protocol-1/", $name))
    };
}

const ID: &str = "bash-8rfxhqqk7p40mb3wkc7bdd26v4";
/// The orders of that version.
const ORDERS: [&str; 9] =
    ["launch", "attach", "ack", "kill", "keep", "background", "status", "pause", "resume"];

/// A process as a record names it.
fn reference(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let ticks =
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a start time");
    format!("{{\"pid\":{pid},\"start_ticks\":{ticks}}}")
}

/// The fixture's text with what is true of this machine.
fn filled(bytes: &[u8], keeper: u32, leader: u32, dir: &Path) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").expect("a namespace");
    let namespace: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let now = std::fs::metadata("/proc/self").and_then(|meta| meta.modified()).expect("the time");
    let now = now.duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    String::from_utf8_lossy(bytes)
        .replace("@ID", ID)
        .replace("@MACHINE", &read("/etc/machine-id"))
        .replace("@BOOT", &read("/proc/sys/kernel/random/boot_id"))
        .replace("@NAMESPACE", &namespace)
        .replace("@KEEPER", &reference(keeper))
        .replace("@LEADER", &reference(leader))
        .replace("@STARTED", &now.to_string())
        .replace("@PID", &leader.to_string())
        .replace("@DIR", &dir.to_string_lossy())
}

/// A task's directory as that version left it.
fn task_dir(rig: &Rig, record: &[u8], keeper: u32, leader: u32) -> PathBuf {
    let dir = rig.state().join("tasks").join(ID);
    std::fs::create_dir_all(&dir).expect("a directory");
    for place in [rig.state(), rig.state().join("tasks"), dir.clone()] {
        std::fs::set_permissions(place, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .expect("private");
    }
    std::fs::write(dir.join("output.idx"), fixture!("output.idx")).expect("an index");
    std::fs::write(dir.join("output.log"), fixture!("output.log")).expect("output");
    std::fs::write(dir.join("record.json"), filled(record, keeper, leader, &dir)).expect("a record");
    dir
}

fn sleeper(rig: &Rig) -> Running {
    rig.program("sleep").arg("600").spawn()
}

/// A supervisor of that version, as far as its control socket shows: it knows its own orders and refuses others. Tells of
/// each order it was given.
fn old_supervisor(dir: &Path, leader: u32, told: mpsc::Sender<String>) {
    let listener = UnixListener::bind(dir.join("control.sock")).expect("a socket");
    let dir = dir.to_owned();
    std::thread::spawn(move || {
        for visitor in listener.incoming().flatten() {
            let (dir, told) = (dir.clone(), told.clone());
            std::thread::spawn(move || serve(visitor, &dir, leader, &told));
        }
    });
}

fn serve(mut visitor: UnixStream, dir: &Path, leader: u32, told: &mpsc::Sender<String>) {
    let answer = |visitor: &mut UnixStream, text: &[u8]| {
        for line in filled(text, leader, leader, dir).lines() {
            let length = u32::try_from(line.len()).expect("a short frame").to_le_bytes();
            visitor.write_all(&[&length, line.as_bytes()].concat()).ok();
        }
    };
    let mut length = [0; 4];
    while visitor.read_exact(&mut length).is_ok() {
        let mut frame = vec![0; u32::from_le_bytes(length) as usize];
        if visitor.read_exact(&mut frame).is_err() {
            return;
        }
        let order: Value = serde_json::from_slice(&frame).expect("a frame of JSON");
        let order = text(&order, "op");
        // Told before it is answered: who has the answer may ask at once what came.
        told.send(order.clone()).ok();
        match order.as_str() {
            "status" => answer(&mut visitor, fixture!("status.json")),
            "kill" => answer(&mut visitor, fixture!("killed.json")),
            _ => {}
        }
    }
}

#[test]
fn a_finished_task_of_an_earlier_version_is_listed_and_read() {
    // Symptom: after an upgrade yesterday's tasks are "unreadable".
    let rig = rig();
    let process = sleeper(&rig);
    task_dir(&rig, fixture!("record-ended.json"), process.pid(), process.pid());
    let task = listed(&rig, ID);
    assert_eq!((text(&task, "status"), at(&task, "exit_code")), ("failed".into(), 3.into()), "{task}");
    let done = rig.kennel(["output", ID]).finish();
    assert_eq!(done.exits(0).text(), "hello\noops\n", "{done}");
    assert_eq!(rig.kennel(["output", "--raw", "--stream", "stderr", ID]).finish().text(), "oops\n");
    let outcome = rig.kennel(["wait", "--json", ID]).finish().exits(3).json();
    assert_eq!(
        (text(&outcome, "proof"), text(&outcome, "stdout")),
        ("echild".into(), "hello\n".into()),
        "{outcome}"
    );
    let killed = rig.kennel(["kill", "--json", ID]).finish().exits(0).json();
    assert_eq!(text(&killed, "signal_sent"), "none", "{killed}");
    rig.kennel(["gc", "--older-than", "0"]).finish().exits(0);
    assert_eq!(listed(&rig, ID), Value::Null);
    process.signal(Signal::KILL);
    process.finish();
}

#[test]
fn a_running_task_of_an_earlier_version_is_listed_read_and_ended() {
    // Symptom: after an upgrade the server that still runs can be neither read nor killed.
    let rig = rig();
    let (keeper, leader) = (sleeper(&rig), sleeper(&rig));
    let dir = task_dir(&rig, fixture!("record.json"), keeper.pid(), leader.pid());
    let (told, orders) = mpsc::channel();
    old_supervisor(&dir, leader.pid(), told);
    let task = listed(&rig, ID);
    assert_eq!((text(&task, "status"), at(&task, "output_bytes")), ("running".into(), 11.into()), "{task}");
    assert_eq!(rig.kennel(["output", ID]).finish().exits(0).text(), "hello\noops\n");
    rig.kennel(["output", "--until", "oops", ID]).finish().exits(0);
    rig.kennel(["wait", "--timeout", "50ms", ID]).finish().exits(124);
    let killed = rig.kennel(["kill", "--json", ID]).finish().exits(0).json();
    assert_eq!((at(&killed, "success"), text(&killed, "proof")), (true.into(), "echild".into()), "{killed}");
    let orders: Vec<String> = orders.try_iter().collect();
    assert!(orders.iter().all(|order| ORDERS.contains(&order.as_str())), "{orders:?}");
    assert!(orders.iter().any(|order| order == "kill") && orders.iter().any(|order| order == "status"));
    for process in [keeper, leader] {
        process.signal(Signal::KILL);
        process.finish();
    }
}
