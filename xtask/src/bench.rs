//! What Kennel costs, as ratios against a yardstick in the same interleaved run, beside the budgets of the design.
//!
//! A measurement, not a test: it exits 0 whatever it finds. It prints a table and writes `target/bench.json`.

mod check;
mod kill;
mod list;
mod mcp;
mod reads;
mod tasks;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::checks::cargo;

/// Where the programs and the state of a run are.
struct Bench {
    kennel: PathBuf,
    host: PathBuf,
    state: tempfile::TempDir,
    rows: Vec<Row>,
}

/// One line of the table.
struct Row {
    what: String,
    ours: String,
    yardstick: String,
    figure: f64,
    unit: &'static str,
    budget: f64,
    /// Whether a larger figure is better.
    floor: bool,
}

fn tmpfs(root: &Path) -> PathBuf {
    let shared = PathBuf::from("/dev/shm");
    if shared.is_dir() { shared } else { root.join("target") }
}

/// The binary as an installation leaves it: written in one go. What a linker has written piecemeal lies in the page
/// cache in small pieces, and every exec of it costs more page faults.
fn installed(root: &Path) -> anyhow::Result<PathBuf> {
    let file = root.join("target/bench-kennel");
    let _first_time = std::fs::remove_file(&file);
    std::fs::write(&file, std::fs::read(root.join("target/release/kennel"))?)?;
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(file)
}

/// One part of the run; parts are independent.
type Part = fn(&mut Bench, &Path) -> anyhow::Result<()>;

const PARTS: &[(&str, Part)] = &[
    ("foreground", |bench, _root| bench.foreground()),
    ("cold", |bench, _root| bench.cold()),
    ("mcp", |bench, root| bench.mcp(&root.join("target/release/examples/bare_server"))),
    ("sandbox", |bench, _root| bench.sandbox()),
    ("check", Bench::check),
    ("stream", |bench, _root| bench.stream()),
    ("both-streams", Bench::both_streams),
    ("reads", Bench::reads),
    ("kills", Bench::kills),
    ("list", Bench::list),
    ("tasks", Bench::tasks),
    ("crowd", |bench, _root| [1, 100, 1000].into_iter().try_for_each(|count| bench.crowd(count))),
];

/// Build what is measured, measure, print, write. `only`: the parts that are wanted; none is all.
pub(crate) fn run(root: &Path, only: &[&str]) -> anyhow::Result<()> {
    if let Some(unknown) = only.iter().find(|word| PARTS.iter().all(|(name, _)| name != *word)) {
        let known: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
        anyhow::bail!("no part {unknown:?}; there are {}", known.join(", "));
    }
    println!("==> build (release)");
    for words in [
        &["--package", "kennel-cli", "--bins", "--example", "bare_server"][..],
        &["--package", "kennel", "--example", "bench_host"],
        &["--package", "kennel", "--example", "bench_kill"],
        &["--package", "kennel", "--example", "bench_reads"],
        &["--package", "testkit", "--bin", "hostile"],
        &["--package", "proctree", "--example", "tree_cost"],
        &["--package", "policy", "--example", "check_stdin"],
    ] {
        let built = cargo(root).args(["build", "--release", "--locked", "--quiet"]).args(words).status()?;
        anyhow::ensure!(built.success(), "failed to build {words:?}");
    }
    let start = Instant::now();
    let mut bench = Bench {
        kennel: installed(root)?,
        host: root.join("target/release/examples/bench_host"),
        // Where a user's short calls are: on tmpfs.
        state: tempfile::Builder::new().prefix("kb-").tempdir_in(tmpfs(root))?,
        rows: Vec::new(),
    };
    let mut failed = Vec::new();
    for (name, part) in PARTS.iter().filter(|(name, _)| only.is_empty() || only.contains(name)) {
        if let Err(error) = part(&mut bench, root) {
            failed.push(format!("{name}: {error:#}"));
        }
    }
    bench.print();
    let file = root.join("target/bench.json");
    std::fs::write(&file, serde_json::to_vec_pretty(&bench.json())?)?;
    println!("\n{} written; measured in {} s", file.display(), start.elapsed().as_secs());
    anyhow::ensure!(failed.is_empty(), "not measured: {}", failed.join("; "));
    Ok(())
}

