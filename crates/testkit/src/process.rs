//! Processes as `/proc` shows them, and the tag that finds a test's own ones.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, PidfdFlags, Signal};

/// A limit on file locks, which the kernel has ignored since 2.4 but hands on through fork, exec, `env -i`, new sessions,
/// namespaces and changes of user, and shows to everyone in `/proc/PID/limits`. Each rig has a value of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(u64);

impl Tag {
    /// A value that no other rig on this machine has.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let process = u64::from(std::process::id());
        Self((1 << 60) | (process << 24) | NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The value of the limit.
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Everyone alive who carries it. "None" is said only of a listing in which nobody vanished while it was read: a family whose
    /// members live for a millisecond each could otherwise hide between the listing and the look at each.
    pub fn holders(self) -> Vec<Process> {
        for _ in 0..100 {
            let mut vanished = false;
            let mut holders = Vec::new();
            for pid in pids() {
                match self.is_on(pid) {
                    Some(true) => match Process::read(pid).filter(Process::lives) {
                        Some(process) => holders.push(process),
                        None => vanished = true,
                    },
                    Some(false) => {}
                    None => vanished = true,
                }
            }
            if !(vanished && holders.is_empty()) {
                return holders;
            }
        }
        Vec::new()
    }

    /// Whether `pid` carries it; `None` when it has gone.
    fn is_on(self, pid: u32) -> Option<bool> {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let row = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
        Some(row.split_whitespace().next()?.parse() == Ok(self.0))
    }
}

/// One process at one moment.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent at that moment.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// The letter of `stat`.
    pub state: char,
    /// Its short name.
    pub comm: String,
    /// Its arguments, joined by blanks.
    pub cmdline: String,
}

impl Process {
    /// What `/proc` says about `pid`; `None` when it has gone.
    pub fn read(pid: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, comm) = head.split_once('(')?;
        let mut fields = tail.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let mut number = || fields.next()?.parse().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let cmdline = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ").trim_end().to_owned();
        Some(Self { pid, parent, group, session, state, comm: comm.to_owned(), cmdline })
    }

    /// Whether it can still act. A zombie whose other threads live can.
    pub fn lives(&self) -> bool {
        match self.state {
            'X' => false,
            'Z' => std::fs::read_dir(format!("/proc/{}/task", self.pid)).is_ok_and(|tasks| tasks.count() > 1),
            _ => true,
        }
    }

    /// Where each of its open descriptors leads, by number. Needs the same user or root.
    pub fn descriptors(&self) -> Vec<(u32, String)> {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", self.pid)) else { return Vec::new() };
        let mut list: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let number = entry.file_name().to_str()?.parse().ok()?;
                let target = std::fs::read_link(entry.path()).ok()?;
                Some((number, target.to_string_lossy().into_owned()))
            })
            .collect();
        list.sort_unstable();
        list
    }
}

/// All processes of the machine, the youngest (so far as pids tell) first: they are the ones that may be gone soon.
fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    pids
}

/// A pidfd on `pid`; `None` when it has gone.
pub fn pidfd(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Send a signal through a pidfd; false when the process has gone or may not be signalled.
pub fn signal(pid: u32, signal: Signal) -> bool {
    pidfd(pid).is_some_and(|pidfd| rustix::process::pidfd_send_signal(&pidfd, signal).is_ok())
}
