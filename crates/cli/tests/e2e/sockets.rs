//! Where members listen: TCP, UDP and Unix, in lists, with survivors and after a kill.

use serde_json::{Value, json};
use testkit::{Fifo, Rig, lacks_program};

use crate::common::{at, kill_with_proof, listed, outcome, rig, text};

/// Listens on one port of each kind and on two Unix sockets, and says which ports.
const SERVER: &str = "import socket, sys, time
t = socket.create_server(('127.0.0.1', 0)); u = socket.socket(type=socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0))
p = socket.socket(socket.AF_UNIX); p.bind('sock'); p.listen()
a = socket.socket(socket.AF_UNIX); a.bind('\\0' + sys.argv[2]); a.listen()
print(t.getsockname()[1], u.getsockname()[1], file=open(sys.argv[1], 'w'), flush=True); time.sleep(70)";

/// The command that starts the server in a session of its own, and the abstract name.
fn server(rig: &Rig, fifo: &Fifo) -> (String, String) {
    std::fs::write(rig.work().join("server.py"), SERVER).expect("a script");
    // Abstract names are the machine's: tests beside this one have their own.
    let own = rig.work().parent().and_then(std::path::Path::file_name).expect("a name").display().to_string();
    let name = format!("socket-of-{own}");
    (format!("setsid python3 server.py '{}' {name}", fifo.word()), name)
}

/// What it said, in order.
fn ports(said: &str) -> Value {
    let mut ports: Vec<u16> = said.split_whitespace().filter_map(|port| port.parse().ok()).collect();
    ports.sort_unstable();
    json!(ports)
}

#[test]
fn a_server_is_known_by_all_its_sockets() {
    // Row 20. Symptom: only TCP is seen, and the language server or the database on a Unix socket is nobody's.
    if lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let (line, name) = server(&rig, &fifo);
    let done = rig.kennel(["start", "--no-check", &format!("{line} & wait")]).finish();
    let (id, ports) = (done.exits(0).last_line(), ports(&fifo.line()));
    let sockets = json!([format!("@{name}"), "sock"]);
    let task = listed(&rig, &id);
    assert_eq!((at(&task, "ports"), at(&task, "sockets")), (ports.clone(), sockets.clone()), "{task}");
    let report = kill_with_proof(&rig, &id);
    assert_eq!((at(&report, "freed_ports"), at(&report, "freed_sockets")), (ports, sockets), "{report}");
}

#[test]
fn a_survivor_is_told_with_its_sockets() {
    // Symptom: "1 process still runs", and nobody knows that it holds the port.
    if lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let fifo = rig.fifo("ready");
    let (line, name) = server(&rig, &fifo);
    let told = outcome(&rig, &format!("{line} & read x <>'{}'; echo $x >&2", fifo.word()));
    let survivor = at(&told, "/survivors/0");
    assert_eq!(at(&survivor, "ports"), ports(&text(&told, "stderr")), "{told}");
    assert_eq!(at(&survivor, "sockets"), json!([format!("@{name}"), "sock"]), "{told}");
    kill_with_proof(&rig, &text(&told, "task_id"));
}
