//! Every `RACE(name)` of a keeper or of the command line, met on purpose: somebody is held at the place named so, the other
//! side moves, and the first goes on.

use std::path::PathBuf;

use rustix::process::Signal;
use testkit::{Barrier, Deadline, Fifo, Process, Rig, Running, lacks, lacks_faults, lacks_program, signal};

use crate::common::{AT_ONCE, at, kill_with_proof, listed, number, rig, text};

fn lives(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| process.lives())
}

fn is_gone(pid: u32) -> bool {
    Deadline::usual().until(|| !lives(pid))
}

/// `kennel start` whose keepers obey the barrier.
fn start_held(rig: &Rig, command: &str, barrier: &Barrier) -> String {
    let done = rig.kennel(["start", command]).env("KENNEL_FAULT", barrier.order()).finish();
    done.exits(0);
    done.last_line()
}

/// A stranger on a pid that has just been given up; `None` where no pid can be had at will.
fn take(rig: &Rig, pid: u32, start: &str) -> Option<(Running, Fifo)> {
    let mut fifo = rig.fifo("stranger");
    let words = ["--ready", fifo.word(), "reuse", &pid.to_string(), start].map(ToOwned::to_owned);
    let made = rig.program(testkit::hostile()).args(words).spawn();
    let held = fifo.pid();
    (!lacks("CAP_CHECKPOINT_RESTORE, to choose a pid", held == pid)).then_some((made, fifo))
}

#[test]
fn fork_list_a_child_born_behind_the_list_is_killed() {
    // RACE(fork-list). Symptom: a kill says success while a process lives that was forked as it read its list.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut barrier = Barrier::at(&rig, "fork-list");
    let command = format!("exec \"$HOSTILE\" --ready '{}' term-spawner", fifo.word());
    let id = start_held(&rig, &command, &barrier);
    let parent = fifo.pid();
    let killing = rig.kennel(["kill", "--signal", "KILL", "--json", &id]).spawn();
    barrier.reached();
    // It answers a request to end by a new daemon.
    assert!(signal(parent, Signal::TERM));
    let born = || rig.processes().iter().filter(|it| it.comm == "hostile" && it.lives()).count() > 1;
    assert!(Deadline::usual().until(born), "{:?}", rig.processes());
    barrier.open();
    let report = killing.finish().exits(0).json();
    assert_eq!(text(&report, "proof"), "echild", "{report}");
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
}

#[test]
fn parent_dies_first_its_child_gets_the_signal_too() {
    // RACE(parent-dies-first). Symptom: a polite kill reaches the shell and not the server that would have cleaned up.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let (mut fifo, mut said) = (rig.fifo("ready"), rig.fifo("said"));
    let mut barrier = Barrier::at(&rig, "parent-dies-first");
    let file = |name: &str, text: String| {
        let path = rig.work().join(name);
        std::fs::write(&path, text).expect("a script");
        path.display().to_string()
    };
    let (ready, said_to) = (fifo.word().to_owned(), said.word().to_owned());
    let trap = format!("trap 'echo 15 >{said_to}; exit' TERM");
    let child = file("child.sh", format!("{trap}\necho $$ >{ready}\nwhile :; do sleep 0.1; done\n"));
    let parent = file("parent.sh", format!("bash {child} &\necho $$ >{ready}\nwait\n"));
    let id = start_held(&rig, &format!("bash {parent} & wait"), &barrier);
    let (one, two) = (fifo.pid(), fifo.pid());
    let parent_of = |pid: u32| Process::read(pid).map_or(0, |process| process.parent);
    let parent = if parent_of(one) == two { two } else { one };
    let killing = rig.kennel(["kill", "--grace", "20s", "--no-force", "--json", &id]).spawn();
    barrier.reached();
    assert!(signal(parent, Signal::KILL));
    assert!(is_gone(parent));
    barrier.open();
    assert_eq!(said.line().trim(), "15");
    killing.finish().exits(0);
}

#[test]
fn reap_signal_a_stranger_on_a_reaped_pid_lives() {
    // RACE(reap-signal). Symptom: whoever gets the pid of a member that has just been reaped dies with the task.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let (mut member, mut after) = (rig.fifo("member"), rig.fifo("after"));
    let mut barrier = Barrier::at(&rig, "reap-signal");
    // The inner shell reaps the member before it goes on.
    let inner = format!(
        "\"$HOSTILE\" --ready '{}' hold; exec \"$HOSTILE\" --ready '{}' hold",
        member.word(),
        after.word()
    );
    let id = start_held(&rig, &format!("bash -c '{}' & wait", inner.replace('\'', "'\\''")), &barrier);
    let pid = member.pid();
    let tree = rig.kennel(["tree", "--json", &pid.to_string()]).finish().json();
    let start = number(&tree, "/members/0/start").to_string();
    let killing = rig.kennel(["kill", "--grace", "20s", "--json", &id]).spawn();
    barrier.reached();
    assert!(signal(pid, Signal::KILL));
    after.pid();
    let stranger = take(&rig, pid, &start);
    barrier.open();
    killing.finish().exits(0);
    if let Some((made, _fifo)) = stranger {
        assert!(lives(pid));
        assert!(signal(pid, Signal::KILL));
        made.finish();
    }
}

