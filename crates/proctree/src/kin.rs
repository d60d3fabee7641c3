//! What is remembered of a leader between two looks at the process table, and the judgement that follows from it.

use std::collections::HashSet;

use crate::closure::{Related, Rules, closure};
use crate::identity::ProcId;
use crate::snapshot::{Row, Snapshot};
use crate::sweep::Stopping;
use crate::sys;

/// The unchanging part of what is known about a tree.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kin {
    /// Start of the leader: no member is older.
    pub(crate) born_ticks: u64,
    /// The leader's group where the leader does not lead it: outsiders are in it, so it says nothing.
    pub(crate) shared_group: Option<i32>,
}

impl Kin {
    /// What the first look shows of the leader.
    pub(crate) fn new(leader: ProcId, snapshot: &Snapshot) -> Self {
        let group = snapshot.find(leader).map(|row| row.pgrp);
        let shared_group = group.filter(|&group| group != leader.pid);
        Self { born_ticks: leader.start_ticks, shared_group }
    }

    /// The closure of the seeds by the rules that hold for every tree.
    pub(crate) fn members(
        &self,
        snapshot: &Snapshot,
        seeds: &[Related],
        has_left: &dyn Fn(&Row) -> bool,
    ) -> Vec<Related> {
        let trusted = self.trusted_groups(snapshot, seeds);
        let shared = self.shared_group;
        let rules = Rules {
            trusted_groups: &trusted,
            excluded_groups: shared.as_slice(),
            has_left,
            still_holds_pid: &still_holds_pid,
        };
        let mut members = closure(snapshot, seeds, &rules);
        members.retain(|member| member.id.start_ticks >= self.born_ticks);
        members
    }

    /// Groups that a living member is in. A member may have joined a group that outsiders founded, so a group with
    /// anybody older than the leader in it is not trusted; nor is one whose founder's pid is an outsider's.
    fn trusted_groups(&self, snapshot: &Snapshot, seeds: &[Related]) -> Vec<i32> {
        let rows = seeds.iter().filter_map(|seed| snapshot.find(seed.id));
        let mut groups: Vec<i32> = rows.filter(|row| !row.is_dead()).map(|row| row.pgrp).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.retain(|&group| self.trusts(snapshot, group));
        groups
    }

    /// Whether the groups of the living members hold nobody else.
    pub(crate) fn stopping(snapshot: &Snapshot, living: &[Related]) -> Stopping {
        let members: HashSet<ProcId> = living.iter().map(|member| member.id).collect();
        let groups: HashSet<i32> =
            living.iter().filter_map(|member| snapshot.find(member.id)).map(|row| row.pgrp).collect();
        let mut others = groups.iter().flat_map(|&group| snapshot.group(group)).filter(|row| !row.is_dead());
        if others.all(|row| members.contains(&row.id())) { Stopping::Harmless } else { Stopping::HurtsOthers }
    }

    pub(crate) fn trusts(&self, snapshot: &Snapshot, group: i32) -> bool {
        let founder_is_young = snapshot.get(group).is_none_or(|row| row.start_ticks >= self.born_ticks);
        group > 1
            && Some(group) != self.shared_group
            && founder_is_young
            && snapshot.group(group).all(|row| row.start_ticks >= self.born_ticks)
    }
}

/// False only if the pid is another's for sure: a member that has died meanwhile still had its children.
fn still_holds_pid(id: ProcId) -> bool {
    !matches!(sys::read_stat(id.pid), Ok(Some(stat)) if stat.start_ticks != id.start_ticks)
}

/// Drops the dead.
pub(crate) fn retain_living(snapshot: &Snapshot, members: &mut Vec<Related>) {
    members.retain(|member| snapshot.find(member.id).is_some_and(|row| !row.is_dead()));
}
