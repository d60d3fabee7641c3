//! `kennel run`: a wrapper that changes nothing it was not asked to. Streams, then exits with the command's status.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use kennel::{
    Answer, Door, GuardStart, Kennel, Kill, News, Notice, OnOutputCap, OnOwnerExit, OnTimeout, Outcome,
    Output, Pace, Request, Scope, Session, Status, Stdin, StoppedBy, Stream, Survivors,
    TERMINAL_SIZE_DEFAULT, Task, VerdictSummary,
};

use crate::args::{AskArg, CommandOptions, OnOutputCapArg, OnTimeoutArg, RunOptions, SurvivorsArg};
use crate::ask::Asking;
use crate::fault::Fault;
use crate::limits;
use crate::progress::Progress;
use crate::relay::{self, Relay, size_of_caller};
use crate::render;
use crate::sandbox;
use crate::send::PtySize;
use crate::sink::Sink;
use crate::sys::{self, Caught, Signals, Terminal, stop_self};

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

/// What of the output has reached the caller.
struct Shown {
    /// Everything that came could be written.
    all: bool,
    /// How much came, where it was streamed.
    bytes: Option<u64>,
}

impl Shown {
    /// Says what a full disk has swallowed; false when the caller has not got everything.
    fn is_whole(&self, outcome: &Outcome) -> bool {
        let lost = outcome.notices.iter().find_map(|notice| match notice {
            Notice::SpoolLost { why, .. } => Some(why),
            _ => None,
        });
        let missing =
            self.bytes.map_or(0, |came| (outcome.stdout_bytes + outcome.stderr_bytes).saturating_sub(came));
        if let (Some(why), 1..) = (lost, missing) {
            render::error(
                &format!("{missing} bytes of output could not be stored and are lost: {why}"),
                Some("free space where the state is kept, or set KENNEL_STATE_DIR to another place"),
            );
            return false;
        }
        self.all
    }
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

/// Opens the session of `run` or `start`.
pub(crate) async fn open_session(
    options: &CommandOptions,
    guard: GuardStart,
    asking: &Asking,
) -> Result<Session, Fault> {
    let kennel = Kennel::builder().guard(guard).build().await.map_err(|error| Fault::of_command(&error))?;
    if let Some(notice) = kennel.state_dir_notice() {
        render::note(notice);
    }
    let mut session = asking.apply(kennel.session().door(Door::Wrapper));
    if let Some(id) = &options.session {
        session = session.id(id).saved();
    }
    session = options.environment.apply(session);
    if let Some(owner) = options.owner_pid {
        session = session.owner(owner);
    }
    session.open().await.map_err(|error| Fault::of_command(&error))
}

fn request(options: &RunOptions, terminal: Option<&Terminal>) -> Result<Request, Fault> {
    let mut request = common_request(&options.command)?;
    if options.command.keep {
        request = request.on_owner_exit(OnOwnerExit::Keep);
    }
    if !options.command.stdin {
        request = request.stdin(Stdin::Inherit);
    }
    if let Some(characters) = options.max_output {
        request = request.max_output(characters);
    }
    if options.tty {
        request = request.output(Output::Inherit);
    }
    let given = |variable: &OsString| variable.as_bytes().starts_with(b"TERM=");
    if options.command.pty.is_some()
        && !options.command.environment.env.iter().any(given)
        && let Some(term) = relay::term_of_caller()
    {
        request = request.env("TERM", term);
    }
    if let Some(terminal) = terminal {
        request = request.in_process_group(terminal.group);
    }
    Ok(request)
}

/// What `run` and `start` ask alike.
pub(crate) fn common_request(options: &CommandOptions) -> Result<Request, Fault> {
    let mut request = command(options)?
        .grace(options.grace)
        .sandbox(options.sandbox.choice()?)
        .limits(options.limits.limits())
        .on_timeout(match options.on_timeout {
            OnTimeoutArg::Kill => OnTimeout::Kill,
            OnTimeoutArg::Background => OnTimeout::Background,
        });
    if let Some(answer) = options.ask {
        request = request.answered(if answer == AskArg::Allow { Answer::Run } else { Answer::Refuse });
    }
    if let Some(choice) = options.survivors {
        request = request.survivors(match choice {
            SurvivorsArg::Adopt => Survivors::Adopt,
            SurvivorsArg::Kill => Survivors::Kill,
            SurvivorsArg::Leave => Survivors::Leave,
        });
    }
    request = options.boundary.apply(request, options.sandbox.require);
    if let Some(timeout) = options.timeout {
        request = request.timeout(timeout);
    }
    if let Some(cwd) = &options.cwd {
        request = request.cwd(cwd);
    }
    if let Some(text) = &options.description {
        request = request.description(text);
    }
    request = request.on_output_cap(match options.on_output_cap {
        OnOutputCapArg::Drop => OnOutputCap::Drop,
        OnOutputCapArg::Kill => OnOutputCap::Kill,
    });
    if let Some(bytes) = options.output_cap {
        request = request.output_cap_bytes(bytes);
    }
    if options.stdin {
        request = request.stdin(Stdin::Pipe);
    }
    if let Some(size) = options.pty {
        request = request.pty(match size {
            PtySize::Given(size) => size,
            PtySize::OfCaller => size_of_caller().unwrap_or(TERMINAL_SIZE_DEFAULT),
        });
    }
    if options.merge {
        request = request.output(Output::Merged);
    }
    for variable in &options.environment.env {
        let (name, value) = split_variable(variable)?;
        request = request.env(name, value);
    }
    Ok(request)
}

fn command(options: &CommandOptions) -> Result<Request, Fault> {
    if let Some(file) = &options.command_file {
        return Ok(Request::shell(read_command(file)?));
    }
    match options.command.as_slice() {
        [] => Err(Fault::usage("no command was given", "kennel run 'make test', or kennel run -- make test")),
        [line] => Ok(Request::shell(line)),
        argv => Ok(Request::argv(argv)),
    }
}

pub(crate) fn read_command(file: &Path) -> Result<OsString, Fault> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|content| bytes = content)
    };
    read.map_err(|error| {
        Fault::usage(
            format!("the command file {}: {error}", file.display()),
            "name a readable file, or - for standard input",
        )
    })?;
    Ok(OsString::from_vec(bytes))
}

