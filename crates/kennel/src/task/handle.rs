//! The handle itself: who the task is, how it is told and ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use supervisor::wire::{Report, ToSupervisor};
use supervisor::{End, Record};
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::guard::Told;
use crate::kill::{self, Kill};
use crate::link::Line;
use crate::outcome::{KillReport, Notice, TaskInfo};
use crate::registry::{self, Registry};
use crate::session::SessionTerms;

/// A handle on a task. Dropping it does not end the task, unless it is the last one of a foreground call.
#[derive(Debug, Clone)]
pub struct Task {
    pub(super) id: String,
    pub(super) line: Option<Line>,
    pub(super) max_output: usize,
    pub(super) launch_notices: Vec<Notice>,
    pub(super) bonds: Arc<Bonds>,
    pub(super) terms: Option<Arc<SessionTerms>>,
    pub(super) guard: Option<(watch::Receiver<Told>, u32)>,
    pub(super) registry: Registry,
}

/// What ties a task to its session; all handles on it share it.
#[derive(Debug, Default)]
pub(crate) struct Bonds {
    /// Its end moves the session to the directory that it leaves; taken when that has happened, or never will.
    pub(crate) moves_session: AtomicBool,
    /// It outlives the session.
    pub(crate) kept: AtomicBool,
}

/// What a session knows of a task that it has just ordered.
pub(crate) struct Born {
    pub(crate) id: String,
    pub(crate) max_output: usize,
    pub(crate) launch_notices: Vec<Notice>,
    pub(crate) bonds: Bonds,
    pub(crate) guard: (watch::Receiver<Told>, u32),
}

impl Task {
    pub(crate) fn of_session(born: Born, line: Line, terms: Arc<SessionTerms>) -> Self {
        let Born { id, max_output, launch_notices, bonds, guard } = born;
        let registry = Registry::new(terms.places.clone());
        Self {
            id,
            line: Some(line),
            max_output,
            launch_notices,
            bonds: Arc::new(bonds),
            terms: Some(terms),
            guard: Some(guard),
            registry,
        }
    }

    pub(crate) fn found(id: String, line: Option<Line>, registry: Registry) -> Self {
        let max_output = crate::request::MAX_OUTPUT_DEFAULT;
        Self {
            id,
            line,
            max_output,
            launch_notices: Vec::new(),
            bonds: Arc::default(),
            terms: None,
            guard: None,
            registry,
        }
    }

    /// The task's whole id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What was decided before it started: a clamp, an answer to the policy.
    pub(crate) fn launch_notices(&self) -> &[Notice] {
        &self.launch_notices
    }

    /// Its supervisor has said its last word, or has gone.
    pub(crate) fn is_over(&self) -> bool {
        self.line.as_ref().is_none_or(|line| {
            let view = line.view.borrow();
            view.ended.is_some() || view.closed
        })
    }

    /// Waits until [`Task::is_over`].
    pub(crate) async fn over(&self) {
        if let Some(line) = &self.line {
            line.until(|view| view.ended.is_some()).await;
        }
    }

    /// The leader's pid, once the command runs.
    ///
    /// # Errors
    /// As [`Task::started`].
    pub async fn pid(&self) -> Result<i32> {
        self.started().await?;
        let told = self
            .line
            .as_ref()
            .and_then(|line| line.view.borrow().started.as_ref().map(|started| started.pid));
        Ok(match told {
            Some(pid) => pid,
            None => self.record()?.leader.map_or(0, |leader| leader.pid),
        })
    }

