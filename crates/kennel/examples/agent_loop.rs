//! What an agent's Bash tool does: a foreground call, a background server, reading until it is ready, killing it with
//! proof.
//!
//! `cargo run --example agent_loop`
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use kennel::{Kennel, Kill, Read, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // First: in the guard's process this takes over and never returns.
    kennel::init();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(agent())
}

async fn agent() -> Result<(), Box<dyn std::error::Error>> {
    let kennel = Kennel::builder().build().await?;
    let session = kennel.session().cwd("/tmp").open().await?;

    // A foreground call. A failing command is a result, not an error.
    let request = Request::shell("echo to stdout; echo to stderr >&2; false | true; exit 3")
        .timeout(Duration::from_secs(10));
    let outcome = session.run(request).await?;
    println!("exit code {:?}, stdout {:?}, stderr {:?}", outcome.exit_code, outcome.stdout, outcome.stderr);

    // A child that goes its own way does not hang the call, and is not lost.
    let outcome = session.run(Request::shell("setsid sleep 300 & echo started")).await?;
    println!("returned after {} ms, still running: {:?}", outcome.duration_ms, outcome.background_pids);

    // A server in the background, read until it is ready.
    let script = "trap 'echo bye; exit 0' TERM; echo starting; echo ready on port 8123; while :; do sleep 1 & wait; done";
    let server = session.start(Request::shell(script).description("a server")).await?;
    let page = server.read(Read::from(0).until("ready on port [0-9]+").wait(Duration::from_secs(10))).await?;
    println!("matched: {:?}, so far: {:?}", page.matched, page.text);

    // Killed with proof: success means that nothing of it is left.
    let report = server.kill(Kill::terminate().grace(Duration::from_secs(2))).await?;
    println!(
        "dead: {}, by {}, proof {:?}, after {} ms",
        report.success, report.signal_sent, report.proof, report.waited_ms
    );
    let rest = server.read(Read::from(page.next_offset)).await?;
    println!("its last words: {:?}", rest.text);

    // Ends the sleep too: everything of the session is dead when this is true.
    println!("session closed, all dead: {}", session.close().await);
    Ok(())
}
