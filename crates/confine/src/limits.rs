//! Limits that the kernel holds for each process by itself (`setrlimit(2)`).
//!
//! Real root can raise them again (`CAP_SYS_RESOURCE`), which a sandbox takes from it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What one process of the task may use at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Seconds of CPU time: SIGXCPU, and SIGKILL a second later.
    pub cpu_seconds: Option<u64>,
    /// Bytes of a file that it writes: SIGXFSZ, or EFBIG where that is ignored.
    pub file_bytes: Option<u64>,
    /// Descriptors: EMFILE.
    pub open_files: Option<u64>,
    /// No core files, until it asks for them itself (`ulimit -c`).
    pub no_core: bool,
}

impl Limits {
    /// Puts them on the calling process. Async-signal-safe. Only ever lowers, which the kernel always allows.
    pub(crate) fn apply(&self) {
        for (resource, wanted, spare) in [
            (Resource::Cpu, self.cpu_seconds, 1),
            (Resource::Fsize, self.file_bytes, 0),
            (Resource::Nofile, self.open_files, 0),
        ] {
            let Some(wanted) = wanted else { continue };
            let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX).min(wanted.saturating_add(spare));
            let _lowering =
                setrlimit(resource, Rlimit { current: Some(wanted.min(hard)), maximum: Some(hard) });
        }
        if self.no_core {
            let maximum = getrlimit(Resource::Core).maximum;
            let _lowering = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
        }
    }
}
