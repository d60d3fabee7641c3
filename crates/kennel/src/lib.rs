//! Run shell commands for coding agents, watch them, end them with proof, remember them.
//!
//! ```no_run
//! # async fn demo() -> kennel::Result<()> {
//! use kennel::{Kennel, Kill, Read, Request};
//! use std::time::Duration;
//!
//! let kennel = Kennel::builder().build().await?;
//! let session = kennel.session().cwd("/tmp").open().await?;
//! let outcome = session.run(Request::shell("echo hello").timeout(Duration::from_secs(5))).await?;
//! assert_eq!(outcome.stdout, "hello\n");
//!
//! let server = session.start(Request::shell("python3 -um http.server 8123")).await?;
//! let page = server.read(Read::from(0).until("Serving HTTP")).await?;
//! println!("{}", page.text);
//! let report = server.kill(Kill::terminate().grace(Duration::from_secs(1))).await?;
//! assert!(report.success, "proof: {:?}", report.proof);
//! assert!(session.close().await);
//! # Ok(()) }
//! ```
//!
//! A program that uses this library calls [`init`] first in `main`, or names a `kennel` binary.

mod check;
mod clock;
mod error;
mod feed;
mod guard;
mod id;
mod init;
mod kill;
mod link;
mod outcome;
mod places;
mod plan;
mod ports;
mod probe;
mod read;
mod registry;
mod request;
mod root;
mod session;
mod sys;
mod task;
mod text;

pub use check::{Answer, PolicyChoice};
pub use error::{Error, Result};
pub use feed::{Event, EventBody, EventStream, Feed, GapNotice, News, NoticeBody, Pace, Scope, StreamName};
pub use guard::{ForkedGuard, GuardStart};
pub use id::TaskId;
pub use init::init;
pub use kill::Kill;
pub use outcome::{
    Boundary, Clamped, ClampedValue, Consent, End, Enforced, ErrorInfo, KillReport, Notice, Outcome, Proof,
    Protection, RuleHit, Status, StoppedBy, Survivor, TaskInfo, TaskList, TaskOutput, Usage, VerdictSummary,
};
pub use places::account_home;
pub use policy;
pub use probe::{Finding, Probe};
pub use read::{Chunk, Read, Stream};
pub use registry::{Collected, RETENTION_DEFAULT};
pub use request::{
    Command, GRACE_DEFAULT, MAX_OUTPUT_DEFAULT, OUTPUT_CAP_DEFAULT, OnOwnerExit, OnTimeout, Output, Request,
    Stdin, Survivors, Timeout,
};
pub use root::{Builder, Kennel};
pub use session::{Door, Session, SessionBuilder, TIMEOUT_DEFAULT, TIMEOUT_MAX_DEFAULT};
pub use supervisor::{signal_name, signal_number};
pub use task::Task;
