//! What may a child reach before its first instruction?
//!
//! A [`ChildPlan`] is made by the parent, where memory may be allocated and errors explained. [`ChildPlan::enter`]
//! then runs in the forked child as a straight list of [`Stage`]s and ends in `execve(2)` or in eight bytes on the error
//! pipe that name the stage and the errno. Only the sandbox's stages allocate: the child of a single-threaded process may.
//!
//! Not here: policy, clocks, reaping, and anything that happens after the first instruction of the command.
//!
//! # Platform
//! Linux. Elsewhere the crate is empty, so that a workspace which depends on it still compiles.
#![cfg(target_os = "linux")]

mod capabilities;
pub mod cgroup;
mod child;
pub mod controllers;
mod exec;
mod facts;
mod inherit;
mod layout;
mod limits;
mod mounts;
mod namespaces;
mod oom;
pub mod pid_namespace;
mod protection;
mod ruleset;
mod sandbox;
mod seccomp;
mod signals;
mod stage;
mod sys;
mod tag;
mod terminals;

pub use child::{ChildPlan, Placement, PlanError, StdioPlan};
pub use exec::{ExecPlan, Program};
pub use facts::{Facts, expected};
pub use inherit::Inherited;
pub use layout::{Access, Entry, Layout};
pub use limits::Limits;
pub use oom::OomScore;
pub use protection::{Enforced, Protection, judge, weakest};
pub use sandbox::{Confinement, Mode, Network, Sandbox};
pub use signals::{KeeperSignals, block_all, hangup_is_ignored};
pub use stage::{Failure, Stage};
pub use tag::{TAG_FLOOR, Tag};
