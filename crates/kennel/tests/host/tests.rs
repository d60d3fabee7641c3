//! The runner and its cases.
#![expect(clippy::print_stdout, reason = "the output of a test runner")]

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::panic::catch_unwind;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use testkit::{Deadline, Fifo, Process, Rig, Running, signal};

const CASES: &[(&str, fn())] = &[
    ("a_killed_host_leaves_nothing", a_killed_host_leaves_nothing),
    ("a_forked_worker_does_not_keep_a_killed_host_s_tasks", a_forked_worker_does_not_keep),
    ("a_stopped_supervisor_does_not_keep_a_killed_host_s_tasks", a_stopped_supervisor_does_not_keep),
    ("a_killed_supervisor_takes_no_sibling_with_it", a_killed_supervisor_takes_no_sibling),
    ("siblings_share_one_lifeline_and_nothing_else", siblings_share_one_lifeline),
    ("a_closed_session_is_empty", a_closed_session_is_empty),
    ("a_dropped_call_is_cancelled", a_dropped_call_is_cancelled),
    ("calls_leave_no_descriptor_and_no_child", calls_leave_nothing),
    ("only_a_cleared_request_runs", only_a_cleared_request_runs),
    ("a_thousand_tasks_fit_a_thousand_descriptors", a_thousand_tasks),
    ("an_agents_timeout_is_clamped_and_says_so", || alone("an_agents_timeout_is_clamped_and_says_so")),
    ("a_timeout_keeps_what_came_and_proves_the_rest_dead", || {
        alone("a_timeout_keeps_what_came_and_proves_the_rest_dead");
    }),
    ("a_timeout_may_mean_the_background", || alone("a_timeout_may_mean_the_background")),
    ("bad_input_is_named_and_large_input_works", || alone("bad_input_is_named_and_large_input_works")),
    ("events_have_numbers_without_gaps_and_end_with_the_outcome", || {
        alone("events_have_numbers_without_gaps_and_end_with_the_outcome");
    }),
    ("survivors_are_told_killed_or_left", || alone("survivors_are_told_killed_or_left")),
    ("a_command_is_given_its_input", || alone("a_command_is_given_its_input")),
    ("a_killed_guard_ends_its_sessions_tasks", || alone("a_killed_guard_ends_its_sessions_tasks")),
    ("the_directory_persists_however_a_call_ends", || alone("the_directory_persists_however_a_call_ends")),
    ("what_does_not_move_the_session", || alone("what_does_not_move_the_session")),
    ("an_unknown_directory_keeps_the_old_one_and_says_so", || {
        alone("an_unknown_directory_keeps_the_old_one_and_says_so");
    }),
    ("a_deleted_directory_falls_back_to_the_root", || alone("a_deleted_directory_falls_back_to_the_root")),
    ("an_agents_environment_has_no_secrets", || alone("an_agents_environment_has_no_secrets")),
    ("a_login_shell_is_asked_for_its_environment", || alone("a_login_shell_is_asked_for_its_environment")),
    ("other_shells_run_lines", || alone("other_shells_run_lines")),
    ("a_closed_session_leaves_what_is_kept", || alone("a_closed_session_leaves_what_is_kept")),
    ("a_saved_session_is_gone_on_with_and_closed", || alone("a_saved_session_is_gone_on_with_and_closed")),
    ("a_call_goes_to_the_background_without_losing_a_byte", || {
        alone("a_call_goes_to_the_background_without_losing_a_byte");
    }),
];

