//! What a tracker knows, and how one look at the process table changes it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use super::lineage::Lineage;
use super::options::{Source, TrackOptions};
use super::recognise::{Recogniser, Standing};
use super::table::{Look, Table};
use crate::closure::{Reason, Related};
use crate::group::{Leader, LiveMembers};
use crate::identity::{Liveness, ProcId, liveness, proc_id};
use crate::kin::{Kin, retain_living};
use crate::snapshot::{Row, Snapshot};
use crate::sweep::{Listing, Stopping};
use crate::sys::{self, Drained, ProcEvents};

/// Rounds of reading identities and events until neither brings news of the other.
const SETTLE_ROUNDS_MAX: usize = 8;

/// Longest chain of ancestors that is followed to know who may adopt.
const ANCESTORS_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct State {
    options: Arc<TrackOptions>,
    leader: Option<ProcId>,
    kin: Kin,
    /// Who may adopt an orphan of the tree, beside process 1 and members: one of these may be a subreaper.
    ancestors: Vec<ProcId>,
    /// In order of discovery; zombies for as long as they hold their pid.
    members: Vec<Related>,
    table: Table,
    /// Young outsiders whose environment cannot be read: any of them may carry the marker.
    unreadable: HashSet<ProcId>,
    events: Option<ProcEvents>,
    lineage: Lineage,
    /// True while events have told of every fork since the leader's first.
    all_forks_told: bool,
    /// As of the last look.
    stopping: Stopping,
    supported: bool,
    last_look_failed: bool,
}

impl State {
    /// Subscribes to events where they can be had, then takes the first look: what happens in between is told twice.
    pub(crate) fn new(leader: Leader, options: TrackOptions) -> Self {
        let leader = leader.resolve();
        let events = match options.source {
            Source::Best => ProcEvents::open().ok(),
            Source::Sampler => None,
        };
        let mut state = Self {
            leader,
            kin: Kin::default(),
            ancestors: Vec::new(),
            members: leader.map(|id| Related { id, reason: Reason::Leader }).into_iter().collect(),
            table: Table::default(),
            unreadable: HashSet::new(),
            all_forks_told: events.is_some(),
            events,
            lineage: Lineage::default(),
            stopping: Stopping::default(),
            supported: true,
            last_look_failed: false,
            options: Arc::new(options),
        };
        state.first_look();
        state
    }

    fn first_look(&mut self) {
        if let Some(leader) = self.leader {
            self.lineage.insert(leader);
            self.kin.born_ticks = leader.start_ticks;
            self.ancestors = ancestors_of(leader.pid);
        }
        self.look(Look::Demanded);
        self.all_forks_told &=
            self.leader.is_some() && self.members.iter().all(|member| is_untried(member.id.pid));
    }

    /// False where the platform has no process table.
    pub(crate) fn is_supported(&self) -> bool {
        self.supported
    }

    pub(crate) fn has_events(&self) -> bool {
        self.events.is_some()
    }

    pub(crate) fn watch(&self) -> Option<sys::Watch> {
        self.events.as_ref().map(ProcEvents::watch)
    }

    pub(crate) fn leader(&self) -> Option<ProcId> {
        self.leader
    }

    /// No more events: from now on a job can be missed.
    pub(crate) fn unsubscribe(&mut self) {
        self.events = None;
        self.all_forks_told = false;
    }

    /// One sample.
    pub(crate) fn look(&mut self, look: Look) {
        self.drain();
        let outcome = self.try_look(look);
        self.last_look_failed = outcome.is_err();
        self.supported &= !matches!(outcome, Err(e) if e.kind() == io::ErrorKind::Unsupported);
    }

