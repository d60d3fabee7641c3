//! Trees of processes: who is in one and why, signals to one, and following one, also where Kennel started none of it.
//!
//! [`proctree`] finds and signals; what is added here is for people and hosts: what a member is called, what it listens
//! on, and whom a signal must not reach.

mod judge;
mod list;
mod signal;
mod track;

pub use judge::{Refused, RefusedMember};
pub use list::{Tree, TreeMember, Why, tree_of_process};
pub use proctree::{Leader, ProcId};
pub use signal::{SIGNALS, TreeSignal, TreeSignalReport, dry_run, signal_tree};
pub use track::{Followed, FollowedMembers, Marker, MemberId, follow};

pub(crate) use list::tree_of_task;
