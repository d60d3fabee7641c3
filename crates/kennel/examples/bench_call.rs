//! Median of a warm foreground call against `bash -c true` by `std::process`, interleaved.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a measurement")]
use std::time::{Duration, Instant};

use kennel::{Kennel, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    kennel::init();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(300), |text| text.parse())?;
    let session = Kennel::builder().build().await?.session().open().await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _round in 0..rounds {
        let began = Instant::now();
        let output = std::process::Command::new("bash").args(["-c", "true"]).output()?;
        theirs.push(began.elapsed());
        assert!(output.status.success());
        let began = Instant::now();
        let outcome = session.run(Request::shell("true")).await?;
        ours.push(began.elapsed());
        assert!(outcome.success);
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!("bash {theirs:?}, kennel {ours:?}, ratio {:.2}", ours.as_secs_f64() / theirs.as_secs_f64());
    session.close().await;
    Ok(())
}
