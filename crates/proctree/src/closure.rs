//! Which processes belong to a leader, judged by parents and groups in one snapshot, and why each does.
//!
//! Pure: the snapshot is given, so the judgement is tested on tables.

use std::collections::HashSet;

use crate::identity::ProcId;
use crate::snapshot::{Row, Snapshot};

/// Why a process is a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is the process that was asked about.
    Leader,
    /// Its parent, or who forked it, is this member.
    Parent(i32),
    /// It is in the group of this id, which is a member's pid or holds a member.
    Group(i32),
    /// Its environment carries the marker, it is younger than the leader and no outsider's child.
    Marker,
    /// It carries the tag of the task, a hard `RLIMIT_RTTIME` that only descendants inherit.
    Tag,
}

/// A member and the first reason that was found for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Related {
    /// The process.
    pub id: ProcId,
    /// Why it is a member.
    pub reason: Reason,
}

/// What the caller knows beside the snapshot.
pub struct Rules<'a> {
    /// Groups whose id is no living member's pid, but which are known to be the leader's.
    pub trusted_groups: &'a [i32],
    /// Groups that say nothing about membership, beside 0 and 1: the one that the leader shares with outsiders.
    pub excluded_groups: &'a [i32],
    /// True for a process that is known not to be a member any more. Neither it nor what it starts is one.
    pub has_left: &'a dyn Fn(&Row) -> bool,
    /// False if the pid of a member is another process's by now: its row is older than those of its alleged children.
    pub still_holds_pid: &'a dyn Fn(ProcId) -> bool,
}

impl Default for Rules<'_> {
    fn default() -> Self {
        Self { trusted_groups: &[], excluded_groups: &[], has_left: &|_| false, still_holds_pid: &|_| true }
    }
}

impl std::fmt::Debug for Rules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules")
            .field("trusted_groups", &self.trusted_groups)
            .field("excluded_groups", &self.excluded_groups)
            .finish_non_exhaustive()
    }
}

/// From the seeds on, adds each process whose parent or group is a member's pid, to a fixed point; parents come first.
///
/// A seed counts only if the snapshot has that very process. A process that is older than the member it would be
/// related to is not: nobody is older than its parent or than the founder of its group, except by adoption, which
/// goes to an ancestor. Zombies are members until they are reaped: their pids are theirs still.
pub fn closure(snapshot: &Snapshot, seeds: &[Related], rules: &Rules<'_>) -> Vec<Related> {
    let mut found = Found { members: Vec::new(), pids: HashSet::new(), rules };
    for seed in seeds {
        if let Some(row) = snapshot.find(seed.id) {
            found.add(row, seed.reason, 0);
        }
    }
    let next = found.follow(snapshot, 0);
    for &group in rules.trusted_groups {
        found.add_group(snapshot, group, 0);
    }
    found.follow(snapshot, next);
    found.members
}

struct Found<'a, 'r> {
    members: Vec<Related>,
    pids: HashSet<i32>,
    rules: &'a Rules<'r>,
}

impl Found<'_, '_> {
    /// Adds what is related to each member from the `next`th on; where to go on later.
    fn follow(&mut self, snapshot: &Snapshot, mut next: usize) -> usize {
        while let Some(&Related { id, .. }) = self.members.get(next) {
            next += 1;
            let before = self.members.len();
            for row in snapshot.children(id.pid) {
                self.add(row, Reason::Parent(id.pid), id.start_ticks);
            }
            self.add_group(snapshot, id.pid, id.start_ticks);
            // RACE(snapshot_recycled): the member's row was read, the member died, its pid went to a stranger, and
            // the stranger's children were read; closed by looking at the pid once more, now that they are known.
            if self.members.len() > before && !(self.rules.still_holds_pid)(id) {
                self.forget_from(before);
            }
        }
        next
    }

    fn add(&mut self, row: &Row, reason: Reason, not_before: u64) {
        let is_leader = reason == Reason::Leader;
        if row.start_ticks < not_before || row.pid <= 1 || (!is_leader && (self.rules.has_left)(row)) {
            return;
        }
        if self.pids.insert(row.pid) {
            self.members.push(Related { id: row.id(), reason });
        }
    }

    fn add_group(&mut self, snapshot: &Snapshot, group: i32, not_before: u64) {
        if group <= 1 || self.rules.excluded_groups.contains(&group) {
            return;
        }
        for row in snapshot.group(group) {
            self.add(row, Reason::Group(group), not_before);
        }
    }

