//! Configuration: TOML layers over the built-in rules.

use serde::Deserialize;

use crate::policy::Overrides;
use crate::rules::patterns::Pattern;
use crate::rules::{self};
use crate::verdict::Decision;

/// Whose file a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// The machine's or the user's: may tighten and loosen.
    User,
    /// A project's: untrusted, may only tighten.
    Project,
}

/// Why a layer is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not TOML, or has keys or values that do not exist.
    #[error("read the rules: {0}")]
    Malformed(String),
    /// It names a rule that does not exist.
    #[error("find the rule {0:?}")]
    UnknownRule(String),
    /// A project's file tries to loosen.
    #[error("apply {0:?} from a project's file, which may only tighten")]
    ProjectLoosens(String),
    /// A hard rule is to be loosened without `allow_hard = true`.
    #[error("loosen the hard rule {0:?} without allow_hard = true")]
    HardRule(String),
    /// A pattern or command has no words, or is not a plain command.
    #[error("read the pattern {0:?}")]
    BadPattern(String),
}

/// One parsed file.
#[derive(Debug)]
pub(crate) struct Layer {
    kind: LayerKind,
    file: File,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow_hard: bool,
    #[serde(default)]
    blocked_commands: Vec<String>,
    #[serde(default)]
    context: ContextTable,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    rules: std::collections::BTreeMap<String, Decision>,
    #[serde(default)]
    rule: Vec<RuleTable>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextTable {
    workspace: Option<String>,
    #[serde(default)]
    temp: Vec<String>,
    #[serde(default)]
    protected: Vec<String>,
}

/// What is decided where the text does not say.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    pub(crate) unparsable: Option<Decision>,
    pub(crate) dynamic: Option<Decision>,
    pub(crate) non_interactive: Option<Decision>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    id: String,
    program: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    verdict: Decision,
    reason: String,
    #[serde(default)]
    instead: String,
}

/// A rule of a user.
#[derive(Debug, Clone)]
pub(crate) struct UserRule {
    pub(crate) id: String,
    pub(crate) pattern: Pattern,
    /// If any are given, an operand must be in one of them.
    pub(crate) paths: Vec<String>,
    pub(crate) decision: Decision,
    pub(crate) reason: String,
    pub(crate) instead: String,
}

/// All layers together.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) overrides: Overrides,
    pub(crate) rules: Vec<UserRule>,
    pub(crate) blocked: Vec<Pattern>,
    pub(crate) defaults: Defaults,
    pub(crate) workspace: Option<String>,
    pub(crate) temp: Vec<String>,
    pub(crate) protected: Vec<String>,
}

impl Layer {
    /// Reads a file of rules, or the `policy` table of a larger one.
    pub(crate) fn parse(kind: LayerKind, text: &str) -> Result<Self, ConfigError> {
        let file = toml::from_str(text).map_err(|error| ConfigError::Malformed(error.to_string()))?;
        Ok(Layer { kind, file })
    }
}

impl Settings {
    pub(crate) fn apply(&mut self, layer: Layer) -> Result<(), ConfigError> {
        let Layer { kind, file } = layer;
        let project = kind == LayerKind::Project;
        for (id, decision) in file.rules {
            self.set_rule(&id, decision, project, file.allow_hard)?;
        }
        for rule in file.rule {
            self.rules.push(user_rule(rule)?);
        }
        for command in &file.blocked_commands {
            let plain = !command.trim().is_empty()
                && !command.contains(['|', ';', '&', '$', '`', '<', '>', '(', ')', '\'', '"', '\\']);
            let pattern = Pattern::new(command)
                .filter(|_| plain)
                .ok_or_else(|| ConfigError::BadPattern(command.clone()))?;
            self.blocked.push(pattern);
        }
        let loosening = file.context.workspace.is_some() || !file.context.temp.is_empty() || file.allow_hard;
        if project && loosening {
            return Err(ConfigError::ProjectLoosens("context".to_owned()));
        }
        self.workspace = file.context.workspace.or(self.workspace.take());
        self.temp.extend(file.context.temp);
        self.protected.extend(file.context.protected);
        self.set_defaults(file.defaults, project)
    }

    fn set_rule(
        &mut self,
        id: &str,
        decision: Decision,
        project: bool,
        allow_hard: bool,
    ) -> Result<(), ConfigError> {
        let Some(rule) = rules::RULES.iter().find(|rule| rule.id == id) else {
            return Err(ConfigError::UnknownRule(id.to_owned()));
        };
        let now = self.overrides.get(id).copied().unwrap_or(rule.decision);
        if decision < now && project {
            return Err(ConfigError::ProjectLoosens(id.to_owned()));
        }
        if decision < rule.decision && rule.hard && !allow_hard {
            return Err(ConfigError::HardRule(id.to_owned()));
        }
        self.overrides.insert(id.to_owned(), decision);
        Ok(())
    }

    fn set_defaults(&mut self, new: Defaults, project: bool) -> Result<(), ConfigError> {
        let pairs = [
            ("unparsable", &mut self.defaults.unparsable, new.unparsable),
            ("dynamic", &mut self.defaults.dynamic, new.dynamic),
            ("non_interactive", &mut self.defaults.non_interactive, new.non_interactive),
        ];
        for (name, old, new) in pairs {
            let Some(new) = new else { continue };
            if project && new < old.unwrap_or(Decision::Ask) {
                return Err(ConfigError::ProjectLoosens(name.to_owned()));
            }
            *old = Some(new);
        }
        Ok(())
    }
}

fn user_rule(rule: RuleTable) -> Result<UserRule, ConfigError> {
    let bad = rule.program.trim().is_empty()
        || rule.program.contains(char::is_whitespace)
        || rule.id.trim().is_empty();
    if bad {
        return Err(ConfigError::BadPattern(rule.program));
    }
    let programs = rule.program.split('|').map(str::to_owned).collect();
    let pattern = Pattern::from_words(programs, rule.args.iter().map(String::as_str));
    let paths = rule.paths;
    Ok(UserRule {
        id: rule.id,
        pattern,
        paths,
        decision: rule.verdict,
        reason: rule.reason,
        instead: rule.instead,
    })
}
