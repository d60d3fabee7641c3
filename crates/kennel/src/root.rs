//! The entry: where state lives, and what the host offers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::guard::GuardStart;
use crate::link::{Line, Link};
use crate::outcome::TaskInfo;
use crate::places::Places;
use crate::registry::{self, Collected, Found, Registry};
use crate::session::SessionBuilder;
use crate::task::Task;
use crate::tree::{Tree, tree_of_task};

/// A supervisor that lets nobody in by then is taken for stopped.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// How often expired tasks are looked for on the way.
pub(crate) const COLLECT_EVERY: Duration = Duration::from_secs(600);

/// Makes a [`Kennel`].
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    state_dir: Option<PathBuf>,
    guard: GuardStart,
}

impl Builder {
    /// Keeps all state under this directory, whatever the environment says.
    pub fn state_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.state_dir = Some(directory.as_ref().to_owned());
        self
    }

    /// Starts guards from this `kennel` binary instead of the running program.
    pub fn binary(mut self, file: impl AsRef<Path>) -> Self {
        self.guard = GuardStart::Binary(file.as_ref().to_owned());
        self
    }

    /// How guards come to be.
    pub fn guard(mut self, start: GuardStart) -> Self {
        self.guard = start;
        self
    }

    /// Finds the state directories.
    ///
    /// # Errors
    /// [`Error::StateDir`] when none can be used or others can write it.
    #[expect(
        clippy::unused_async,
        reason = "part of the fixed interface; probing may wait in later versions"
    )]
    pub async fn build(self) -> Result<Kennel> {
        let places = Places::find(self.state_dir.as_deref())?;
        Ok(Kennel { registry: Registry::new(places.clone()), places, guard: self.guard })
    }
}

/// The library's entry: opens sessions, lists and finds tasks.
#[derive(Debug)]
pub struct Kennel {
    places: Places,
    registry: Registry,
    guard: GuardStart,
}

impl Kennel {
    /// Begins.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Begins a session, by default one for an agent with this process as its owner.
    pub fn session(&self) -> SessionBuilder {
        SessionBuilder::new(self.places.clone(), self.guard.clone())
    }

    /// The root of durable state.
    pub fn state_dir(&self) -> &Path {
        self.places.root()
    }

    /// Why state is not in its usual place, when it is not.
    pub fn state_dir_notice(&self) -> Option<&str> {
        self.places.fallback.as_deref()
    }

    /// Every task that is known, oldest first, as it truly stands. Tasks whose keepers are found dead are recovered
    /// on the way; records that cannot be read are left out and named by [`Kennel::listing`].
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.listing().tasks
    }

    /// A handle on the task whose id is or begins with `id`.
    ///
    /// # Errors
    /// [`Error::MalformedId`], [`Error::UnknownTask`], [`Error::AmbiguousTask`], [`Error::Record`].
    pub async fn task(&self, id: &str) -> Result<Task> {
        self.handle(self.registry.find(id)?).await
    }

    /// The same among the tasks whose session's id is `own`; the others look as if there were none.
    ///
    /// # Errors
    /// As [`Kennel::task`].
    pub async fn task_of(&self, id: &str, own: impl Fn(&str) -> bool) -> Result<Task> {
        let found = self
            .registry
            .find_among(id, |found| found.record.as_ref().is_ok_and(|record| own(&record.session_id)))?;
        self.handle(found).await
    }

    async fn handle(&self, found: Found) -> Result<Task> {
        let Found { id, dir, record } = found;
        let record = record.map_err(|source| Error::Record { id: id.clone(), source })?;
        let line = if record.is_final() { None } else { Self::connect(dir).await };
        Ok(Task::found(id, line, self.registry.clone()))
    }

    /// The living members of the task whose id is or begins with `id`: what descends from its supervisor, and whoever
    /// else carries its tag.
    ///
    /// # Errors
    /// As [`Kennel::task`].
    pub fn tree(&self, id: &str) -> Result<Tree> {
        let Found { id, record, .. } = self.registry.find(id)?;
        let record = record.map_err(|source| Error::Record { id, source })?;
        Ok(tree_of_task(&record, registry::own_origin().as_ref()))
    }

    /// A line to a task's supervisor, if it can be had soon.
    async fn connect(dir: PathBuf) -> Option<Line> {
        let link = tokio::select! {
            link = Link::connect_patiently(&dir) => link.ok()?,
            () = Deadline::after(CONNECT_WITHIN).passed() => return None,
        };
        Some(Line::serve(link, None, dir))
    }

    /// What keepers have noted of things that went wrong: no command, no environment, no output.
    pub fn keeper_log(&self) -> Vec<String> {
        self.registry.keeper_log()
    }

    /// Recovers lost tasks and removes finished ones older than `retention`, and the oldest where all tasks take more than
    /// `total_bytes`.
    pub fn collect(&self, retention: Duration, total_bytes: u64) -> Collected {
        self.registry.collect(retention, total_bytes)
    }

    /// The same, at most once in ten minutes over all processes.
    pub fn collect_now_and_then(&self, retention: Duration, total_bytes: u64) {
        self.registry.collect_now_and_then(retention, total_bytes, COLLECT_EVERY);
    }
}

impl Kennel {
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn volatile_dir(&self) -> Option<&Path> {
        self.places.volatile.as_deref()
    }
}
