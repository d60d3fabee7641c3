//! What reads of output cost: the end of a small and of a full spool, and the wake of who waits for a pattern.
//!
//! `bench_reads tails N`: N reads of the last 100 lines of a spool of 1 MB and of one at its cap, in turn, microseconds.
//! `bench_reads wakes N`: from a line's writing to the return of the read that waited for it, N times, microseconds.
//! `bench_reads both BYTES`: half of the bytes from stdout and half from stderr at once into one spool, microseconds.
//! Prints one JSON object.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program: it reads the clock"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kennel::{Kennel, Kill, Read, Request, Session, Task};
use serde_json::json;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done<()> {
    kennel::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = words.get(1).and_then(|word| word.parse::<usize>().ok()).unwrap_or(100);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let kennel = Kennel::builder().build().await?;
        let session = kennel.session().open().await?;
        match words.first().map(String::as_str) {
            Some("tails") => tails(&session, count).await?,
            Some("wakes") => wakes(&session, count).await?,
            Some("both") => both(&session, count).await?,
            _ => return Err("usage: bench_reads tails N | wakes N | both BYTES".into()),
        }
        session.close().await;
        Ok(())
    })
}

/// A task that has written so many lines of 11 bytes and stays.
async fn filled(session: &Session, lines: usize) -> Done<Task> {
    let command = format!("seq -f '%010.0f' {lines}; exec sleep 300");
    let task = session.start(Request::shell(command)).await?;
    let written = u64::try_from(lines)? * 11;
    let mut at = 0;
    while at < written {
        let page = task.read(Read::from(at.max(1) - 1).until_growth().max_chars(1)).await?;
        at = page.next_offset.max(at);
        let info = task.info()?;
        at = at.max(info.output_bytes);
    }
    Ok(task)
}

async fn tails(session: &Session, count: usize) -> Done<()> {
    let (small, full) = (filled(session, 95_000).await?, filled(session, 9_000_000).await?);
    let (mut of_small, mut of_full) = (Vec::new(), Vec::new());
    for _ in 0..count {
        for (task, took) in [(&small, &mut of_small), (&full, &mut of_full)] {
            let start = Instant::now();
            let page = task.read(Read::tail(100)).await?;
            took.push(micros(start.elapsed()));
            assert_eq!(page.text.lines().count(), 100, "not the last hundred lines");
        }
    }
    println!("{}", json!({"small_us": of_small, "full_us": of_full}));
    for task in [small, full] {
        task.kill(Kill::now()).await?;
    }
    Ok(())
}

async fn wakes(session: &Session, count: usize) -> Done<()> {
    let command =
        format!("for i in $(seq {count}); do sleep 0.02; echo \"match $i at $EPOCHREALTIME;\"; done");
    let task = session.start(Request::shell(command)).await?;
    let (mut took, mut at) = (Vec::new(), 0);
    for number in 1..=count {
        let until = Read::from(at).until(format!("match {number} at [0-9.]+;")).wait(Duration::from_secs(20));
        let page = task.read(until).await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let line = page.text.lines().find(|line| line.starts_with(&format!("match {number} ")));
        let written = line.and_then(|line| line.split(" at ").nth(1)).and_then(|rest| rest.strip_suffix(';'));
        let written: f64 = written.ok_or("no such line")?.parse()?;
        took.push((now.as_secs_f64() - written) * 1e6);
        at = page.next_offset;
    }
    println!("{}", json!({"wake_us": took}));
    task.kill(Kill::now()).await?;
    Ok(())
}

async fn both(session: &Session, bytes: usize) -> Done<()> {
    let half = bytes / 2;
    let command = format!("head -c {half} /dev/zero & head -c {half} /dev/zero >&2; wait");
    let start = Instant::now();
    let task = session.start(Request::shell(command)).await?;
    let outcome = task.outcome().await?;
    let elapsed = start.elapsed();
    assert_eq!(outcome.stdout_bytes + outcome.stderr_bytes, u64::try_from(half * 2)?, "not all was drained");
    println!("{}", json!({"stream_us": micros(elapsed)}));
    Ok(())
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
