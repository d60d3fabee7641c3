//! `kennel tree`, `signal` and `track`: trees that Kennel did not start, and the strangers beside them.

use std::io::{PipeWriter, Write as _};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testkit::{Deadline, Fifo, Process, Rig, Running, lacks, signal};

use crate::common::{AT_ONCE, at, kill_with_proof, number, rig, start, text};

/// A foreign tree: a leader with a child, and a job of that in a session of its own whose launcher has gone.
fn foreign(rig: &Rig) -> (Running, Fifo, [u32; 2]) {
    let (mut child, mut job) = (rig.fifo("child"), rig.fifo("job"));
    let script = format!(
        "\"$HOSTILE\" --ready '{}' deaf & (setsid \"$HOSTILE\" --ready '{}' hold &) ; wait",
        child.word(),
        job.word()
    );
    let leader = rig.bash(&script).env("TURN", "turn-1").spawn();
    let pids = [child.pid(), job.pid()];
    (leader, child, pids)
}

/// The tree of a process as `kennel tree` shows it.
fn tree(rig: &Rig, which: &str) -> Value {
    rig.kennel(["tree", "--json", which]).finish().json()
}

/// `PID@START` of a process that lives.
fn name(rig: &Rig, pid: u32) -> String {
    let tree = tree(rig, &pid.to_string());
    assert_eq!(number(&tree, "/members/0/pid"), i64::from(pid), "{tree}");
    format!("{pid}@{}", number(&tree, "/members/0/start"))
}

/// Why the process is a member; null when it is not.
fn reason(object: &Value, pid: u32) -> Value {
    let members = object.get("members").and_then(Value::as_array).expect("members");
    let found = members.iter().find(|member| at(member, "pid") == pid);
    found.map(|member| at(member, "reason")).unwrap_or_default()
}

fn has(object: &Value, list: &str, pid: u32) -> bool {
    at(object, list).as_array().is_some_and(|pids| pids.contains(&Value::from(pid)))
}

fn lives(pid: u32) -> bool {
    Process::read(pid).is_some_and(|process| process.lives())
}

/// A process that has gone, as `PID@START`, and a stranger that holds its pid now; `None` where no pid can be had at will.
fn stranger(rig: &Rig, dead: Running, named: &str) -> Option<(u32, Running, Fifo)> {
    let pid = dead.pid();
    dead.signal(Signal::KILL);
    dead.finish();
    let mut fifo = rig.fifo("stranger");
    let start = named.split_once('@').map_or("", |(_, start)| start);
    let words = ["--ready", fifo.word(), "reuse", &pid.to_string(), start].map(ToOwned::to_owned);
    let made = rig.program(testkit::hostile()).args(words).spawn();
    let held = fifo.pid();
    (!lacks("CAP_CHECKPOINT_RESTORE, to choose a pid", held == pid)).then_some((pid, made, fifo))
}

#[test]
fn a_tree_says_who_is_in_it_and_why() {
    // Symptom: `ps` shows forty processes and nobody can say which of them the agent started.
    let rig = rig();
    let (leader, mut lifeline, [child, job]) = foreign(&rig);
    let shown = tree(&rig, &leader.pid().to_string());
    assert_eq!(reason(&shown, leader.pid()), "leader", "{shown}");
    assert_eq!(reason(&shown, child), "parent", "{shown}");
    assert_eq!(reason(&shown, job), Value::Null, "one look cannot know it: {shown}");
    assert_eq!(at(&shown, "complete"), false, "{shown}");
    assert!(text(&shown, "/members/1/command").ends_with(" deaf"), "{shown}");
    let table = rig.kennel(["tree", &leader.pid().to_string()]).finish().exits(0).text();
    assert!(table.contains(&format!("child of {}", leader.pid())), "{table}");
    let named = name(&rig, leader.pid());
    rig.kennel(["signal", &named, "KILL", "--tree"]).finish().exits(0);
    leader.finish();
    assert!(lifeline.ends_within(AT_ONCE));
    assert!(signal(job, Signal::KILL));
    rig.kennel(["tree", &named]).finish().exits(1);
}

