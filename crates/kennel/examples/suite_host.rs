//! A program on the library for suites that kill what supervises a task: `suite_host FILE [BOUNDARY]` runs the
//! script (in this boundary and no other), prints the task's id and waits to be killed. Whose pids the host, the supervisor and the guard have is in `kennel tasks --json`.
//!
//! `cargo xtask escape` gives it to the escape suite, which kills the host (`sup`), the supervisor and the guard (`wrap`).
#![expect(clippy::print_stdout, reason = "its output is what the suite reads")]

use kennel::{BoundaryChoice, Kennel, PolicyChoice, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    kennel::init();
    let file = std::env::args_os().nth(1).ok_or("usage: suite_host FILE [BOUNDARY]")?;
    let boundary = match std::env::args().nth(2).as_deref() {
        None => None,
        Some("subreaper") => Some(BoundaryChoice::Subreaper),
        Some("cgroup") => Some(BoundaryChoice::Cgroup),
        Some("pid_namespace") => Some(BoundaryChoice::PidNamespace),
        Some(other) => return Err(format!("no such boundary: {other}").into()),
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let kennel = Kennel::builder().build().await?;
        let session = kennel.session().policy(PolicyChoice::Off).open().await?;
        let mut request = Request::argv(["bash".into(), file]);
        if let Some(boundary) = boundary {
            request = request.require_boundary(boundary);
        }
        let task = session.start(request).await?;
        println!("{}", task.id());
        // Neither handle is dropped: the task is the host's for as long as that lives.
        std::future::pending().await
    })
}