pub(crate) fn split_variable(variable: &OsString) -> Result<(OsString, OsString), Fault> {
    let bytes = variable.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) if at > 0 => {
            let (name, value) = bytes.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            Ok((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        }
        _ => Err(Fault::usage(
            format!("--env {}: not NAME=VALUE", variable.to_string_lossy()),
            "write --env NAME=VALUE",
        )),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Stream,
    Events,
    Quiet,
}

/// A running command and everything that can happen to its caller.
struct Watch<'task> {
    task: &'task Task,
    signals: Signals,
    terminal: Option<Terminal>,
    relay: Option<Relay>,
    progress: Progress,
    grace: Duration,
    interrupted: Option<i32>,
    /// Whether it was said that some output could not be written.
    unwritten: bool,
    /// Bytes of output that have come.
    delivered: u64,
}

impl Watch<'_> {
    async fn follow(&mut self, mode: Mode) -> Result<(), Fault> {
        match mode {
            Mode::Stream => self.stream().await,
            Mode::Events => self.events().await,
            Mode::Quiet => self.quiet().await,
        }
    }

    async fn stream(&mut self) -> Result<(), Fault> {
        let mut out = Sink::new(rustix::stdio::stdout());
        let mut err = Sink::new(rustix::stdio::stderr());
        let mut feed = self.task.feed(Pace::Lossless, Scope::Leader).await;
        loop {
            let news = tokio::select! {
                news = feed.next() => news.map_err(|error| Fault::of_command(&error))?,
                caught = self.signals.next() => {
                    self.obey(caught).await;
                    continue;
                }
                () = self.progress.due() => {
                    self.progress.draw();
                    continue;
                }
            };
            match news {
                Some(News::Chunk(chunk)) => {
                    self.delivered += chunk.bytes.len() as u64;
                    self.progress.give_way(&chunk.bytes);
                    let sink = if chunk.stream == Stream::Stdout { &mut out } else { &mut err };
                    self.write(sink, &chunk.bytes).await;
                }
                Some(News::Gap { bytes, .. }) => {
                    render::note(&format!("{bytes} bytes of output were dropped"));
                }
                Some(News::Started(started)) => sandbox::name_weaker(&started.protections),
                Some(News::Notice(Notice::Clamped { asked, used, .. })) => {
                    render::note(&format!("the timeout of {asked} ms is over timeout_max: {used} ms it is"));
                }
                Some(News::Notice(_)) => {}
                Some(News::Ended(_) | News::Lost) | None => return Ok(()),
            }
        }
    }

    /// Writes while listening for signals: a reader that pages must not make us deaf.
    async fn write(&mut self, sink: &mut Sink, bytes: &[u8]) {
        let written = {
            let write = sink.write_all(bytes);
            tokio::pin!(write);
            loop {
                tokio::select! {
                    written = &mut write => break written,
                    caught = self.signals.next() => {
                        self.obey(caught).await;
                        if self.interrupted.is_some() {
                            return;
                        }
                    }
                }
            }
        };
        let Err(error) = written else { return };
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            // A full disk: the spool has the output all the same, and the command is not to suffer.
            if !std::mem::replace(&mut self.unwritten, true) {
                let id = self.task.id();
                render::note(&format!("output was not written ({error}); it is kept: kennel output {id}"));
            }
        } else if self.interrupted.is_none() {
            // The reader has gone. What a command of its own would get is SIGPIPE.
            self.interrupted = Some(libc::SIGPIPE);
            self.task.cancel(&Kill::with_signal(libc::SIGPIPE).grace(self.grace).as_cancel()).await;
        }
    }

    async fn events(&mut self) -> Result<(), Fault> {
        let mut out = Sink::new(rustix::stdio::stdout());
        let mut events = self.task.events();
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => self.write(&mut out, render::line(&event).as_bytes()).await,
                    None => return Ok(()),
                },
                caught = self.signals.next() => self.obey(caught).await,
            }
        }
    }

    async fn quiet(&mut self) -> Result<(), Fault> {
        let task = self.task.clone();
        let outcome = task.outcome();
        tokio::pin!(outcome);
        loop {
            tokio::select! {
                outcome = &mut outcome => return outcome.map(drop).map_err(|error| Fault::of_command(&error)),
                caught = self.signals.next() => self.obey(caught).await,
                () = self.progress.due() => self.progress.draw(),
            }
        }
    }

    /// The first ending signal takes the kill path; a second one skips the grace.
    async fn obey(&mut self, caught: Caught) {
        match (caught.number, &self.relay) {
            (libc::SIGTSTP, relay) => {
                relay.as_ref().inspect(|relay| relay.pause());
                self.task.pause().await;
                stop_self();
                self.task.resume().await;
                return;
            }
            (libc::SIGWINCH | libc::SIGCONT, Some(relay)) => {
                return relay.follow(self.task, caught.number).await;
            }
            _ => {}
        }
        if self.interrupted.is_some() {
            self.task.cancel(&Kill::now().as_cancel()).await;
            return;
        }
        self.interrupted = Some(caught.number);
        // Ctrl-C reached the command when it reached us; a second SIGINT means "at once" to many programs.
        let shared = caught.from_terminal && self.terminal.is_some();
        let first = if shared { libc::SIGCONT } else { caught.number };
        self.task.cancel(&Kill::with_signal(first).grace(self.grace).as_cancel()).await;
    }
}