#[test]
fn a_task_is_a_tree_too_with_orphans_and_ports() {
    // Symptom: the server that a task left behind cannot be told by its port.
    if testkit::lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let server = "import os, socket, sys, time; s = socket.create_server(('127.0.0.1', 0)); \
                  print(s.getsockname()[1], file=open(sys.argv[1], 'w'), flush=True); time.sleep(70)";
    let id = start(&rig, &format!("(setsid python3 -c \"{server}\" '{}' &); exec sleep 70", fifo.word()));
    let port = fifo.line();
    let shown = tree(&rig, &id);
    assert_eq!(text(&shown, "task_id"), id);
    assert_eq!(at(&shown, "complete"), true, "{shown}");
    let members = at(&shown, "members");
    let members = members.as_array().expect("members");
    let reasons: Vec<String> = members.iter().map(|member| text(member, "reason")).collect();
    assert_eq!(reasons.iter().filter(|reason| *reason == "leader").count(), 1, "{shown}");
    let orphan = members.iter().find(|member| text(member, "reason") == "adopted").expect("the server");
    assert_eq!(at(orphan, "/ports/0").to_string(), port.trim(), "{shown}");
    kill_with_proof(&rig, &id);
    rig.kennel(["tree", &id]).finish().exits(1);
}

#[test]
fn a_dry_run_names_and_spares() {
    // Symptom: "let me see what it would hit" hits it.
    let rig = rig();
    let (leader, mut lifeline, [child, job]) = foreign(&rig);
    let pid = leader.pid().to_string();
    let plan = rig.kennel(["signal", &pid, "KILL", "--tree", "--dry-run", "--json"]).finish().exits(0).json();
    assert_eq!(text(&plan, "signal_sent"), "none");
    assert!(has(&plan, "pids", leader.pid()) && has(&plan, "pids", child), "{plan}");
    assert!(lives(child) && lives(leader.pid()));
    let sent = rig.kennel(["signal", &pid, "SIGKILL", "--tree", "--yes", "--json"]).finish().exits(0).json();
    assert_eq!(text(&sent, "signal_sent"), "SIGKILL");
    assert!(has(&sent, "pids", leader.pid()) && has(&sent, "pids", child), "{sent}");
    leader.finish();
    assert!(lifeline.ends_within(AT_ONCE));
    assert!(signal(job, Signal::KILL));
}

#[test]
fn what_must_not_be_signalled_is_refused() {
    // Symptom: a slip of the finger stops the system, the terminal, or the keepers of a hundred tasks.
    let rig = rig();
    let refused = |words: [&str; 3], why: &str| {
        let done = rig.kennel(["signal"].iter().chain(&words)).finish();
        done.exits(1);
        assert!(done.errors().contains(why), "{words:?}: {}", done.errors());
    };
    for pid in ["1", "0"] {
        refused([pid, "TERM", "--tree"], "the system's");
    }
    refused([&std::process::id().to_string(), "TERM", "--tree"], "descends from it");
    refused(["4194305", "TERM", "--tree"], "no such process");
    let id = start(&rig, "exec sleep 70");
    let keeper = crate::common::listed(&rig, &id);
    for field in ["supervisor_pid", "guard_pid"] {
        let pid = number(&keeper, field).to_string();
        refused([&pid, "STOP", "--tree"], "keeper");
        refused([&format!("{pid}@1"), "STOP", "--tree"], "another process's");
    }
    kill_with_proof(&rig, &id);
    for usage in [
        &["signal", "4194305", "TERM"][..],
        &["signal", "4194305", "USR1", "--tree"],
        &["signal", "x", "TERM", "--tree"],
        &["signal", "4194305"],
    ] {
        rig.kennel(usage).finish().exits(64);
    }
}

