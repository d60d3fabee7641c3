//! What the environment says about this process: where its user's files are, and whether it is inside a task.
//!
//! Inside a task the environment is the agent's. What it alone names may tighten and not loosen.
#![expect(
    clippy::disallowed_methods,
    reason = "the environment is read in cli, and here for the configuration"
)]

use std::path::{Path, PathBuf};

/// The machine's file.
pub(super) const MACHINE: &str = "/etc/kennel.toml";
/// The name of a project's file.
pub(super) const PROJECT: &str = "kennel.toml";

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

/// The current directory; `/` where it is gone.
pub(crate) fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_gone| "/".into())
}

/// The text of a variable, if it is set and not empty; what is not UTF-8 cannot be a value, and says so as one.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|text| !text.is_empty()).map(|text| text.to_string_lossy().into_owned())
}

/// The user's directory, as the environment names it.
pub(super) fn named_dir() -> PathBuf {
    absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home().join(".config")).join("kennel")
}

/// The user's own directory: outside a task the named one, inside it the one of the account.
pub(super) fn own_dir() -> Option<PathBuf> {
    if !inside_task() {
        return Some(named_dir());
    }
    kennel::account_home().map(|home| home.join(".config/kennel"))
}

/// The user's file in such a directory.
pub(super) fn file_in(dir: &Path) -> PathBuf {
    dir.join("config.toml")
}
