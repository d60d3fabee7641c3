//! `kennel send`: input for a task that was started with `--stdin` or `--pty`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use kennel::config::units as duration;
use kennel::{INPUT_WAIT_DEFAULT, Input, InputReport, TerminalSize};

use crate::fault::Fault;
use crate::render;
use crate::run::read_command;
use crate::tasks::registry;

/// Give a task something to read: text, then keys, then the end. It was started with --stdin or --pty.
#[derive(Debug, Parser)]
#[command(name = "kennel send", max_term_width = 100)]
pub(crate) struct SendOptions {
    /// Task id or the beginning of one.
    #[arg(value_name = "ID")]
    id: String,
    /// Exactly this text; no newline is added.
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<OsString>,
    /// Text from this file (- for standard input).
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Keys of a terminal: C-c, Enter, Tab, Esc, Up, F1, M-x (repeatable, or several in one word).
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Nothing follows: closes the pipe, or types the terminal's end of file.
    #[arg(long)]
    eof: bool,
    /// Give the terminal another size.
    #[arg(long, value_name = "COLSxROWS", value_parser = size)]
    resize: Option<TerminalSize>,
    /// How long the task may take to read it.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Sends.
pub(crate) async fn send(options: SendOptions) -> Result<u8, Fault> {
    if options.text.is_none() && options.file.is_none() && options.key.is_empty() && !options.eof {
        return match options.resize {
            Some(size) => resize(&options, size).await,
            None => Err(Fault::usage("nothing to send", "kennel send ID TEXT, --key C-c, or --eof")),
        };
    }
    let text = match (&options.text, &options.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_command(file)?,
        (None, None) => OsString::from_vec(Vec::new()),
    };
    let mut input = Input::text(text).wait(options.timeout.unwrap_or(INPUT_WAIT_DEFAULT));
    for key in &options.key {
        input = input.and_key(key);
    }
    if options.eof {
        input = input.eof();
    }
    let task = registry().await?.task(&options.id).await.map_err(|error| Fault::not_done(&error))?;
    if let Some(size) = options.resize {
        task.resize(size).await.map_err(|error| Fault::not_done(&error))?;
    }
    let report = task.send(input).await.map_err(|error| Fault::not_done(&error))?;
    tell(&options, report);
    Ok(0)
}

async fn resize(options: &SendOptions, size: TerminalSize) -> Result<u8, Fault> {
    let task = registry().await?.task(&options.id).await.map_err(|error| Fault::not_done(&error))?;
    task.resize(size).await.map_err(|error| Fault::not_done(&error))?;
    tell(options, InputReport { written: 0 });
    Ok(0)
}

fn tell(options: &SendOptions, report: InputReport) {
    if options.json {
        render::json(&report);
    }
}

/// The size of `--pty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PtySize {
    /// That of the caller's terminal, where there is one.
    OfCaller,
    /// This.
    Given(TerminalSize),
}

pub(crate) fn pty_size(text: &str) -> Result<PtySize, String> {
    if text == "caller" { Ok(PtySize::OfCaller) } else { size(text).map(PtySize::Given) }
}

/// `80x24`.
pub(crate) fn size(text: &str) -> Result<TerminalSize, String> {
    let parsed = text
        .split_once(['x', 'X'])
        .and_then(|(cols, rows)| Some(TerminalSize { cols: cols.parse().ok()?, rows: rows.parse().ok()? }));
    parsed
        .filter(|size| size.cols > 0 && size.rows > 0)
        .ok_or_else(|| format!("{text:?} is not a size: write COLSxROWS, like 80x24"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("132x50"), Ok(TerminalSize { cols: 132, rows: 50 }));
        for bad in ["", "80", "80x", "x24", "0x24", "80x0", "80x24x1", "70000x24", "-1x5"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
