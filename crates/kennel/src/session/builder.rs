//! What a session is opened with.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proctree::PidFd;

use super::Session;
use crate::check::{Answer, AskHook, Check, PolicyChoice};
use crate::config::{Config, Limit, Setting, Settings};
use crate::error::{Error, Result};
use crate::guard::{GuardLine, GuardStart};
use crate::id::{check_name, random_text};
use crate::places::Places;
use crate::plan::find_shell;

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
    pub(crate) settings: Settings,
    pub(crate) places: Places,
    pub(crate) owner_pid: i32,
    pub(crate) check: Check,
    /// The guard is a fork of this process for one task: umask, limits and the like are the same still.
    pub(crate) guard_is_fresh: bool,
}

/// Opens a session; made by [`crate::Kennel::session`].
#[derive(Debug)]
#[must_use = "a session does not exist until it is opened"]
pub struct SessionBuilder {
    places: Places,
    guard: GuardStart,
    door: Door,
    id: Option<String>,
    cwd: Option<PathBuf>,
    env: Option<Vec<(OsString, OsString)>>,
    settings: Settings,
    owner_pid: Option<i32>,
    check: Check,
}

impl SessionBuilder {
    pub(crate) fn new(places: Places, guard: GuardStart) -> Self {
        Self {
            places,
            guard,
            door: Door::Agent,
            id: None,
            cwd: None,
            env: None,
            settings: Settings::default(),
            owner_pid: None,
            check: Check::default(),
        }
    }

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

    /// Settings and rules; by default the built-in ones. Later calls on this builder go over them.
    pub fn config(mut self, config: Config) -> Self {
        self.settings = config.settings;
        self.rules(config.policy)
    }

    /// Timeout of foreground calls that name none (an agent's door).
    pub fn timeout_default(mut self, limit: Duration) -> Self {
        self.settings.timeout_default = Setting::of_caller(Limit::After(limit));
        self
    }

    /// The longest timeout; longer ones are clamped and the clamp reported. `None`: no clamp.
    pub fn timeout_max(mut self, limit: Option<Duration>) -> Self {
        self.settings.timeout_max = Setting::of_caller(limit.map_or(Limit::None, Limit::After));
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
        let guard_is_fresh = matches!(self.guard, GuardStart::Fork(_));
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
            settings: self.settings,
            places: self.places,
            owner_pid,
            check: self.check,
            guard_is_fresh,
        };
        Ok(Session::new(terms, guard))
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
