//! `kennel completions` and the man pages, from the one definition of the grammar.

use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser};
use clap_complete::Shell;

use crate::args::Cli;
use crate::fault::Fault;
use crate::render;

/// Print the completions of a shell.
#[derive(Debug, Parser)]
#[command(name = "kennel completions", max_term_width = 100)]
pub(crate) struct CompletionsOptions {
    /// Which shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Write the man pages into a directory.
#[derive(Debug, Parser)]
#[command(name = "kennel man", max_term_width = 100)]
pub(crate) struct ManOptions {
    /// Where to.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Prints them.
pub(crate) fn completions(options: &CompletionsOptions) -> u8 {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "kennel", &mut text);
    render::answer(&String::from_utf8_lossy(&text));
    0
}

/// Writes one page a verb.
pub(crate) fn man(options: &ManOptions) -> Result<u8, Fault> {
    let written = std::fs::create_dir_all(&options.dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &options.dir));
    written.map_err(|error| not_written(&options.dir, &error))?;
    Ok(0)
}

fn not_written(dir: &Path, error: &std::io::Error) -> Fault {
    Fault::undone(format!("write the man pages into {}: {error}", dir.display()), "name a directory of yours")
}
