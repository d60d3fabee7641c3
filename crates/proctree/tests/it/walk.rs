//! The tree below a process.

use proctree::{
    Member, Walked, all_pids, children_of, children_of_self_single_threaded, descendants, descendants_settled,
};

use crate::support::{Gate, Shell, fork, hold, own_pid};

fn children(pid: i32) -> Vec<i32> {
    let mut found = vec![-1];
    children_of(pid, &mut found).unwrap();
    found
}

#[test]
fn children_of_every_thread_are_children() {
    let ready = Gate::new();
    let child = fork(&ready.fds(), || {
        let by_main = fork(&[], || hold());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let by_thread = fork(&[], || hold());
                ready.send(by_main.pid);
                ready.send(by_thread.pid);
                hold()
            });
        });
        0
    });
    let mut expected = [ready.receive(), ready.receive()];
    let mut found = children(child.pid);
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    for pid in expected {
        proctree::signal_child_of(pid, &[child.pid], proctree::Signal::KILL).unwrap();
    }
}

#[test]
fn a_single_threaded_process_reads_its_own_in_one_file() {
    let ready = Gate::new();
    let child = fork(&ready.fds(), || {
        let mut found = Vec::new();
        children_of_self_single_threaded(&mut found).unwrap();
        assert_eq!(found, [0; 0]);
        let expected: Vec<_> = (0..3).map(|_| fork(&[], || hold())).collect();
        children_of_self_single_threaded(&mut found).unwrap();
        assert_eq!(found, expected.iter().map(|child| child.pid).collect::<Vec<_>>());
        0
    });
    child.wait_dead();
    let mut child = child;
    assert_eq!(child.reap(), 0);
}

#[test]
fn more_children_than_one_read_returns() {
    const COUNT: usize = 1500;
    let ready = Gate::new();
    let child = fork(&ready.fds(), || {
        let children: Vec<_> = (0..COUNT).map(|_| fork(&[], || 0)).collect();
        for child in &children {
            child.wait_dead();
        }
        ready.open();
        hold()
    });
    ready.wait();
    let found = children(child.pid);
    assert_eq!(found.len(), COUNT);
    let mut members = Vec::new();
    descendants(child.pid, &mut members).unwrap();
    assert_eq!(members.iter().map(|member| member.pid).collect::<Vec<_>>(), found);
}

#[test]
fn nobody_has_no_children() {
    assert_eq!(children(i32::MAX), [0; 0]);
    assert_eq!(children(0), [0; 0]);
    let mut child = fork(&[], || 0);
    child.wait_dead();
    assert_eq!(children(child.pid), [0; 0]);
    child.reap();
    assert_eq!(children(child.pid), [0; 0]);
}

#[test]
fn descendants_come_with_parent_and_depth() {
    let mut shell =
        Shell::start("(sh -c 'echo $$; sleep 1000 & echo $!; wait' & echo $!; wait) & echo $!; wait");
    let mut lines = Vec::from([shell.number(), shell.number(), shell.number(), shell.number()]);
    let mut members = vec![Member { pid: 1, parent: 1, depth: 1 }];
    descendants(shell.pid(), &mut members).unwrap();
    let mut parent = shell.pid();
    for (member, depth) in members.iter().zip(1..) {
        assert_eq!(member.parent, parent);
        assert_eq!(member.depth, depth);
        parent = member.pid;
    }
    let mut settled = Vec::new();
    assert_eq!(descendants_settled(shell.pid(), &mut settled).unwrap(), Walked::Settled);
    assert_eq!(settled, members);
    // `$!` of the inner shell and its own `$$` are the same process.
    lines.sort_unstable();
    lines.dedup();
    let mut pids: Vec<_> = members.iter().map(|member| member.pid).collect();
    pids.sort_unstable();
    assert_eq!(pids, lines);
}

#[test]
fn all_pids_holds_us_and_no_thread() {
    let mut pids = vec![-1];
    all_pids(&mut pids).unwrap();
    assert!(pids.contains(&own_pid()));
    assert!(pids.iter().all(|&pid| pid > 0));
    let thread = rustix::thread::gettid().as_raw_pid();
    assert!(thread == own_pid() || !pids.contains(&thread));
}
