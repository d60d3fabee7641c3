//! What happens to one task: guard, supervisor, lifecycle, spool, record, control socket.
//!
//! Synchronous, single-threaded, one `epoll_wait` loop a process. The `kennel` library is its only caller; nothing
//! here knows policy, sessions of an agent, or a terminal's looks.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty, so that a workspace which depends on it still compiles.
#![cfg(target_os = "linux")]

mod blocked;
mod bytes;
mod clock;
mod datagram;
mod end;
mod guard;
mod keeper;
mod lifecycle;
mod log;
mod lost;
mod newer;
mod reaper;
mod record;
pub mod spool;
mod sweep;
mod sys;
mod task;
mod total;
pub mod wire;
mod wire_confine;
mod wire_input;

pub use bytes::ByteStr;
pub use confine::cgroup::{self, Leaf};
pub use confine::{Inherited, Tag};
pub use datagram::{DATAGRAM_BYTES, FromGuard, Received, ToGuard, receive, send};
pub use end::{End, StoppedBy, WaitStatus, signal_name, signal_number};
pub use guard::{GuardOptions, Spares, Stance, executed_guard, fork_guard, hello, socket_pair, wake};
pub use lifecycle::{OnOutputCap, OnOwnerExit, OnTimeout, Survivors};
pub use log::LOG_DIRECTORY;
pub use lost::finish_as_lost;
pub use record::{Origin, ProcRef, RECORD_FILE, RECORD_VERSION, Record};
pub use task::{SOCKET_FILE, TempDir, remove_task_dir};
pub use total::keep_within;
