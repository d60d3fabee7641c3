//! A session: an owner with a working directory, an environment and tasks.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use proctree::PidFd;
use supervisor::StoppedBy;
use supervisor::wire::{KillOrder, ToSupervisor};
use tokio::net::UnixStream;

use crate::check::{Answer, AskHook, Check, PolicyChoice, clear};
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::guard::{GuardLine, GuardStart};
use crate::id::{check_name, random_text};
use crate::link::{Line, Link};
use crate::outcome::Outcome;
use crate::places::Places;
use crate::plan::{Mode, find_shell, plan};
use crate::registry::{RETENTION_DEFAULT, Registry};
use crate::request::{GRACE_DEFAULT, Request};
use crate::root::COLLECT_EVERY;
use crate::task::{Born, Task};

/// For whom a session works (INTERFACES, "Doors and their defaults").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Door {
    /// For an agent: careful defaults.
    #[default]
    Agent,
    /// For a person or script that chose to wrap a command: changes nothing that it was not asked to.
    Wrapper,
}

/// Foreground timeout of an agent's door.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(120);
/// The longest timeout of an agent's door.
pub const TIMEOUT_MAX_DEFAULT: Duration = Duration::from_secs(600);

/// What a session's requests have in common.
#[derive(Debug)]
pub(crate) struct SessionTerms {
    pub(crate) session_id: String,
    pub(crate) door: Door,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) shell: Option<PathBuf>,
    pub(crate) timeout_default: Duration,
    pub(crate) timeout_max: Option<Duration>,
    pub(crate) places: Places,
    pub(crate) owner_pid: i32,
    pub(crate) check: Check,
}

/// Opens a session; made by [`crate::Kennel::session`].
#[derive(Debug)]
#[must_use = "a session does not exist until it is opened"]
pub struct SessionBuilder {
    pub(crate) places: Places,
    pub(crate) guard: GuardStart,
    pub(crate) door: Door,
    pub(crate) id: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: Option<Vec<(OsString, OsString)>>,
    pub(crate) timeout_default: Duration,
    pub(crate) timeout_max: Option<Duration>,
    pub(crate) owner_pid: Option<i32>,
    pub(crate) check: Check,
}

impl SessionBuilder {
    /// Working directory of the session; by default that of this process.
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.cwd = Some(directory.as_ref().to_owned());
        self
    }

    /// For whom the session works.
    pub fn door(mut self, door: Door) -> Self {
        self.door = door;
        self
    }

    /// The session's id; by default a random one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The whole environment of the session's commands; by default that of this process.
    pub fn env<I: IntoIterator<Item = (OsString, OsString)>>(mut self, env: I) -> Self {
        self.env = Some(env.into_iter().collect());
        self
    }

    /// Timeout of foreground calls that name none (an agent's door).
    pub fn timeout_default(mut self, limit: Duration) -> Self {
        self.timeout_default = limit;
        self
    }

    /// The longest timeout; longer ones are clamped and the clamp reported. `None`: no clamp.
    pub fn timeout_max(mut self, limit: Option<Duration>) -> Self {
        self.timeout_max = limit;
        self
    }

    /// Binds the session to the life of this process instead of the calling one.
    pub fn owner(mut self, pid: i32) -> Self {
        self.owner_pid = Some(pid);
        self
    }

    /// Whether commands are checked before they run (default), or not; that is recorded with every task.
    pub fn policy(mut self, choice: PolicyChoice) -> Self {
        self.check.choice = choice;
        self
    }

    /// The rules of the check; by default the built-in ones.
    pub fn rules(mut self, policy: policy::Policy) -> Self {
        self.check.policy = policy;
        self
    }

    /// Who answers where the policy asks. Without it a command is refused at an agent's door, and runs at a wrapper's.
    /// The call is made in the middle of the request and may block it.
    pub fn on_ask(mut self, answer: impl Fn(&policy::Verdict) -> Answer + Send + Sync + 'static) -> Self {
        self.check.on_ask = Some(AskHook(Arc::new(answer)));
        self
    }

    /// How the guard comes to be.
    pub fn guard(mut self, start: GuardStart) -> Self {
        self.guard = start;
        self
    }

    /// Opens the session: starts its guard.
    ///
    /// # Errors
    /// [`Error::BadRequest`] for a missing directory or owner, [`Error::MalformedId`], [`Error::NotInitialised`],
    /// [`Error::Guard`].
    ///
    /// # Cancel safety
    /// A dropped future leaves no guard: it ends when its line closes.
    #[expect(
        clippy::unused_async,
        reason = "part of the fixed interface; the guard's socket needs the runtime"
    )]
    pub async fn open(self) -> Result<Session> {
        let session_id = match self.id {
            Some(id) => check_name(&id).map(|()| id)?,
            None => format!("s-{}", random_text(26)?),
        };
        let here = || std::env::current_dir().map_err(Error::io("find the current directory"));
        let cwd = match self.cwd {
            Some(cwd) if cwd.is_absolute() => cwd,
            Some(cwd) => here()?.join(cwd),
            None => here()?,
        };
        if !cwd.is_dir() {
            let what = format!("the session's directory {} is not a directory", cwd.display());
            return Err(Error::BadRequest { what, hint: "give an existing directory".to_owned() });
        }
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let owner_pid = self.owner_pid.unwrap_or(own);
        let owner = owner_handle(owner_pid)?;
        let env = self.env.unwrap_or_else(own_environment);
        let guard = GuardLine::start(&self.guard, self.places.task_dirs(), owner.as_ref(), owner_pid)?;
        tracing::debug!(session = %session_id, guard = guard.pid(), "opened a session");
        let shell = find_shell(&env);
        let terms = SessionTerms {
            session_id,
            door: self.door,
            cwd,
            env,
            shell,
            timeout_default: self.timeout_default,
            timeout_max: if self.door == Door::Agent { self.timeout_max } else { None },
            places: self.places,
            owner_pid,
            check: self.check,
        };
        Ok(Session { terms: Arc::new(terms), guard, live: Mutex::default() })
    }
}

fn owner_handle(pid: i32) -> Result<Option<OwnedFd>> {
    match PidFd::open(pid) {
        Ok(Some(handle)) => Ok(Some(handle.into_owned_fd())),
        Ok(None) => Err(Error::BadRequest {
            what: format!("the owner, process {pid}, does not exist"),
            hint: "give the pid of a running process".to_owned(),
        }),
        // Without pidfds the lifeline alone speaks for the owner.
        Err(_unsupported) => Ok(None),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a session's commands inherit the program's environment by default"
)]
fn own_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// An open session. Dropping it ends its tasks, except those that are kept; [`Session::close`] also waits and proves.
#[derive(Debug)]
pub struct Session {
    terms: Arc<SessionTerms>,
    guard: GuardLine,
    live: Mutex<Vec<Line>>,
}

impl Session {
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
            max_output: request.max_output,
            clamps: launch.notices.clone(),
            guard: (self.guard.told.clone(), number),
        };
        let line = Line::serve(link, Some(ToSupervisor::Launch(Box::new(launch))), dir);
        Ok(Task::of_session(born, line, Arc::clone(&self.terms)))
    }

    /// Expired tasks go now and then, off the way of the call; a program that only ever runs must not fill tmpfs.
    fn collect_on_the_way(&self) {
        let registry = Registry::new(self.terms.places.clone());
        if registry.collection_is_due(COLLECT_EVERY) {
            tokio::task::spawn_blocking(move || {
                registry.collect_now_and_then(RETENTION_DEFAULT, COLLECT_EVERY);
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
