//! The third seed's stateless calls: one look, members by parents and groups.

use proctree::{Leader, Liveness, Reason, Sent, Signal, list_group_members, liveness, proc_id, signal_group};

use crate::support::{Shell, Stray, fork_with_pid, hold, own_pid, skip, wait_gone};

/// A shell with a child, a child in its own group, and an orphan in the shell's group; their pids.
fn tree() -> (Shell, [i32; 3]) {
    let mut shell = Shell::start(
        "sleep 1000 & echo $!
         setsid sh -c 'echo $$; exec sleep 1000' &
         read line
         (sh -c 'echo $$; exec sleep 1000' &)
         while read line; do $line; done",
    );
    let first = [shell.number(), shell.number()];
    shell.say("go");
    let orphan = shell.number();
    (shell, [first[0], first[1], orphan])
}

#[test]
fn members_are_found_by_parent_and_by_group() {
    let (shell, [child, session, orphan]) = tree();
    let found = list_group_members(shell.pid());
    let _strays = [session, orphan].map(|pid| Stray(proc_id(pid).unwrap()));
    assert!(found.supported);
    assert!(!found.complete);
    let reason =
        |pid: i32| found.members.iter().find(|member| member.id.pid == pid).map(|member| member.reason);
    assert_eq!(reason(shell.pid()), Some(Reason::Leader));
    assert_eq!(reason(child), Some(Reason::Parent(shell.pid())));
    assert_eq!(reason(session), Some(Reason::Parent(shell.pid())));
    assert_eq!(reason(orphan), Some(Reason::Group(shell.pid())));
    assert_eq!(found.members.len(), 4);
    assert_eq!(reason(own_pid()), None);
}

#[test]
fn a_signal_reaches_every_member_and_nobody_else() {
    let (mut shell, pids) = tree();
    let (bystander, _) = tree();
    let ids = pids.map(|pid| proc_id(pid).unwrap());
    let report = signal_group(shell.pid(), Signal::KILL);
    let mut delivered = report.delivered.clone();
    delivered.sort_unstable();
    let mut expected = vec![shell.pid()];
    expected.extend(pids);
    expected.sort_unstable();
    assert_eq!(delivered, expected, "{report:?}");
    assert!(report.supported && report.not_permitted.is_empty() && report.skipped.is_empty());
    shell.reap();
    ids.into_iter().for_each(wait_gone);
    assert_eq!(liveness(proc_id(bystander.pid()).unwrap()), Liveness::Alive);
    signal_group(bystander.pid(), Signal::KILL);
}

#[test]
fn the_group_outlives_its_leader() {
    let (mut shell, [child, session, orphan]) = tree();
    let leader = proc_id(shell.pid()).unwrap();
    let _strays = [child, session, orphan].map(|pid| Stray(proc_id(pid).unwrap()));
    shell.say("exit");
    shell.reap();
    let mut listed = list_group_members(leader).pids();
    listed.sort_unstable();
    let mut expected = [child, orphan];
    expected.sort_unstable();
    assert_eq!(listed, expected);
    // By the bare pid nobody can say whose group that is: listed, not signalled.
    let report = signal_group(leader.pid, Signal::TERM);
    assert_eq!((report.delivered.len(), report.skipped.len()), (0, 2), "{report:?}");
    let report = signal_group(leader, Signal::TERM);
    assert_eq!((report.delivered.len(), report.skipped.len()), (2, 0), "{report:?}");
}

/// A stranger with the leader's pid, leading a group of that id, is neither listed nor hit.
#[test]
fn a_stranger_on_the_leaders_pid_lives() {
    let mut shell = Shell::start("read x");
    let old = proc_id(shell.pid()).unwrap();
    shell.reap();
    let stranger = loop {
        let body = || {
            rustix::process::setsid().unwrap();
            hold()
        };
        let Some(stranger) = fork_with_pid(old.pid, body) else {
            return skip("a_stranger_on_the_leaders_pid_lives", "CAP_CHECKPOINT_RESTORE");
        };
        if proc_id(old.pid).unwrap() != old {
            break stranger;
        }
    };
    assert_eq!(list_group_members(Leader::Id(old)).pids(), [0; 0]);
    let report = signal_group(old, Signal::KILL);
    assert_eq!(report.delivered, [0; 0]);
    assert_eq!(liveness(proc_id(stranger.pid).unwrap()), Liveness::Alive);
    assert_eq!(
        proctree::signal_checked(proc_id(stranger.pid).unwrap(), Signal::CONT).unwrap(),
        Sent::Delivered
    );
}

#[test]
fn nobody_has_no_members() {
    for pid in [0, -1, i32::MAX] {
        let found = list_group_members(pid);
        assert!(found.supported && found.members.is_empty(), "{pid}: {found:?}");
        let report = signal_group(pid, Signal::TERM);
        assert_eq!((report.delivered.len(), report.skipped.len()), (0, 0), "{pid}: {report:?}");
    }
}
