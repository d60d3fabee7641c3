//! The host program of `cargo xtask bench`: what the library costs a program that uses it, beside the same done bare.
//!
//! `bench_host foreground N`: N calls of `true` by the library and by `std::process` in turn, in microseconds.
//! `bench_host sandboxed N`: N calls of `true` in `workspace-write` and without a sandbox in turn, in microseconds.
//! `bench_host crowd N`: start N tasks, list them, wait for a line on standard input, kill them; then the same bare.
//! `bench_host stream BYTES`: so many bytes through the spool; the supervisor's peak memory.
//! Prints one JSON object a line.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program: it reads the clock and starts bare commands to compare with"
)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kennel::{Kennel, Kill, Read, Request, SandboxChoice, SandboxMode, Session, Stream, Task};
use serde_json::json;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done<()> {
    kennel::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<usize>().ok()).unwrap_or(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // As a program does that carries the binary with it: keepers are copies of that, not of this program.
        let builder = Kennel::builder();
        let builder = match std::env::var_os("KENNEL_BINARY") {
            Some(binary) => builder.binary(binary),
            None => builder,
        };
        let kennel = builder.build().await?;
        let session = kennel.session().open().await?;
        match words.first().map(String::as_str) {
            Some("foreground") => foreground(&session, number(1)).await?,
            Some("sandboxed") => sandboxed(&session, number(1)).await?,
            Some("crowd") => crowd(&kennel, &session, number(1)).await?,
            Some("stream") => stream(&session, number(1)).await?,
            _ => return Err("usage: bench_host foreground N | sandboxed N | crowd N | stream BYTES".into()),
        }
        session.close().await;
        Ok(())
    })
}

/// One warm call of each kind after the other, so that both meet the same machine.
async fn foreground(session: &Session, calls: usize) -> Done<()> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for index in 0..calls + 10 {
        let start = Instant::now();
        let outcome = session.run(Request::shell("true")).await?;
        let by_library = start.elapsed();
        let start = Instant::now();
        let output = Command::new("bash").args(["-c", "true"]).stdin(Stdio::null()).output()?;
        let by_std = start.elapsed();
        assert!(outcome.success && output.status.success(), "`true` failed");
        // The first ones fill caches.
        if index >= 10 {
            ours.push(micros(by_library));
            bare.push(micros(by_std));
        }
    }
    println!("{}", json!({"ours_us": ours, "bare_us": bare}));
    Ok(())
}

async fn sandboxed(session: &Session, calls: usize) -> Done<()> {
    let (mut bound, mut free) = (Vec::new(), Vec::new());
    let choice = SandboxChoice::new().mode(SandboxMode::WorkspaceWrite);
    for index in 0..calls + 10 {
        for (sandbox, times) in [(choice.clone(), &mut bound), (SandboxChoice::new(), &mut free)] {
            let start = Instant::now();
            let outcome = session.run(Request::shell("true").sandbox(sandbox)).await?;
            let took = start.elapsed();
            assert!(outcome.success, "`true` failed");
            // The first ones fill caches.
            if index >= 10 {
                times.push(micros(took));
            }
        }
    }
    println!("{}", json!({"sandboxed_us": bound, "free_us": free}));
    Ok(())
}

async fn crowd(kennel: &Kennel, session: &Session, count: usize) -> Done<()> {
    let start = Instant::now();
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..count {
        tasks.push(session.start(Request::shell("exec sleep 300")).await?);
    }
    let started = start.elapsed();
    let start = Instant::now();
    let list = kennel.tasks();
    let listed = start.elapsed();
    let supervisors: Vec<_> = list.iter().map(|task| task.supervisor_pid).collect();
    println!(
        "{}",
        json!({"start_us": micros(started), "list_us": micros(listed), "supervisors": supervisors})
    );
    std::io::stdin().read_line(&mut String::new())?;
    let start = Instant::now();
    let mut kills = tokio::task::JoinSet::new();
    for task in tasks {
        kills.spawn(async move { task.kill(Kill::now()).await });
    }
    let mut proved = 0;
    while let Some(report) = kills.join_next().await {
        proved += usize::from(report??.success);
    }
    println!("{}", json!({"kill_us": micros(start.elapsed()), "proved": proved}));
    bare_crowd(count)
}

/// The same without us: started, and killed by pid.
fn bare_crowd(count: usize) -> Done<()> {
    let start = Instant::now();
    let mut children: Vec<Child> = Vec::new();
    for _ in 0..count {
        let mut bash = Command::new("bash");
        bash.args(["-c", "exec sleep 300"]).stdin(Stdio::null()).stdout(Stdio::null());
        children.push(bash.spawn()?);
    }
    let started = start.elapsed();
    let start = Instant::now();
    for child in &mut children {
        child.kill()?;
    }
    for child in &mut children {
        child.wait()?;
    }
    println!("{}", json!({"bare_start_us": micros(started), "bare_kill_us": micros(start.elapsed())}));
    Ok(())
}

async fn stream(session: &Session, bytes: usize) -> Done<()> {
    let command = format!("head -c {bytes} /dev/zero; echo through >&2; sleep 60");
    let start = Instant::now();
    let task = session.start(Request::shell(command)).await?;
    let until = Read::from(0).stream(Stream::Stderr).until("through").wait(Duration::from_secs(60));
    let page = task.read(until).await?;
    let elapsed = start.elapsed();
    let info = task.info()?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", info.supervisor_pid)).unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next());
    let peak: Option<u64> = peak.and_then(|number| number.parse().ok());
    let kept =
        info.output_file.as_deref().and_then(|file| std::fs::metadata(file).ok()).map(|about| about.len());
    println!(
        "{}",
        json!({"stream_us": micros(elapsed), "seen": page.text.contains("through"), "peak_kib": peak, "kept": kept})
    );
    task.kill(Kill::now()).await?;
    Ok(())
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
