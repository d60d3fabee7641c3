//! Sessions as they are listed and closed from any process.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use supervisor::OnOwnerExit;
use tokio::task::JoinSet;

use super::Persist;
use super::store::{self, Saved, SessionFile};
use crate::clock::rfc3339;
use crate::error::{Error, Result};
use crate::kill::Kill;
use crate::outcome::{KillReport, Status, TaskInfo};
use crate::root::Kennel;

/// Kills under way at the same time.
const KILLS_MAX: usize = 32;
/// Looks for tasks that began while the session was being closed.
const ROUNDS_MAX: usize = 3;

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Commands can be run in it.
    Open,
    /// It is being closed.
    Closing,
    /// The process to which it was bound has ended.
    OwnerGone,
    /// Not saved: known by tasks of it that run.
    Unsaved,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionInfo {
    /// Its name.
    pub id: String,
    /// How it stands.
    pub state: SessionState,
    /// Where it was opened.
    pub root: String,
    /// Where its next call starts.
    pub cwd: String,
    /// What a call leaves to the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<Persist>,
    /// Names of the variables that were set for it.
    pub variables: Vec<String>,
    /// The process to which it is bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_pid: Option<i32>,
    /// kill or keep: what the owner's end does to its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub on_owner_exit: Option<OnOwnerExit>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<String>,
    /// Its tasks that run.
    pub running: Vec<String>,
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// By name.
    pub sessions: Vec<SessionInfo>,
}

/// What the end of a session came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionClosed {
    /// Its name.
    pub id: String,
    /// Nothing of it is left but what was to be kept.
    pub success: bool,
    /// Its tasks that ran, each with its proof or survivors.
    pub killed: Vec<KillReport>,
    /// Tasks that go on, as was asked.
    pub kept: Vec<String>,
}

impl Kennel {
    /// Every session that is saved, and those that are known by their running tasks; by name.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let mut running: BTreeMap<String, Vec<TaskInfo>> = BTreeMap::new();
        for task in self.tasks().into_iter().filter(|task| task.status == Status::Running) {
            running.entry(task.session_id.clone()).or_default().push(task);
        }
        let mut sessions = Vec::new();
        for (saved, file) in store::all(self.places()) {
            let tasks = running.remove(saved.id()).unwrap_or_default();
            match file {
                Ok(file) => sessions.push(describe(&saved, &file, &tasks)),
                Err(error) => tracing::warn!(session = saved.id(), %error, "a session cannot be read"),
            }
        }
        sessions.extend(running.into_iter().map(|(id, tasks)| unsaved(id, &tasks)));
        sessions.sort_by(|a, b| a.id.cmp(&b.id));
        sessions
    }

    /// One session.
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::MalformedId`].
    pub fn session_info(&self, id: &str) -> Result<SessionInfo> {
        crate::id::check_name(id)?;
        let unknown = || Error::UnknownSession { id: id.to_owned() };
        self.sessions().into_iter().find(|session| session.id == id).ok_or_else(unknown)
    }

    /// Ends a session and, unless they are to be kept, all of its tasks, each with proof.
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::MalformedId`], [`Error::SessionFile`].
    ///
    /// # Cancel safety
    /// A dropped future leaves the session closing; the kills that were ordered stay in force.
    pub async fn close_session(&self, id: &str, kill: &Kill, keep_tasks: bool) -> Result<SessionClosed> {
        let saved = Saved::of(self.places(), id)?;
        if !saved.exists() && self.running_in(id).is_empty() {
            return Err(Error::UnknownSession { id: id.to_owned() });
        }
        // From here on no task begins in it: what the look below does not find ends itself.
        saved.begin_closing()?;
        let mut closed =
            SessionClosed { id: id.to_owned(), success: true, killed: Vec::new(), kept: Vec::new() };
        if keep_tasks {
            closed.kept = self.running_in(id);
        } else {
            for _round in 0..ROUNDS_MAX {
                let running = self.running_in(id);
                if running.is_empty() {
                    break;
                }
                let reports = self.kill_all(running, kill).await;
                closed.killed.retain(|old| reports.iter().all(|new| new.shell_id != old.shell_id));
                closed.killed.extend(reports);
            }
            closed.success = self.running_in(id).is_empty();
        }
        if closed.success {
            saved.remove();
        }
        Ok(closed)
    }

    fn running_in(&self, session: &str) -> Vec<String> {
        let ours = |task: &TaskInfo| {
            task.session_id == session && task.status == Status::Running && task.origin.is_none()
        };
        self.tasks().into_iter().filter(ours).map(|task| task.id).collect()
    }

    async fn kill_all(&self, ids: Vec<String>, kill: &Kill) -> Vec<KillReport> {
        let mut ids = ids.into_iter();
        let (mut under_way, mut reports) = (JoinSet::new(), Vec::new());
        loop {
            while under_way.len() < KILLS_MAX
                && let Some(id) = ids.next()
            {
                let (registry, kill) = (self.registry().clone(), kill.clone());
                under_way.spawn(async move { crate::kill::perform(&registry, &id, None, &kill).await });
            }
            match under_way.join_next().await {
                Some(Ok(Ok(report))) => reports.push(report),
                // It ended and was removed in this instant.
                Some(_) => {}
                None => return reports,
            }
        }
    }
}

fn describe(saved: &Saved, file: &SessionFile, tasks: &[TaskInfo]) -> SessionInfo {
    let state = if saved.is_being_closed() {
        SessionState::Closing
    } else if file.owner_is_gone() {
        SessionState::OwnerGone
    } else {
        SessionState::Open
    };
    let root = file.root.as_path();
    let cwd = saved.cwd().filter(|cwd| cwd.is_dir());
    let text = |path: &Path| path.to_string_lossy().into_owned();
    SessionInfo {
        id: file.id.clone(),
        state,
        root: text(root),
        cwd: cwd.as_deref().map_or_else(|| text(root), text),
        persist: Some(file.persist),
        variables: file.env.iter().map(|(name, _)| name.to_text()).collect(),
        owner_pid: file.owner.map(|owner| owner.pid),
        on_owner_exit: Some(file.on_owner_exit),
        opened_at: Some(rfc3339(file.opened_unix_ms)),
        running: tasks.iter().map(|task| task.id.clone()).collect(),
    }
}

fn unsaved(id: String, tasks: &[TaskInfo]) -> SessionInfo {
    let first = tasks.first();
    let cwd = first.map(|task| task.cwd.clone()).unwrap_or_default();
    SessionInfo {
        id,
        state: SessionState::Unsaved,
        root: cwd.clone(),
        cwd,
        persist: None,
        variables: Vec::new(),
        owner_pid: tasks.iter().find_map(|task| task.owner_pid),
        on_owner_exit: None,
        opened_at: first.map(|task| task.started_at.clone()),
        running: tasks.iter().map(|task| task.id.clone()).collect(),
    }
}
