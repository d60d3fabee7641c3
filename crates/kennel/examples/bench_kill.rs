//! Killing a tree to proof by the library, beside `cgroup.kill` and the reaping of the same tree.
//!
//! `bench_kill HOSTILE ROUNDS HABIT [ARGUMENT...]`: both, in turn, each time on a new tree; prints microseconds as JSON.
//! `bench_kill bare HOSTILE HABIT [ARGUMENT...]`: the yardstick once, in a process of its own, because it must be the
//! subreaper of what it kills. Without a cgroup v2 that it may write to it prints nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program: it reads the clock and starts bare commands to compare with"
)]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kennel::{Kennel, Kill, Request};
use rustix::process::{Pid, WaitOptions, set_child_subreaper, wait};
use serde_json::json;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done<()> {
    kennel::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [bare, hostile, habit @ ..] if bare == "bare" => bare_kill(hostile, habit),
        [hostile, rounds, habit @ ..] if !habit.is_empty() => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(compare(hostile, rounds.parse()?, habit))
        }
        _ => Err("usage: bench_kill HOSTILE ROUNDS HABIT [ARGUMENT...]".into()),
    }
}

async fn compare(hostile: &str, rounds: usize, habit: &[String]) -> Done<()> {
    let session = Kennel::builder().build().await?.session().open().await?;
    let own = std::env::current_exe()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let ready = Ready::new()?;
        let words = [hostile, "--ready", &ready.word()].map(ToOwned::to_owned);
        let task = session.start(Request::argv(words.iter().chain(habit))).await?;
        ready.wait()?;
        let start = Instant::now();
        let report = task.kill(Kill::now()).await?;
        let taken = start.elapsed();
        assert!(report.success && report.proof.is_some(), "not proved: {report:?}");
        ours.push(micros(taken));
        let output = Command::new(&own).arg("bare").arg(hostile).args(habit).output()?;
        bare.extend(String::from_utf8_lossy(&output.stdout).trim().parse::<u64>());
    }
    session.close().await;
    println!("{}", json!({"ours_us": ours, "bare_us": bare}));
    Ok(())
}

/// A cgroup for one tree, `cgroup.kill`, and `waitpid` until there is no child.
fn bare_kill(hostile: &str, habit: &[String]) -> Done<()> {
    let Some(group) = new_group() else { return Ok(()) };
    set_child_subreaper(Some(Pid::INIT))?;
    let ready = Ready::new()?;
    let script = r#"echo 0 >"$1/cgroup.procs" && shift && exec "$@""#;
    let mut sh = Command::new("sh");
    sh.args(["-c", script, "sh"]).arg(&group).args([hostile, "--ready", &ready.word()]).args(habit);
    drop(sh.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
    ready.wait()?;
    let start = Instant::now();
    fs::write(group.join("cgroup.kill"), "1")?;
    // Everybody: `waitpid(None, …)` would be `waitpid(0, …)`, the children of our own process group.
    while wait(WaitOptions::empty()).is_ok() {}
    println!("{}", micros(start.elapsed()));
    // The kernel takes the dead off the group a moment after they were reaped.
    while fs::remove_dir(&group).is_err() && group.exists() {
        std::thread::yield_now();
    }
    Ok(())
}

fn new_group() -> Option<PathBuf> {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].into_iter().find_map(|root| {
        let group = Path::new(root).join(format!("kennel-bench-{}", std::process::id()));
        if !Path::new(root).join("cgroup.controllers").exists() || fs::create_dir(&group).is_err() {
            return None;
        }
        if group.join("cgroup.kill").exists() {
            return Some(group);
        }
        let _left_behind = fs::remove_dir(&group);
        None
    })
}

/// Where a habit says that it is in place.
struct Ready {
    directory: tempfile::TempDir,
}

impl Ready {
    fn new() -> Done<Self> {
        let directory = tempfile::tempdir()?;
        let fifo = directory.path().join("ready");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )?;
        Ok(Self { directory })
    }

    fn word(&self) -> String {
        self.directory.path().join("ready").to_string_lossy().into_owned()
    }

    /// The habit's first line; its processes keep the FIFO open, so nothing waits for the end of file.
    fn wait(&self) -> Done<()> {
        let mut byte = [0];
        fs::File::open(self.directory.path().join("ready"))?.read_exact(&mut byte)?;
        Ok(())
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