async fn finish(
    options: &RunOptions,
    task: &Task,
    interrupted: Option<i32>,
    (terminal, progress): (Option<Terminal>, Progress),
    shown: &Shown,
) -> Result<u8, Fault> {
    let outcome = task.outcome().await.map_err(|error| Fault::of_command(&error))?;
    progress.finish(&outcome);
    if !outcome.survivors.is_empty() || outcome.status == Status::Running {
        let _it_ended_meanwhile = task.keep().await;
        name_survivors(&outcome);
    }
    let by_force = !matches!(outcome.end, Some(kennel::End::Exited { .. }));
    if let Some(terminal) = terminal.filter(|_| by_force) {
        terminal.restore();
    }
    if options.command.json {
        render::json(&outcome);
    }
    if let Some(file) = &options.report {
        write_report(file, &outcome)?;
    }
    match &outcome.end {
        Some(kennel::End::NotStarted { why }) => render::error(why, None),
        Some(kennel::End::Lost { why }) => {
            render::error(&format!("the command's end is not known: {why}"), None);
        }
        Some(kennel::End::Stopped { by: StoppedBy::GuardExit }) => {
            render::error(
                "the guard of the command was killed; everything that it started has been ended",
                None,
            );
        }
        _ => {}
    }
    if matches!(outcome.end, Some(kennel::End::TimedOut)) && !options.command.json && !options.events {
        render::note(&format!(
            "timed out after {} ms; everything it started has been ended",
            outcome.duration_ms
        ));
    }
    for notice in &outcome.notices {
        if let Notice::SignalRefused { pid, task_id } = notice {
            render::note(&format!(
                "the sandbox refused a signal to {pid}; kennel kill {task_id} ends its task"
            ));
        }
    }
    if let Some(crossed) = outcome.end.as_ref().and_then(limits::crossed)
        && !options.command.json
        && !options.events
    {
        render::note(&format!("over the limit of {crossed}; everything it started has been ended"));
    }
    let code = match interrupted {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(125),
        None => exit_status(&outcome),
    };
    let whole = shown.is_whole(&outcome);
    // A success of which something is missing is none for who pipes it on.
    Ok(if code == 0 && !whole { 125 } else { code })
}

