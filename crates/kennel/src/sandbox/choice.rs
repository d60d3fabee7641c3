//! What a caller can ask.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config;

/// What a command may write, and whether it is bound at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// It runs with the rights of the user.
    #[default]
    Off,
    /// It writes nothing.
    ReadOnly,
    /// It writes its workspace, a private temp directory, and what the request names.
    WorkspaceWrite,
}

/// Whether a sandboxed command has a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// It has.
    On,
    /// No sockets but Unix ones.
    Off,
}

/// A sandbox, or parts of one: what is not said comes from the session, else from the defaults (no sandbox; in a sandbox
/// no network).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a choice does nothing until a request or session has it"]
pub struct SandboxChoice {
    pub(crate) mode: Option<SandboxMode>,
    pub(crate) network: Option<Network>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) scope_signals: bool,
    pub(crate) require: bool,
    pub(crate) pass_descriptors: bool,
}

impl SandboxChoice {
    /// Nothing is said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What may be written.
    pub fn mode(mut self, mode: SandboxMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Whether there is a network.
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(network);
        self
    }

    /// A further directory or file that may be written, even where it would be hidden. In `workspace-write` only.
    pub fn writable(mut self, path: impl AsRef<Path>) -> Self {
        self.writable.push(path.as_ref().to_owned());
        self
    }

    /// A directory or file that may be read where it would be hidden.
    pub fn readable(mut self, path: impl AsRef<Path>) -> Self {
        self.readable.push(path.as_ref().to_owned());
        self
    }

    /// The command cannot signal what it did not start, sandboxed or not. Without a sandbox this costs set-id programs
    /// (`sudo`) their privileges.
    pub fn scope_signals(mut self) -> Self {
        self.scope_signals = true;
        self
    }

    /// A sandboxed command of a wrapper keeps descriptors above 2 that it inherits; else they are closed, because what lies
    /// behind them is bound by nothing.
    pub fn pass_descriptors(mut self) -> Self {
        self.pass_descriptors = true;
        self
    }

    /// Run nothing with less protection than asked.
    pub fn require(mut self) -> Self {
        self.require = true;
        self
    }

    /// This choice where it says something, else that of `session`.
    pub(crate) fn over(&self, session: &Self) -> Self {
        let both = |own: &[PathBuf], other: &[PathBuf]| [other, own].concat();
        Self {
            mode: self.mode.or(session.mode),
            network: self.network.or(session.network),
            writable: both(&self.writable, &session.writable),
            readable: both(&self.readable, &session.readable),
            scope_signals: self.scope_signals || session.scope_signals,
            require: self.require || session.require,
            pass_descriptors: self.pass_descriptors || session.pass_descriptors,
        }
    }

    /// At least as tight as what stands in for a question, and nothing less.
    pub(crate) fn instead_of_a_question(mut self) -> Self {
        if self.mode.unwrap_or_default() == SandboxMode::Off {
            self.mode = Some(SandboxMode::WorkspaceWrite);
        }
        self.network = Some(Network::Off);
        self.require()
    }

    /// What nobody has said is as somebody has configured it.
    pub(crate) fn or_configured(mut self, settings: &config::Settings) -> Self {
        let mode = settings.sandbox.said().map(|mode| match mode {
            config::Sandbox::ReadOnly => SandboxMode::ReadOnly,
            config::Sandbox::WorkspaceWrite => SandboxMode::WorkspaceWrite,
            config::Sandbox::Off => SandboxMode::Off,
        });
        let network = settings.network.said().map(|network| match network {
            config::Network::On => Network::On,
            config::Network::Off => Network::Off,
        });
        self.mode = self.mode.or(mode);
        self.network = self.network.or(network);
        self
    }
}
