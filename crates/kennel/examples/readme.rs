//! The program of the README, whole; a test compares the two.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use kennel::{Kill, Read, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    kennel::init(); // first statement of main: Kennel starts its guard by executing this program once more

    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(agent())
}

async fn agent() -> Result<(), Box<dyn std::error::Error>> {
    let kennel = kennel::Kennel::builder().build().await?;
    let session = kennel.session().cwd("/repo").open().await?;
    let outcome = session.run(Request::shell("cargo test").timeout(Duration::from_secs(300))).await?;
    let server = session.start(Request::shell("npm run dev")).await?;
    server.read(Read::from(0).until("ready")).await?;
    let report = server.kill(Kill::terminate().grace(Duration::from_secs(5))).await?;
    assert!(report.success); // and report.proof says by what it is known
    session.close().await; // dead, all of them
    println!("{:?}", outcome.end);
    Ok(())
}
