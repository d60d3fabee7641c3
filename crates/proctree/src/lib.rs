//! Who is a process, who descends from it, and is it dead?
//!
//! A process id is a number that the kernel hands out again. This crate never signals a bare one: an identity is the
//! pid *with its start time* ([`ProcId`]), a handle is a pidfd ([`PidFd`]), and what a signal met is a fact in the
//! result ([`Sent`]), never an assumption. Absent `/proc` data never means dead.
//!
//! What is not here: spawning, reaping, clocks, policy. Reading a process or a tree allocates little or nothing, so
//! that it works in a process which may neither fork nor start a thread.
//!
//! # Platform
//!
//! Linux ≥ 5.4 with `/proc`; each feature that may be missing there is probed alone and its absence is an error or a
//! documented weaker answer. Elsewhere the crate compiles and says `Unsupported`.

mod closure;
#[doc(hidden)]
pub mod fuzz;
mod group;
mod host;
mod identity;
mod kin;
pub mod parse;
mod ports;
mod read;
mod signal;
mod snapshot;
mod sweep;
mod sys;
mod track;
mod usage;
mod walk;

pub use closure::{Reason, Related, Rules, closure};
pub use group::{Leader, LiveMembers, list_group_members, signal_group, signal_group_except};
pub use host::{HostId, host_id};
pub use identity::{Liveness, ProcId, liveness, proc_id};
pub use parse::stat::{Stat, parse_stat};
pub use parse::status::{Status, parse_status};
pub use ports::{Listener, Proto, listening_ports};
pub use read::{MarkerRead, cmdline, environ_value, read_stat, read_status, rttime_hard_limit};
pub use signal::{PidFd, Sent, pidfd_supported, signal_checked, signal_child_of};
pub use snapshot::{Row, Snapshot};
pub use sweep::SignalReport;
pub use sys::Signal;
pub use track::{ActiveSource, Marker, Source, TrackOptions, Tracker, track_descendants};
pub use usage::{Memory, has_written_to, memory, open_files, proportional_bytes};
pub use walk::{
    Member, Walked, all_pids, children_of, children_of_self_single_threaded, descendants, descendants_settled,
};