impl Bench {
    fn host(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.host);
        command.args(words).env("KENNEL_STATE_DIR", self.state.path()).stdin(Stdio::null());
        command
    }

    /// Warm calls through the library and by `std::process`, in turn.
    fn calls(&self, binary: Option<&Path>) -> anyhow::Result<(f64, f64)> {
        let mut host = self.host(&["foreground", "500"]);
        let output = host.envs(binary.map(|file| ("KENNEL_BINARY", file))).output();
        let found: Value = serde_json::from_slice(&output.context("failed to start the host")?.stdout)
            .context("failed to read the host's answer")?;
        Ok((median(&numbers(&found, "ours_us")), median(&numbers(&found, "bare_us"))))
    }

    /// A warm call through the library against `std::process`: with keepers that are copies of the host, and of the binary.
    fn foreground(&mut self) -> anyhow::Result<()> {
        println!("==> foreground calls");
        let (ours, bare) = self.calls(None)?;
        let yardstick = ("std::process, bash -c true", bare);
        self.ratio(("foreground call by the library, `true`", ours), yardstick, 1.30);
        let binary = self.kennel.clone();
        let (ours, bare) = self.calls(Some(&binary))?;
        let yardstick = ("std::process, bash -c true", bare);
        self.ratio(("the same with keepers from the kennel binary", ours), yardstick, 1.30);
        Ok(())
    }

    /// A sandboxed call against one that is not, in turn.
    fn sandbox(&mut self) -> anyhow::Result<()> {
        println!("==> sandboxed calls");
        let output = self.host(&["sandboxed", "300"]).output().context("failed to start the host")?;
        let found: Value =
            serde_json::from_slice(&output.stdout).context("failed to read the host's answer")?;
        let bound = median(&numbers(&found, "sandboxed_us"));
        let free = median(&numbers(&found, "free_us"));
        self.plain("workspace-write over off, `bash -c true`", (bound - free) / 1000.0, "ms", 1.5);
        Ok(())
    }

    /// A cold process against bash, started in the same way, in turn.
    fn cold(&mut self) -> anyhow::Result<()> {
        println!("==> cold processes");
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let mut kennel = Command::new(&self.kennel);
            kennel.args(["run", "true"]).env("KENNEL_STATE_DIR", self.state.path());
            ours.push(timed(&mut kennel)?);
            bare.push(timed(Command::new("bash").args(["-c", "true"]))?);
        }
        self.ratio(("`kennel run true`, cold", median(&ours)), ("bash -c true", median(&bare)), 2.0);
        Ok(())
    }

    /// Bulk output against a file on tmpfs.
    fn stream(&mut self) -> anyhow::Result<()> {
        let bytes = bulk_bytes();
        println!("==> {} GiB of output", bytes >> 30);
        let file = format!("/dev/shm/kennel-bench-{}", std::process::id());
        let (mut ours, mut bare, mut peak) = (Vec::new(), Vec::new(), 0.0);
        for _ in 0..2 {
            let output =
                self.host(&["stream", &bytes.to_string()]).output().context("failed to start the host")?;
            let found: Value =
                serde_json::from_slice(&output.stdout).context("failed to read the host's answer")?;
            ours.extend(found.get("stream_us").and_then(Value::as_f64));
            peak = found.get("peak_kib").and_then(Value::as_f64).unwrap_or(peak);
            let script = format!("head -c {bytes} /dev/zero | cat > {file}");
            bare.push(timed(Command::new("bash").args(["-c", &script]))?);
            std::fs::remove_file(&file).context("failed to remove the yardstick's file")?;
        }
        let (ours, bare) = (least(&ours), least(&bare));
        let what = format!("{} GiB into the capped spool, speed", bytes >> 30);
        self.speed((&what, ours), ("cat > file on tmpfs", bare), 1.3);
        self.plain("peak memory of that supervisor", peak / 1024.0, "MiB", 3.0);
        Ok(())
    }

    /// A host that holds so many tasks until it is written a line, and what it says.
    fn crowd_host(&self, count: usize) -> anyhow::Result<(Child, Lines<BufReader<ChildStdout>>)> {
        let mut command = self.host(&["crowd", &count.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = command.spawn().context("failed to start the host")?;
        let lines = BufReader::new(host.stdout.take().context("no pipe")?).lines();
        Ok((host, lines))
    }

    /// Many tasks at once: memory at rest, start, list, kill.
    fn crowd(&mut self, count: usize) -> anyhow::Result<()> {
        println!("==> {count} tasks");
        let (mut host, mut lines) = self.crowd_host(count)?;
        let mut next = || -> anyhow::Result<Value> {
            let line = lines.next().context("the host ended early")??;
            Ok(serde_json::from_str(&line)?)
        };
        let up = next()?;
        let memory: Vec<f64> =
            numbers(&up, "supervisors").iter().filter_map(|pid| private_kib(*pid)).collect();
        let ps: Vec<f64> =
            (0..5).filter_map(|_| timed(Command::new("ps").arg("-e").stdout(Stdio::null())).ok()).collect();
        if let Some(mut stdin) = host.stdin.take() {
            stdin.write_all(b"\n")?;
        }
        let (down, bare) = (next()?, next()?);
        anyhow::ensure!(host.wait()?.success(), "the host failed");
        let proved = down.get("proved").and_then(Value::as_u64);
        anyhow::ensure!(proved == u64::try_from(count).ok(), "only {proved:?} of {count} kills were proved");
        if memory.is_empty() {
            println!("    no memory figures: other processes' smaps_rollup needs root");
        } else {
            self.plain(
                &format!("private memory of a resting supervisor, {count} tasks"),
                mean(&memory),
                "KiB",
                96.0,
            );
        }
        if count >= 1000 {
            let of = |value: &Value, name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN);
            let yardstick = ("bare bash", of(&bare, "bare_start_us"));
            self.ratio((&format!("start {count} by the library"), of(&up, "start_us")), yardstick, 2.0);
            self.ratio((&format!("list {count}"), of(&up, "list_us")), ("ps -e", least(&ps)), 1.0);
            let yardstick = ("kill and wait, bare", of(&bare, "bare_kill_us"));
            self.ratio((&format!("kill {count}, proved"), of(&down, "kill_us")), yardstick, f64::NAN);
        }
        Ok(())
    }

    /// How many times as long we take.
    fn ratio(&mut self, ours: (&str, f64), bare: (&str, f64), budget: f64) {
        self.compare(ours, bare, (ours.1 / bare.1, budget, false));
    }

    /// How many times as fast we are.
    fn speed(&mut self, ours: (&str, f64), bare: (&str, f64), budget: f64) {
        self.compare(ours, bare, (bare.1 / ours.1, budget, true));
    }

    fn compare(
        &mut self,
        (what, ours): (&str, f64),
        (yardstick, bare): (&str, f64),
        (figure, budget, floor): (f64, f64, bool),
    ) {
        self.rows.push(Row {
            what: what.to_owned(),
            ours: micros(ours),
            yardstick: format!("{yardstick} {}", micros(bare)),
            figure,
            unit: "x",
            budget,
            floor,
        });
    }

    fn plain(&mut self, what: &str, figure: f64, unit: &'static str, budget: f64) {
        let (ours, yardstick) = (String::new(), String::new());
        self.rows.push(Row { what: what.to_owned(), ours, yardstick, figure, unit, budget, floor: false });
    }

    fn print(&self) {
        println!("\n{:<52} {:>10} {:>34} {:>10} {:>10}", "", "ours", "yardstick", "figure", "budget");
        for row in &self.rows {
            let figure = format!("{:.2} {}", row.figure, row.unit);
            let sign = if row.floor { ">=" } else { "<=" };
            let budget = if row.budget.is_nan() { "-".to_owned() } else { format!("{sign} {}", row.budget) };
            let mark = if row.holds() { "" } else { "  over" };
            println!(
                "{:<52} {:>10} {:>34} {figure:>10} {budget:>10}{mark}",
                row.what, row.ours, row.yardstick
            );
        }
    }

    fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "what": row.what, "ours": row.ours, "yardstick": row.yardstick, "figure": row.figure,
                    "unit": row.unit, "budget": row.budget, "floor": row.floor, "holds": row.holds(),
                })
            })
            .collect();
        json!({ "rows": rows })
    }
}

