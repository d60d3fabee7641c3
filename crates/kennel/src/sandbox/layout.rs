//! From a choice to the layout of the file tree on this machine.
//!
//! Everything is looked up here, once, in the caller's process: the child only opens what is named, without following
//! symbolic links. What does not exist is left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use supervisor::ByteStr;
use supervisor::TempDir;
use supervisor::wire::{AccessSpec, ConfineSpec, EntrySpec, ModeSpec, NetworkSpec, SandboxSpec};

use super::choice::{Network, SandboxChoice, SandboxMode};
use super::places;
use crate::error::{Error, Result};
use crate::session::{Door, SessionTerms};

/// Directories that a sandbox is about.
pub(crate) struct Around<'a> {
    pub(crate) terms: &'a SessionTerms,
    /// The directory in which the command starts.
    pub(crate) cwd: &'a Path,
    /// The home that the command will see.
    pub(crate) home: OsString,
    /// The task's id.
    pub(crate) id: &'a str,
}

/// What binds a command of this choice.
pub(crate) fn confine_spec(choice: &SandboxChoice, around: &Around<'_>) -> Result<ConfineSpec> {
    let (scope_signals, required) = (choice.scope_signals, choice.require);
    let mode = match choice.mode.unwrap_or_default() {
        SandboxMode::ReadOnly => ModeSpec::ReadOnly,
        SandboxMode::WorkspaceWrite => ModeSpec::WorkspaceWrite,
        SandboxMode::Off if choice.network == Some(Network::Off) => {
            return Err(refused(
                "the network can be switched off in a sandbox only",
                "add --sandbox workspace-write, or sandbox = \"workspace-write\" beside network = \"off\"",
            ));
        }
        SandboxMode::Off => return Ok(ConfineSpec { scope_signals, required, ..ConfineSpec::default() }),
    };
    if mode == ModeSpec::ReadOnly && !choice.writable.is_empty() {
        return Err(refused(
            "a read-only sandbox has no writable places",
            "take workspace-write, or no --writable",
        ));
    }
    let temp = temp_directory(around);
    let mut tree = Tree { entries: Vec::new(), mode };
    tree.machine(&temp);
    let homes = own_homes(&around.home);
    tree.homes(&homes);
    tree.state(around);
    tree.named(choice, around)?;
    tree.protect(&homes);
    let network = match choice.network.unwrap_or(Network::Off) {
        Network::On => NetworkSpec::On,
        Network::Off => NetworkSpec::Off,
    };
    let (entries, temp) = (tree.entries, Some(ByteStr::from(&temp)));
    let sandbox = SandboxSpec { mode, network, entries, temp, pass_descriptors: choice.pass_descriptors };
    Ok(ConfineSpec { sandbox: Some(sandbox), scope_signals, required, ..ConfineSpec::default() })
}

fn refused(what: &str, hint: &str) -> Error {
    Error::BadRequest { what: what.to_owned(), hint: hint.to_owned() }
}

/// One for all commands of an agent's session, which expects to find what it left; one for each command of a wrapper.
fn temp_directory(around: &Around<'_>) -> PathBuf {
    let name = if around.terms.door == Door::Agent { around.terms.session_id.as_str() } else { around.id };
    around.terms.places.temp().join(name)
}

struct Tree {
    entries: Vec<EntrySpec>,
    mode: ModeSpec,
}

impl Tree {
    fn add(&mut self, target: &Path, access: AccessSpec) {
        self.entries.push(EntrySpec { target: ByteStr::from(target), source: None, access });
    }

    /// An entry for what is really there, where something is.
    fn add_existing(&mut self, target: &Path, access: AccessSpec) {
        if let Some(target) = real(target) {
            self.add(&target, access);
        }
    }

    fn machine(&mut self, temp: &Path) {
        for node in places::DEVICES {
            self.add_existing(Path::new(node), AccessSpec::Device);
        }
        self.add_existing(Path::new(places::RUN), AccessSpec::Hidden);
        for shown in places::RUN_SHOWN {
            self.add_existing(Path::new(shown), AccessSpec::ReadOnly);
        }
        let access = match self.mode {
            ModeSpec::ReadOnly => AccessSpec::ReadOnly,
            ModeSpec::WorkspaceWrite => AccessSpec::Writable,
        };
        let instead = places::SHARED_TEMP.iter().map(|shared| (*shared, TempDir::tmp(temp)));
        for (shared, source) in instead.chain([(places::SHARED_MEMORY, TempDir::shm(temp))]) {
            if let Some(target) = real(Path::new(shared)) {
                let source = real_or_future(&source);
                let (target, source) = (ByteStr::from(&target), Some(ByteStr::from(&source)));
                self.entries.push(EntrySpec { target, source, access });
            }
        }
        if rustix::process::geteuid().is_root() {
            for secret in places::SECRETS_OF_ROOT {
                self.add_existing(Path::new(secret), AccessSpec::Hidden);
            }
        }
    }

