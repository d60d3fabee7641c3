//! What is left when one of ours, or the host, is killed.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;
use testkit::{Deadline, Fifo, Process, Rig, lacks, signal};

use crate::common::{AT_ONCE, at, kill_with_proof, listed, number, rig, start, text};

/// A task whose leader and daemon hold the FIFO.
fn stubborn(rig: &Rig, name: &str) -> (String, Fifo) {
    let mut fifo = rig.fifo(name);
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let id = start(rig, &format!("{one} daemon; exec {one} deaf"));
    fifo.pid();
    fifo.pid();
    (id, fifo)
}

fn keeper(rig: &Rig, id: &str, field: &str) -> Process {
    let pid = u32::try_from(number(&listed(rig, id), field)).expect("a pid");
    Process::read(pid).expect("a living keeper")
}

#[test]
fn a_supervisor_s_death_ends_its_own_task_only() {
    // Symptom: the orphans of a killed supervisor live on; or its siblings' tasks die with it.
    let rig = rig();
    let (first, mut one) = stubborn(&rig, "one");
    let (second, mut two) = stubborn(&rig, "two");
    let supervisor = keeper(&rig, &first, "supervisor_pid");
    assert_eq!(supervisor.comm, "knl-task");
    let clock = Deadline::usual();
    assert!(signal(supervisor.pid, Signal::KILL));
    assert!(one.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert!(clock.elapsed() < Duration::from_millis(1500), "{:?}", clock.elapsed());
    assert!(Deadline::usual().until(|| text(&listed(&rig, &first), "status") == "lost"));
    assert!(two.held());
    assert_eq!(text(&listed(&rig, &second), "status"), "running");
    kill_with_proof(&rig, &second);
    assert!(two.ends_within(AT_ONCE));
}

#[test]
fn a_guard_s_death_loses_no_kept_task() {
    // Symptom: the guard is killed, and the kept task is gone, or runs and is not listed.
    let rig = rig();
    let (id, mut fifo) = stubborn(&rig, "ready");
    let guard = keeper(&rig, &id, "guard_pid");
    assert_eq!(guard.comm, "knl-guard");
    assert!(signal(guard.pid, Signal::KILL));
    assert!(Deadline::usual().until(|| Process::read(guard.pid).is_none_or(|it| !it.lives())));
    // `start` keeps: the supervisor goes on, unowned.
    assert_eq!(text(&listed(&rig, &id), "status"), "running");
    assert!(fifo.held());
    kill_with_proof(&rig, &id);
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_guard_s_death_ends_a_foreground_command() {
    // Symptom: the guard of `kennel run` is killed and the command runs on without an owner.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let running = rig.kennel(["run", "--grace", "100ms", &format!("{one} daemon; exec {one} deaf")]).spawn();
    fifo.pid();
    fifo.pid();
    let guards = rig.named("knl-guard");
    let guard = guards.first().expect("a guard");
    assert!(signal(guard.pid, Signal::KILL));
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let done = running.finish();
    assert_eq!(done.code(), 137, "{done}");
    assert!(done.errors().contains("the guard of the command was killed"), "{done}");
}

#[test]
fn a_supervisor_s_death_under_a_foreground_command_is_told() {
    // Symptom: 125 and not a word.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let running = rig.kennel(["run", &format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word())]).spawn();
    let leader = Process::read(fifo.pid()).expect("the leader");
    assert!(signal(leader.parent, Signal::KILL));
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    let done = running.finish();
    assert_eq!(done.code(), 125, "{done}");
    assert!(done.errors().contains("its supervisor was killed"), "{done}");
}

#[test]
fn a_host_s_death_ends_its_command_even_with_a_stopped_supervisor() {
    // Symptom: a stopped supervisor sees neither lifeline nor pidfd.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let running = rig.kennel(["run", &format!("{one} daemon; exec {one} deaf")]).spawn();
    fifo.pid();
    fifo.pid();
    let supervisors = rig.named("knl-task");
    assert!(signal(supervisors.first().expect("a supervisor").pid, Signal::STOP));
    running.signal(Signal::KILL);
    let clock = Deadline::usual();
    running.finish();
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert!(clock.elapsed() < Duration::from_millis(2500), "{:?}", clock.elapsed());
}

#[test]
fn stopped_keepers_do_not_stop_a_kill() {
    // Symptom: a task of the same user stops both keepers, and the kill call never returns.
    let rig = rig();
    let (id, mut fifo) = stubborn(&rig, "ready");
    let (supervisor, guard) = (keeper(&rig, &id, "supervisor_pid"), keeper(&rig, &id, "guard_pid"));
    assert!(signal(supervisor.pid, Signal::STOP));
    assert!(signal(guard.pid, Signal::STOP));
    let clock = Deadline::usual();
    let done = crate::common::kill(&rig, &id);
    assert!(clock.elapsed() < Duration::from_secs(8), "{:?}", clock.elapsed());
    assert!(fifo.ends_within(AT_ONCE), "{done}: {:?}", rig.processes());
    assert_eq!(done.exits(0).json().get("success"), Some(&serde_json::Value::Bool(true)));
}

#[test]
fn both_keepers_dead_in_one_instant_is_seen_and_swept() {
    // Symptom: the next process lists a task as running that nobody keeps, or forgets what runs.
    let rig = rig();
    let (id, mut fifo) = stubborn(&rig, "ready");
    let (supervisor, guard) = (keeper(&rig, &id, "supervisor_pid"), keeper(&rig, &id, "guard_pid"));
    assert!(signal(guard.pid, Signal::STOP));
    assert!(signal(supervisor.pid, Signal::KILL));
    assert!(signal(guard.pid, Signal::KILL));
    let found = Deadline::usual().until(|| {
        rig.kennel(["gc"]).finish();
        text(&listed(&rig, &id), "status") == "lost"
    });
    assert!(found, "{}", listed(&rig, &id));
    rig.kennel(["kill", "--grace", "100ms", &id]).finish();
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
}

#[test]
fn the_command_s_text_names_no_keeper() {
    // Row 22. Symptom: `pkill -f node` killed the agent itself (gptme#768, pi-web#878).
    if testkit::lacks_program(&["pkill"]) {
        return;
    }
    let rig = rig();
    let unique = format!("unique-text-{}", std::process::id());
    let mut fifo = rig.fifo("ready");
    let command = format!("\"$HOSTILE\" --ready '{}' daemon {unique}; : {unique}; sleep 70", fifo.word());
    let id = start(&rig, &command);
    fifo.pid();
    let before: BTreeSet<_> = keepers(&rig).into_iter().map(|keeper| keeper.pid).collect();
    assert_eq!(before.len(), 2, "{:?}", rig.processes());
    let place = rig.state().display().to_string();
    for pattern in [unique.as_str(), place.as_str(), fifo.word()] {
        rig.program("pkill").args(["-9", "-f", pattern]).finish();
    }
    let done = rig.kennel(["wait", "--json", &id]).finish();
    assert_eq!(done.code(), 137, "{done}");
    kill_with_proof_or_nothing(&rig, &id);
}

fn kill_with_proof_or_nothing(rig: &Rig, id: &str) {
    crate::common::kill(rig, id).exits(0);
}

fn keepers(rig: &Rig) -> Vec<Process> {
    rig.processes().into_iter().filter(|process| process.comm.starts_with("knl-")).collect()
}

#[test]
fn keepers_show_their_own_names_only() {
    // Symptom: `ps` shows the command's text or the host's path at a keeper, and a pattern hits it.
    let rig = rig();
    let (id, _fifo) = stubborn(&rig, "ready");
    for keeper in keepers(&rig) {
        assert!(!keeper.cmdline.contains("HOSTILE"), "{keeper:?}");
        assert!(!keeper.cmdline.contains("start"), "{keeper:?}");
        assert!(keeper.cmdline.is_empty() || keeper.cmdline.starts_with("knl-"), "{keeper:?}");
    }
    assert_eq!(keepers(&rig).len(), 2, "{:?}", rig.processes());
    kill_with_proof(&rig, &id);
}

#[test]
fn three_supervisors_hold_an_exact_list_of_descriptors() {
    // Symptom: a sibling's inherited copy keeps a lifeline open for ever.
    if lacks(
        "root, to read the descriptors of keepers that are not dumpable",
        rustix::process::geteuid().is_root(),
    ) {
        return;
    }
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("exec \"$HOSTILE\" --ready '{}' hold", fifo.word());
    let ids: Vec<_> = (0..3).map(|_| start(&rig, &one)).collect();
    for _ in &ids {
        fifo.pid();
    }
    let (mut lists, mut kinds) = (Vec::new(), Vec::new());
    // The connection of a `start` that has just left is closed at the supervisor's next turn.
    let alike = Deadline::usual().until(|| {
        lists = ids.iter().map(|id| keeper(&rig, id, "supervisor_pid").descriptors()).collect();
        kinds = lists.iter().map(|list| kinds_of(list)).collect::<Vec<_>>();
        kinds.windows(2).all(|pair| pair.first() == pair.last())
    });
    assert!(alike, "not alike: {lists:#?}");
    let known = [
        "null",
        "pipe",
        "socket",
        "anon_inode",
        "the task's directory",
        "end.fifo",
        "output.log",
        "output.idx",
    ];
    let first = kinds.first().expect("three");
    assert!(first.iter().all(|kind| known.contains(&kind.as_str())) && first.len() <= 16, "{lists:#?}");
    for (at, list) in lists.iter().enumerate() {
        for (_, target) in list {
            assert!(!target.contains("/ready"), "the caller's FIFO: {list:#?}");
            let others = ids.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, id) in others {
                assert!(!target.contains(id.as_str()), "a sibling's file: {list:#?}");
            }
        }
    }
    let ids_at_once: Vec<&str> = ids.iter().map(String::as_str).collect();
    rig.kennel(["kill", "--grace", "100ms"].iter().chain(&ids_at_once)).finish().exits(0);
    assert!(fifo.ends_within(AT_ONCE));
}

fn kinds_of(list: &[(u32, String)]) -> Vec<String> {
    let mut kinds: Vec<_> = list.iter().map(|(_, target)| kind(target)).collect();
    kinds.sort_unstable();
    kinds
}

/// A descriptor's target without what differs from one process to the next.
fn kind(target: &str) -> String {
    let name = target.rsplit('/').next().unwrap_or_default();
    match target.split_once(":[") {
        Some((kind, _)) => kind.to_owned(),
        None if name.starts_with("bash-") => "the task's directory".to_owned(),
        None => name.to_owned(),
    }
}

#[test]
fn a_lost_task_says_why() {
    // Symptom: a crash of ours is shown as a failure of the command.
    let rig = rig();
    let (id, mut fifo) = stubborn(&rig, "ready");
    assert!(signal(keeper(&rig, &id, "supervisor_pid").pid, Signal::KILL));
    assert!(fifo.ends_within(AT_ONCE));
    assert!(Deadline::usual().until(|| text(&listed(&rig, &id), "status") == "lost"));
    let it = listed(&rig, &id);
    assert_eq!(text(&it, "/end/cause"), "lost", "{it}");
    assert!(!text(&it, "/end/why").is_empty(), "{it}");
    assert!(at(&it, "exit_code").as_i64() != Some(0), "a failure is never 0: {it}");
    assert_ne!(rig.kennel(["wait", &id]).finish().code(), 0);
}

#[test]
fn a_death_is_no_farewell() {
    // RACE(farewell). Symptom: the guard is killed and a fork storm runs on for 250 ms, the grace of a session that was
    // closed: the dying close their descriptors before anybody can see that they die.
    for round in 0..8 {
        let rig = rig();
        let mut fifo = rig.fifo("ready");
        let told = rig.work().join("told");
        let script = format!(
            "trap ': >{}' TERM; exec 9>'{}'; echo $$ >&9; while :; do sleep 70 & wait; done",
            told.display(),
            fifo.word()
        );
        let running = rig.kennel(["run", &script]).spawn();
        fifo.pid();
        let guard = rig.named("knl-guard").first().expect("a guard").pid;
        assert!(signal(guard, Signal::KILL));
        assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
        assert!(!told.exists(), "round {round}: asked to end, not ended");
        running.finish();
    }
}

#[test]
fn keepers_go_last_when_memory_runs_out_and_tasks_as_before() {
    // Symptom: the kernel ends the supervisor of a build that eats the machine, or spares the build as it spares its keeper.
    let rig = rig();
    let read = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).expect("a worth");
    let mut fifo = rig.fifo("ready");
    let command = format!("read x </proc/self/oom_score_adj; echo $x >'{}'; exec sleep 70", fifo.word());
    let script = format!(
        "echo 17 >/proc/self/oom_score_adj; exec \"$KENNEL\" start --no-check \"{}\"",
        command.replace('$', "\\$")
    );
    let done = rig.bash(&script).finish();
    done.exits(0);
    assert_eq!(fifo.line(), "17", "a task is worth what its starter was");
    let id = done.last_line();
    let keepers =
        ["supervisor_pid", "guard_pid"].map(|field| read(&keeper(&rig, &id, field).pid.to_string()));
    let permitted = rig.bash("echo -900 >/proc/self/oom_score_adj").finish().code() == 0;
    let lowered = if lacks("CAP_SYS_RESOURCE, to be spared", permitted) { "17\n" } else { "-900\n" };
    assert_eq!(keepers, [lowered, lowered]);
    kill_with_proof(&rig, &id);
}
