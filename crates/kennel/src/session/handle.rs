//! An open session: run, start, close.

use std::sync::{Arc, Mutex, PoisonError};

use supervisor::StoppedBy;
use supervisor::wire::{KillOrder, ToSupervisor};
use tokio::net::UnixStream;

use super::SessionTerms;
use crate::check::clear;
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::guard::GuardLine;
use crate::link::{Line, Link};
use crate::outcome::Outcome;
use crate::plan::{Mode, plan};
use crate::registry::Registry;
use crate::request::{GRACE_DEFAULT, Request};
use crate::root::COLLECT_EVERY;
use crate::task::{Born, Task};

/// An open session. Dropping it ends its tasks, except those that are kept; [`Session::close`] also waits and proves.
#[derive(Debug)]
pub struct Session {
    terms: Arc<SessionTerms>,
    guard: GuardLine,
    live: Mutex<Vec<Line>>,
}

impl Session {
    pub(super) fn new(terms: SessionTerms, guard: GuardLine) -> Self {
        Self { terms: Arc::new(terms), guard, live: Mutex::default() }
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.terms.session_id
    }

    /// Pid of the session's guard.
    pub fn guard_pid(&self) -> i32 {
        self.guard.pid()
    }

    /// What the policy says about a request, without running it or asking anybody. `None`: it is switched off.
    ///
    /// # Errors
    /// [`Error::BadRequest`] for an empty command or a missing directory.
    pub fn judge(&self, request: &Request) -> Result<Option<policy::Verdict>> {
        crate::check::judge(request, &self.terms)
    }

    /// Runs a command and waits for its end.
    ///
    /// Comes back when the command (its leader) has ended, whatever its children do; what is left of them is in
    /// [`Outcome::survivors`]. A command that fails is an outcome, not an error.
    ///
    /// # Errors
    /// [`Error::BadRequest`] when nothing could be started for reasons in the request; [`Error::Denied`] by the policy;
    /// [`Error::KeeperGone`].
    ///
    /// # Cancel safety
    /// Dropping the future cancels the command through the kill path: SIGTERM, grace, SIGKILL, whole tree.
    pub async fn run(&self, request: Request) -> Result<Outcome> {
        match self.launch(&request, Mode::Foreground).await {
            Ok(task) => task.outcome().await,
            Err(Error::NotStarted { why, exit_code }) => {
                Ok(Outcome::not_started(&self.terms, &why, exit_code))
            }
            Err(other) => Err(other),
        }
    }

    /// Starts a command in the background; comes back when it is running.
    ///
    /// # Errors
    /// As [`Session::run`], and [`Error::NotStarted`] when the program could not be executed.
    ///
    /// # Cancel safety
    /// A future that is dropped before it is ready may leave a started task; it is listed.
    pub async fn start(&self, request: Request) -> Result<Task> {
        let task = self.launch(&request, Mode::Background).await?;
        task.started().await?;
        self.remember(&task);
        Ok(task)
    }

    /// Starts a command in the foreground and gives the handle instead of waiting: for front ends that stream.
    /// Dropping the last handle cancels the command.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub async fn foreground(&self, request: Request) -> Result<Task> {
        self.launch(&request, Mode::Foreground).await
    }

    async fn launch(&self, request: &Request, mode: Mode) -> Result<Task> {
        self.collect_on_the_way();
        let cleared = clear(request, &self.terms)?;
        let launch = plan(&cleared, &self.terms, mode)?;
        let (ours, theirs) =
            std::os::unix::net::UnixStream::pair().map_err(Error::io("make a socket pair"))?;
        ours.set_nonblocking(true).map_err(Error::io("prepare a socket"))?;
        let link = Link::new(UnixStream::from_std(ours).map_err(Error::io("register a socket"))?);
        let number = self.guard.spawn(theirs.into()).await?;
        tracing::debug!(task = %launch.id, command = %launch.display, "ordered a supervisor");
        let parent = launch.volatile_dir.as_ref().filter(|_| !launch.durable).unwrap_or(&launch.durable_dir);
        let dir = parent.as_path().join(&launch.id);
        let born = Born {
            id: launch.id.clone(),
            max_output: request.max_output.unwrap_or(self.terms.settings.output_max_chars.value),
            clamps: launch.notices.clone(),
            guard: (self.guard.told.clone(), number),
        };
        let line = Line::serve(link, Some(ToSupervisor::Launch(Box::new(launch))), dir);
        let task = Task::of_session(born, line, Arc::clone(&self.terms));
        if let Some(bytes) = request.stdin_bytes.clone() {
            task.feed_input(bytes);
        }
        Ok(task)
    }

    /// Expired tasks go now and then, off the way of the call; a program that only ever runs must not fill tmpfs.
    fn collect_on_the_way(&self) {
        let registry = Registry::new(self.terms.places.clone());
        if registry.collection_is_due(COLLECT_EVERY) {
            let retention = self.terms.settings.retention.value.0;
            tokio::task::spawn_blocking(move || {
                registry.collect_now_and_then(retention, COLLECT_EVERY);
            });
        }
    }

    /// Background tasks are ended by name when the session closes.
    fn remember(&self, task: &Task) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|line| {
            let view = line.view.borrow();
            view.ended.is_none() && !view.closed
        });
        live.push(task.line().clone());
    }

    /// Ends every task that is not kept, with proof: when this is `true`, nothing of the session is left.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest to the guard, which ends what is left.
    pub async fn close(self) -> bool {
        let lines: Vec<Line> = std::mem::take(&mut *self.live.lock().unwrap_or_else(PoisonError::into_inner));
        let grace_ms = u64::try_from(GRACE_DEFAULT.as_millis()).unwrap_or(u64::MAX);
        let order = KillOrder { signal: 15, grace_ms, force: true, by: StoppedBy::Session };
        for line in &lines {
            let _ended_already = line.order(ToSupervisor::Kill(order.clone())).await;
        }
        let deadline = Deadline::after(GRACE_DEFAULT * 2);
        tokio::select! {
            () = async { for line in &lines { line.until(|view| view.ended.is_some()).await; } } => {}
            () = deadline.passed() => {}
        }
        drop(lines);
        self.guard.close(Deadline::after(GRACE_DEFAULT)).await
    }
}