#[test]
fn another_users_processes_are_refused() {
    // Symptom: root signals a tree, and hits the database that happened to be below it.
    if lacks("root", rustix::process::geteuid().is_root()) || testkit::lacks_program(&["setpriv"]) {
        return;
    }
    let rig = rig();
    let script = "setpriv --reuid=65534 --regid=65534 --clear-groups sleep 70 & echo ready; wait";
    let mut leader = rig.bash(script).spawn();
    leader.await_out("ready");
    // It is another user's once setpriv has executed.
    let pid = leader.pid().to_string();
    let theirs = Deadline::usual().until(|| {
        let shown = tree(&rig, &pid);
        at(&shown, "members").as_array().is_some_and(|all| all.iter().any(|it| at(it, "uid") == 65534))
    });
    assert!(theirs);
    let done = rig.kennel(["signal", &pid, "KILL", "--tree", "--json"]).finish();
    let report = done.exits(1).json();
    assert_eq!(text(&report, "/refused/0/why"), "other_user", "{report}");
    let other = u32::try_from(number(&report, "/refused/0/pid")).expect("a pid");
    assert!(lives(other));
    assert!(signal(other, Signal::KILL));
    leader.finish();
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    // Symptom: a tree is signalled before anybody saw how large it is.
    let rig = rig();
    let (leader, mut lifeline, [_, job]) = foreign(&rig);
    let mut shell = testkit::Terminal::bash(&rig);
    shell.send(&format!("$KENNEL signal {} KILL --tree\n", leader.pid())).expect("[y/N]");
    shell.send("n\n").expect("nothing was signalled");
    assert!(lives(leader.pid()));
    shell.send(&format!("$KENNEL signal {} KILL --tree\n", leader.pid())).expect("[y/N]");
    shell.send("y\n").expect("processes got SIGKILL");
    leader.finish();
    assert!(lifeline.ends_within(AT_ONCE));
    assert!(signal(job, Signal::KILL));
    shell.send("exit\n");
}

#[test]
fn a_stranger_on_the_pid_of_a_dead_leader_lives() {
    // Symptom: the third seed remembered pids without start times, and once killed whoever had got one of them.
    let rig = rig();
    let leader = rig.program(testkit::hostile()).arg("hold").spawn();
    let named = name(&rig, leader.pid());
    let Some((pid, made, _fifo)) = stranger(&rig, leader, &named) else { return };
    let done = rig.kennel(["signal", &named, "KILL", "--tree"]).finish();
    done.exits(1);
    assert!(done.errors().contains("another process's by now"), "{}", done.errors());
    rig.kennel(["tree", &named]).finish().exits(1);
    assert!(lives(pid));
    assert!(signal(pid, Signal::KILL));
    made.finish();
}

/// `kennel track --json`, line by line.
struct Conversation {
    running: Running,
    lines: PipeWriter,
    asked: usize,
}

impl Conversation {
    fn with(rig: &Rig, words: &[&str]) -> Self {
        let (reader, lines) = std::io::pipe().expect("a pipe");
        // As long as the slowest test has patience: a conversation ends when its host hangs up.
        let mut tracker = rig.kennel(["track", "--json"].iter().chain(words));
        let running = tracker.stdin(reader).within(Duration::from_secs(300)).spawn();
        Self { running, lines, asked: 0 }
    }

    /// One line, one object. A second line that nobody understands shows that the first has been answered.
    fn ask(&mut self, line: &str) -> Value {
        let mark = format!("mark-{}", self.asked);
        writeln!(self.lines, "{line}\n{mark}").expect("the tracker reads");
        self.running.await_out(&format!("{mark}\\\" is none of"));
        let out = self.running.out_so_far();
        let answer = out.lines().nth(self.asked * 2).expect("an answer");
        self.asked += 1;
        serde_json::from_str(answer).expect("an object")
    }

    /// The host goes away.
    fn hang_up(self) {
        drop(self.lines);
        self.running.finish().exits(0);
    }
}

#[test]
fn a_host_in_any_language_follows_a_tree() {
    // Symptom: a Node or Python host cannot know what a tool call left behind. The third seed's API, over two pipes.
    let rig = rig();
    let (leader, mut lifeline, [child, job]) = foreign(&rig);
    let pid = leader.pid().to_string();
    let mut plain = Conversation::with(&rig, &[&pid]);
    let found = plain.ask("members");
    assert!(has(&found, "pids", leader.pid()) && has(&found, "pids", child), "{found}");
    // It had detached before anybody looked: without a marker nobody can know, and that is said.
    assert!(!has(&found, "pids", job), "{found}");
    assert_eq!(at(&found, "complete"), false, "{found}");
    let mut marked = Conversation::with(&rig, &[&pid, "--marker", "TURN=turn-1"]);
    let found = marked.ask("sample");
    assert_eq!(at(&found, "supported"), true);
    assert_eq!(reason(&found, child), "parent", "{found}");
    assert_eq!(reason(&found, job), "marker", "{found}");
    assert_eq!(text(&plain.ask("stop"), "source"), "on_demand");
    assert!(has(&plain.ask("sample"), "pids", child), "everything works after stop");
    assert!(text(&plain.ask("signal USR1"), "error").contains("STOP"));
    assert!(text(&plain.ask("frobnicate"), "error").contains("sample, members"));
    plain.hang_up();
    let sent = marked.ask("signal SIGKILL");
    assert_eq!(at(&sent, "success"), true, "{sent}");
    assert!([leader.pid(), child, job].into_iter().all(|pid| has(&sent, "pids", pid)), "{sent}");
    leader.finish();
    assert!(lifeline.ends_within(AT_ONCE));
    // A killed process is a member until it has exited.
    assert!(Deadline::usual().until(|| at(&marked.ask("members"), "pids") == Value::Array(Vec::new())));
    marked.hang_up();
}

