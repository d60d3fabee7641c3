//! `kennel config`: what is in force and who said so, and which file is the user's.

use std::fmt::Write as _;

use super::place::{file_in, here, named_dir};
use super::sources::load;
use crate::args::{ConfigOptions, ConfigVerb};
use crate::fault::Fault;
use crate::render;

/// Shows.
pub(crate) fn config(options: &ConfigOptions) -> Result<u8, Fault> {
    match options.verb.unwrap_or(ConfigVerb::Show { origin: false }) {
        ConfigVerb::Path => render::answer(&format!("{}\n", file_in(&named_dir()).display())),
        ConfigVerb::Show { origin } => render::answer(&show(origin)?),
    }
    Ok(0)
}

/// A file of settings that says what is in force.
fn show(origin: bool) -> Result<String, Fault> {
    let config = load(&here()).map_err(Fault::into_undone)?;
    let lines: Vec<(String, String)> = config
        .settings
        .entries()
        .into_iter()
        .map(|entry| (format!("{} = {}", entry.name, entry.value), entry.origin.to_string()))
        .collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (line, from) in lines {
        let _infallible = if origin {
            writeln!(text, "{line:width$}  # {}", render::escape(&from))
        } else {
            writeln!(text, "{line}")
        };
    }
    Ok(text)
}
