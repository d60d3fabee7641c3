//! A running command and everything that can happen to its caller meanwhile.

use std::time::Duration;

use kennel::{Kill, News, Notice, Pace, Scope, Stream, Task};

use crate::fault::Fault;
use crate::progress::Progress;
use crate::relay::Relay;
use crate::render;
use crate::sandbox;
use crate::sink::Sink;
use crate::sys::{Caught, Signals, Terminal, stop_self};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Stream,
    Events,
    Quiet,
}

/// A running command and everything that can happen to its caller.
pub(super) struct Watch<'task> {
    pub(super) task: &'task Task,
    pub(super) signals: Signals,
    pub(super) terminal: Option<Terminal>,
    pub(super) relay: Option<Relay>,
    pub(super) progress: Progress,
    pub(super) grace: Duration,
    pub(super) interrupted: Option<i32>,
    /// Whether it was said that some output could not be written.
    pub(super) unwritten: bool,
    /// Bytes of output that have come.
    pub(super) delivered: u64,
}

impl Watch<'_> {
    pub(super) async fn follow(&mut self, mode: Mode) -> Result<(), Fault> {
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