    /// Waits until the command's program runs.
    ///
    /// # Errors
    /// [`Error::NotStarted`] when it could not; [`Error::KeeperGone`].
    pub async fn started(&self) -> Result<()> {
        let Some(line) = &self.line else { return Ok(()) };
        if self.guard.is_none() {
            return Ok(());
        }
        let view =
            line.until(|view| view.started.is_some() || view.ended.is_some() || view.refused.is_some()).await;
        if let Some(why) = view.refused {
            return Err(Error::NotStarted { why, exit_code: 125 });
        }
        match view.ended.as_deref() {
            Some(Report { end: Some(End::NotStarted { why }), exit_code, .. }) => {
                Err(Error::NotStarted { why: why.clone(), exit_code: exit_code.unwrap_or(125) })
            }
            None if view.started.is_none() => self.fate().await.map(drop),
            _ => Ok(()),
        }
    }
    pub(super) fn record(&self) -> Result<Record> {
        let found =
            self.registry.exact(&self.id).ok_or_else(|| Error::UnknownTask { id: self.id.clone() })?;
        found.record.map_err(|source| Error::Record { id: self.id.clone(), source })
    }

    /// Where the task's files are now.
    pub(super) fn dir(&self) -> Result<PathBuf> {
        if let Some(line) = &self.line {
            let dir = line.view.borrow().dir.clone();
            if dir.join(supervisor::RECORD_FILE).exists() {
                return Ok(dir);
            }
        }
        self.registry
            .exact(&self.id)
            .map(|found| found.dir)
            .ok_or_else(|| Error::UnknownTask { id: self.id.clone() })
    }

    /// The task as a list shows it.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Record`].
    pub fn info(&self) -> Result<TaskInfo> {
        let found =
            self.registry.exact(&self.id).ok_or_else(|| Error::UnknownTask { id: self.id.clone() })?;
        let here = registry::own_origin();
        registry::describe(&found, here.as_ref()).ok_or_else(|| match found.record {
            Err(source) => Error::Record { id: self.id.clone(), source },
            Ok(_) => Error::UnknownTask { id: self.id.clone() },
        })
    }

    /// Ends the task: signal, grace, SIGKILL, the whole tree, proof.
    ///
    /// The call has a deadline of its own: the grace and about 5 s. What cannot be killed is in the report, by pid and
    /// reason, with `success: false`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Record`].
    ///
    /// # Cancel safety
    /// A dropped future leaves the order in force.
    pub async fn kill(&self, kill: Kill) -> Result<KillReport> {
        kill::perform(&self.registry, &self.id, self.line.as_ref(), &kill).await
    }

    /// The task goes on without its owner.
    ///
    /// # Errors
    /// [`Error::KeeperGone`] when there is no supervisor to tell.
    pub async fn keep(&self) -> Result<()> {
        self.bonds.moves_session.store(false, Ordering::Relaxed);
        self.tell(ToSupervisor::Keep).await?;
        self.bonds.kept.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.bonds.kept.load(Ordering::Relaxed)
    }

    /// A foreground call becomes a background task without losing a byte.
    ///
    /// # Errors
    /// As [`Task::keep`].
    pub async fn background(&self) -> Result<()> {
        self.bonds.moves_session.store(false, Ordering::Relaxed);
        self.tell(ToSupervisor::Background).await
    }

    async fn tell(&self, message: ToSupervisor) -> Result<()> {
        let gone = || Error::KeeperGone { what: format!("the supervisor of {} has gone", self.id) };
        let line = self.line.as_ref().ok_or_else(gone)?;
        let moves = line.view.borrow().moves;
        line.order(message).await.map_err(|()| gone())?;
        let view = line.until(|view| view.moves > moves || view.ended.is_some()).await;
        if view.moves > moves || view.ended.is_some() { Ok(()) } else { Err(gone()) }
    }

    /// SIGSTOP to the whole tree; its timeout clock stops with the leader.
    pub async fn pause(&self) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Pause).await;
        }
    }

    /// SIGCONT to the whole tree.
    pub async fn resume(&self) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Resume).await;
        }
    }

    /// Orders the end without waiting for it: a cancel.
    pub async fn cancel(&self, kill: &Kill) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Kill(kill.order())).await;
        }
    }
}
