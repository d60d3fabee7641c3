//! What a task may use at most.

use std::time::Duration;

use supervisor::wire::LimitsSpec;

use crate::config::{CountLimit, Settings, SizeLimit};
use crate::error::{Error, Result};
use crate::session::Door;

/// Limits of a task: all its processes together, unless said otherwise. What is not said comes from the session, else
/// there is no limit. One that is crossed ends the task ([`crate::End::Limit`]).
///
/// How each is held is in the outcome's `protections`: by the kernel where it can, else by looking at the tree every 50
/// to 250 ms while it runs. A task without limits is never looked at.
///
/// # Platform
/// Linux. Memory, processes and CPU share by a cgroup v2 leaf where its controllers were handed to the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "limits do nothing until a request or session has them"]
pub struct Limits {
    spec: LimitsSpec,
}

impl Limits {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of memory. What processes share counts once; files on tmpfs do not count but by a cgroup.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.spec.memory_bytes = Some(bytes);
        self
    }

    /// Processes and threads at one time.
    pub fn pids(mut self, count: u64) -> Self {
        self.spec.pids = Some(count);
        self
    }

    /// CPU time in user and kernel mode. Children of programs that ignore SIGCHLD stop counting when they end.
    pub fn cpu_time(mut self, time: Duration) -> Self {
        self.spec.cpu_time_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Percent of one CPU at any time; it slows the task and never ends it. Only by a cgroup.
    pub fn cpu_share(mut self, percent: u32) -> Self {
        self.spec.cpu_share_percent = Some(percent);
        self
    }

    /// Bytes of any one file that it writes. The kernel stops the writer there; the task is ended when that was the
    /// command itself, or a writer that stays.
    pub fn file_size(mut self, bytes: u64) -> Self {
        self.spec.file_size_bytes = Some(bytes);
        self
    }

    /// Descriptors of any one process.
    pub fn open_files(mut self, count: u64) -> Self {
        self.spec.open_files = Some(count);
        self
    }

    /// These where they say something, else those of `session`.
    pub(crate) fn over(self, session: Self) -> Self {
        let (own, other) = (self.spec, session.spec);
        Self {
            spec: LimitsSpec {
                memory_bytes: own.memory_bytes.or(other.memory_bytes),
                pids: own.pids.or(other.pids),
                cpu_time_ms: own.cpu_time_ms.or(other.cpu_time_ms),
                cpu_share_percent: own.cpu_share_percent.or(other.cpu_share_percent),
                file_size_bytes: own.file_size_bytes.or(other.file_size_bytes),
                open_files: own.open_files.or(other.open_files),
                no_core: false,
            },
        }
    }

    /// What nobody has said is as it is configured.
    pub(crate) fn or_configured(mut self, settings: &Settings) -> Self {
        if let SizeLimit::Most(bytes) = settings.memory.value {
            self.spec.memory_bytes.get_or_insert(bytes);
        }
        if let CountLimit::Most(count) = settings.pids.value {
            self.spec.pids.get_or_insert(count);
        }
        match settings.cpu_time.value.duration() {
            Some(time) if self.spec.cpu_time_ms.is_none() => self.cpu_time(time),
            _ => self,
        }
    }

    /// As the supervisor takes them. An agent's commands leave no core files about; a wrapper changes nothing.
    pub(crate) fn spec(self, door: Door) -> Result<LimitsSpec> {
        let LimitsSpec { memory_bytes, pids, cpu_time_ms, file_size_bytes, open_files, .. } = self.spec;
        let all = [memory_bytes, pids, cpu_time_ms, file_size_bytes, open_files];
        if all.contains(&Some(0)) || self.spec.cpu_share_percent == Some(0) {
            return Err(Error::BadRequest {
                what: "a limit of 0 lets nothing run".to_owned(),
                hint: "give at least 1, or no limit".to_owned(),
            });
        }
        Ok(LimitsSpec { no_core: door == Door::Agent, ..self.spec })
    }
}
