//! The tag: a hard `RLIMIT_RTTIME` that no `env -i`, setsid, exec or namespace sheds.
//!
//! The value lies so far above any real limit (2^61 microseconds are 73,000 years) that it limits nothing. An ordinary
//! user cannot raise it back, and it can be read in `/proc/PID/limits` where `environ` cannot. Real root sheds it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// All tags are at or above this value.
pub const TAG_FLOOR: u64 = 1 << 61;
const RANDOM_BITS: u64 = (1 << 60) - 1;

/// A task's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u64);

impl Tag {
    /// Makes a tag from 60 random bits (the rest of `random` is ignored).
    pub fn from_random(random: u64) -> Self {
        Self(TAG_FLOOR + (random & RANDOM_BITS))
    }

    /// Reads a tag back from a record or a limits file; `None` where the value cannot be one.
    pub fn from_value(value: u64) -> Option<Self> {
        (TAG_FLOOR..=TAG_FLOOR + RANDOM_BITS).contains(&value).then_some(Self(value))
    }

    /// The number as `/proc/PID/limits` shows it.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Whether this process could give its children a tag: its own hard limit is unlimited.
    ///
    /// Inside a task the hard limit is the outer task's tag. It stays: what an inner task starts belongs to the outer
    /// tree too, and recovery of the outer task must find it.
    pub fn can_be_set() -> bool {
        getrlimit(Resource::Rttime).maximum.is_none()
    }

    /// The tag of the task inside which the calling process runs.
    pub fn of_self() -> Option<Self> {
        getrlimit(Resource::Rttime).maximum.and_then(Self::from_value)
    }

    /// Puts the tag on the calling process. Async-signal-safe.
    pub(crate) fn apply(self) -> rustix::io::Result<()> {
        setrlimit(Resource::Rttime, Rlimit { current: Some(self.0), maximum: Some(self.0) })
    }
}
