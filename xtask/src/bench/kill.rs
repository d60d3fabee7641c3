//! Killing trees to proof, beside `cgroup.kill` and the reaping of the same trees.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use super::{Bench, median, numbers};

/// Name, rounds, habit of the `hostile` program, processes.
const TREES: [(&str, &str, &[&str], usize); 4] = [
    ("kill 10 flat members, proved", "31", &["wide", "10"], 10),
    ("kill a chain of 100, proved", "21", &["deep", "100"], 100),
    ("kill 1,000 flat members, proved", "7", &["wide", "1000"], 1000),
    ("kill 10,000 flat members, proved", "3", &["wide", "10000"], 10_000),
];

impl Bench {
    pub(super) fn kills(&mut self, root: &Path) -> anyhow::Result<()> {
        println!("==> kills");
        for (what, rounds, habit, processes) in TREES {
            if processes * 2 > pids_free() {
                println!("    {what}: skipped, the machine has too few process ids");
                continue;
            }
            let output = Command::new(root.join("target/release/examples/bench_kill"))
                .arg(root.join("target/release/hostile"))
                .arg(rounds)
                .args(habit)
                .env("KENNEL_STATE_DIR", self.state.path())
                .stdin(Stdio::null())
                .output()
                .context("failed to start bench_kill")?;
            let found: Value =
                serde_json::from_slice(&output.stdout).context("failed to read the answer of bench_kill")?;
            let (ours, bare) = (median(&numbers(&found, "ours_us")), median(&numbers(&found, "bare_us")));
            if bare.is_nan() {
                println!("    {what}: no cgroup v2 to compare with");
            }
            self.ratio((what, ours), ("cgroup.kill and reaping", bare), 1.5);
        }
        Ok(())
    }
}

/// Process ids that nobody uses.
fn pids_free() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    let used = std::fs::read_dir("/proc").map_or(0, Iterator::count);
    limit.trim().parse::<usize>().unwrap_or(0).saturating_sub(used)
}
