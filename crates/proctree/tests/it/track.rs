//! The third seed's tracker, by samples and by the kernel's events.

use proctree::{
    ActiveSource, LiveMembers, Liveness, Marker, ProcId, Reason, Signal, Source, TrackOptions, Tracker,
    liveness, proc_id, track_descendants,
};

use crate::support::{Gate, Shell, Stray, fork, fork_with_pid, hold, own_pid, skip, wait_gone};

const BOTH: [Source; 2] = [Source::Sampler, Source::Best];

/// No timed sample falls into a test: what is found was found on demand or by events.
fn on_demand(source: Source) -> TrackOptions {
    TrackOptions { interval: std::time::Duration::from_secs(3600), source, ..TrackOptions::default() }
}

fn marked(source: Source, value: &str) -> TrackOptions {
    let marker = Marker { name: "PT_TURN".to_owned(), value: value.as_bytes().to_vec() };
    TrackOptions { marker: Some(marker), ..on_demand(source) }
}

fn marked_shell(script: &str, value: &str) -> Shell {
    Shell::start_with(script, |command| {
        command.env("PT_TURN", value);
    })
}

fn reason(found: &LiveMembers, pid: i32) -> Option<Reason> {
    found.members.iter().find(|member| member.id.pid == pid).map(|member| member.reason)
}

fn id(pid: i32) -> ProcId {
    proc_id(pid).unwrap()
}

/// A job that detaches entirely; its pid is the next line.
const DETACHED: &str = "(setsid sh -c 'echo $$; exec sleep 60' &) ; read x;";

#[test]
fn the_first_sample_is_there_at_once() {
    for source in BOTH {
        let mut shell = Shell::start("sleep 60 & echo $!; wait");
        let child = shell.number();
        let tracker = track_descendants(shell.pid(), on_demand(source));
        let found = tracker.live_members();
        assert!(found.supported);
        assert_eq!(found.pids(), [shell.pid(), child]);
        assert_eq!(reason(&found, shell.pid()), Some(Reason::Leader));
        assert_eq!(reason(&found, child), Some(Reason::Parent(shell.pid())));
    }
}

#[test]
fn what_was_seen_is_remembered_when_it_detaches() {
    for source in BOTH {
        let mut shell = Shell::start("setsid sh -c 'echo $$; exec sleep 60' & read x; exit");
        let job = id(shell.number());
        let _stray = Stray(job);
        let leader = id(shell.pid());
        let tracker = track_descendants(leader, on_demand(source));
        shell.say("");
        shell.reap();
        tracker.sample_now();
        assert_eq!(tracker.live_members().pids(), [job.pid]);
        tracker.stop();
        tracker.stop();
        assert_eq!(tracker.source(), ActiveSource::OnDemand);
        tracker.sample_now();
        let found = tracker.live_members();
        assert_eq!(found.pids(), [job.pid]);
        assert!(found.supported && !found.complete);
        let report = tracker.signal(Signal::TERM);
        assert_eq!(report.delivered, [job.pid]);
        wait_gone(job);
        assert_eq!(tracker.live_members().pids(), [0; 0]);
    }
}

/// The interval is kept without anybody asking.
#[test]
fn samples_come_by_themselves() {
    let mut shell = Shell::start("read x; setsid sh -c 'echo $$; exec sleep 60' & wait");
    let options = TrackOptions { source: Source::Sampler, ..TrackOptions::default() };
    let tracker = track_descendants(shell.pid(), options);
    assert_eq!(tracker.source(), ActiveSource::Sampler);
    shell.say("");
    let job = shell.number();
    while reason(&tracker.live_members(), job).is_none() {
        std::thread::yield_now();
    }
    assert_eq!(tracker.signal(Signal::KILL).not_permitted, [0; 0]);
}

#[test]
fn without_marker_or_events_nothing_is_promised() {
    let mut shell = Shell::start(DETACHED);
    let job = id(shell.number());
    let _stray = Stray(job);
    let tracker = track_descendants(shell.pid(), on_demand(Source::Sampler));
    let found = tracker.live_members();
    assert!(!found.complete);
    assert_eq!(reason(&found, job.pid), None);
}