impl Row {
    fn holds(&self) -> bool {
        self.budget.is_nan()
            || if self.floor { self.figure >= self.budget } else { self.figure <= self.budget }
    }
}

/// Microseconds of one run.
fn timed(command: &mut Command) -> anyhow::Result<f64> {
    let start = Instant::now();
    let status = command.stdin(Stdio::null()).status()?;
    let elapsed = start.elapsed();
    anyhow::ensure!(status.success(), "{command:?}: {status}");
    Ok(elapsed.as_secs_f64() * 1e6)
}

/// 4 GiB, or less where tmpfs or memory would not hold the yardstick's file.
fn bulk_bytes() -> u64 {
    let free = rustix::fs::statvfs("/dev/shm").map_or(0, |fs| fs.f_bavail * fs.f_frsize);
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let available: u64 = available.and_then(|row| row.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    let room = free.min(available << 10) / 2;
    (room >> 30).clamp(1, 4) << 30
}

/// Memory that a process has for itself alone: what it has written to. Clean pages are the program file's, and are there
/// once however many use them. `None` where it may not be read.
fn private_kib(pid: f64) -> Option<f64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let rows = rollup.lines().filter(|line| line.starts_with("Private_Dirty:"));
    rows.map(|row| row.split_whitespace().nth(1)?.parse::<f64>().ok()).sum()
}

fn numbers(value: &Value, name: &str) -> Vec<f64> {
    let list = value.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn mean(values: &[f64]) -> f64 {
    let count = u32::try_from(values.len()).unwrap_or(1);
    values.iter().sum::<f64>() / f64::from(count)
}

fn micros(value: f64) -> String {
    format!("{:.2?}", Duration::from_secs_f64((value / 1e6).max(0.0)))
}