#[test]
fn a_tracker_spares_strangers() {
    // Symptom: a service that copied the environment, or whoever got a dead member's pid, dies with the tree.
    let rig = rig();
    // As at(1) does: a service that was there before starts a job with the environment of whoever asked for it.
    let mut job = rig.fifo("job");
    let script = format!("TURN=turn-2 \"$HOSTILE\" --ready '{}' hold & wait", job.word());
    let leader = rig.program(testkit::hostile()).arg("hold").env("TURN", "turn-2").spawn();
    let named = name(&rig, leader.pid());
    let service = rig.bash(&script).spawn();
    let job = job.pid();
    let mut track = Conversation::with(&rig, &[&leader.pid().to_string(), "--marker", "TURN=turn-2"]);
    let found = track.ask("sample");
    assert!(has(&found, "pids", leader.pid()) && !has(&found, "pids", job), "{found}");
    if let Some((pid, made, _fifo)) = stranger(&rig, leader, &named) {
        let found = track.ask("sample");
        assert!(!has(&found, "pids", pid), "{found}");
        let sent = track.ask("signal KILL");
        assert!(!has(&sent, "pids", pid) && lives(pid), "{sent}");
        assert!(signal(pid, Signal::KILL));
        made.finish();
    }
    assert!(lives(job));
    rig.kennel(["signal", &service.pid().to_string(), "KILL", "--tree"]).finish().exits(0);
    service.finish();
    track.hang_up();
}

#[test]
fn a_thousand_detached_jobs_leave_no_survivor_unseen() {
    // Symptom: a sampler misses what detaches between two samples, and says that nobody is left. Done-when 5.
    const SURVIVORS: usize = 20;
    const PATIENCE: Duration = Duration::from_secs(300);
    if testkit::slow() {
        return;
    }
    let rig = rig();
    let (go, mut ready) = (rig.fifo("go"), rig.fifo("ready"));
    // Fifty of a kind: forty-nine that end at once and one that stays, each in a session of its own.
    let script = format!(
        "read -r _ <>'{}'; for i in {{1..{SURVIVORS}}}; do for j in {{1..49}}; do (setsid /bin/true &); done; \
         (setsid bash -c 'echo $$ >{}; exec sleep 600' &); done; echo over; read -r _ <>'{}'",
        go.word(),
        ready.word(),
        go.word()
    );
    // A thousand forks are seconds of work, and minutes where the machine has much else to do.
    let mut leader = rig.bash(&script).env("TURN", "turn-3").within(PATIENCE).spawn();
    let pid = leader.pid().to_string();
    let mut plain = Conversation::with(&rig, &[&pid]);
    let mut marked = Conversation::with(&rig, &[&pid, "--marker", "TURN=turn-3"]);
    let (before, _) = (plain.ask("members"), marked.ask("members"));
    std::fs::write(go.path(), "\n").expect("the leader reads");
    let left: Vec<u32> = (0..SURVIVORS).map(|_| ready.pid()).collect();
    leader.await_out("over");
    let found = marked.ask("sample");
    assert!(left.iter().all(|pid| has(&found, "pids", *pid)), "{left:?} in {found}");
    let found = plain.ask("sample");
    let all = left.iter().all(|pid| has(&found, "pids", *pid));
    // Without a marker only the kernel's events can tell of all, and only who was told of all says so.
    assert!(all || at(&found, "complete") == false, "{left:?} in {found}");
    if text(&before, "source") != "events" || at(&before, "complete") == false {
        assert_eq!(at(&found, "complete"), false, "{found}");
    }
    assert_eq!(at(&marked.ask("signal KILL"), "success"), true);
    leader.finish();
    assert!(Deadline::usual().until(|| left.iter().all(|pid| !lives(*pid))));
    plain.hang_up();
    marked.hang_up();
}
