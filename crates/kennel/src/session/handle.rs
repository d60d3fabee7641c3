//! An open session: run, start, close.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use supervisor::wire::{Launch, ToSupervisor};
use supervisor::{OnOwnerExit, TempDir};
use tokio::net::UnixStream;

use super::{Door, SessionTerms, quota};
use crate::check::clear;
use crate::clock::Deadline;
use crate::config::OnAsk;
use crate::error::{Error, Result};
use crate::guard::GuardLine;
use crate::kill::Kill;
use crate::link::{Line, Link};
use crate::outcome::{Notice, Outcome};
use crate::plan::{Mode, plan};
use crate::registry::Registry;
use crate::request::{GRACE_DEFAULT, Request};
use crate::root::COLLECT_EVERY;
use crate::task::{Bonds, Born, Task};

/// An open session. Dropping it ends its tasks, except those that are kept; [`Session::close`] also waits and proves.
#[derive(Debug)]
pub struct Session {
    terms: Arc<SessionTerms>,
    guard: GuardLine,
    live: Mutex<Vec<Task>>,
    /// The temp directory of sandboxed commands, which outlives each of them.
    temp: Mutex<Option<TempDir>>,
}

impl Session {
    pub(super) fn new(terms: SessionTerms, guard: GuardLine) -> Self {
        Self { terms: Arc::new(terms), guard, live: Mutex::default(), temp: Mutex::default() }
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.terms.session_id
    }

    /// Where its next call starts.
    pub fn cwd(&self) -> PathBuf {
        self.terms.whereabouts.next()
    }

    /// Where it was opened, and what it falls back to.
    pub fn root(&self) -> &Path {
        self.terms.whereabouts.root()
    }

    /// It lives as long as another process, and not as long as this one.
    pub fn is_bound(&self) -> bool {
        u32::try_from(self.terms.owner_pid) != Ok(std::process::id())
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

    /// Whether what the policy asks about runs in a sandbox instead of after a question (`on_ask` of the configuration).
    pub fn sandboxes_what_is_asked(&self) -> bool {
        self.terms.settings.on_ask.value == OnAsk::Sandboxed
    }

    /// The timeout that a request has here, as `start` or as `run`, after defaults and clamps. `None`: it has none.
    pub fn timeout_of(&self, request: &Request, in_background: bool) -> Option<Duration> {
        let mode = if in_background { Mode::Background } else { Mode::Foreground };
        crate::plan::timeout(request.timeout, &self.terms, mode).0.map(Duration::from_millis)
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
        if mode == Mode::Background {
            quota::check(&self.terms, &Registry::new(self.terms.places.clone()), self.live_count())?;
        }
        let cleared = clear(request, &self.terms)?;
        let whereabouts = &self.terms.whereabouts;
        if mode == Mode::Foreground && cleared.notices().iter().any(|n| matches!(n, Notice::CwdReset { .. }))
        {
            whereabouts.moved(whereabouts.root().to_owned());
        }
        let launch = plan(&cleared, &self.terms, mode)?;
        self.hold_temp(&launch)?;
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
            launch_notices: launch.notices.clone(),
            bonds: Bonds {
                moves_session: (mode == Mode::Foreground && request.cwd.is_none()).into(),
                kept: (launch.on_owner_exit == OnOwnerExit::Keep).into(),
            },
            guard: (self.guard.told.clone(), number),
        };
        let line = Line::serve(link, Some(ToSupervisor::Launch(Box::new(launch))), dir);
        let task = Task::of_session(born, line, Arc::clone(&self.terms));
        if let Some(bytes) = request.stdin_bytes.clone() {
            task.feed_input(bytes);
        }
        self.recheck_open(&task).await?;
        Ok(task)
    }

    /// RACE(start-while-closing): whoever closes a saved session from elsewhere looks for its tasks after it has begun to
    /// close; a task whose record was written after that look is not found. Closed by looking again once the task has its
    /// record, and ending it.
    async fn recheck_open(&self, task: &Task) -> Result<()> {
        if !self.terms.whereabouts.is_saved() {
            return Ok(());
        }
        // An end without a start is told by whoever waits for the task.
        let _not_started = task.started().await;
        let open = self.terms.whereabouts.check_open();
        if open.is_err() {
            // Whatever it comes to: it is listed, and so is the session that could not be closed.
            let _report = task.kill(Kill::now()).await;
        }
        open
    }

    /// Expired tasks go now and then, off the way of the call; a program that only ever runs must not fill tmpfs.
    fn collect_on_the_way(&self) {
        let registry = Registry::new(self.terms.places.clone());
        if registry.collection_is_due(COLLECT_EVERY) {
            let retention = self.terms.settings.retention.value.0;
            let total_bytes = self.terms.settings.output_total.value.0;
            tokio::task::spawn_blocking(move || {
                registry.collect_now_and_then(retention, total_bytes, COLLECT_EVERY);
            });
        }
    }

    /// The first sandboxed command of an agent's session makes its temp directory.
    fn hold_temp(&self, launch: &Launch) -> Result<()> {
        let sandbox = launch.confine.sandbox.as_ref().filter(|_| self.terms.door == Door::Agent);
        if let Some(path) = sandbox.and_then(|sandbox| sandbox.temp.as_ref()) {
            let mut temp = self.temp.lock().unwrap_or_else(PoisonError::into_inner);
            if temp.is_none() {
                let made =
                    TempDir::join(path.as_path()).map_err(Error::io("make the session's temp directory"))?;
                *temp = Some(made);
            }
        }
        Ok(())
    }

    fn live_count(&self) -> usize {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|task| !task.is_over());
        live.len()
    }

    /// Background tasks are ended by name when the session closes.
    fn remember(&self, task: &Task) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        live.push(task.clone());
    }

    /// Ends every task that is not kept, with proof: when this is `true`, nothing of the session is left but
    /// what is kept. A saved session stays open for others: see [`crate::Kennel::close_session`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves the rest to the guard, which ends what is left.
    pub async fn close(self) -> bool {
        self.close_within(GRACE_DEFAULT * 3).await
    }

    /// The same within a time: a third of it is the grace between SIGTERM and SIGKILL.
    ///
    /// # Cancel safety
    /// As [`Session::close`].
    pub async fn close_within(self, limit: Duration) -> bool {
        let grace = limit / 3;
        let tasks: Vec<Task> = std::mem::take(&mut *self.live.lock().unwrap_or_else(PoisonError::into_inner));
        let bound: Vec<&Task> = tasks.iter().filter(|task| !task.is_kept()).collect();
        for task in &bound {
            task.cancel(&Kill::terminate().grace(grace).by_session_end()).await;
        }
        let deadline = Deadline::after(grace * 2);
        tokio::select! {
            () = async { for task in &bound { task.over().await; } } => {}
            () = deadline.passed() => {}
        }
        drop(tasks);
        self.guard.close(Deadline::after(grace)).await
    }
}
