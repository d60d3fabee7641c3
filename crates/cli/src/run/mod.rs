//! `kennel run`: a wrapper that changes nothing it was not asked to. Streams, then exits with the command's status.

mod end;
mod request;
mod watch;

use anyhow::Context as _;
use kennel::GuardStart;

pub(crate) use end::{exit_status, failed_result};
pub(crate) use request::{common_request, open_session, read_command, split_variable};

use crate::args::RunOptions;
use crate::ask::Asking;
use crate::fault::Fault;
use crate::progress::Progress;
use crate::relay::{self, Relay};
use crate::render;
use crate::sys::{self, Signals, Terminal};
use end::{Shown, failed_outcome, finish, write_report};
use request::request;
use watch::{Mode, Watch};

const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Runs the command.
pub(crate) async fn run(options: RunOptions, guard: GuardStart) -> Result<u8, Fault> {
    let json = options.command.json;
    let report = options.report.clone();
    match try_run(options, guard).await {
        Ok(code) => Ok(code),
        Err(fault) if json || report.is_some() => {
            let outcome = failed_outcome(&fault);
            if json {
                render::json(&outcome);
            }
            if let Some(file) = report {
                write_report(&file, &outcome)?;
            }
            Err(fault)
        }
        Err(fault) => Err(fault),
    }
}

async fn try_run(options: RunOptions, guard: GuardStart) -> Result<u8, Fault> {
    let terminal = Terminal::of_caller();
    // A signal that the caller ignores (nohup) stays ignored; a wrapper is not to undo that.
    let signals = Signals::catch(&caught_signals(terminal.is_some(), options.command.pty.is_some()))
        .context("catch signals")
        .map_err(Fault::own)?;
    let asking = Asking::new(&options.command, Some(&signals))?;
    let session = open_session(&options.command, guard, &asking).await?;
    let request = request(&options, terminal.as_ref())?;
    let task = session.foreground(request).await.map_err(|error| asking.fault(&error))?;
    asking.tell_unasked();
    let mode = if options.events {
        Mode::Events
    } else if options.command.json {
        Mode::Quiet
    } else {
        Mode::Stream
    };
    let progress = Progress::new(
        options.command.description.as_deref(),
        mode != Mode::Events && !options.tty && options.command.pty.is_none(),
    );
    let grace = options.command.grace;
    let relay = options.command.pty.map(|_size| Relay::begin(&task));
    let mut watch = Watch {
        task: &task,
        signals,
        terminal,
        relay,
        progress,
        grace,
        interrupted: None,
        unwritten: false,
        delivered: 0,
    };
    watch.follow(mode).await?;
    let interrupted = watch.interrupted;
    // What is said from here on is said to a terminal in its usual modes.
    watch.relay = None;
    let terminal = watch.terminal.take();
    let shown = Shown { all: !watch.unwritten, bytes: (mode == Mode::Stream).then_some(watch.delivered) };
    finish(&options, &task, interrupted, (terminal, watch.progress), &shown).await
}

fn caught_signals(on_terminal: bool, relays: bool) -> Vec<i32> {
    let mut signals: Vec<i32> = ENDING.to_vec();
    if relays {
        signals.extend(relay::SIGNALS);
    }
    if !on_terminal || relays {
        // On a terminal Ctrl-Z stops the command and us together, and `fg` continues both: the kernel's work.
        signals.push(libc::SIGTSTP);
    }
    signals.retain(|signal| !sys::is_ignored(*signal));
    signals
}
