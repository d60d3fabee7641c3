//! What output costs beside one bulk stream: two streams at once, the end of a full spool, the wake of who waits.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use super::{Bench, bulk_bytes, least, median, numbers, timed};

impl Bench {
    fn reads_of(&self, root: &Path, words: &[&str]) -> anyhow::Result<Value> {
        let mut program = Command::new(root.join("target/release/examples/bench_reads"));
        program.args(words).env("KENNEL_STATE_DIR", self.state.path()).stdin(Stdio::null());
        let output = program.output().context("failed to start bench_reads")?;
        serde_json::from_slice(&output.stdout).context("failed to read the answer of bench_reads")
    }

    /// Stdout and stderr at once, against two files on tmpfs.
    pub(super) fn both_streams(&mut self, root: &Path) -> anyhow::Result<()> {
        let bytes = bulk_bytes();
        println!("==> {} GiB from both streams at once", bytes >> 30);
        let file = format!("/dev/shm/kennel-bench-{}", std::process::id());
        let half = bytes / 2;
        let write = |to: &str| format!("head -c {half} /dev/zero | cat > {file}.{to}");
        let script = format!("({}) & {}; wait", write("out"), write("err"));
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            let found = self.reads_of(root, &["both", &bytes.to_string()])?;
            ours.extend(found.get("stream_us").and_then(Value::as_f64));
            bare.push(timed(Command::new("bash").args(["-c", &script]))?);
            for to in ["out", "err"] {
                std::fs::remove_file(format!("{file}.{to}"))
                    .context("failed to remove the yardstick's file")?;
            }
        }
        let (ours, bare) = (least(&ours), least(&bare));
        let what = format!("{} GiB from stdout and stderr at once, speed", bytes >> 30);
        self.speed((&what, ours), ("cat > file on tmpfs, two", bare), 1.3);
        Ok(())
    }

    /// The last lines, and a wait for a pattern.
    pub(super) fn reads(&mut self, root: &Path) -> anyhow::Result<()> {
        println!("==> reads");
        let tails = self.reads_of(root, &["tails", "300"])?;
        let (full, small) = (median(&numbers(&tails, "full_us")), median(&numbers(&tails, "small_us")));
        // The same; the rest is noise.
        self.ratio(("last 100 lines of a spool at its 64 MiB", full), ("of one of 1 MB", small), 1.25);
        let wakes = self.reads_of(root, &["wakes", "200"])?;
        let mut took = numbers(&wakes, "wake_us");
        took.sort_by(f64::total_cmp);
        let late = took.get(took.len() * 95 / 100).copied().unwrap_or(f64::NAN);
        self.plain("from a byte to the wake of who waits for a match, p95", late / 1000.0, "ms", 5.0);
        Ok(())
    }
}
