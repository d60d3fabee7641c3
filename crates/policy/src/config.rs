//! Configuration: TOML layers over the built-in rules.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::DeTable;

use crate::policy::Overrides;
use crate::rules;
use crate::rules::patterns::Pattern;
use crate::verdict::Decision;

/// Whose file a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// The machine's or the user's: may tighten and loosen.
    User,
    /// A project's that the user trusts: may tighten and loosen, but no hard rule.
    Trusted,
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
    #[error("find the rule {id:?}{}", .nearest.map_or(String::new(), |near| format!("; did you mean {near:?}?")))]
    UnknownRule {
        /// The id.
        id: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
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

/// The keys of a file that are the policy's.
pub const KEYS: &[&str] = &["allow_hard", "blocked_commands", "context", "defaults", "rules", "rule"];

/// A file of rules.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct File {
    /// Whether this file may loosen hard rules; the user's own only.
    allow_hard: bool,
    /// Commands that are always refused.
    blocked_commands: Vec<String>,
    /// Directories and their roles.
    context: ContextTable,
    /// What is decided where the text does not say.
    defaults: Defaults,
    /// Decisions by the id of a built-in rule.
    rules: std::collections::BTreeMap<String, Decision>,
    /// Rules of your own.
    rule: Vec<RuleTable>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ContextTable {
    /// The directory that the work is in, instead of the one of the call.
    workspace: Option<String>,
    /// Directories as free as /tmp.
    temp: Vec<String>,
    /// Directories as good as the system's.
    protected: Vec<String>,
}

/// What is decided where the text does not say.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Defaults {
    /// Lines that cannot be read.
    pub(crate) unparsable: Option<Decision>,
    /// Programs and code that are not known from the text.
    pub(crate) dynamic: Option<Decision>,
    /// What ask becomes where nobody can be asked.
    pub(crate) non_interactive: Option<Decision>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    /// Its name in verdicts.
    id: String,
    /// Programs it is about, with | between them.
    program: String,
    /// Words in order; `*` is any text in a word, `**` any words.
    #[serde(default)]
    args: Vec<String>,
    /// An operand must be in one of these; relative to the workspace.
    #[serde(default)]
    paths: Vec<String>,
    /// What it decides.
    verdict: Decision,
    /// Why, in one sentence.
    reason: String,
    /// What to do instead.
    #[serde(default)]
    instead: String,
}

/// The JSON Schema of a file of rules.
pub fn config_schema() -> schemars::Schema {
    schemars::schema_for!(File)
}

/// The candidate that a misspelt word may have been meant for.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|name| (strsim::jaro_winkler(word, name), name));
    scored.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
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
#[derive(Debug, Clone, Default)]
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
    /// Reads a file of rules; keys in `elsewhere` are not the policy's to read, unless they are its own too.
    pub(crate) fn parse(kind: LayerKind, text: &str, elsewhere: &[&str]) -> Result<Self, ConfigError> {
        let malformed = |mut error: toml::de::Error| {
            error.set_input(Some(text));
            ConfigError::Malformed(error.to_string().trim_end().to_owned())
        };
        let mut root = DeTable::parse(text).map_err(malformed)?;
        for key in elsewhere.iter().filter(|key| !KEYS.contains(key)) {
            root.get_mut().remove(*key);
        }
        let file = File::deserialize(toml::de::Deserializer::from(root)).map_err(malformed)?;
        Ok(Layer { kind, file })
    }
}

impl Settings {
    pub(crate) fn apply(&mut self, layer: Layer) -> Result<(), ConfigError> {
        let Layer { kind, file } = layer;
        let project = kind == LayerKind::Project;
        if file.allow_hard && kind != LayerKind::User {
            return Err(ConfigError::ProjectLoosens("allow_hard".to_owned()));
        }
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
        let loosening = file.context.workspace.is_some() || !file.context.temp.is_empty();
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
            let nearest = closest(id, rules::RULES.iter().map(|rule| rule.id));
            return Err(ConfigError::UnknownRule { id: id.to_owned(), nearest });
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
