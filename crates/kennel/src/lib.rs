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
//!
//! # Platform
//! Linux, 5.4 or later. Elsewhere the crate compiles and [`Builder::build`] answers `Error::Unsupported`.

// Platform code is fenced here and nowhere else: whatever is listed in `linux.rs` may use Linux freely.
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod imp;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod imp;

pub use imp::*;
