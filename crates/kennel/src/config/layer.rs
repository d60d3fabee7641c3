//! A layer: whose it is, and its text as values.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize as _;
use toml::de::DeTable;

use super::error::ConfigError;
use super::settings::{Said, Settings};
use super::value::HookFailure;

/// Whose word a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody's: the built-in value.
    BuiltIn,
    /// The program's that opens the session.
    Caller,
    /// The machine's file.
    Machine(PathBuf),
    /// The user's own file.
    User(PathBuf),
    /// A project's file that the user trusts as it is.
    Trusted(PathBuf),
    /// A project's file: untrusted input.
    Project(PathBuf),
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
        /// Inside a task it is the agent's word.
        inside_task: bool,
    },
}

impl Origin {
    /// Whether it may loosen.
    pub(super) fn may_loosen(&self) -> bool {
        !matches!(self, Self::Project(_) | Self::Variable { inside_task: true, .. })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Caller => f.write_str("the program"),
            Self::Machine(file) | Self::User(file) | Self::Project(file) => file.display().fmt(f),
            Self::Trusted(file) => write!(f, "{} (trusted)", file.display()),
            Self::Variable { name, .. } => f.write_str(name),
        }
    }
}

/// One layer's text: a file, or the value of a variable `KENNEL_<KEY>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose it is.
    pub origin: Origin,
    /// What it says.
    pub text: String,
}

impl Layer {
    /// The name of the variable that stands for a key.
    pub fn variable(key: &str) -> String {
        format!("KENNEL_{}", key.to_ascii_uppercase())
    }

    pub(super) fn said(&self) -> Result<Said, ConfigError> {
        match &self.origin {
            Origin::Variable { name, .. } => self.of_variable(name),
            _ => self.of_file(),
        }
    }

    fn of_file(&self) -> Result<Said, ConfigError> {
        let malformed = |mut error: toml::de::Error| {
            error.set_input(Some(&self.text));
            ConfigError::Malformed { from: self.origin.clone(), why: error.to_string().trim_end().to_owned() }
        };
        let mut root = DeTable::parse(&self.text).map_err(malformed)?;
        for key in root.get_ref().keys() {
            let key: &str = key.get_ref();
            let known = || Settings::NAMES.iter().chain(policy::KEYS).copied();
            if !known().any(|name| name == key) {
                let nearest = policy::closest(key, known());
                return Err(ConfigError::UnknownKey {
                    from: self.origin.clone(),
                    key: key.to_owned(),
                    nearest,
                });
            }
        }
        // The tables of rules are the policy's to read.
        for key in policy::KEYS.iter().filter(|key| !Settings::NAMES.contains(key)) {
            root.get_mut().remove(*key);
        }
        Said::deserialize(toml::de::Deserializer::from(root)).map_err(malformed)
    }

    /// A variable's text is a value of TOML, or else a text.
    fn of_variable(&self, name: &str) -> Result<Said, ConfigError> {
        let key = Settings::NAMES.iter().find(|key| Self::variable(key) == *name);
        let Some(key) = key else {
            let key = name.to_owned();
            return Err(ConfigError::UnknownKey { from: self.origin.clone(), key, nearest: None });
        };
        let value = self.text.parse().unwrap_or_else(|_no_toml| toml::Value::String(self.text.clone()));
        let table: toml::Table = std::iter::once(((*key).to_owned(), value)).collect();
        Said::deserialize(table).map_err(|error| ConfigError::Malformed {
            from: self.origin.clone(),
            why: error.message().to_owned(),
        })
    }
}

/// What the user's own file says about failures of the hook, whatever else in it is wrong: those failures may be its own.
pub fn hook_failure(text: &str) -> HookFailure {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    match table.get("on_hook_failure").and_then(toml::Value::as_str) {
        Some("allow") => HookFailure::Allow,
        _ => HookFailure::Deny,
    }
}
