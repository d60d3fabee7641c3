//! The fixtures do what they are named for, and the harness sees what they leave.

use std::time::Duration;

use rustix::process::Signal;
use testkit::{Deadline, Fifo, Process, Rig, Terminal, leftovers, signal};

fn rig() -> Rig {
    Rig::new("/bin/true")
}

/// Start a habit under bash, which ends at once, and wait until it is in place.
fn habit(rig: &Rig, words: &str) -> (Fifo, u32) {
    let mut fifo = rig.fifo("ready");
    let script = format!("\"$HOSTILE\" --ready '{}' {words} >/dev/null 2>&1 &", fifo.word());
    rig.bash(&script).finish().exits(0);
    let pid = fifo.pid();
    (fifo, pid)
}

/// End whatever carries the tag, and see the lifeline end.
fn sweep(rig: &Rig, fifo: &mut Fifo) -> Vec<String> {
    let left = leftovers(rig.tag(), Duration::ZERO);
    let gone = fifo.ends_within(Duration::from_secs(5));
    assert!(
        gone,
        "a process without the tag holds the lifeline; found before: {left:?}; now {:?}",
        rig.processes()
    );
    left
}

#[test]
fn every_habit_is_found_by_its_tag_and_killed() {
    let habits = [
        ("hold", 1),
        ("deaf", 1),
        ("daemon 3", 1),
        ("setsid", 1),
        ("clear-env", 1),
        ("renamed", 1),
        ("clone-parent", 1),
        ("inner-subreaper", 4),
        ("term-spawner", 1),
        ("pair", 2),
        ("storm 4 2 5000", 1),
        ("bomb 20 5000", 1),
        ("wide 40", 41),
        ("deep 40", 41),
        ("vfork-chain 10", 11),
        ("zombie-leader", 2),
        ("stopped", 1),
        ("traced", 2),
        ("chatty", 1),
        ("closed-output", 1),
    ];
    for (words, least) in habits {
        let rig = rig();
        let (mut fifo, _) = habit(&rig, words);
        assert!(fifo.held(), "{words}: nobody holds the lifeline");
        // A storm renews itself between two looks, so only the others are counted.
        if !words.starts_with("storm") && !words.starts_with("bomb") {
            let enough = Deadline::usual().until(|| rig.processes().len() >= least);
            assert!(enough, "{words}: {:?}", rig.processes());
        }
        sweep(&rig, &mut fifo);
    }
}

#[test]
fn closed_descriptors_end_the_lifeline_and_not_the_process() {
    let rig = rig();
    let (mut fifo, pid) = habit(&rig, "closed");
    assert!(fifo.ends_within(Duration::from_secs(5)));
    let left = leftovers(rig.tag(), Duration::ZERO);
    assert!(left.iter().any(|line| line.starts_with(&pid.to_string())), "{left:?}");
}

#[test]
fn renamed_and_cleared_show_nothing_of_their_origin() {
    let rig = rig();
    let (mut fifo, pid) = habit(&rig, "renamed kworker/9:9");
    let named = Deadline::usual().until(|| Process::read(pid).is_some_and(|it| it.cmdline == "kworker/9:9"));
    assert!(named, "{:?}", Process::read(pid));
    assert_eq!(std::fs::read(format!("/proc/{pid}/environ")).expect("environ"), b"");
    sweep(&rig, &mut fifo);
}

#[test]
fn a_zombie_leader_says_z_and_lives() {
    let rig = rig();
    let (mut fifo, pid) = habit(&rig, "zombie-leader");
    let zombie = Deadline::usual().until(|| Process::read(pid).is_some_and(|it| it.state == 'Z'));
    assert!(zombie && Process::read(pid).expect("it").lives());
    sweep(&rig, &mut fifo);
}

#[test]
fn deaf_ignores_requests_and_dies_of_kill() {
    let rig = rig();
    let (mut fifo, pid) = habit(&rig, "deaf");
    for request in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        assert!(signal(pid, request));
    }
    assert!(fifo.held());
    assert!(signal(pid, Signal::KILL));
    assert!(fifo.ends_within(Duration::from_secs(5)));
}

#[test]
fn a_pair_restarts_whichever_is_killed() {
    let rig = rig();
    let (mut fifo, _) = habit(&rig, "pair");
    let both = || {
        let living = rig.processes();
        (living.len() == 2).then_some(living)
    };
    assert!(Deadline::usual().until(|| both().is_some()));
    let first = both().expect("two");
    for process in &first {
        signal(process.pid, Signal::KILL);
        // A process that has just been killed may still be listed.
        let replaced = || both().is_some_and(|pair| pair.iter().all(|living| living.pid != process.pid));
        assert!(Deadline::usual().until(replaced), "not restarted: {:?}", rig.processes());
    }
    assert!(fifo.held());
    sweep(&rig, &mut fifo);
}

#[test]
fn term_makes_a_term_spawner_spawn() {
    let rig = rig();
    let (mut fifo, pid) = habit(&rig, "term-spawner");
    assert!(signal(pid, Signal::TERM));
    assert!(Deadline::usual().until(|| rig.processes().len() == 2));
    sweep(&rig, &mut fifo);
}

#[test]
fn a_parent_is_killed_and_the_killer_stays() {
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let script = format!("\"$HOSTILE\" --ready '{}' kill-parent >/dev/null 2>&1; echo alive", fifo.word());
    let done = rig.bash(&script).finish();
    assert_eq!((done.code(), done.text().as_str()), (137, ""));
    fifo.pid();
    sweep(&rig, &mut fifo);
}

#[test]
fn writers_write_what_they_promise() {
    let rig = rig();
    let out = rig.bash("\"$HOSTILE\" slow-utf8 '€' 1 2; \"$HOSTILE\" flood 1 | tail -n 2").finish();
    assert_eq!(out.text(), format!("€€{:063}\nend\n", 16_383));
    let out = rig.bash("\"$HOSTILE\" alternate 4").finish();
    assert_eq!((out.text().as_str(), out.errors().as_str()), ("0\n2\n", "1\n3\n"));
}

#[test]
fn a_host_with_odd_dispositions_is_made() {
    let rig = rig();
    let script =
        "\"$HOSTILE\" as-host --ignore-chld --block-all -- grep -E 'SigBlk|SigIgn' /proc/self/status";
    let text = rig.bash(script).finish().exits(0).text();
    let bits = |name: &str| {
        let row = text.lines().find_map(|line| line.strip_prefix(name)).expect("the row");
        u64::from_str_radix(row.trim(), 16).expect("hexadecimal")
    };
    let (pipe, child, term) = (1 << 12, 1 << 16, 1 << 14);
    assert_eq!(bits("SigIgn:") & (pipe | child), child, "{text}");
    assert_eq!(bits("SigBlk:") & (term | child), term | child, "{text}");
}

#[test]
fn a_terminal_shows_and_takes() {
    let rig = rig();
    let mut terminal = Terminal::bash(&rig);
    terminal.send("echo $((20 + 22)); tty\n");
    terminal.expect("42");
    terminal.expect("/dev/pts/");
    terminal.send("exit\n");
}

#[test]
#[should_panic(expected = "processes left behind")]
fn a_process_left_behind_fails_the_test() {
    let rig = rig();
    habit(&rig, "deaf");
    // No kill: the rig's own end is the check. Its patience is what makes this test slow.
}

#[test]
#[should_panic(expected = "watchdog")]
fn a_program_that_does_not_end_fails_the_test() {
    let rig = rig();
    rig.program("sleep").arg("60").within(Duration::from_millis(200)).finish();
}