    fn try_look(&mut self, look: Look) -> io::Result<()> {
        let mut fresh = Vec::new();
        let pids: HashSet<i32> = self.members.iter().map(|member| member.id.pid).collect();
        let is_member = |pid| pids.contains(&pid);
        let snapshot = self.table.read(look, self.kin.born_ticks, &is_member, &mut fresh)?;
        if let Some(leader) = self.leader
            && snapshot.find(leader).is_some()
        {
            // A group that was shared once is never trusted, also when the leader has its own by now.
            let shared_before = self.kin.shared_group;
            self.kin = Kin::new(leader, &snapshot);
            self.kin.shared_group = self.kin.shared_group.or(shared_before);
        }
        let options = Arc::clone(&self.options);
        let recogniser = Recogniser::new(options.marker.as_ref(), options.tag);
        let mut members = self.related(&snapshot, &recogniser, &self.members);
        let recognised = self.recognise(&snapshot, &recogniser, &members, &fresh);
        if !recognised.is_empty() {
            members.extend(recognised);
            members = self.related(&snapshot, &recogniser, &members);
        }
        // Hidden is not dead: what the table does not show stays until the kernel says that it has gone.
        let hidden = self
            .members
            .iter()
            .filter(|member| snapshot.get(member.id.pid).is_none() && liveness(member.id) == Liveness::Alive);
        members.extend(hidden);
        let mut living = members.clone();
        retain_living(&snapshot, &mut living);
        self.stopping = Kin::stopping(&snapshot, &living);
        self.members = members;
        self.hand_over_to_events(&snapshot);
        Ok(())
    }

    /// Events follow the members of the last look, and no longer who has left. Who has died is left to its exit event:
    /// RACE(`dead_parent`): a fork of its own may wait behind events that were drained before the look.
    fn hand_over_to_events(&mut self, snapshot: &Snapshot) {
        if !self.has_events() {
            return;
        }
        let members: HashSet<ProcId> = self.members.iter().map(|member| member.id).collect();
        let stays = |id| members.contains(&id) || snapshot.find(id).is_none();
        self.lineage.kept.retain(|_, kept| kept.id.is_none_or(stays));
        for id in members {
            self.lineage.insert(id);
        }
    }

    fn related(&self, snapshot: &Snapshot, recogniser: &Recogniser<'_>, seeds: &[Related]) -> Vec<Related> {
        let has_left =
            |row: &Row| Some(row.id()) != self.leader && recogniser.standing(row.pid) == Standing::Left;
        self.kin.members(snapshot, seeds, &has_left)
    }

    /// Members that are related to nobody any more but carry the marker or the tag.
    fn recognise(
        &mut self,
        snapshot: &Snapshot,
        recogniser: &Recogniser<'_>,
        members: &[Related],
        fresh: &[i32],
    ) -> Vec<Related> {
        self.unreadable.retain(|&id| snapshot.find(id).is_some());
        if !recogniser.looks_for_anything() {
            return Vec::new();
        }
        let known: HashSet<i32> = members.iter().map(|member| member.id.pid).collect();
        let mut found = Vec::new();
        let candidates = fresh.iter().filter_map(|&pid| snapshot.get(pid)).filter(|row| {
            row.pid > 1
                && row.start_ticks >= self.kin.born_ticks
                && !known.contains(&row.pid)
                && !row.is_dead()
        });
        for row in candidates.filter(|row| !is_kernel_thread(row)) {
            let standing = recogniser.standing(row.pid);
            // What has ended since its row was read is not unreadable, it is dead.
            if standing == Standing::Unreadable && liveness(row.id()) == Liveness::Alive {
                self.unreadable.insert(row.id());
            } else {
                self.unreadable.remove(&row.id());
            }
            let reason = match standing {
                Standing::Tagged => Reason::Tag,
                Standing::Marked if self.may_adopt(snapshot, row.ppid, &known) => Reason::Marker,
                _ => continue,
            };
            found.push(Related { id: row.id(), reason });
        }
        found
    }

    /// Whether an orphan of the tree can have this parent. A living outsider that is none of these has forked the
    /// process itself, and the process has copied the marker.
    fn may_adopt(&self, snapshot: &Snapshot, ppid: i32, members: &HashSet<i32>) -> bool {
        let is_ancestor = || self.ancestors.iter().any(|&id| id.pid == ppid && snapshot.find(id).is_some());
        ppid <= 1 || members.contains(&ppid) || is_ancestor()
    }

