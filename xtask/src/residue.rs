//! That a run of the tests leaves no process and no file behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Resource, Rlimit};

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
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut found = self.processes();
        while !found.is_empty() && one_ends(&found, deadline.saturating_duration_since(Instant::now())) {
            found = self.processes();
        }
        let mut processes: Vec<String> = found.into_iter().map(|(_pid, what)| what).collect();
        processes.extend(entries(&self.temporary()));
        processes.extend(entries(&self.home()));
        processes
    }

    fn processes(&self) -> Vec<(Pid, String)> {
        let Ok(proc) = std::fs::read_dir("/proc") else { return Vec::new() };
        let pids = proc.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?));
        pids.filter(|pid| *pid != rustix::process::getpid())
            .filter_map(|pid| Some((pid, self.marked(pid)?)))
            .collect()
    }

    /// What the process is, if it has the mark and lives.
    fn marked(&self, pid: Pid) -> Option<String> {
        let pid = pid.as_raw_nonzero();
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

/// Waits for the end of one of them; false when none ended in time. One that is gone already counts.
#[cfg(target_os = "linux")]
fn one_ends(found: &[(Pid, String)], limit: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    let opened: Result<Vec<_>, _> =
        found.iter().map(|(pid, _what)| pidfd_open(*pid, PidfdFlags::empty())).collect();
    let fds = match opened {
        Ok(fds) => fds,
        Err(error) => return error == rustix::io::Errno::SRCH && !limit.is_zero(),
    };
    let mut ends: Vec<_> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let limit = Timespec::try_from(limit).ok();
    limit.is_some_and(|limit| poll(&mut ends, Some(&limit)).is_ok_and(|count| count > 0))
}

/// Without `/proc` nobody is found, so nobody is waited for.
#[cfg(not(target_os = "linux"))]
fn one_ends(_found: &[(Pid, String)], _limit: Duration) -> bool {
    false
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
