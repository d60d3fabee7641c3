//! Notices that come of output and time, a disk that is full, and readers that wait without looking.

use std::process::Command;

use serde_json::Value;
use testkit::{Deadline, Fifo, Finished, Rig, lacks, lacks_faults, lacks_program};

use crate::common::{at, kill_with_proof, listed, number, rig, start, text};

/// The notices of this kind, in the events of a run.
fn told(done: &Finished, kind: &str) -> Vec<Value> {
    let lines = done.text();
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(|event| text(event, "type") == "notice" && text(event, "kind") == kind).collect()
}

/// The notices of this kind, in an outcome.
fn kept(outcome: &Value, kind: &str) -> Vec<Value> {
    let all = at(outcome, "notices").as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|notice| text(notice, "kind") == kind).collect()
}

fn let_go(fifo: &Fifo) {
    std::fs::write(fifo.path(), "\n").expect("the other end of the FIFO");
}

#[test]
fn a_silence_is_told_once_and_kept_once() {
    // Symptom: a command that hangs says nothing, and neither does its keeper.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let go = rig.fifo("go");
    let command = format!("echo a; read x <>'{}'; echo b; sleep 1", go.word());
    let mut run = rig.kennel(["run", "--events", &command]);
    let mut running = run.env("KENNEL_FAULT", "silence-ms=150").spawn();
    running.await_out("\"quiet\"");
    let_go(&go);
    let done = running.finish();
    let quiet = told(&done, "quiet");
    assert_eq!(quiet.len(), 2, "{done}");
    assert!(quiet.iter().all(|notice| number(notice, "ms") >= 150), "{quiet:?}");
    let last: Value = serde_json::from_str(&done.last_line()).expect("an event");
    let id = text(&last, "/outcome/task_id");
    let recorded = rig.kennel(["wait", "--json", &id]).finish().json();
    assert_eq!(kept(&recorded, "quiet").len(), 1, "{recorded}");
}

#[test]
fn a_port_that_appeared_is_told() {
    // Symptom: a server is up, and the agent polls it with curl to find out.
    if lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let serve = "import socket,sys,time\ns=socket.create_server(('127.0.0.1',0))\n\
                 print('port',s.getsockname()[1],flush=True)\ntime.sleep(70)";
    let mut running = rig.kennel(["run", "--events", "--", "python3", "-c", serve]).spawn();
    running.await_out("\"listening\"");
    running.signal(rustix::process::Signal::TERM);
    let done = running.finish();
    let ports: Vec<i64> = told(&done, "listening").iter().map(|notice| number(notice, "port")).collect();
    assert_eq!(ports.len(), 1, "{done}");
    assert!(done.text().contains(&format!("port {}", ports[0])), "{done}");
}

#[test]
fn a_cap_that_is_near_is_told_before_anything_goes() {
    // Symptom: the first that is heard of the cap is that the middle is gone.
    let rig = rig();
    for (bytes, near) in [(30_000, 0), (52_000, 1)] {
        let command = format!("head -c {bytes} /dev/zero");
        let it = rig.kennel(["run", "--json", "--output-cap", "64K", &command]).finish().json();
        assert_eq!(kept(&it, "limit_near").len(), near, "{it}");
        assert_eq!((number(&it, "dropped_bytes"), kept(&it, "spool_capped").len()), (0, 0), "{it}");
    }
}

/// A tiny file system of its own for the state of a rig.
struct TinyDisk(Command);