#[test]
fn the_marker_finds_what_detached_before() {
    for source in BOTH {
        let mut shell = marked_shell(DETACHED, "turn-1");
        let job = id(shell.number());
        let _stray = Stray(job);
        let tracker = track_descendants(shell.pid(), marked(source, "turn-1"));
        assert_eq!(reason(&tracker.live_members(), job.pid), Some(Reason::Marker));
        // Another test's zombie leader cannot be read while it lives; an ordinary user cannot read a new service.
        while rustix::process::geteuid().is_root() && !tracker.live_members().complete {
            tracker.sample_now();
        }
        let report = tracker.signal(Signal::KILL);
        assert!(report.delivered.contains(&job.pid), "{report:?}");
        wait_gone(job);
    }
}

#[test]
fn another_or_an_empty_value_has_left() {
    for source in BOTH {
        let mut shell = marked_shell(
            "PT_TURN=other sh -c 'echo $$; sleep 60 & echo $!; wait' &
             read x; PT_TURN= sleep 60 & echo $!
             env -u PT_TURN sleep 60 & echo $!
             sleep 60 & echo $!; wait",
            "turn-2",
        );
        let left = [shell.number(), shell.number()];
        shell.say("");
        let empty = shell.number();
        let (silent, stayed) = (shell.number(), shell.number());
        let tracker = track_descendants(shell.pid(), marked(source, "turn-2"));
        // Between fork and exec each carries the shell's value: look until they have executed.
        let found = loop {
            tracker.sample_now();
            let found = tracker.live_members();
            if reason(&found, empty).is_none() {
                break found;
            }
        };
        for pid in left {
            assert_eq!(reason(&found, pid), None, "{pid} has left");
        }
        assert_eq!(reason(&found, silent), Some(Reason::Parent(shell.pid())));
        assert_eq!(reason(&found, stayed), Some(Reason::Parent(shell.pid())));
        let ids = [left[0], left[1], empty].map(id);
        let _strays = ids.map(Stray);
        tracker.signal(Signal::KILL);
        assert!(ids.iter().all(|&id| liveness(id) == Liveness::Alive));
    }
}

/// A process outside that copies the marker, as `at` does, is not a member: its parent is a living outsider.
#[test]
fn a_stranger_that_copied_the_marker_lives() {
    for source in BOTH {
        let mut outsider =
            Shell::start("read x; PT_TURN=turn-3 setsid sh -c 'echo $$; exec sleep 60' & wait");
        let shell = marked_shell("read x", "turn-3");
        let tracker = track_descendants(shell.pid(), marked(source, "turn-3"));
        outsider.say("");
        let stranger = id(outsider.number());
        tracker.sample_now();
        assert_eq!(tracker.live_members().pids(), [shell.pid()]);
        assert_eq!(tracker.signal(Signal::KILL).delivered, [shell.pid()]);
        assert_eq!(liveness(stranger), Liveness::Alive);
    }
}

/// The third seed remembered no start times and once killed a stranger on a recycled pid.
#[test]
fn a_stranger_on_a_members_pid_lives() {
    for source in BOTH {
        let mut shell = Shell::start("exec 3<&0; sh -c 'echo $$; read x' <&3 & wait; echo reaped; sleep 60");
        let member = id(shell.number());
        let tracker = track_descendants(shell.pid(), on_demand(source));
        shell.say("");
        assert_eq!(shell.line(), "reaped");
        let stranger = loop {
            let body = || {
                rustix::process::setsid().unwrap();
                hold()
            };
            let Some(stranger) = fork_with_pid(member.pid, body) else {
                return skip("a_stranger_on_a_members_pid_lives", "CAP_CHECKPOINT_RESTORE");
            };
            if id(member.pid) != member {
                break stranger;
            }
        };
        assert!(!tracker.live_members().pids().contains(&stranger.pid));
        let report = tracker.signal(Signal::KILL);
        assert!(report.delivered.contains(&shell.pid()));
        assert!(!report.delivered.contains(&stranger.pid), "{report:?}");
        assert_eq!(liveness(id(stranger.pid)), Liveness::Alive);
    }
}

/// The table keeps rows of old strangers by inode: a member on such a pid must be seen as new.
#[test]
fn a_member_on_an_old_strangers_pid_is_found() {
    let (ready, go) = (Gate::new(), Gate::new());
    let mut stranger = fork(&[], || hold());
    let wanted = stranger.pid;
    let keep = [ready.fds(), go.fds()].concat();
    let leader = fork(&keep, || {
        go.wait();
        let member = fork_with_pid(wanted, || hold());
        ready.send(member.as_ref().map_or(0, |member| member.pid));
        hold()
    });
    let tracker = track_descendants(leader.pid, on_demand(Source::Sampler));
    stranger.kill();
    stranger.reap();
    go.open();
    if ready.receive() == 0 {
        return skip("a_member_on_an_old_strangers_pid_is_found", "CAP_CHECKPOINT_RESTORE");
    }
    tracker.sample_now();
    assert_eq!(tracker.live_members().pids(), [leader.pid, wanted]);
    tracker.signal(Signal::KILL);
}

