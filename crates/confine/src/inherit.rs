//! What a command inherits from the host by way of the request: umask, limits, nice value, affinity.
//!
//! The guard was made when the session began; the host may have changed these since, and a command must see what it
//! would see as the host's own child.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// RTTIME is the tag's.
const RESOURCES: [Resource; 15] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
];

/// Inherited attributes of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inherited {
    /// File mode creation mask; `None` where it could not be read without changing it.
    pub umask: Option<u32>,
    /// Nice value.
    pub nice: i32,
    /// Soft and hard limits in the order of the internal table; `None` is unlimited.
    pub limits: Vec<(Option<u64>, Option<u64>)>,
    /// CPUs on which the process may run; empty where unknown.
    pub cpus: Vec<u32>,
}

impl Inherited {
    /// Reads the calling process's own.
    pub fn capture() -> Self {
        Self {
            umask: read_umask(),
            nice: rustix::process::getpriority_process(None).unwrap_or(0),
            limits: RESOURCES
                .iter()
                .map(|resource| {
                    let limit = getrlimit(*resource);
                    (limit.current, limit.maximum)
                })
                .collect(),
            cpus: read_cpus(),
        }
    }

    /// Gives the calling process these attributes where they differ. Async-signal-safe. What the kernel refuses stays
    /// as it was: a limit can only have been lowered since, and lowering is always allowed.
    pub(crate) fn apply_without_limits(&self) {
        if let Some(umask) = self.umask {
            rustix::process::umask(Mode::from_raw_mode(umask));
        }
        if rustix::process::getpriority_process(None) != Ok(self.nice) {
            let _refused = rustix::process::setpriority_process(None, self.nice);
        }
        if !self.cpus.is_empty() {
            let mut set = CpuSet::new();
            for cpu in &self.cpus {
                set.set(*cpu as usize);
            }
            if sched_getaffinity(None).ok() != Some(set) {
                let _refused = sched_setaffinity(None, &set);
            }
        }
    }

    pub(crate) fn apply_limits(&self) {
        for (resource, (current, maximum)) in RESOURCES.iter().zip(&self.limits) {
            let wanted = Rlimit { current: *current, maximum: *maximum };
            if getrlimit(*resource) != wanted {
                let _refused = setrlimit(*resource, wanted);
            }
        }
    }
}

fn read_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// `umask(2)` can only be read by setting it, which races with other threads; `/proc/self/status` has it (Linux 4.7).
fn read_umask() -> Option<u32> {
    let file = rustix::fs::open("/proc/self/status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut bytes = [0; 256];
    let count = rustix::io::read(&file, &mut bytes).ok()?;
    let text = std::str::from_utf8(bytes.get(..count)?).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}
