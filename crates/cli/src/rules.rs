//! The rules in force: the built-in ones, the machine's file and the user's over them.
//!
//! A file that cannot be read or understood is an error, never the built-in rules alone.
#![expect(clippy::disallowed_methods, reason = "the environment is read in cli, and here for the policy")]

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use kennel::policy::{LayerKind, Policy};

/// The machine's file.
const MACHINE: &str = "/etc/kennel.toml";
/// Far above any file of rules that a person writes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Whether this process runs inside a task: what loosens is then not its caller's to say.
pub(crate) fn inside_task() -> bool {
    std::env::var_os("KENNEL_TASK").is_some_and(|task| !task.is_empty())
}

/// The user's home directory; `/` where there is none.
pub(crate) fn home() -> PathBuf {
    absolute("HOME").or_else(kennel::account_home).unwrap_or_else(|| PathBuf::from("/"))
}

/// A directory that the environment names by an absolute path.
pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The rules in force.
pub(crate) fn load() -> anyhow::Result<Policy> {
    let mut layers = Vec::new();
    for (kind, file) in files() {
        if let Some(text) = read(&file)? {
            layers.push((kind, file, text));
        }
    }
    if layers.is_empty() {
        return Ok(Policy::builtin());
    }
    let texts: Vec<(LayerKind, &str)> = layers.iter().map(|(kind, _, text)| (*kind, text.as_str())).collect();
    Policy::with_layers(&texts).map_err(|error| {
        let names: Vec<String> = layers.iter().map(|(_, file, _)| file.display().to_string()).collect();
        anyhow::anyhow!("the rules of {}: failed to {error}", names.join(", "))
    })
}

/// The files in the order in which they apply.
///
/// Inside a task the environment is the agent's: a file that only it names may tighten and not loosen.
fn files() -> Vec<(LayerKind, PathBuf)> {
    let named =
        absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home().join(".config")).join("kennel/config.toml");
    let mut files = vec![(LayerKind::User, PathBuf::from(MACHINE))];
    if !inside_task() {
        files.push((LayerKind::User, named));
        return files;
    }
    let own = kennel::account_home().map(|home| home.join(".config/kennel/config.toml"));
    let same = own.as_ref() == Some(&named);
    files.extend(own.map(|own| (LayerKind::User, own)));
    if !same {
        files.push((LayerKind::Project, named));
    }
    files
}

fn read(file: &Path) -> anyhow::Result<Option<String>> {
    let mut text = String::new();
    let read = File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > FILE_BYTES_MAX => {
            anyhow::bail!("the rules of {}: more than {FILE_BYTES_MAX} bytes", file.display())
        }
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(anyhow::anyhow!("the rules of {}: {error}", file.display())),
    }
}