#[test]
fn exec_start_an_exec_is_no_new_process_and_a_stranger_is() {
    // RACE(exec-start). Symptom: a member that executes another program as it is signalled gets away, or a stranger on
    // its pid does not.
    if lacks_faults() || lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let (go, mut fifo) = (rig.fifo("go"), rig.fifo("ready"));
    // A thread that is not the first executes: all others end, and it takes over the pid.
    let program = "import os, sys, threading; \
         threading.Thread(target=lambda: (os.read(os.open(sys.argv[1], os.O_RDWR), 9), os.execv(sys.argv[2], sys.argv[2:]))).start()";
    let hostile = testkit::hostile();
    let words = ["-c", program, go.word(), &hostile.to_string_lossy(), "--ready", fifo.word(), "hold"];
    let leader = rig.program("python3").args(words.map(ToOwned::to_owned)).spawn();
    let mut barrier = Barrier::at(&rig, "exec-start");
    let pid = leader.pid();
    let words = ["signal", &pid.to_string(), "TERM", "--tree"].map(ToOwned::to_owned);
    let signalling = rig.kennel(words).env("KENNEL_FAULT", barrier.order()).spawn();
    barrier.reached();
    std::fs::write(go.path(), "go\n").expect("the thread reads");
    assert_eq!(fifo.pid(), pid);
    barrier.open();
    signalling.finish().exits(0);
    leader.finish();
    assert!(fifo.ends_within(AT_ONCE));

    let leader = rig.program(hostile).arg("hold").spawn();
    let pid = leader.pid();
    let tree = rig.kennel(["tree", "--json", &pid.to_string()]).finish().json();
    let start = number(&tree, "/members/0/start").to_string();
    let mut barrier = Barrier::at(&rig, "exec-start@1");
    let words = ["signal", &pid.to_string(), "KILL", "--tree"].map(ToOwned::to_owned);
    let signalling = rig.kennel(words).env("KENNEL_FAULT", barrier.order()).spawn();
    barrier.reached();
    leader.signal(Signal::KILL);
    leader.finish();
    let stranger = take(&rig, pid, &start);
    barrier.open();
    signalling.finish();
    if let Some((made, _fifo)) = stranger {
        assert!(lives(pid));
        assert!(signal(pid, Signal::KILL));
        made.finish();
    }
}

#[test]
fn owner_start_a_command_whose_owner_died_as_it_began_is_ended() {
    // RACE(owner-start). Symptom: the agent is killed the moment it starts a server, and the server stays for ever.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let fifo = rig.fifo("ready");
    let mut barrier = Barrier::at(&rig, "owner-start");
    let command = format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word());
    let host = rig.kennel(["run", &command]).env("KENNEL_FAULT", barrier.order()).spawn();
    barrier.reached();
    host.signal(Signal::KILL);
    host.finish();
    barrier.open();
    // Whether it came to run at all is the kernel's choice; that it does not stay is ours.
    assert!(Deadline::usual().until(|| rig.processes().is_empty()), "{:?}", rig.processes());
}

/// Without a state directory of its own a task begins on tmpfs, and has somewhere to move to.
fn roaming(rig: &Rig, words: &[&str]) -> testkit::Invocation {
    let mut call = rig.kennel(words);
    call.env_remove("KENNEL_STATE_DIR").env_remove("XDG_STATE_HOME");
    call
}

