//! The options of `run` and `start` that choose what holds the command's processes together.

use clap::{Args, ValueEnum};
use kennel::{BoundaryChoice, Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum BoundaryArg {
    /// A cgroup where one was handed to you, else the subreaper.
    Auto,
    /// Orphans come to the task's supervisor. Always there; this: nothing else.
    Subreaper,
    /// A cgroup v2 leaf: also reaches members that run as another user.
    Cgroup,
    /// A PID namespace: the kernel ends all of it at once, also when every process of Kennel is killed.
    PidNamespace,
}

/// What holds the processes together.
#[derive(Debug, Clone, Args)]
pub(crate) struct BoundaryOptions {
    /// What holds the command's processes together. The subreaper always does; the others are added to it.
    #[arg(long, value_enum, value_name = "NAME", default_value = "auto")]
    boundary: BoundaryArg,
}

impl BoundaryOptions {
    pub(crate) fn apply(&self, request: Request, require: bool) -> Request {
        let choice = match self.boundary {
            BoundaryArg::Auto => BoundaryChoice::Auto,
            BoundaryArg::Subreaper => BoundaryChoice::Subreaper,
            BoundaryArg::Cgroup => BoundaryChoice::Cgroup,
            BoundaryArg::PidNamespace => BoundaryChoice::PidNamespace,
        };
        if require { request.require_boundary(choice) } else { request.boundary(choice) }
    }
}
