//! The options of `run` and `start` that say what a command may use.

use std::time::Duration;

use clap::Args;
use kennel::config::units as duration;
use kennel::{End, Limits};

/// What the command may use; crossing a limit ends all of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct LimitOptions {
    /// Most memory of all its processes together: 512M, 2G.
    #[arg(long, value_name = "SIZE", value_parser = duration::parse_size)]
    memory: Option<u64>,
    /// Most processes and threads at one time.
    #[arg(long, value_name = "N")]
    pids: Option<u64>,
    /// Most CPU time of all its processes together: 30s, 10m.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    cpu_time: Option<Duration>,
    /// Slow it down to this many percent of one CPU (needs a cgroup).
    #[arg(long, value_name = "PERCENT")]
    cpu_share: Option<u32>,
    /// Largest file that it may write: 100M, 1G.
    #[arg(long, value_name = "SIZE", value_parser = duration::parse_size)]
    file_size: Option<u64>,
    /// Most descriptors of one process.
    #[arg(long, value_name = "N")]
    open_files: Option<u64>,
}

impl LimitOptions {
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        if let Some(bytes) = self.memory {
            limits = limits.memory(bytes);
        }
        if let Some(count) = self.pids {
            limits = limits.pids(count);
        }
        if let Some(time) = self.cpu_time {
            limits = limits.cpu_time(time);
        }
        if let Some(percent) = self.cpu_share {
            limits = limits.cpu_share(percent);
        }
        if let Some(bytes) = self.file_size {
            limits = limits.file_size(bytes);
        }
        if let Some(count) = self.open_files {
            limits = limits.open_files(count);
        }
        limits
    }
}

/// `memory: 139M of 128M`, for the end by a limit.
pub(crate) fn crossed(end: &End) -> Option<String> {
    let End::Limit { limit, used, max } = end else { return None };
    let show = |figure: u64| match limit.as_str() {
        "memory" | "file_size" | "output" => format!("{figure} bytes"),
        "cpu_time" => format!("{figure} ms"),
        _ => figure.to_string(),
    };
    Some(match (used, max) {
        (Some(used), Some(max)) => format!("{limit}: {} of {}", show(*used), show(*max)),
        _ => limit.clone(),
    })
}
