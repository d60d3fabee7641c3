//! Files of other programs in which we have an entry: replaced in one step, what was there kept beside them.

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::fault::Fault;
use crate::render;

/// As such files are written.
pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}

/// Writes the file and says what was done and where, where the old one is, and what its user still has to do.
pub(crate) fn put(file: &Path, text: &str, done: &str, advice: &str) -> Result<u8, Fault> {
    let backup = replace(file, text).map_err(Fault::own)?;
    let mut answer = format!("{done}: {}\n", file.display());
    if let Some(backup) = backup {
        let _infallible = writeln!(answer, "the file as it was: {}", backup.display());
    }
    if !advice.is_empty() {
        let _infallible = writeln!(answer, "{advice}");
    }
    render::answer(&answer);
    Ok(0)
}

/// Replaces the file, keeping what was there beside it under a name that was free.
fn replace(file: &Path, text: &str) -> anyhow::Result<Option<PathBuf>> {
    // A link of somebody's dotfiles stays one.
    let file = fs::canonicalize(file).unwrap_or_else(|_new| file.to_owned());
    let shown = file.display().to_string();
    let dir = file.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(dir).with_context(|| format!("make the directory of {shown}"))?;
    let backup = match fs::read(&file) {
        Ok(old) => Some(keep(&file, &old).with_context(|| format!("keep a copy of {shown}"))?),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("read {shown}")),
    };
    let fresh = beside(&file, &format!("kennel-{}", std::process::id()));
    let write = || -> std::io::Result<()> {
        let mut out = fs::File::create(&fresh)?;
        if let Ok(meta) = fs::metadata(&file) {
            out.set_permissions(meta.permissions())?;
        }
        out.write_all(text.as_bytes())?;
        out.sync_all()?;
        fs::rename(&fresh, &file)
    };
    write().inspect_err(|_failed| drop(fs::remove_file(&fresh))).with_context(|| format!("write {shown}"))?;
    Ok(backup)
}

fn keep(file: &Path, content: &[u8]) -> std::io::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        let suffix = if number == 0 { "kennel-backup".to_owned() } else { format!("kennel-backup.{number}") };
        let backup = beside(file, &suffix);
        match fs::File::create_new(&backup) {
            Ok(mut out) => {
                if let Ok(meta) = fs::metadata(file) {
                    out.set_permissions(meta.permissions())?;
                }
                out.write_all(content)?;
                return Ok(backup);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 1000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{name}.{suffix}"))
}