/// The exit status of `run` and `wait` for an outcome.
pub(crate) fn exit_status(outcome: &Outcome) -> u8 {
    match outcome.exit_code {
        Some(code) => u8::try_from(code).unwrap_or(125),
        // It went to the background at its timeout.
        None => 124,
    }
}

fn name_survivors(outcome: &Outcome) {
    let id = &outcome.task_id;
    if outcome.status == Status::Running {
        return render::note(&format!("the command goes on in the background; kennel kill {id} ends it"));
    }
    for survivor in &outcome.survivors {
        render::note(&format!(
            "still running: {} (pid {})",
            render::shorten(&survivor.command, 60),
            survivor.pid
        ));
    }
    render::note(&format!(
        "kennel kill {id} ends {}",
        if outcome.survivors.len() == 1 { "it" } else { "them" }
    ));
}

fn write_report(file: &Path, outcome: &impl serde::Serialize) -> Result<(), Fault> {
    let write = || -> anyhow::Result<()> {
        let mut text = serde_json::to_vec_pretty(outcome)?;
        text.push(b'\n');
        std::fs::write(file, text)?;
        Ok(())
    };
    write().with_context(|| format!("write the report {}", file.display())).map_err(Fault::own)
}

/// Our own failure in the shape of a result.
fn failed_outcome(fault: &Fault) -> serde_json::Value {
    let code = if fault.denied().is_some() { "denied" } else { "failed" };
    let mut error = serde_json::json!({"code": code, "message": fault.what()});
    if let Some(hint) = fault.hint() {
        error["hint"] = hint.into();
    }
    failed_result(&error, fault.denied().map(|denied| VerdictSummary::of(&denied.verdict)))
}

/// The result of a command that we did not start, with the error that says why.
pub(crate) fn failed_result(error: &serde_json::Value, verdict: Option<VerdictSummary>) -> serde_json::Value {
    let mut outcome = serde_json::json!({
        "status": "failed", "success": false, "stdout": "", "stderr": "", "exit_code": -1, "duration_ms": 0,
        "truncated": false, "stdout_bytes": 0, "stderr_bytes": 0, "dropped_bytes": 0, "task_id": "", "session_id": "",
        "end": {"cause": "not_started", "why": error["message"]}, "cwd": "", "survivors": [], "background_pids": [],
        "boundary": "subreaper", "protections": [],
        "usage": {"user_ms": 0, "system_ms": 0, "max_rss_bytes": 0, "processes_peak": 0}, "invalid_utf8": 0,
        "error": error,
    });
    if let Some(verdict) = verdict {
        outcome["verdict"] = serde_json::to_value(verdict).unwrap_or_default();
    }
    outcome
}
