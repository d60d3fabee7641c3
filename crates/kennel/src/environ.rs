//! The environment that a door gives to commands (INTERFACES, "Doors and their defaults").
//!
//! An agent's door takes secrets out by name, and adds defaults under which programs do not wait for a person. A
//! wrapper's door changes nothing. What somebody sets on purpose beats both.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::session::Door;

/// Names that are taken for secrets, without regard to case; `*` stands for any text.
#[rustfmt::skip]
pub const SECRET_NAMES: &[&str] = &[
    "TOKEN", "*_TOKEN", "*_TOKENS", "*_TOKEN_*", "SECRET", "*_SECRET", "*_SECRETS", "*_SECRET_*",
    "*_KEY", "*APIKEY", "*API_KEY*", "*PRIVATE_KEY*", "*ACCESS_KEY*", "*_KEY_BASE64",
    "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_PASS", "*_PWD", "*CREDENTIAL*", "*_PAT",
    // Of clouds and registries, where the name does not say it.
    "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CONNECTION_STRING", "DOCKER_AUTH_CONFIG", "KUBE_CONFIG_DATA", "NPM_CONFIG__AUTH",
];

/// What an agent's commands find unless it was set on purpose: programs ask nobody and page nothing.
const AGENT_DEFAULTS: [(&str, &str); 2] = [("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];
/// Any of these says which language and encoding.
const LOCALE_NAMES: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

/// Whether variables that look like secrets are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubEnv {
    /// They are.
    On,
    /// They are not.
    Off,
}

/// Names and values, in the order of the environment.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// What a session wants of its environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnvChoices {
    /// The whole of it; by default that of this process.
    pub(crate) base: Option<Variables>,
    /// By default as the door says.
    pub(crate) scrub: Option<ScrubEnv>,
    /// Names or patterns that are no secrets.
    pub(crate) pass: Vec<String>,
    /// Set on purpose.
    pub(crate) overlay: Variables,
    /// Start from what a login shell of the user has.
    pub(crate) login: bool,
}

/// The environment of a session's commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    pub(crate) variables: Variables,
    /// Names that were taken out; `None` where nobody asked for it.
    pub(crate) scrubbed: Option<Vec<String>>,
}

impl EnvChoices {
    /// Makes the environment out of `base`.
    pub(crate) fn apply(&self, mut base: Variables, door: Door) -> Environment {
        let scrub = match (self.scrub, door) {
            (Some(choice), _) => choice,
            (None, Door::Agent) => ScrubEnv::On,
            (None, Door::Wrapper) => ScrubEnv::Off,
        };
        let mut scrubbed = (scrub == ScrubEnv::On).then(|| self.take(&mut base, is_secret));
        if door == Door::Agent {
            let code = self.take(&mut base, is_code);
            if let Some(names) = &mut scrubbed {
                names.extend(code);
            }
            for (name, value) in AGENT_DEFAULTS {
                set(&mut base, name.as_ref(), value.as_ref());
            }
            if LOCALE_NAMES.iter().all(|name| get(&base, name).is_none_or(OsStr::is_empty)) {
                set(&mut base, "LANG".as_ref(), "C.UTF-8".as_ref());
            }
        }
        for (name, value) in &self.overlay {
            set(&mut base, name, value);
        }
        let set_again = |name: &String| self.overlay.iter().any(|(known, _)| known.to_str() == Some(name));
        let scrubbed = scrubbed.map(|names| names.into_iter().filter(|name| !set_again(name)).collect());
        Environment { variables: base, scrubbed }
    }

    /// Takes out the variables of a kind that nobody has asked for; their names.
    fn take(&self, variables: &mut Variables, kind: fn(&OsStr) -> bool) -> Vec<String> {
        let mut names = Vec::new();
        variables.retain(|(name, _)| {
            let keep = !kind(name) || self.passes(name);
            if !keep {
                names.push(name.to_string_lossy().into_owned());
            }
            keep
        });
        names.sort_unstable();
        names
    }

    fn passes(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        self.pass.iter().any(|pattern| policy::glob(pattern, &name))
    }
}

/// Whether a variable is code that a shell runs before, or instead of, what was checked: start-up files and exported
/// functions.
fn is_code(name: &OsStr) -> bool {
    name == "BASH_ENV" || name == "ENV" || name.as_encoded_bytes().starts_with(b"BASH_FUNC_")
}

/// Whether a variable's name is one of a secret.
pub(crate) fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET_NAMES.iter().any(|pattern| policy::glob(pattern, &name))
}

/// Sets one variable, keeping its place.
pub(crate) fn set(variables: &mut Variables, name: &OsStr, value: &OsStr) {
    match variables.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => value.clone_into(old),
        None => variables.push((name.to_owned(), value.to_owned())),
    }
}