pub(crate) fn main(filter: &str) -> ExitCode {
    let mut failed = 0;
    let chosen: Vec<_> = CASES.iter().filter(|(name, _)| name.contains(filter)).collect();
    println!("\nrunning {} tests", chosen.len());
    for (name, case) in &chosen {
        let done = std::thread::Builder::new().name((*name).to_owned()).spawn(move || catch_unwind(case));
        let passed = done.is_ok_and(|thread| matches!(thread.join(), Ok(Ok(()))));
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {} passed; {failed} failed; 0 ignored", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The host with `count` tasks, each a deaf leader with a deaf daemon, all up.
struct Crowd {
    rig: Rig,
    fifo: Fifo,
    host: Running,
    stdin: std::os::fd::OwnedFd,
    supervisors: Vec<u32>,
}

impl Crowd {
    fn up(mode: &str, count: usize) -> Self {
        let rig = rig();
        let mut fifo = rig.fifo("ready");
        let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
        let command = format!("{one} daemon; exec {one} deaf");
        let (mut host, stdin) = program(&rig, &[mode, &count.to_string(), &command]);
        for _ in 0..2 * count {
            fifo.pid();
        }
        host.await_out("up ");
        host.await_out("\n");
        let text = host.out_so_far();
        let line = text.lines().find_map(|line| line.strip_prefix("up ")).expect("the line");
        let supervisors = line.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
        Self { rig, fifo, host, stdin, supervisors }
    }

    /// SIGKILL the host: everything must be dead within 1.5 s.
    fn all_die_with_the_host(mut self) {
        let clock = Deadline::usual();
        self.host.signal(Signal::KILL);
        let gone = self.fifo.ends_within(Duration::from_secs(10));
        let after = clock.elapsed();
        assert!(gone, "{:?}", self.rig.processes());
        assert!(after < Duration::from_millis(1500), "{after:?}");
    }
}

fn rig() -> Rig {
    Rig::new(std::env::current_exe().expect("our own path"))
}

/// The program under test, and the writing end of its standard input.
fn program(rig: &Rig, words: &[&str]) -> (Running, std::os::fd::OwnedFd) {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let mut invocation = rig.kennel(["program"].iter().chain(words));
    let running = invocation.stdin(Stdio::from(reader)).within(Duration::from_secs(60)).spawn();
    (running, writer)
}

/// A scenario of the program that asserts by itself.
fn alone(name: &str) {
    let rig = rig();
    let (host, _stdin) = program(&rig, &[name]);
    host.finish().exits(0);
}

fn a_killed_host_leaves_nothing() {
    // Symptom: hundreds of orphans after the agent was killed (pi#3057, claude-code#43944).
    Crowd::up("crowd", 3).all_die_with_the_host();
}

fn a_forked_worker_does_not_keep() {
    // Symptom: a fork of the host holds the lifeline, and its death is seen 3.7 s late or never.
    let crowd = Crowd::up("worker", 2);
    let text = crowd.host.out_so_far();
    let worker = text.lines().find_map(|line| line.strip_prefix("worker ")).expect("the worker");
    let worker: u32 = worker.parse().expect("a pid");
    let rig_tag = crowd.rig.tag();
    let mut fifo = crowd.fifo;
    let clock = Deadline::usual();
    crowd.host.signal(Signal::KILL);
    let gone = fifo.ends_within(Duration::from_secs(10));
    let after = clock.elapsed();
    assert!(Process::read(worker).is_some_and(|it| it.lives()), "the worker is not ours to kill");
    signal(worker, Signal::KILL);
    assert!(gone && after < Duration::from_millis(1500), "{after:?} {:?}", rig_tag.holders());
}

fn a_stopped_supervisor_does_not_keep() {
    // Symptom: a stopped supervisor sees neither lifeline nor pidfd.
    let crowd = Crowd::up("crowd", 3);
    let first = crowd.supervisors.first().expect("three");
    assert!(signal(*first, Signal::STOP));
    crowd.all_die_with_the_host();
}

fn a_killed_supervisor_takes_no_sibling() {
    // Symptom: the guard sweeps everything, or waits for children that are not orphans.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("exec \"$HOSTILE\" --ready '{}' deaf", fifo.word());
    let (mut host, stdin) = program(&rig, &["crowd", "3", &command]);
    let leaders: Vec<u32> = (0..3).map(|_| fifo.pid()).collect();
    host.await_out("up ");
    let parents: BTreeMap<u32, u32> =
        leaders.iter().map(|leader| (*leader, Process::read(*leader).expect("a leader").parent)).collect();
    let (victim, supervisor) = parents.first_key_value().expect("three");
    let victim_gone = testkit::pidfd(*victim).expect("a pidfd");
    assert!(signal(*supervisor, Signal::KILL));
    let mut poll = [rustix::event::PollFd::new(&victim_gone, rustix::event::PollFlags::IN)];
    assert!(Deadline::after(Duration::from_millis(1500)).poll(&mut poll), "the orphan lives");
    for leader in leaders.iter().filter(|leader| *leader != victim) {
        assert!(Process::read(*leader).is_some_and(|it| it.lives()), "a sibling's task died");
    }
    say(&stdin, "close\n");
    host.finish().exits(0);
    assert!(fifo.ends_within(Duration::from_secs(5)));
}

fn siblings_share_one_lifeline() {
    // Symptom: a sibling's inherited copy of a pipe keeps it open for ever.
    if testkit::lacks(
        "root, to read the descriptors of keepers that are not dumpable",
        rustix::process::geteuid().is_root(),
    ) {
        return;
    }
    let mut crowd = Crowd::up("crowd", 3);
    let lists: Vec<_> = crowd
        .supervisors
        .iter()
        .map(|pid| Process::read(*pid).expect("a supervisor").descriptors())
        .collect();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for list in &lists {
        let channels = list.iter().map(|(_, target)| target.as_str());
        let channels = channels.filter(|target| target.starts_with("pipe:") || target.starts_with("socket:"));
        for target in channels.collect::<std::collections::BTreeSet<_>>() {
            *holders.entry(target).or_default() += 1;
        }
    }
    let shared: Vec<_> = holders.iter().filter(|(_, count)| **count > 1).collect();
    assert!(shared.len() == 1, "one lifeline and nothing else is shared: {shared:?} in {lists:#?}");
    let lengths: Vec<_> = lists.iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|length| *length <= 16 && Some(length) == lengths.first()), "{lists:#?}");
    assert!(
        lists.iter().flatten().all(|(_, target)| !target.ends_with("/ready")),
        "the host's FIFO: {lists:#?}"
    );
    say(&crowd.stdin, "kill\n");
    crowd.host.finish().exits(0);
    assert!(crowd.fifo.ends_within(Duration::from_secs(5)));
}

