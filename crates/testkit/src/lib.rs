//! The harness of Kennel's tests: run the binary in a state directory of its own, know by descriptors (never by time) when
//! a fixture is in place and when the last process of it has gone, and fail when a test leaves something behind.
//!
//! It shares no code with what it judges: processes are found by a resource limit that is inherited through everything
//! (see [`Tag`]), not by ancestry. Fixtures are the habits of the `hostile` binary beside this library.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty, so that a workspace which depends on it still compiles.
#![cfg(target_os = "linux")]

mod barrier;
mod clock;
mod fifo;
mod leftovers;
mod process;
mod rig;
mod run;
mod skip;
mod sys;
mod terminal;

pub use barrier::{Barrier, lacks_faults};
pub use clock::Deadline;
pub use fifo::Fifo;
pub use leftovers::{Descriptors, leftovers};
pub use process::{Process, Tag, pidfd, signal};
pub use rig::{Rig, binary_or, hostile};
pub use run::{Finished, Invocation, Running};
pub use skip::{lacks, lacks_program, skip, slow};
pub use sys::fork_worker;
pub use terminal::Terminal;
