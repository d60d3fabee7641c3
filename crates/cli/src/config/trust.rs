//! `kennel trust`: a project's file, as it is now, may loosen too.
//!
//! What is trusted is a text at a path. A repository is untrusted input, and so is its next commit: a changed file only
//! tightens again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kennel::Config;
use kennel::config::{Layer, Origin};

use super::place::{PROJECT, here, inside_task, own_dir};
use super::sources::{project_files, read};
use crate::args::TrustOptions;
use crate::fault::Fault;
use crate::render;

/// Texts by the path of their file.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    texts: BTreeMap<String, String>,
}

impl Trusted {
    /// The user's store. The error is its own words.
    pub(super) fn load() -> Result<Self, String> {
        let Some(file) = store() else { return Ok(Self::default()) };
        let text = read(&file).map_err(|fault| fault.what().to_owned())?;
        let texts = text.map_or_else(|| Ok(BTreeMap::new()), |text| serde_json::from_str(&text));
        let texts = texts.map_err(|error| format!("failed to read {}: {error}", file.display()))?;
        Ok(Self { texts })
    }

    /// Whether that is the text which the user trusts.
    pub(super) fn holds(&self, file: &Path, text: &str) -> bool {
        self.texts.get(&key(file)).is_some_and(|trusted| trusted == text)
    }

    fn save(&self) -> anyhow::Result<()> {
        let file = store().context("find a home directory")?;
        let dir = file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
        let fresh = file.with_extension(format!("json.{}", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut out = std::fs::OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            out.write_all(&serde_json::to_vec_pretty(&self.texts)?)?;
            out.sync_all()?;
            std::fs::rename(&fresh, &file)
        };
        write()
            .inspect_err(|_failed| drop(std::fs::remove_file(&fresh)))
            .with_context(|| format!("write {}", file.display()))
    }
}

fn store() -> Option<PathBuf> {
    own_dir().map(|dir| dir.join("trusted.json"))
}

/// Links are resolved: what is trusted is the file, not one of its names.
fn key(file: &Path) -> String {
    std::fs::canonicalize(file).unwrap_or_else(|_gone| file.to_owned()).to_string_lossy().into_owned()
}

/// Trusts the file of a directory, or takes that back.
pub(crate) fn trust(options: &TrustOptions) -> Result<u8, Fault> {
    if inside_task() {
        return Err(Fault::refused(
            "trust is refused inside a task",
            "only who started the task may loosen its check; run it in your own shell",
        ));
    }
    let here = here();
    let file = match &options.dir {
        Some(dir) => here.join(dir).join(PROJECT),
        None => project_files(&here).pop().unwrap_or_else(|| here.join(PROJECT)),
    };
    let shown = file.display().to_string();
    let mut trusted = Trusted::load().map_err(|why| Fault::undone(why, "correct or remove that file"))?;
    if options.revoke {
        let was = trusted.texts.remove(&key(&file)).is_some();
        if was {
            trusted.save().map_err(Fault::own)?;
        }
        render::answer(&format!("{shown} {} trusted\n", if was { "is no longer" } else { "was not" }));
        return Ok(0);
    }
    let nothing = || Fault::undone(format!("there is no {shown}"), "name the directory of a kennel.toml");
    let text = read(&file)?.ok_or_else(nothing)?;
    let layer = Layer { origin: Origin::Trusted(file.clone()), text: text.clone() };
    Config::from_layers(&[layer]).map_err(|error| Fault::of_config(&error).into_undone())?;
    trusted.texts.insert(key(&file), text);
    trusted.save().map_err(Fault::own)?;
    render::answer(&format!(
        "{shown} is trusted as it is now and may loosen; when it changes it only tightens again\n"
    ));
    Ok(0)
}