fn a_closed_session_is_empty() {
    // Symptom: close returns, and a daemon lives.
    let mut crowd = Crowd::up("crowd", 3);
    say(&crowd.stdin, "close\n");
    let done = crowd.host.finish();
    assert!(done.text().contains("closed true"), "{done}");
    assert!(!crowd.fifo.held(), "{:?}", crowd.rig.processes());
}

fn a_dropped_call_is_cancelled() {
    // Row 19. Symptom: the call is cancelled, the shell goes on (codex#42717).
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let one = format!("\"$HOSTILE\" --ready '{}'", fifo.word());
    let (mut host, stdin) = program(&rig, &["cancel", &format!("{one} daemon; exec {one} deaf")]);
    fifo.pid();
    fifo.pid();
    say(&stdin, "now\n");
    host.await_out("dropped");
    assert!(fifo.ends_within(Duration::from_secs(5)), "{:?}", rig.processes());
    say(&stdin, "end\n");
    host.finish().exits(0);
}

fn calls_leave_nothing() {
    // Row 21. Symptom: descriptors and zombies pile up until nothing opens (codex#7245, waku#53).
    let rig = rig();
    let (host, _stdin) = program(&rig, &["calls", "300"]);
    let done = host.finish();
    let text = done.exits(0).text();
    let line = text.lines().find_map(|line| line.strip_prefix("left ")).expect("the line");
    let left: Vec<i64> = line.split_whitespace().map(|count| count.parse().expect("a count")).collect();
    // A spare supervisor may be on its way at either look.
    assert!(
        left.iter().all(|count| count.abs() <= 2),
        "descriptors and children left by 300 calls: {left:?}"
    );
    assert!(text.contains("closed true\nchildren 0"), "{done}");
}

fn a_thousand_tasks() {
    // Symptom: one lifeline and one pidfd a task exhaust 1,024 descriptors at 509 tasks. Done-when 8.
    if testkit::slow() {
        return;
    }
    let rig = rig();
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
    let mut invocation = rig.kennel(["program", "crowd", "1000", "exec sleep 70"]);
    invocation.open_files(1024).stdin(Stdio::from(reader)).within(Duration::from_secs(60));
    let mut host = invocation.spawn();
    host.await_out("up ");
    host.await_out("\n");
    assert_eq!(host.out_so_far().split_whitespace().count(), 1001);
    let sleeping = rig.processes().into_iter().filter(|process| process.comm == "sleep").count();
    assert_eq!(sleeping, 1000);
    say(&writer, "close\n");
    let done = host.finish();
    assert!(done.text().contains("closed true"), "{}", done.errors());
    assert!(rig.processes().is_empty());
}

fn say(to: &std::os::fd::OwnedFd, line: &str) {
    rustix::io::write(to.as_fd(), line.as_bytes()).expect("a host that reads");
}

/// Symptom: a command runs that the policy refuses, through a door that forgot to ask.
fn only_a_cleared_request_runs() {
    let rig = rig();
    let (mut host, _stdin) = program(&rig, &["verdicts"]);
    host.await_out("verdicts as they should be");
}
