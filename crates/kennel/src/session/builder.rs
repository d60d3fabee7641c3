//! What a session is opened with.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use supervisor::{OnOwnerExit, Survivors};

use super::quota::LastLook;
use super::{Persist, Whereabouts};
use crate::check::{Answer, AskHook, Check, PolicyChoice};
use crate::config::{Config, Limit, Setting, Settings};
use crate::environ::{self, EnvChoices, Environment, ScrubEnv};
use crate::guard::GuardStart;
use crate::limits::Limits;
use crate::outcome::Notice;
use crate::places::Places;
use crate::sandbox::SandboxChoice;
use crate::shell::Shell;

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
    pub(crate) whereabouts: Whereabouts,
    pub(crate) environment: Environment,
    /// What the opening could not do as asked; said of every task.
    pub(crate) notices: Vec<Notice>,
    pub(crate) shell: Option<Shell>,
    pub(crate) settings: Settings,
    pub(crate) survivors: Survivors,
    pub(crate) on_owner_exit: OnOwnerExit,
    pub(crate) places: Places,
    pub(crate) owner_pid: i32,
    pub(crate) check: Check,
    pub(crate) last_look: LastLook,
    /// The guard is a fork of this process for one task: umask, limits and the like are the same still.
    pub(crate) guard_is_fresh: bool,
    pub(crate) sandbox: SandboxChoice,
    pub(crate) limits: Limits,
}

/// Opens a session; made by [`crate::Kennel::session`].
#[derive(Debug)]
#[must_use = "a session does not exist until it is opened"]
pub struct SessionBuilder {
    pub(super) places: Places,
    pub(super) guard: GuardStart,
    pub(super) door: Door,
    pub(super) id: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) env: EnvChoices,
    pub(super) shell: Option<PathBuf>,
    pub(super) persist: Option<Persist>,
    pub(super) saved: bool,
    pub(super) settings: Settings,
    pub(super) survivors: Survivors,
    pub(super) on_owner_exit: OnOwnerExit,
    pub(super) owner_pid: Option<i32>,
    pub(super) check: Check,
    pub(super) sandbox: SandboxChoice,
    pub(super) limits: Limits,
}

impl SessionBuilder {
    pub(crate) fn new(places: Places, guard: GuardStart) -> Self {
        Self {
            places,
            guard,
            door: Door::Agent,
            id: None,
            cwd: None,
            env: EnvChoices::default(),
            shell: None,
            persist: None,
            saved: false,
            settings: Settings::default(),
            survivors: Survivors::default(),
            on_owner_exit: OnOwnerExit::default(),
            owner_pid: None,
            check: Check::default(),
            sandbox: SandboxChoice::default(),
            limits: Limits::default(),
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

    /// What the environment of the session's commands is made of; by default that of this process. An agent's door
    /// takes secrets out of it.
    pub fn env<I: IntoIterator<Item = (OsString, OsString)>>(mut self, env: I) -> Self {
        self.env.base = Some(env.into_iter().collect());
        self
    }

    /// Sets a variable for all commands of the session. It beats scrubbing and the door's defaults.
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        environ::set(&mut self.env.overlay, name.as_ref(), value.as_ref());
        self
    }

    /// Whether variables that look like secrets ([`crate::SECRET_NAMES`]) are taken out; by default at an agent's door.
    pub fn scrub_env(mut self, choice: ScrubEnv) -> Self {
        self.env.scrub = Some(choice);
        self
    }

    /// Names that are no secrets whatever they look like; `*` stands for any text.
    pub fn env_pass<I: IntoIterator<Item = S>, S: Into<String>>(mut self, patterns: I) -> Self {
        self.env.pass.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Starts from the environment of a login shell of the user: for hosts that were started with a bare `PATH`. The
    /// variables of this process that it does not set stay.
    pub fn login_env(mut self) -> Self {
        self.env.login = true;
        self
    }

    /// The shell of command lines, by name or path: bash (the default), sh, zsh or fish. Only bash reports directory
    /// and pipe statuses, and the policy reads every line as bash.
    pub fn shell(mut self, shell: impl AsRef<Path>) -> Self {
        self.shell = Some(shell.as_ref().to_owned());
        self
    }

    /// What the next call finds of a call's state; by default the directory at an agent's door, nothing at a wrapper's.
    pub fn persist(mut self, choice: Persist) -> Self {
        self.persist = Some(choice);
        self
    }

    /// Remembers the session under its id in the state directory: other processes can go on with it, until it is
    /// closed by [`crate::Kennel::close_session`]. What it was first opened with holds.
    pub fn saved(mut self) -> Self {
        self.saved = true;
        self
    }

    /// What becomes of processes that outlive a command that does not say it itself.
    pub fn survivors(mut self, choice: Survivors) -> Self {
        self.survivors = choice;
        self
    }

    /// What the owner's end does to tasks that do not say it themselves.
    pub fn on_owner_exit(mut self, choice: OnOwnerExit) -> Self {
        self.on_owner_exit = choice;
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

    /// What binds the session's commands, as far as their requests do not say otherwise.
    pub fn sandbox(mut self, choice: SandboxChoice) -> Self {
        self.sandbox = choice;
        self
    }

    /// What the session's commands may use, as far as their requests do not say otherwise.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
