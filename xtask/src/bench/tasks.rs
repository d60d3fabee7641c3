//! `kennel tasks`, a cold process each time, beside `ps -e` with as many processes as there are tasks.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use super::{Bench, median, timed, tmpfs};

const RUNNING: usize = 1000;
const FINISHED: usize = 10_000;
const ROUNDS: usize = 9;

impl Bench {
    pub(super) fn tasks(&mut self, root: &Path) -> anyhow::Result<()> {
        println!("==> list {RUNNING} running and {FINISHED} finished tasks");
        let ours = self.of_running()?;
        let yardstick = self.ps_beside(RUNNING)?;
        self.ratio(("`kennel tasks`, 1,000 running", ours), ("ps -e, 1,000 processes", yardstick), 1.0);
        let ours = self.of_finished(root)?;
        let yardstick = self.ps_beside(FINISHED)?;
        self.ratio(("`kennel tasks`, 10,000 finished", ours), ("ps -e, 10,000 processes", yardstick), 1.0);
        Ok(())
    }

    fn list_cold(&self, state: &Path) -> anyhow::Result<f64> {
        let mut list = Command::new(&self.kennel);
        list.arg("tasks").env("KENNEL_STATE_DIR", state).stdout(Stdio::null());
        usual(&mut list)
    }

    /// A call that must succeed, and what it prints.
    fn kennel_in(&self, state: &Path, words: &[&str]) -> anyhow::Result<String> {
        let mut command = Command::new(&self.kennel);
        let output = command.args(words).env("KENNEL_STATE_DIR", state).output()?;
        anyhow::ensure!(output.status.success(), "kennel {words:?}: {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// `ps -e` while so many processes sleep.
    fn ps_beside(&self, count: usize) -> anyhow::Result<f64> {
        let script =
            format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); sleep 1000 & done; echo up; wait");
        let state = tempfile::tempdir()?;
        let crowd = self.kennel_in(state.path(), &["start", "--no-check", &script])?;
        self.kennel_in(state.path(), &["output", "--until", "up", "--timeout", "2m", &crowd])?;
        let figure = usual(Command::new("ps").arg("-e").stdout(Stdio::null()));
        self.kennel_in(state.path(), &["kill", "--grace", "0", &crowd])?;
        figure
    }

    fn of_running(&self) -> anyhow::Result<f64> {
        let (mut host, mut lines) = self.crowd_host(RUNNING)?;
        lines.next().context("the host ended early")??;
        let figure = self.list_cold(self.state.path());
        host.stdin.take().context("no pipe")?.write_all(b"\n")?;
        anyhow::ensure!(host.wait()?.success(), "the host failed");
        figure
    }

    /// One task that has ended, many times over under other names.
    fn of_finished(&self, root: &Path) -> anyhow::Result<f64> {
        let state = tempfile::Builder::new().prefix("kb-").tempdir_in(tmpfs(root))?;
        let first = self.kennel_in(state.path(), &["start", "echo hello"])?;
        self.kennel_in(state.path(), &["wait", "--tree", &first])?;
        let dir = state.path().join("tasks");
        for number in 1..FINISHED {
            // Ids are 26 characters of a base-32 alphabet.
            let id = format!("bash-{number:0>26}");
            std::fs::create_dir(dir.join(&id))?;
            for file in std::fs::read_dir(dir.join(&first))? {
                let file = file?;
                let content = std::fs::read(file.path())?;
                let content = match file.file_name().to_str() {
                    Some("record.json") => renamed(&content, &id)?,
                    _ => content,
                };
                std::fs::write(dir.join(&id).join(file.file_name()), content)?;
            }
        }
        let known: Value = serde_json::from_str(&self.kennel_in(state.path(), &["tasks", "--json"])?)?;
        let count = known.get("tasks").and_then(Value::as_array).map_or(0, Vec::len);
        anyhow::ensure!(count == FINISHED, "{count} of {FINISHED} tasks are listed");
        self.list_cold(state.path())
    }
}

fn renamed(record: &[u8], id: &str) -> anyhow::Result<Vec<u8>> {
    let mut record: Value = serde_json::from_slice(record)?;
    if let Some(name) = record.get_mut("id") {
        *name = id.into();
    }
    Ok(serde_json::to_vec(&record)?)
}

/// Microseconds, median.
fn usual(command: &mut Command) -> anyhow::Result<f64> {
    let rounds = (0..ROUNDS).map(|_| timed(command)).collect::<anyhow::Result<Vec<f64>>>()?;
    Ok(median(&rounds))
}