    /// Takes the events that wait. After a loss the table tells what it can.
    pub(crate) fn drain(&mut self) {
        for _ in 0..SETTLE_ROUNDS_MAX {
            let Some(events) = self.events.as_mut() else { return };
            let lineage = &mut self.lineage;
            match events.drain(&mut |event| lineage.apply(event, &mut proc_id)) {
                Ok(Drained::All) => {}
                Ok(Drained::Lost) => self.all_forks_told = false,
                Err(_) => return self.unsubscribe(),
            }
            if !self.lineage.is_unsettled() {
                break;
            }
            // RACE(identity_recycled): a member ends and its pid is another's before its identity is read; closed by
            // draining once more, because the fork that took the pid is reported before its child can run.
            self.lineage.settle(&mut proc_id, &mut |id| liveness(id) == Liveness::Alive);
        }
        self.lineage.settle(&mut proc_id, &mut |id| liveness(id) == Liveness::Alive);
        self.take_over_from_events();
    }

    fn take_over_from_events(&mut self) {
        let known: HashSet<ProcId> = self.members.iter().map(|member| member.id).collect();
        let told = self.lineage.kept.values().filter_map(|kept| {
            let id = kept.id.filter(|id| !known.contains(id))?;
            Some(Related { id, reason: Reason::Parent(kept.parent?) })
        });
        let kept = |id: ProcId| self.lineage.kept.get(&id.pid).is_some_and(|kept| kept.id == Some(id));
        self.members.retain(|member| kept(member.id));
        let first = self.members.len();
        self.members.extend(told);
        if let Some(new) = self.members.get_mut(first..) {
            new.sort_unstable_by_key(|member| member.id.start_ticks);
        }
    }

    /// Looks, and lists for a signal.
    pub(crate) fn list(&mut self) -> Listing {
        self.look(Look::Demanded);
        let ids = self.living().members.iter().map(|member| member.id).collect();
        Listing { ids, stopping: self.stopping }
    }

    /// The members that live now, as far as they are known; those that have left are dropped.
    pub(crate) fn living(&mut self) -> LiveMembers {
        self.drain();
        let recogniser = Recogniser::new(self.options.marker.as_ref(), None);
        let leader = self.leader;
        let mut living = self.members.clone();
        living.retain(|member| {
            liveness(member.id) == Liveness::Alive
                && (Some(member.id) == leader || recogniser.standing(member.id.pid) != Standing::Left)
        });
        let complete =
            self.supported && !self.last_look_failed && (self.all_forks_told || self.marker_finds_all());
        LiveMembers { members: living, supported: self.supported, complete }
    }

    fn marker_finds_all(&self) -> bool {
        self.options.marker.is_some() && self.unreadable.is_empty()
    }
}

/// True if the process has never reaped a child: then none that it had can have left orphans behind. LIMIT: one that
/// ignores SIGCHLD reaps without a trace.
fn is_untried(pid: i32) -> bool {
    matches!(sys::read_stat(pid), Ok(Some(stat)) if stat.child_minor_faults == 0 && !Row::from(&stat).is_dead())
}

/// Kernel threads carry no environment; telling them apart saves an ordinary user from "unreadable".
fn is_kernel_thread(row: &Row) -> bool {
    row.ppid == 2 && row.pgrp == 0 && row.session == 0
}

fn ancestors_of(pid: i32) -> Vec<ProcId> {
    let mut found = Vec::new();
    let mut next = pid;
    while found.len() < ANCESTORS_MAX {
        let Ok(Some(stat)) = sys::read_stat(next) else { break };
        if next != pid {
            found.push(ProcId { pid: next, start_ticks: stat.start_ticks });
        }
        next = stat.ppid;
        if next <= 0 {
            break;
        }
    }
    found
}
