//! The options of `run` and `start` that bind a command, and what is said about the protection that it got.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kennel::config::CONTAINER_RESERVED;
use kennel::{Enforced, Network, Protection, SandboxChoice, SandboxMode};

use crate::fault::Fault;
use crate::render;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// The rights of the user.
    Off,
    /// Nothing can be written.
    ReadOnly,
    /// The working directory, a private temp directory and what --writable names.
    WorkspaceWrite,
    /// Reserved.
    #[value(hide = true)]
    Container,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkArg {
    On,
    /// Unix sockets only.
    Off,
}

/// What binds the command.
#[derive(Debug, Clone, Args)]
pub(crate) struct SandboxOptions {
    /// What the command may reach; secrets of the home directory are hidden in both sandboxes.
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) sandbox: Option<ModeArg>,
    /// The network of a sandboxed command; off unless given.
    #[arg(long, value_enum, value_name = "on|off")]
    pub(crate) network: Option<NetworkArg>,
    /// A further path that a sandboxed command may write (repeatable).
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// A further path that a sandboxed command may read where it would be hidden (repeatable).
    #[arg(long, value_name = "DIR")]
    pub(crate) readable: Vec<PathBuf>,
    /// The command cannot signal what it did not start; part of every sandbox.
    #[arg(long)]
    pub(crate) scope_signals: bool,
    /// A sandboxed command keeps inherited descriptors above 2, such as those of <(...); else they are closed.
    #[arg(long)]
    pub(crate) pass_fds: bool,
    /// Refuse to run with less protection than asked.
    #[arg(long)]
    pub(crate) require: bool,
}

impl SandboxOptions {
    pub(crate) fn choice(&self) -> Result<SandboxChoice, Fault> {
        let mut choice = SandboxChoice::new();
        if let Some(mode) = self.sandbox {
            choice = choice.mode(match mode {
                ModeArg::Off => SandboxMode::Off,
                ModeArg::ReadOnly => SandboxMode::ReadOnly,
                ModeArg::WorkspaceWrite => SandboxMode::WorkspaceWrite,
                ModeArg::Container => {
                    return Err(Fault::usage("--sandbox container", CONTAINER_RESERVED));
                }
            });
        }
        if let Some(network) = self.network {
            choice = choice.network(match network {
                NetworkArg::On => Network::On,
                NetworkArg::Off => Network::Off,
            });
        }
        choice = self.writable.iter().fold(choice, SandboxChoice::writable);
        choice = self.readable.iter().fold(choice, SandboxChoice::readable);
        if self.scope_signals {
            choice = choice.scope_signals();
        }
        if self.pass_fds {
            choice = choice.pass_descriptors();
        }
        Ok(if self.require { choice.require() } else { choice })
    }
}

/// Says on stderr which protections are weaker than asked.
pub(crate) fn name_weaker(protections: &[Protection]) {
    for Protection { name, asked, enforced, why, .. } in protections {
        let how = match enforced {
            Enforced::Fully => continue,
            Enforced::Partly => "in part only",
            Enforced::No => "not in force",
        };
        let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        render::note(&format!("protection {name} ({asked}) is {how}{why}"));
    }
}