impl TinyDisk {
    fn under(rig: &Rig, size: &str) -> Option<Self> {
        let state = rig.state();
        std::fs::create_dir_all(&state).expect("a directory");
        let option = format!("size={size},mode=700");
        let mounted = rig.program("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(&state).finish();
        let mut unmount = rig.program("umount");
        unmount.arg("--lazy").arg(&state);
        let lacks = lacks("the right to mount, for a disk that is full", mounted.code() == 0);
        (!lacks).then(|| Self(unmount.into_command()))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _told_by_what_is_left = self.0.status();
    }
}

#[test]
fn a_full_disk_ends_nothing_and_the_loss_is_counted() {
    // Symptom: the disk is full, and the command is killed by SIGPIPE, hangs, or its end is never known.
    let rig = rig();
    let Some(_disk) = TinyDisk::under(&rig, "1m") else { return };
    let id = start(&rig, "head -c 8000000 /dev/zero; echo end >&2; exit 3");
    rig.kennel(["wait", "--tree", &id]).finish().exits(3);
    let it = rig.kennel(["wait", "--json", &id]).finish().json();
    assert_eq!((text(&it, "/end/cause"), number(&it, "exit_code")), ("exited".to_owned(), 3), "{it}");
    assert_eq!(number(&it, "stdout_bytes") + number(&it, "stderr_bytes"), 8_000_004, "{it}");
    assert!(number(&it, "dropped_bytes") > 6_900_000, "{it}");
    assert_eq!(kept(&it, "spool_lost").len(), 1, "{it}");
    let raw = rig.kennel(["output", "--raw", &id]).finish().exits(0).out.len();
    let raw = i64::try_from(raw).expect("a small number");
    assert_eq!(number(&it, "dropped_bytes") + raw, 8_000_004, "{it}");
    assert_eq!(text(&listed(&rig, &id), "status"), "failed");
}

#[test]
fn a_full_memory_file_system_costs_nothing() {
    // Symptom: short calls live on tmpfs; when that is full their output is gone although the disk has room.
    let rig = rig();
    let script = "mount -t tmpfs -o size=256k tmpfs /dev/shm || exit 99
        for left in 64 16 4 0; do
            rm -rf /dev/shm/*; dd if=/dev/zero of=/dev/shm/fill bs=1k count=$((256 - left)) 2>/dev/null
            [ \"$(\"$KENNEL\" run 'seq 100000' | cksum)\" = \"$(seq 100000 | cksum)\" ] || echo \"lost at $left\"
        done";
    let mut private = rig.program("unshare");
    private.args(["--mount", "bash", "-c", script]).env_remove("KENNEL_STATE_DIR");
    let done = private.finish();
    if lacks("the right to mount, for a memory file system that is full", done.code() == 0) {
        return;
    }
    assert_eq!((done.text(), done.errors()), (String::new(), String::new()), "{done}");
}

#[test]
fn a_stream_with_a_hole_is_no_success() {
    // Symptom: `kennel run 'make report' > file` on a full disk gives half a file, 0, and not a word.
    let rig = rig();
    let Some(_disk) = TinyDisk::under(&rig, "1m") else { return };
    let done = rig.kennel(["run", "head -c 8000000 /dev/zero"]).finish();
    assert_eq!(done.code(), 125, "{}", done.errors());
    let missing = 8_000_000 - done.out.len();
    assert!(
        done.errors().contains(&format!("{missing} bytes of output could not be stored")),
        "{}",
        done.errors()
    );
}

#[test]
fn a_follower_sleeps_until_there_is_something() {
    // Symptom: `--follow` looks again and again, a hundred times a second for each follower.
    let rig = rig();
    let go = rig.fifo("go");
    let id = start(&rig, &format!("echo first; read x <>'{}'; echo second; exec sleep 70", go.word()));
    let mut follower = rig.kennel(["output", "--follow", &id]).spawn();
    follower.await_out("first");
    let pid = follower.pid();
    let switches = || -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let rows = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        rows.filter_map(|status| {
            let row = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            row.trim().parse::<u64>().ok()
        })
        .sum()
    };
    let slept = Deadline::usual().until(|| {
        let before = switches();
        rig.program("sleep").arg("1").finish().exits(0);
        switches() == before
    });
    assert!(slept && switches() > 0, "the follower never sleeps");
    let_go(&go);
    follower.await_out("second");
    kill_with_proof(&rig, &id);
    follower.finish();
}