    fn forget_from(&mut self, first: usize) {
        for related in self.members.drain(first..) {
            self.pids.remove(&related.id.pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pid, parent, group; the pid is the start time too unless given.
    fn row(pid: i32, ppid: i32, pgrp: i32) -> Row {
        let start_ticks = u64::try_from(pid).unwrap();
        Row { pid, ppid, pgrp, session: pgrp, start_ticks, state: b'S', num_threads: 1 }
    }

    fn leader(pid: i32) -> Related {
        Related { id: row(pid, 0, 0).id(), reason: Reason::Leader }
    }

    #[track_caller]
    fn check(rows: Vec<Row>, rules: &Rules<'_>, expected: &[(i32, Reason)]) {
        let found = closure(&Snapshot::from_rows(rows), &[leader(100)], rules);
        let found: Vec<_> = found.iter().map(|related| (related.id.pid, related.reason)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn parents_and_groups_to_a_fixed_point() {
        let rows = vec![
            row(1, 0, 1),
            row(50, 1, 50),
            row(100, 50, 100),
            row(101, 100, 100),
            row(102, 101, 102), // own group
            row(103, 1, 102),   // orphan in the group of a member
            row(104, 103, 104), // child of that orphan
            row(105, 1, 105),   // orphan in a group of its own: nothing shows where it came from
        ];
        let expected = [
            (100, Reason::Leader),
            (101, Reason::Parent(100)),
            (102, Reason::Parent(101)),
            (103, Reason::Group(102)),
            (104, Reason::Parent(103)),
        ];
        check(rows, &Rules::default(), &expected);
    }

    #[test]
    fn a_group_shared_with_outsiders_is_not_followed() {
        let rows = vec![row(90, 1, 100), row(100, 50, 90), row(110, 1, 90)];
        check(rows, &Rules::default(), &[(100, Reason::Leader)]);
        let rows = vec![row(100, 50, 101), row(101, 100, 101), row(102, 1, 101)];
        let rules = Rules { excluded_groups: &[101], ..Rules::default() };
        check(rows, &rules, &[(100, Reason::Leader), (101, Reason::Parent(100))]);
    }

    #[test]
    fn nobody_is_older_than_its_parent() {
        let mut stranger = row(101, 100, 101);
        stranger.start_ticks = 99;
        check(vec![row(100, 1, 100), stranger], &Rules::default(), &[(100, Reason::Leader)]);
    }

    #[test]
    fn a_seed_on_a_recycled_pid_is_nobody() {
        let mut stranger = row(100, 1, 100);
        stranger.start_ticks = 500;
        check(vec![stranger, row(501, 100, 100)], &Rules::default(), &[]);
    }

    #[test]
    fn children_of_a_pid_that_changed_hands_during_the_scan_are_strangers() {
        let rows = vec![row(100, 1, 100), row(101, 100, 100), row(102, 101, 100)];
        let rules = Rules { still_holds_pid: &|id| id.pid != 100, ..Rules::default() };
        check(rows, &rules, &[(100, Reason::Leader)]);
    }

    #[test]
    fn what_has_left_takes_its_children_along() {
        let rows = vec![row(100, 1, 100), row(101, 100, 101), row(102, 101, 101), row(103, 100, 100)];
        let rules = Rules { has_left: &|row| row.pid == 101, ..Rules::default() };
        check(rows, &rules, &[(100, Reason::Leader), (103, Reason::Parent(100))]);
        let rules = Rules { has_left: &|row| row.pid == 100, ..Rules::default() };
        let rows = vec![row(100, 1, 100)];
        check(rows, &rules, &[(100, Reason::Leader)]);
    }

    #[test]
    fn groups_0_and_1_and_process_1_are_never_members() {
        let rows = vec![row(1, 100, 1), row(100, 1, 0), row(101, 1, 0), row(102, 1, 1)];
        let rules = Rules { trusted_groups: &[0, 1, -1], ..Rules::default() };
        check(rows, &rules, &[(100, Reason::Leader)]);
    }

    #[test]
    fn a_trusted_group_is_followed_without_its_founder() {
        let rows = vec![row(120, 1, 110), row(121, 120, 121)];
        let rules = Rules { trusted_groups: &[110], ..Rules::default() };
        check(rows, &rules, &[(120, Reason::Group(110)), (121, Reason::Parent(120))]);
    }

    #[test]
    fn a_ring_of_parents_ends() {
        let mut first = row(101, 102, 100);
        first.start_ticks = 100;
        let mut second = row(102, 101, 100);
        second.start_ticks = 100;
        let rows = vec![row(100, 101, 100), first, second];
        check(
            rows,
            &Rules::default(),
            &[(100, Reason::Leader), (101, Reason::Group(100)), (102, Reason::Group(100))],
        );
    }
}
