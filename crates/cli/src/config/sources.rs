//! The layers that are there: the machine's file, the user's, those up the tree, and variables.
//!
//! A file that cannot be read is an error, never the values without it.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use kennel::Config;
use kennel::config::{HookFailure, Layer, Origin, Settings};

use super::place::{MACHINE, PROJECT, file_in, inside_task, named_dir, own_dir, variable};
use super::trust::Trusted;
use crate::fault::Fault;

/// Far above any file of settings that a person writes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What is in force for a command that runs in `cwd`.
pub(crate) fn load(cwd: &Path) -> Result<Config, Fault> {
    let layers = layers(cwd)?;
    if layers.is_empty() {
        return Ok(Config::default());
    }
    Config::from_layers(&layers).map_err(|error| Fault::of_config(&error))
}

/// What the user's own file says about failures of the hook: nothing else is read, so that nothing else can be in the way.
pub(crate) fn hook_failure() -> HookFailure {
    let text = own_dir().and_then(|dir| read(&file_in(&dir)).ok().flatten());
    text.map_or(HookFailure::Deny, |text| kennel::config::hook_failure(&text))
}

/// In the order in which they apply.
fn layers(cwd: &Path) -> Result<Vec<Layer>, Fault> {
    let mut layers = Vec::new();
    let mut add = |origin: Origin, file: &Path| {
        read(file).map(|text| layers.extend(text.map(|text| Layer { origin, text })))
    };
    add(Origin::Machine(PathBuf::from(MACHINE)), Path::new(MACHINE))?;
    let (own, named) = (own_dir(), named_dir());
    if let Some(own) = &own {
        let file = file_in(own);
        add(Origin::User(file.clone()), &file)?;
    }
    if own.as_ref() != Some(&named) {
        let file = file_in(&named);
        add(Origin::Project(file.clone()), &file)?;
    }
    layers.extend(project_layers(cwd)?);
    layers.extend(variables());
    Ok(layers)
}

/// The files up the tree, the nearest last.
fn project_layers(cwd: &Path) -> Result<Vec<Layer>, Fault> {
    let mut layers = Vec::new();
    let mut trusted = None;
    for file in project_files(cwd) {
        let Some(text) = read(&file)? else { continue };
        let store = trusted.get_or_insert_with(Trusted::load);
        let known = store.as_ref().map_err(|why| Fault::own(anyhow::anyhow!("{why}")))?;
        let origin = if known.holds(&file, &text) { Origin::Trusted(file) } else { Origin::Project(file) };
        layers.push(Layer { origin, text });
    }
    Ok(layers)
}

/// The files of projects that `cwd` is in, the outermost first.
pub(super) fn project_files(cwd: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = cwd
        .ancestors()
        .map(|dir| dir.join(PROJECT))
        .filter(|file| file != Path::new(MACHINE) && counts(file))
        .collect();
    files.reverse();
    files
}

/// Where everybody can put files (`/tmp`), those of others are nobody's project: they could stop every command there.
fn counts(file: &Path) -> bool {
    let (Ok(meta), Some(Ok(dir))) = (file.metadata(), file.parent().map(Path::metadata)) else {
        return false;
    };
    let open = |dir: &Metadata| dir.mode() & 0o002 != 0;
    let trustworthy = [0, rustix::process::geteuid().as_raw()].contains(&meta.uid());
    meta.is_file() && (trustworthy || !open(&dir))
}

/// The variables that stand for keys.
fn variables() -> impl Iterator<Item = Layer> {
    let inside_task = inside_task();
    Settings::NAMES.iter().filter_map(move |key| {
        let name = Layer::variable(key);
        let text = variable(&name)?;
        Some(Layer { origin: Origin::Variable { name, inside_task }, text })
    })
}

/// A file's text; `None` where there is none.
pub(super) fn read(file: &Path) -> Result<Option<String>, Fault> {
    let mut text = String::new();
    let failed = |why: String| Fault::own(anyhow::anyhow!("failed to read {}: {why}", file.display()));
    let read = File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > FILE_BYTES_MAX => {
            Err(failed(format!("more than {FILE_BYTES_MAX} bytes")))
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && behind_anothers_door(file) => Ok(None),
        Err(error) => Err(failed(error.to_string()).with_hint("make it readable for you, or remove it")),
    }
}

/// The file is in a directory of somebody else that we may not enter, as when `HOME` is still root's: no file of ours.
/// A directory of our own that is closed is no reason to forget what it says.
fn behind_anothers_door(file: &Path) -> bool {
    let unseen = file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    let door = file.ancestors().skip(1).find_map(|dir| dir.metadata().ok());
    unseen && door.is_some_and(|door| door.uid() != rustix::process::geteuid().as_raw())
}