#[test]
fn promotion_exit_a_task_that_ends_as_it_moves_is_whole() {
    // RACE(promotion-exit). Symptom: the command ends as it goes to the background; its status or output is in neither place.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let (go, mut fifo) = (rig.fifo("go"), rig.fifo("ready"));
    let mut barrier = Barrier::at(&rig, "promotion-exit");
    let command =
        format!("echo hello; exec 9>'{}'; echo $$ >&9; read x <>'{}'; exit 3", fifo.word(), go.word());
    let words = ["run", "--json", "--timeout", "100ms", "--on-timeout", "background", &command];
    let running = roaming(&rig, &words).env("KENNEL_FAULT", barrier.order()).spawn();
    let leader = fifo.pid();
    barrier.reached();
    std::fs::write(go.path(), "go\n").expect("the leader reads");
    assert!(fifo.ends_within(AT_ONCE) && is_gone(leader));
    barrier.open();
    let outcome = running.finish().json();
    let id = text(&outcome, "task_id");
    roaming(&rig, &["wait", &id]).finish().exits(3);
    assert_eq!(roaming(&rig, &["output", "--raw", &id]).finish().text(), "hello\n");
    let all = roaming(&rig, &["tasks", "--all", "--json"]).finish().json();
    let task =
        at(&all, "tasks").as_array().and_then(|tasks| tasks.iter().find(|it| text(it, "id") == id).cloned());
    let file = task.map(|task| PathBuf::from(text(&task, "output_file"))).expect("listed");
    assert!(file.starts_with(rig.home()), "{}", file.display());
    assert_eq!(std::fs::read_to_string(&file).expect("the output file"), "hello\n");
}

#[test]
fn final_after_look_a_task_that_ends_between_two_looks_is_not_lost() {
    // RACE(final-after-look). Symptom: `kennel tasks` calls a task lost that has just ended well.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let id = crate::common::start(&rig, "exec sleep 70");
    let mut barrier = Barrier::at(&rig, "final-after-look");
    let looking = rig.kennel(["tasks", "--all", "--json"]).env("KENNEL_FAULT", barrier.order()).spawn();
    barrier.reached();
    let keepers: Vec<u32> =
        ["knl-task", "knl-guard"].iter().flat_map(|name| rig.named(name)).map(|it| it.pid).collect();
    kill_with_proof(&rig, &id);
    assert!(keepers.into_iter().all(is_gone));
    barrier.open();
    let list = looking.finish().exits(0).json();
    assert_eq!(text(&list, "/tasks/0/status"), "killed", "{list}");
    assert_eq!(text(&listed(&rig, &id), "proof"), text(&list, "/tasks/0/proof"));
}

#[test]
fn header_torn_a_header_that_is_being_written_is_read_again() {
    // RACE(header-torn). Symptom: a reader in the middle of the writer's write says that the output is damaged.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let id = crate::common::start(&rig, "echo whole; exec sleep 70");
    let whole = || rig.kennel(["output", "--raw", &id]).finish().text() == "whole\n";
    assert!(Deadline::usual().until(whole));
    let index = PathBuf::from(text(&listed(&rig, &id), "output_file")).with_file_name("output.idx");
    let good = std::fs::read(&index).expect("the index");
    let torn: Vec<u8> =
        good.iter().enumerate().map(|(at, byte)| if at < 256 { !byte } else { *byte }).collect();
    std::fs::write(&index, torn).expect("the index");
    let mut barrier = Barrier::at(&rig, "header-torn");
    let reading = rig.kennel(["output", "--raw", &id]).env("KENNEL_FAULT", barrier.order()).spawn();
    barrier.reached();
    std::fs::write(&index, good).expect("the index");
    barrier.open();
    assert_eq!(reading.finish().exits(0).text(), "whole\n");
    kill_with_proof(&rig, &id);
}

#[test]
fn moved_under_us_a_reader_follows() {
    // RACE(moved-under-us). Symptom: `kennel output` fails because the task went to the background as it looked.
    if lacks_faults() {
        return;
    }
    let rig = rig();
    let (go, mut fifo) = (rig.fifo("go"), rig.fifo("ready"));
    let script = format!(
        "echo $KENNEL_TASK >'{}'; echo hello; read x <>'{}'; head -c 100000 /dev/zero | tr '\\0' x; echo; echo $$ >'{}'; read x <>'{}'",
        fifo.word(),
        go.word(),
        fifo.word(),
        go.word()
    );
    let mut running = roaming(&rig, &["run", &script]).spawn();
    let marker = fifo.line();
    let id = marker.trim().split(':').next().unwrap_or_default().to_owned();
    running.await_out("hello");
    let words = [("moved-under-us", "--raw"), ("moved-under-us@1", "--json")];
    let readers = words.map(|(place, how)| {
        let mut barrier = Barrier::at(&rig, place);
        let reading = roaming(&rig, &["output", how, &id]).env("KENNEL_FAULT", barrier.order()).spawn();
        barrier.reached();
        (barrier, reading)
    });
    // More than a task may have on tmpfs: it moves.
    std::fs::write(go.path(), "go\n").expect("the leader reads");
    fifo.pid();
    for (barrier, reading) in readers {
        barrier.open();
        let output = reading.finish().exits(0).text();
        assert!(output.contains("hello\n") || output.contains("\"text\": \"hello\\n"), "{output:.200}");
    }
    std::fs::write(go.path(), "go\n").expect("the leader reads");
    running.finish().exits(0);
}
