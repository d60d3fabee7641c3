//! Limits of a task's cgroup leaf (`cgroup v2`, controllers memory, pids and cpu).
//!
//! Not verified on a real controller: the machines of this project's tests have a v2 tree without any. The file names
//! and texts are those of the kernel's `cgroup-v2.rst`, tested against a recorded directory.

use rustix::fs::{Access, AtFlags};

use crate::cgroup::{Leaf, read, write};

/// What a leaf is asked to hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Bytes of memory, swap included; at the limit the kernel kills the whole leaf.
    pub memory_bytes: Option<u64>,
    /// Processes and threads; at the limit a fork fails with EAGAIN.
    pub pids: Option<u64>,
    /// Percent of one CPU.
    pub cpu_percent: Option<u32>,
}

/// What of it the kernel holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Memory.
    pub memory: bool,
    /// Processes and threads.
    pub pids: bool,
    /// CPU time a period.
    pub cpu: bool,
}

/// How often the leaf has met its limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Met {
    /// Processes killed for want of memory.
    pub oom_kills: u64,
    /// Forks refused.
    pub forks_refused: u64,
}

impl Leaf {
    /// Sets limits, as far as the controllers can be had. A controller that the group above has not passed on is asked
    /// for; the kernel refuses where processes live in that group.
    pub fn limit(&self, wanted: &Wanted) -> Held {
        let set = |controller: &str, file: &str, text: Option<String>| {
            let Some(text) = text else { return false };
            if rustix::fs::accessat(self.fd(), file, Access::WRITE_OK, AtFlags::empty()).is_err() {
                let order = format!("+{controller}");
                let _refused = write(self.fd(), "../cgroup.subtree_control", order.as_bytes());
            }
            write(self.fd(), file, text.as_bytes()).is_ok()
        };
        let memory = set("memory", "memory.max", wanted.memory_bytes.map(|bytes| bytes.to_string()));
        if memory {
            let _without_swap = write(self.fd(), "memory.swap.max", b"0");
            let _one_by_one_then = write(self.fd(), "memory.oom.group", b"1");
        }
        // A share of a period of 100 ms, in microseconds.
        let cpu = wanted.cpu_percent.map(|percent| format!("{} 100000", u64::from(percent) * 1000));
        Held {
            memory,
            pids: set("pids", "pids.max", wanted.pids.map(|count| count.to_string())),
            cpu: set("cpu", "cpu.max", cpu),
        }
    }

    /// Reads the leaf's events.
    pub fn met(&self) -> Met {
        let count = |file: &str, key: &str| {
            let text = read(self.fd(), file).unwrap_or_default();
            let found = text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
            found.unwrap_or(0)
        };
        Met { oom_kills: count("memory.events", "oom_kill "), forks_refused: count("pids.events", "max ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf as Linux 6.8 shows it to whom `memory pids` were handed, but not `cpu`.
    fn recorded() -> (tempfile::TempDir, Leaf) {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("kennel-bash-x");
        std::fs::create_dir(&path).unwrap();
        for (file, text) in [
            ("../cgroup.subtree_control", "memory pids\n"),
            ("memory.max", "max\n"),
            ("memory.swap.max", "max\n"),
            ("memory.oom.group", "0\n"),
            ("memory.events", "low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 1\n"),
            ("pids.max", "max\n"),
            ("pids.events", "max 7\n"),
        ] {
            std::fs::write(path.join(file), text).unwrap();
        }
        let leaf = Leaf::open(&path).unwrap();
        (above, leaf)
    }

    #[test]
    fn limits_go_where_the_kernel_looks_for_them() {
        let (_above, leaf) = recorded();
        let wanted = Wanted { memory_bytes: Some(1 << 27), pids: Some(64), cpu_percent: Some(150) };
        assert_eq!(leaf.limit(&wanted), Held { memory: true, pids: true, cpu: false });
        // The recorded files do not forget what was longer.
        let starts = |file: &str, text: &str| {
            let now = std::fs::read_to_string(leaf.path().join(file)).unwrap();
            assert!(now.starts_with(text), "{file}: {now}");
        };
        starts("memory.max", "134217728");
        starts("memory.swap.max", "0");
        starts("memory.oom.group", "1");
        starts("pids.max", "64");
        starts("../cgroup.subtree_control", "+cpu");
        assert!(!leaf.path().join("cpu.max").exists(), "nothing is made up");
    }

    #[test]
    fn what_is_not_asked_is_not_touched() {
        let (_above, leaf) = recorded();
        assert_eq!(leaf.limit(&Wanted::default()), Held::default());
        assert_eq!(std::fs::read_to_string(leaf.path().join("memory.max")).unwrap(), "max\n");
    }

    #[test]
    fn events_are_counted() {
        let (_above, leaf) = recorded();
        assert_eq!(leaf.met(), Met { oom_kills: 2, forks_refused: 7 });
        std::fs::remove_file(leaf.path().join("memory.events")).unwrap();
        assert_eq!(leaf.met().oom_kills, 0);
    }
}
