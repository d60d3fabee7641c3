//! That a run of the tests leaves no process and no file behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit};

/// A mark on everything that starts from now on, and directories that must be empty in the end.
pub(crate) struct Residue {
    place: tempfile::TempDir,
    tag: u64,
}

impl Residue {
    /// Mark this process: a limit that the kernel has ignored since 2.4.30, but hands on and shows to everyone.
    pub(crate) fn mark() -> anyhow::Result<Self> {
        let place = tempfile::Builder::new().prefix("kx-").tempdir().context("failed to make a directory")?;
        for name in ["tmp", "home"] {
            std::fs::create_dir(place.path().join(name))?;
        }
        let before = rustix::process::getrlimit(Resource::Rss);
        let tag = before.maximum.unwrap_or((1 << 61) + u64::from(std::process::id()));
        let limit = Rlimit { current: Some(tag), maximum: Some(tag) };
        rustix::process::setrlimit(Resource::Rss, limit).context("failed to set the mark")?;
        Ok(Self { place, tag })
    }

    /// For `TMPDIR`.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.place.path().join("tmp")
    }

    /// For `HOME`.
    pub(crate) fn home(&self) -> PathBuf {
        self.place.path().join("home")
    }

    /// What is still there, five seconds after the last test at the latest.
    pub(crate) fn left(&self) -> Vec<String> {
        let start = Instant::now();
        let mut processes = self.processes();
        while !processes.is_empty() && start.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(50));
            processes = self.processes();
        }
        processes.extend(entries(&self.temporary()));
        processes.extend(entries(&self.home()));
        processes
    }

    fn processes(&self) -> Vec<String> {
        let Ok(proc) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = proc.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| *pid != std::process::id()).filter_map(|pid| self.marked(pid)).collect()
    }

    /// What the process is, if it has the mark and lives.
    fn marked(&self, pid: u32) -> Option<String> {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let row = limits.lines().find_map(|line| line.strip_prefix("Max resident set"))?;
        let tag: u64 = row.split_whitespace().next()?.parse().ok()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let zombie = status.contains("\nState:\tZ");
        let name = status.lines().next()?.strip_prefix("Name:\t")?;
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        (tag == self.tag && !zombie).then(|| format!("process {pid} {name}: {words}"))
    }
}

fn entries(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path().display().to_string())).collect()
}

/// Kennel's places that a test without a state directory of its own would have used. Others may use them at the same time,
/// so this is for information.
pub(crate) fn shared_places() -> Vec<String> {
    let uid = rustix::process::getuid().as_raw();
    let places =
        [format!("/run/user/{uid}/kennel"), format!("/dev/shm/kennel-{uid}"), format!("/tmp/kennel-{uid}")];
    let mut notes = Vec::new();
    for place in places {
        let count = entries(Path::new(&place)).len();
        if count > 0 {
            notes.push(format!("{place} has {count} entries"));
        }
    }
    notes
}
