//! The tokens: a file that only its owner reads, one token a line.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::Context as _;

use crate::fault::Fault;
use crate::mcp::random_bytes;

/// Shorter ones can be guessed.
const CHARS_MIN: usize = 20;

/// The tokens of a server, and whether the file was made for it just now.
pub(crate) struct Tokens {
    pub(crate) all: Vec<String>,
    pub(crate) fresh: bool,
}

/// Reads the file, or makes it with one new token.
pub(crate) fn read_or_make(file: &Path) -> Result<Tokens, Fault> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Tokens { all: parse(file, &text)?, fresh: false }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let token = make(file).map_err(Fault::own)?;
            Ok(Tokens { all: vec![token], fresh: true })
        }
        Err(error) => Err(Fault::undone(
            format!("the token file {}: {error}", file.display()),
            "name a file that you can read with --token-file",
        )),
    }
}

fn parse(file: &Path, text: &str) -> Result<Vec<String>, Fault> {
    let shown = file.display();
    let meta = fs::metadata(file).context("read the token file").map_err(Fault::own)?;
    if meta.mode() & 0o077 != 0 {
        return Err(Fault::undone(
            format!("others can read the token file {shown}"),
            format!("chmod 600 {shown}"),
        ));
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    let good = |token: &String| token.len() >= CHARS_MIN && token.bytes().all(|byte| byte.is_ascii_graphic());
    if tokens.is_empty() || !tokens.iter().all(good) {
        return Err(Fault::undone(
            format!("the token file {shown} has no token, or one that is too simple"),
            format!(
                "one token a line, {CHARS_MIN} visible ASCII characters or more; or remove the file for a new one"
            ),
        ));
    }
    Ok(tokens)
}

fn make(file: &Path) -> anyhow::Result<String> {
    let shown = file.display();
    let half = || random_bytes::<16>().map(u128::from_ne_bytes);
    let token = format!("knl_{:032x}{:032x}", half()?, half()?);
    let mut out: File = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("make the token file {shown}"))?;
    out.write_all(format!("{token}\n").as_bytes()).with_context(|| format!("write {shown}"))?;
    Ok(token)
}
