//! The members of a leader by one look at the process table: nothing is remembered between calls.

use crate::closure::{Reason, Related};
use crate::identity::{ProcId, proc_id};
use crate::kin::{Kin, retain_living};
use crate::snapshot::Snapshot;
use crate::sweep::{Listing, SignalReport, Stopping, signal_all};
use crate::sys::Signal;

/// Who leads: a pid as it is held now, or a process that was known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leader {
    /// Whoever holds the pid when the call is made.
    Pid(i32),
    /// This process; another that holds its pid is not meant.
    Id(ProcId),
}

impl From<i32> for Leader {
    fn from(pid: i32) -> Self {
        Self::Pid(pid)
    }
}

impl From<ProcId> for Leader {
    fn from(id: ProcId) -> Self {
        Self::Id(id)
    }
}

impl Leader {
    pub(crate) fn pid(self) -> i32 {
        match self {
            Self::Pid(pid) => pid,
            Self::Id(id) => id.pid,
        }
    }

    /// The identity to look for; `None` if nobody holds the pid.
    pub(crate) fn resolve(self) -> Option<ProcId> {
        match self {
            Self::Pid(pid) => proc_id(pid),
            Self::Id(id) => Some(id),
        }
    }
}

/// The living members of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveMembers {
    /// Members, parents before their children where both were seen in one look; zombies are not among them.
    pub members: Vec<Related>,
    /// False where the platform cannot list processes: then nothing is known, not that nobody is there.
    pub supported: bool,
    /// True if no job of the leader's can have been missed. One look cannot know what detached before it.
    pub complete: bool,
}

impl LiveMembers {
    /// The pids alone, in order of the members.
    pub fn pids(&self) -> Vec<i32> {
        self.members.iter().map(|member| member.id.pid).collect()
    }
}

/// The leader, the group of its pid, their descendants and the groups that those founded: living members only.
///
/// A leader that has gone leaves its group. Never fails: what cannot be known is in `supported` and `complete`
/// (always false here: what detached before the call has left no trace; see [`crate::track_descendants`]).
///
/// # Platform
/// Linux. Elsewhere `supported` is false.
pub fn list_group_members(leader: impl Into<Leader>) -> LiveMembers {
    match look(leader.into()) {
        Some(look) => LiveMembers { members: look.living, supported: true, complete: false },
        None => LiveMembers::default(),
    }
}

/// Signals each member that [`list_group_members`] would list, never the calling process and never process 1.
///
/// Each is reached by identity, none as part of a group, so that a stranger in a recycled group cannot be hit.
/// SIGKILL stops first and repeats until a look brings nobody new.
///
/// If the leader has gone, its group is signalled only when the leader was named by [`Leader::Id`], nobody holds its
/// pid and all of the group are younger than it was; otherwise its members are in `skipped`. LIMIT: that cannot tell
/// a group which another process founded on the same pid *and died* meanwhile; a tracker can, it remembers members.
///
/// # Platform
/// Linux. Elsewhere `supported` is false.
pub fn signal_group(leader: impl Into<Leader>, signal: Signal) -> SignalReport {
    signal_group_except(leader, signal, &|_| false)
}

/// The same, but for those members for which `spare` says true: they are in [`SignalReport::spared`].
pub fn signal_group_except(
    leader: impl Into<Leader>,
    signal: Signal,
    spare: &dyn Fn(ProcId) -> bool,
) -> SignalReport {
    let Some(first) = look(leader.into()) else { return SignalReport::default() };
    let Trust::Trusted(kin) = first.trust else {
        let skipped = first.living.iter().map(|member| member.id.pid).collect();
        return SignalReport { supported: true, skipped, ..SignalReport::default() };
    };
    // Members stay members when their parents have been killed under them; zombies still hold the id of their group.
    let (mut known, mut living, mut stopping) = (first.members, first.living, first.stopping);
    let mut first_time = true;
    let mut report = signal_all(signal, spare, &mut || {
        if !std::mem::take(&mut first_time)
            && let Ok(snapshot) = Snapshot::take()
        {
            known = kin.members(&snapshot, &known, &|_| false);
            living.clone_from(&known);
            retain_living(&snapshot, &mut living);
            stopping = Kin::stopping(&snapshot, &living);
        }
        Listing { ids: living.iter().map(|member| member.id).collect(), stopping }
    });
    report.complete = false;
    report
}

struct Look {
    /// With zombies.
    members: Vec<Related>,
    living: Vec<Related>,
    stopping: Stopping,
    trust: Trust,
}

enum Trust {
    Trusted(Kin),
    /// In the group of a leader that has gone, and perhaps another's.
    Untrusted,
}

/// `None` where there is no process table.
fn look(leader: Leader) -> Option<Look> {
    // The identity first: a row of the pid that is read later and differs is a stranger's.
    let known = leader.resolve();
    let snapshot = Snapshot::take().ok()?;
    let (members, trust) = match known {
        Some(id) if snapshot.find(id).is_some() => {
            let kin = Kin::new(id, &snapshot);
            let members = kin.members(&snapshot, &[Related { id, reason: Reason::Leader }], &|_| false);
            (members, Trust::Trusted(kin))
        }
        // A stranger on the pid: whatever is in its group is the stranger's.
        _ if snapshot.get(leader.pid()).is_some() => (Vec::new(), Trust::Untrusted),
        _ => orphaned_group(&snapshot, leader.pid(), known),
    };
    let mut living = members.clone();
    retain_living(&snapshot, &mut living);
    let stopping = Kin::stopping(&snapshot, &living);
    Some(Look { members, living, stopping, trust })
}

/// What is left in the group of a leader that has gone.
fn orphaned_group(snapshot: &Snapshot, group: i32, leader: Option<ProcId>) -> (Vec<Related>, Trust) {
    let kin = Kin { born_ticks: leader.map_or(0, |id| id.start_ticks), shared_group: None };
    let seeds: Vec<_> =
        snapshot.group(group).map(|row| Related { id: row.id(), reason: Reason::Group(group) }).collect();
    let members = if group > 1 { kin.members(snapshot, &seeds, &|_| false) } else { Vec::new() };
    let trusted = leader.is_some() && kin.trusts(snapshot, group);
    (members, if trusted { Trust::Trusted(kin) } else { Trust::Untrusted })
}
