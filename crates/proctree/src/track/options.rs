//! How a tree is tracked.

use std::time::Duration;

/// A variable in the environment by which members are recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// Name of the variable.
    pub name: String,
    /// Its value, different for every tree that is tracked.
    ///
    /// Another value, also an empty one, means that the process has left the tree. No such variable means nothing:
    /// the process is judged by its ancestry alone.
    pub value: Vec<u8>,
}

/// Where news of processes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// The kernel's process events where we may have them, else the sampler.
    #[default]
    Best,
    /// The sampler, also where process events could be had.
    Sampler,
}

/// Options of [`crate::track_descendants`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackOptions {
    /// Time between two samples; 50 ms unless given, at least 1 ms.
    pub interval: Duration,
    /// Members that have detached are recognised by this.
    pub marker: Option<Marker>,
    /// The tree's tag, a hard `RLIMIT_RTTIME` in microseconds ([`crate::rttime_hard_limit`]).
    pub tag: Option<u64>,
    /// Where news comes from.
    pub source: Source,
}

impl Default for TrackOptions {
    fn default() -> Self {
        Self { interval: Duration::from_millis(50), marker: None, tag: None, source: Source::Best }
    }
}
