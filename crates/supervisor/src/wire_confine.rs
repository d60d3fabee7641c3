//! Confinement on the wire: what binds a command, and what of it is in force.

use std::ffi::CString;

use serde::{Deserialize, Serialize};

use crate::bytes::ByteStr;

/// What binds a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineSpec {
    /// A sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxSpec>,
    /// It cannot signal what it did not start; part of every sandbox.
    #[serde(default)]
    pub scope_signals: bool,
    /// Run nothing with less protection than asked.
    #[serde(default)]
    pub required: bool,
    /// What it may use.
    #[serde(default, skip_serializing_if = "LimitsSpec::is_empty")]
    pub limits: LimitsSpec,
}

/// What a task may use at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitsSpec {
    /// Memory of all its processes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// CPU time of all its processes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_time_ms: Option<u64>,
    /// Percent of one CPU at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_share_percent: Option<u32>,
    /// Bytes of any file that it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size_bytes: Option<u64>,
    /// Descriptors of one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// No core files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_core: bool,
}

impl LimitsSpec {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// What may be written.
    pub mode: ModeSpec,
    /// Whether there is a network.
    pub network: NetworkSpec,
    /// How parts of the file tree are seen; see `confine::Layout`.
    pub entries: Vec<EntrySpec>,
    /// The temp directory: made by the supervisor, shared with other tasks that name it, removed by the last of them.
    pub temp: Option<ByteStr>,
    /// Descriptors above 2 that the command would inherit stay open.
    #[serde(default)]
    pub pass_descriptors: bool,
}

/// What a sandboxed command may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModeSpec {
    /// Nothing.
    ReadOnly,
    /// Its workspace and temp directory.
    WorkspaceWrite,
}

/// Whether a sandboxed command has a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkSpec {
    /// It has.
    On,
    /// Unix sockets only.
    Off,
}

/// A part of the file tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySpec {
    /// Absolute path without symbolic links.
    pub target: ByteStr,
    /// What stands there instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ByteStr>,
    /// How it is seen.
    pub access: AccessSpec,
}

/// How a part of the file tree is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessSpec {
    /// Not at all.
    Hidden,
    /// Read and executed.
    ReadOnly,
    /// As the user's rights allow.
    Writable,
    /// A device node, or a directory of them.
    Device,
}

/// How far a protection is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Enforced {
    /// As asked.
    Fully,
    /// Weaker than asked.
    Partly,
    /// Not at all.
    No,
}

/// A protection and how far it is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Protection {
    /// Which.
    pub name: String,
    /// What was asked.
    pub asked: String,
    /// What is in force.
    pub enforced: Enforced,
    /// Why it is less than asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What it was applied to: the names of variables that were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl ConfineSpec {
    /// As the child takes it; `None` where nothing binds the command.
    ///
    /// # Errors
    /// A path that holds a NUL byte.
    pub(crate) fn confinement(&self) -> Result<Option<confine::Confinement>, std::ffi::NulError> {
        let Some(sandbox) = &self.sandbox else {
            return Ok(self.scope_signals.then_some(confine::Confinement::ScopedSignals));
        };
        let entries = sandbox.entries.iter().map(EntrySpec::entry).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(confine::Confinement::Sandboxed(confine::Sandbox {
            mode: match sandbox.mode {
                ModeSpec::ReadOnly => confine::Mode::ReadOnly,
                ModeSpec::WorkspaceWrite => confine::Mode::WorkspaceWrite,
            },
            network: match sandbox.network {
                NetworkSpec::On => confine::Network::On,
                NetworkSpec::Off => confine::Network::Off,
            },
            layout: confine::Layout::new(entries),
            pass_descriptors: sandbox.pass_descriptors,
        })))
    }
}

impl EntrySpec {
    fn entry(&self) -> Result<confine::Entry, std::ffi::NulError> {
        Ok(confine::Entry {
            target: CString::new(self.target.0.clone())?,
            source: self.source.as_ref().map(|source| CString::new(source.0.clone())).transpose()?,
            access: match self.access {
                AccessSpec::Hidden => confine::Access::Hidden,
                AccessSpec::ReadOnly => confine::Access::ReadOnly,
                AccessSpec::Writable => confine::Access::Writable,
                AccessSpec::Device => confine::Access::Device,
            },
        })
    }
}

impl From<confine::Protection> for Protection {
    fn from(found: confine::Protection) -> Self {
        Self {
            name: found.name.to_owned(),
            asked: found.asked.to_owned(),
            enforced: match found.enforced {
                confine::Enforced::Fully => Enforced::Fully,
                confine::Enforced::Partly => Enforced::Partly,
                confine::Enforced::No => Enforced::No,
            },
            why: found.why,
            names: Vec::new(),
        }
    }
}

/// What a sandbox of this mode, without network, would have in force here, as far as that can be told without trying.
pub fn expected_protections(mode: ModeSpec) -> Vec<Protection> {
    let spec = ConfineSpec {
        sandbox: Some(SandboxSpec {
            mode,
            network: NetworkSpec::Off,
            entries: Vec::new(),
            temp: None,
            pass_descriptors: false,
        }),
        ..ConfineSpec::default()
    };
    let confinement = spec.confinement().ok().flatten();
    let judged = confinement.map(|confinement| confine::judge(&confinement, &confine::expected()));
    judged.into_iter().flatten().map(Protection::from).collect()
}
