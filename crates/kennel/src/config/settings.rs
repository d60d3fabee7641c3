//! The keys: one entry each, from which the types, the merge, `config show` and the schema are made.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;
use super::layer::Origin;
use super::merge::put;
use super::value::{
    Age, CountLimit, HookFailure, Limit, List, Network, OnAsk, Order, Sandbox, Setting, Size, SizeLimit,
};
use crate::registry::RETENTION_DEFAULT;
use crate::request::{MAX_OUTPUT_DEFAULT, OUTPUT_CAP_DEFAULT, OUTPUT_TOTAL_DEFAULT};
use crate::session::{TIMEOUT_DEFAULT, TIMEOUT_MAX_DEFAULT};

/// A key as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The value in force, as TOML.
    pub value: String,
    /// Who said so.
    pub origin: Origin,
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $value:expr, $order:ident;)+) => {
        /// The values in force.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Settings {
            $($(#[doc = $doc])+ pub $name: Setting<$type>,)+
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($name: Setting::built_in($value),)+ }
            }
        }

        /// The configuration of Kennel.
        #[derive(Debug, Default, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub(super) struct Said {
            $($(#[doc = $doc])+ pub(super) $name: Option<$type>,)+
        }

        impl Settings {
            /// The names of all keys.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)+];

            /// Every key with its value, in the order of the documentation.
            pub fn entries(&self) -> Vec<Entry> {
                vec![$(Entry {
                    name: stringify!($name),
                    value: self.$name.value.to_string(),
                    origin: self.$name.origin.clone(),
                },)+]
            }

            /// Puts a layer over the values, or says what in it is not its to say.
            pub(super) fn apply(&mut self, said: Said, from: &Origin) -> Result<(), ConfigError> {
                $(if let Some(value) = said.$name {
                    put(&mut self.$name, value, (stringify!($name), Order::$order), from)?;
                })+
                Ok(())
            }
        }
    };
}

settings! {
    /// Timeout of an agent's foreground calls that name none: `"2m"`, or milliseconds; `"0"` is none.
    timeout_default: Limit = Limit::After(TIMEOUT_DEFAULT), Lower;
    /// The longest timeout; longer ones are clamped, which is reported. Where it is not configured it binds agents only.
    timeout_max: Limit = Limit::After(TIMEOUT_MAX_DEFAULT), Lower;
    /// Most characters of each stream that go to a model.
    output_max_chars: usize = MAX_OUTPUT_DEFAULT, Lower;
    /// Most bytes of output that a task keeps: `"64M"`, or bytes.
    output_cap: Size = Size(OUTPUT_CAP_DEFAULT), Lower;
    /// Most bytes that the output of all tasks takes together; finished ones go first: `"2G"`, or bytes.
    output_total: Size = Size(OUTPUT_TOTAL_DEFAULT), Lower;
    /// How long finished tasks are kept: `"1h"`, or milliseconds.
    retention: Age = Age(RETENTION_DEFAULT), Fixed;
    /// Commands that are always refused; matched on words after quotes, variables and wrappers have been resolved.
    blocked_commands: List = List::default(), Adds;
    /// Whether every command needs a description.
    require_description: bool = false, Higher;
    /// What commands may write: `"off"`, `"workspace-write"`, `"read-only"`.
    sandbox: Sandbox = Sandbox::Off, Lower;
    /// Whether commands reach the network: `"on"`, `"off"`.
    network: Network = Network::On, Lower;
    /// Where the policy asks: `"question"`, or `"sandboxed"`: it runs in workspace-write without network, and no question.
    on_ask: OnAsk = OnAsk::Question, Lower;
    /// Most memory of a command and all that it starts: `"2G"`, or bytes; `"0"` is no limit.
    memory: SizeLimit = SizeLimit::None, Lower;
    /// Most processes and threads of a command; 0 is no limit.
    pids: CountLimit = CountLimit::None, Lower;
    /// Most CPU time of a command and all that it starts: `"10m"`, or milliseconds; `"0"` is no limit.
    cpu_time: Limit = Limit::None, Lower;
    /// Variables that an agent's commands get although their names look like secrets: names, or globs such as `"AWS_*"`.
    env_pass: List = List::default(), Lower;
    /// Whether an agent's commands get the environment of a login shell, for hosts that have a bare one.
    inherit_login_env: bool = false, Lower;
    /// Most tasks of one session that run in the background at the same time.
    tasks_per_session: usize = 2000, Lower;
    /// Most tasks of a user that run at the same time.
    tasks_total: usize = 10_000, Lower;
    /// `kennel kill` on a terminal asks before it ends a task older than this.
    confirm_kill_after: Age = Age(Duration::from_secs(600)), Lower;
    /// What a failure of the hook means for the command: `"deny"`; `"allow"` in the user's own file only.
    on_hook_failure: HookFailure = HookFailure::Deny, LowerButUser;
}