/// Short-lived parents that no sampler could see, and survivors without any marker.
#[test]
fn events_miss_no_detached_job() {
    const JOBS: usize = 200;
    let script = format!(
        "read x; i=0; while [ $i -lt {JOBS} ]; do i=$((i+1)); (setsid sh -c 'echo $$; exec sleep 60' &); done; \
         read x; sleep 60"
    );
    let mut shell = Shell::start(&script);
    let tracker = track_descendants(shell.pid(), on_demand(Source::Best));
    if tracker.source() != ActiveSource::Events {
        return skip("events_miss_no_detached_job", "CAP_NET_ADMIN and the initial namespaces");
    }
    shell.say("");
    let jobs: Vec<_> = (0..JOBS).map(|_| id(shell.number())).collect();
    let found = tracker.live_members();
    let missing = jobs.iter().filter(|job| reason(&found, job.pid).is_none()).count();
    assert_eq!(missing, 0, "of {JOBS}");
    assert!(found.complete);
    let report = tracker.signal(Signal::KILL);
    assert_eq!(report.delivered.len(), JOBS + 1, "{report:?}");
    assert!(report.complete);
    jobs.into_iter().for_each(wait_gone);
}

/// The same jobs by samples: the marker finds every survivor, whoever was missed while it detached.
#[test]
fn the_marker_misses_no_detached_job() {
    const JOBS: usize = 100;
    let script = format!(
        "i=0; while [ $i -lt {JOBS} ]; do i=$((i+1)); (setsid sh -c 'echo $$; exec sleep 60' &); done; read x"
    );
    let mut shell = marked_shell(&script, "turn-4");
    let tracker = track_descendants(shell.pid(), marked(Source::Sampler, "turn-4"));
    let jobs: Vec<_> = (0..JOBS).map(|_| id(shell.number())).collect();
    // A job that is just executing `sleep` has no environment: the next sample sees it.
    let found_all = (0..100).any(|_| {
        tracker.sample_now();
        let found = tracker.live_members();
        jobs.iter().all(|job| reason(&found, job.pid).is_some())
    });
    tracker.signal(Signal::KILL);
    assert!(found_all);
    jobs.into_iter().for_each(wait_gone);
}

/// What the leader started before the tracker came may have detached already: then events promise nothing either.
#[test]
fn a_leader_that_has_reaped_is_not_promised_to_be_complete() {
    let mut shell = Shell::start("/bin/true; echo; read x");
    shell.line();
    let tracker = track_descendants(shell.pid(), on_demand(Source::Best));
    assert!(!tracker.live_members().complete);
}

#[test]
fn a_leader_that_has_gone_has_no_members() {
    for source in BOTH {
        let mut shell = Shell::start("exit");
        let leader = id(shell.pid());
        shell.reap();
        for tracker in
            [track_descendants(leader, on_demand(source)), track_descendants(leader.pid, on_demand(source))]
        {
            assert!(tracker.live_members().supported);
            assert_eq!(tracker.live_members().pids(), [0; 0]);
            assert_eq!(tracker.signal(Signal::KILL).delivered, [0; 0]);
        }
    }
}

/// A tree that grows while it is killed.
#[test]
fn a_growing_tree_is_killed_to_the_last() {
    for source in BOTH {
        let mut shell = Shell::start(
            // Bounded and short-lived: a tracker that fails must leave a machine that works.
            "i=0; while [ $i -lt 40 ]; do i=$((i+1)); setsid sh -c 'sleep 9 & sleep 9 & wait' & echo; done; wait",
        );
        shell.line();
        let tracker = track_descendants(shell.pid(), on_demand(source));
        tracker.signal(Signal::KILL);
        shell.reap();
        // Killed is not dead at once.
        tracker.live_members().members.iter().for_each(|member| wait_gone(member.id));
        tracker.sample_now();
        assert_eq!(tracker.live_members().pids(), [0; 0]);
    }
}

#[test]
fn a_tracker_can_move_to_another_thread() {
    fn assert_send_sync<T: Send + Sync>(_: &T) {}
    let tracker: Tracker = track_descendants(own_pid(), on_demand(Source::Sampler));
    assert_send_sync(&tracker);
    assert!(tracker.live_members().pids().contains(&own_pid()));
}