    fn homes(&mut self, homes: &[PathBuf]) {
        for others in places::HOMES {
            self.add_existing(Path::new(others), AccessSpec::Hidden);
        }
        for home in homes {
            self.add(home, AccessSpec::ReadOnly);
            for secret in places::SECRETS {
                self.add_existing(&home.join(secret), AccessSpec::Hidden);
            }
        }
    }

    /// Our own records, other tasks' output and control sockets.
    fn state(&mut self, around: &Around<'_>) {
        let places = &around.terms.places;
        for state in std::iter::once(places.root()).chain(places.volatile.as_deref()) {
            self.add_existing(state, AccessSpec::Hidden);
        }
    }

    /// What the request is about: it is seen even where its surroundings are hidden.
    fn named(&mut self, choice: &SandboxChoice, around: &Around<'_>) -> Result<()> {
        let terms = around.terms;
        let workspace = if terms.door == Door::Agent { terms.whereabouts.root() } else { around.cwd };
        let missing = |path: &Path| {
            refused(
                &format!("the path {} does not exist", path.display()),
                "name existing paths for the sandbox",
            )
        };
        for path in &choice.readable {
            let path = around.cwd.join(path);
            self.add(&real(&path).ok_or_else(|| missing(&path))?, AccessSpec::ReadOnly);
        }
        if let Some(cwd) = real(around.cwd) {
            self.add(&cwd, AccessSpec::ReadOnly);
        }
        let writable = match self.mode {
            ModeSpec::ReadOnly => {
                self.add(&real(workspace).ok_or_else(|| missing(workspace))?, AccessSpec::ReadOnly);
                return Ok(());
            }
            ModeSpec::WorkspaceWrite => {
                std::iter::once(workspace).chain(choice.writable.iter().map(PathBuf::as_path))
            }
        };
        for path in writable {
            let path = around.cwd.join(path);
            let path = real(&path).ok_or_else(|| missing(&path))?;
            if path == Path::new("/") {
                return Err(refused(
                    "the whole file tree cannot be the workspace of a sandbox",
                    "start in a directory of its own, or name it with --cwd",
                ));
            }
            self.add(&path, AccessSpec::Writable);
        }
        Ok(())
    }

    /// Hooks and start-up files inside what may be written. `.git` becomes a mount of its own so that it cannot be moved
    /// away and replaced.
    fn protect(&mut self, homes: &[PathBuf]) {
        let writable: Vec<PathBuf> = self
            .entries
            .iter()
            .filter(|entry| entry.access == AccessSpec::Writable && entry.source.is_none())
            .map(|entry| entry.target.as_path().to_owned())
            .collect();
        for root in &writable {
            let git = root.join(".git");
            if is_directory(&git) && is_directory(&git.join("hooks")) {
                self.add(&git, AccessSpec::Writable);
                self.add(&git.join("hooks"), AccessSpec::ReadOnly);
            }
        }
        for home in homes.iter().filter(|home| writable.iter().any(|root| home.starts_with(root))) {
            for file in places::START_UP {
                self.add_existing(&home.join(file), AccessSpec::ReadOnly);
            }
        }
    }
}

fn own_homes(home: &OsString) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = [Some(PathBuf::from(home)), crate::places::account_home()]
        .into_iter()
        .flatten()
        .filter_map(|home| real(&home))
        .filter(|home| home != Path::new("/"))
        .collect();
    homes.dedup();
    homes
}

/// Where a path really leads; most lead nowhere, and that is one system call.
fn real(path: &Path) -> Option<PathBuf> {
    std::fs::symlink_metadata(path).ok()?;
    path.canonicalize().ok()
}

/// The same for what the supervisor will make.
fn real_or_future(path: &Path) -> PathBuf {
    path.ancestors()
        .find_map(|above| Some(real(above)?.join(path.strip_prefix(above).ok()?)))
        .unwrap_or_else(|| path.to_owned())
}

fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}
