//! From the launch's confinement to what the leader's child applies, and from what it found back to protections.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

use confine::{Access, Confinement, Entry, Facts, Layout};

use super::place::{COMMAND_FILE, ENV_FILE, FIFO_FILE, Place};
use super::temp::TempDir;
use crate::wire::{Enforced, Launch, Protection};

/// What the leader is bound by, with what has to be there for it.
#[derive(Debug, Default)]
pub(super) struct Binding {
    /// Kept until it is known what came of it.
    pub(super) confinement: Option<Confinement>,
    pub(super) temp: Option<TempDir>,
    /// `TMPDIR`, for a task that turns out not to have a private `/tmp`; the last of its environment.
    pub(super) temp_variable: Option<Vec<u8>>,
}

impl Binding {
    /// Makes the temp directory.
    pub(super) fn prepare(launch: &Launch) -> Result<Self, String> {
        let nul = |_| "a path of the sandbox holds a NUL byte".to_owned();
        let mut binding = Self { confinement: launch.confine.confinement().map_err(nul)?, ..Self::default() };
        let Some(sandbox) = &launch.confine.sandbox else { return Ok(binding) };
        if let Some(path) = &sandbox.temp {
            let path = path.as_path();
            let temp = TempDir::join(path)
                .map_err(|error| format!("make the temp directory {}: {error}", path.display()))?;
            binding.temp = Some(temp);
            let chosen = launch.env.iter().any(|variable| variable.0.starts_with(b"TMPDIR="));
            binding.temp_variable =
                (!chosen).then(|| [b"TMPDIR=", TempDir::tmp(path).as_os_str().as_bytes()].concat());
        }
        Ok(binding)
    }

    /// Lets a sandboxed shell see its own files in the state directory, which is hidden else.
    pub(super) fn show_shell_files(&mut self, place: &Place) {
        if let Some(Confinement::Sandboxed(sandbox)) = &mut self.confinement {
            sandbox.layout = with_shell_files(&sandbox.layout, place);
        }
    }

    /// What is in force, once the child has said what it found.
    pub(super) fn protections(&self, facts: &Facts) -> Vec<Protection> {
        let judged = self.confinement.as_ref().map(|confinement| confine::judge(confinement, facts));
        judged.into_iter().flatten().map(Protection::from).collect()
    }
}

fn with_shell_files(layout: &Layout, place: &Place) -> Layout {
    let mut entries = layout.entries().to_vec();
    let Ok(directory) = place.path().canonicalize() else { return Layout::new(entries) };
    for (name, access) in
        [(FIFO_FILE, Access::Writable), (ENV_FILE, Access::ReadOnly), (COMMAND_FILE, Access::ReadOnly)]
    {
        let file = directory.join(name);
        if file.exists()
            && let Ok(target) = CString::new(file.as_os_str().as_bytes())
        {
            entries.push(Entry { target, source: None, access });
        }
    }
    Layout::new(entries)
}

/// Whether one of them is less than asked.
pub(super) fn is_weaker(protections: &[Protection]) -> bool {
    protections.iter().any(|protection| protection.enforced != Enforced::Fully)
}

/// Why a command was not started whose protections were required.
pub(super) fn refusal(protections: &[Protection]) -> String {
    let weaker: Vec<String> = protections
        .iter()
        .filter(|protection| protection.enforced != Enforced::Fully)
        .map(|protection| {
            let Protection { name, asked, why, .. } = protection;
            format!("{name} ({asked}): {}", why.as_deref().unwrap_or("not in force"))
        })
        .collect();
    format!("a required protection cannot be had: {}", weaker.join("; "))
}