/// The value of a variable.
pub(crate) fn get<'v>(variables: &'v Variables, name: &str) -> Option<&'v OsStr> {
    variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
}

/// Programs that believe `PWD` are to believe the truth: a value that names another directory than `cwd` is replaced.
/// One that names the same by another way (a symbolic link) stays. Where there is none, a shell takes the physical path:
/// only a `cwd` that is reached through a symbolic link has to be told.
pub(crate) fn point_pwd(variables: &mut Variables, cwd: &Path) {
    let place = |path: &Path| rustix::fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino));
    match variables.iter_mut().find(|(name, _)| name == "PWD") {
        Some((_, pwd)) => {
            let told = Path::new(pwd);
            if told != cwd && (told.is_relative() || place(told) != place(cwd)) {
                cwd.as_os_str().clone_into(pwd);
            }
        }
        None if cwd.canonicalize().is_ok_and(|physical| physical != cwd) => {
            variables.push(("PWD".into(), cwd.as_os_str().to_owned()));
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment.variables.iter().filter_map(|(name, _)| name.to_str()).collect()
    }

    #[test]
    fn a_checked_shell_inherits_no_code() {
        // Symptom: `ls` is allowed, and what runs is an exported function of that name.
        let base = || {
            variables(&[
                ("BASH_FUNC_ls%%", "() { evil; }"),
                ("BASH_ENV", "/e"),
                ("ENV", "/e"),
                ("ENVOY", "x"),
            ])
        };
        let agent = EnvChoices::default().apply(base(), Door::Agent);
        let inherited = ["BASH_ENV", "BASH_FUNC_ls%%", "ENV"];
        assert!(
            names(&agent).iter().all(|name| !inherited.contains(name)) && names(&agent).contains(&"ENVOY")
        );
        assert_eq!(agent.scrubbed.as_deref().unwrap_or_default(), inherited);
        let passing = EnvChoices { pass: vec!["BASH_ENV".to_owned()], ..EnvChoices::default() };
        assert!(names(&passing.apply(base(), Door::Agent)).contains(&"BASH_ENV"));
        // A wrapper changes nothing that it was not asked to.
        assert_eq!(names(&EnvChoices::default().apply(base(), Door::Wrapper)).len(), 4);
    }

    #[test]
    #[rustfmt::skip]
    fn secrets_are_known_by_name() {
        for name in ["GITHUB_TOKEN", "gh_token", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD",
            "DB_PASSWORD_FILE", "MYSQL_PWD", "CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS", "SSH_PRIVATE_KEY_PATH", "TOKEN"] {
            assert!(is_secret(name.as_ref()), "{name}");
        }
        for name in ["PATH", "HOME", "PWD", "OLDPWD", "LANG", "KEYBOARD", "SSH_AUTH_SOCK", "TERM", "MONKEY", "TOKENIZERS_PARALLELISM",
            "GIT_ASKPASS", "XAUTHORITY", "EDITOR", "KENNEL_STATE_DIR", "COMPASS"] {
            assert!(!is_secret(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn an_agents_door_scrubs_and_a_wrapper_changes_nothing() {
        let base =
            variables(&[("PATH", "/bin"), ("GH_TOKEN", "x"), ("NPM_TOKEN", "y"), ("LANG", "de_DE.UTF-8")]);
        let choices = EnvChoices { pass: vec!["NPM_*".to_owned()], ..EnvChoices::default() };
        let agent = choices.apply(base.clone(), Door::Agent);
        assert_eq!(names(&agent), ["PATH", "NPM_TOKEN", "LANG", "PAGER", "GIT_TERMINAL_PROMPT"]);
        assert_eq!(agent.scrubbed, Some(vec!["GH_TOKEN".to_owned()]));
        let wrapper = choices.apply(base.clone(), Door::Wrapper);
        assert_eq!((wrapper.variables, wrapper.scrubbed), (base, None));
    }

    #[test]
    fn what_is_set_on_purpose_beats_scrubbing_and_defaults() {
        let base = variables(&[("GH_TOKEN", "old"), ("LC_ALL", "")]);
        let overlay = variables(&[("GH_TOKEN", "new"), ("PAGER", "less")]);
        let choices = EnvChoices { overlay, ..EnvChoices::default() };
        let environment = choices.apply(base, Door::Agent);
        let value = |name| get(&environment.variables, name).and_then(OsStr::to_str);
        assert_eq!(
            (value("GH_TOKEN"), value("PAGER"), value("LANG")),
            (Some("new"), Some("less"), Some("C.UTF-8"))
        );
        assert_eq!(environment.scrubbed, Some(Vec::new()));
    }
}
