//! Which shell runs a line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use supervisor::wire::Dialect;

use crate::environ::{Variables, get};
use crate::error::{Error, Result};

/// Where a shell is looked for after `PATH`.
const USUAL_PLACES: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];

/// A shell's file and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shell {
    pub(crate) file: PathBuf,
    pub(crate) dialect: Dialect,
}

impl Shell {
    /// The first bash of `PATH`, else of the usual places.
    pub(crate) fn bash(env: &Variables) -> Option<Self> {
        search(OsStr::new("bash"), env).map(|file| Self { file, dialect: Dialect::Bash })
    }

    /// The shell with this name or path.
    pub(crate) fn named(shell: &Path, env: &Variables) -> Result<Self> {
        let named = shell.as_os_str();
        let file = if shell.components().count() > 1 {
            Some(shell.to_owned()).filter(|file| is_executable(file))
        } else {
            search(named, env)
        };
        let name = shell.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let dialect = match name {
            "bash" => Dialect::Bash,
            "zsh" => Dialect::Zsh,
            "fish" => Dialect::Fish,
            _ => Dialect::Posix,
        };
        file.map(|file| Self { file, dialect }).ok_or_else(|| Error::BadRequest {
            what: format!("the shell {} cannot be executed", shell.display()),
            hint: "name an installed shell: bash, sh, zsh or fish, or its path".to_owned(),
        })
    }
}

fn search(name: &OsStr, env: &Variables) -> Option<PathBuf> {
    std::env::split_paths(get(env, "PATH").unwrap_or_default())
        .chain(USUAL_PLACES.map(PathBuf::from))
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
}
