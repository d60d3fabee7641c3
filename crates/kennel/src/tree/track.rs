//! Following a tree that somebody else started, with answers that a program in any language can read.

pub use proctree::Marker;
use proctree::{ActiveSource, Leader, TrackOptions, Tracker, track_descendants};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judge::Judge;
use super::list::Why;
use super::signal::{Spared, TreeSignal, TreeSignalReport};

/// A member and why it is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberId {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// Why it is a member.
    pub reason: Why,
    /// The parent or group that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<i32>,
}

/// The living members that are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FollowedMembers {
    /// Their process ids.
    pub pids: Vec<i32>,
    /// The same, each with its start time and the reason.
    pub members: Vec<MemberId>,
    /// False where the system cannot list processes: then nothing is known, not that nobody is there.
    pub supported: bool,
    /// True if no job of the leader's can have been missed.
    pub complete: bool,
    /// Where news comes from: `events`, `sampler` or, once stopped, `on_demand`.
    pub source: String,
}

/// A tree that is followed from now on; the first sample has been taken. Never fails: see [`FollowedMembers`].
pub fn follow(leader: impl Into<Leader>, marker: Option<Marker>) -> Followed {
    Followed { tracker: track_descendants(leader, TrackOptions { marker, ..TrackOptions::default() }) }
}

/// A tree that is followed; dropping it ends that and touches no process.
#[derive(Debug)]
pub struct Followed {
    tracker: Tracker,
}

impl Followed {
    /// Who is known and lives now. Takes no sample.
    pub fn members(&self) -> FollowedMembers {
        let found = self.tracker.live_members();
        let source = match self.tracker.source() {
            ActiveSource::Events => "events",
            ActiveSource::Sampler => "sampler",
            ActiveSource::OnDemand => "on_demand",
        };
        let members = found.members.iter().map(|member| {
            let (reason, of) = Why::of(member.reason);
            MemberId { pid: member.id.pid, start: member.id.start_ticks, reason, of }
        });
        FollowedMembers {
            pids: found.pids(),
            members: members.collect(),
            supported: found.supported,
            complete: found.complete,
            source: source.to_owned(),
        }
    }

    /// Takes a sample, then the same.
    pub fn sample(&self) -> FollowedMembers {
        self.tracker.sample_now();
        self.members()
    }

    /// Signals every member after a sample, with the exceptions of [`super::signal_tree`].
    pub fn signal(&self, signal: TreeSignal) -> TreeSignalReport {
        let judge = Judge::new();
        let spared = Spared::new(&judge);
        let sent = self.tracker.signal_except(signal.raw(), &|id| spared.is(id));
        TreeSignalReport::new(signal.name(), sent, spared.into_list())
    }

    /// No more samples but on demand. Everything else goes on to work.
    pub fn stop(&self) {
        self.tracker.stop();
    }
}
