//! From a request to a cleared one: the policy's verdict, and who answers where it asks.
//!
//! A [`Cleared`] is made here only, and a plan only from one: no command runs that was not judged, or whose session has
//! switched the policy off, which is recorded.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Decision, Policy, Verdict};

use crate::config::OnAsk;
use crate::error::{Error, Result};
use crate::handoff;
use crate::outcome::{Consent, Notice, VerdictSummary};
use crate::plan::{check_input, display, working_directory};
use crate::request::{Command, Request};
use crate::session::{Door, SessionTerms};

/// Whether commands are checked before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyChoice {
    /// They are.
    #[default]
    On,
    /// They are not, and each says so in its notices.
    Off,
}

/// The answer where the policy asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Run it.
    Run,
    /// Do not.
    Refuse,
    /// Nobody can be asked: the rules' `non_interactive`, else the door decides.
    Nobody,
}

/// Who answers.
#[derive(Clone)]
pub(crate) struct AskHook(pub(crate) Arc<dyn Fn(&Verdict) -> Answer + Send + Sync>);

impl fmt::Debug for AskHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskHook")
    }
}

/// A session's terms for the check.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) choice: PolicyChoice,
    pub(crate) policy: Policy,
    pub(crate) on_ask: Option<AskHook>,
}

impl Default for Check {
    fn default() -> Self {
        Self { choice: PolicyChoice::default(), policy: Policy::builtin(), on_ask: None }
    }
}

/// A request that may run. Its fields are private: there is no other way to make one than [`clear`].
#[derive(Debug)]
pub(crate) struct Cleared<'r> {
    request: &'r Request,
    cwd: PathBuf,
    notices: Vec<Notice>,
}

impl Cleared<'_> {
    pub(crate) fn request(&self) -> &Request {
        self.request
    }

    /// The directory for which the request was judged, and in which it therefore runs.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// What is to be recorded about the check and the directory; nothing where all is as asked.
    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// It runs because a sandbox binds it, and only so.
    pub(crate) fn must_be_sandboxed(&self) -> bool {
        let sandboxed = |notice: &Notice| matches!(notice, Notice::Asked { consent: Consent::Sandboxed, .. });
        self.notices.iter().any(sandboxed)
    }
}

/// Judges a request, and asks where that is the verdict.
pub(crate) fn clear<'r>(request: &'r Request, terms: &SessionTerms) -> Result<Cleared<'r>> {
    check_input(request)?;
    let nameless = request.description.as_ref().is_none_or(|text| text.trim().is_empty());
    if nameless && terms.settings.require_description.value {
        let what = "the command has no description, and the configuration requires one".to_owned();
        let hint = "say in a few words what it is for (--description TEXT)".to_owned();
        return Err(Error::BadRequest { what, hint });
    }
    let (cwd, moved) = working_directory(request, terms)?;
    let mut handed = Vec::new();
    let notice = match terms.check.choice {
        PolicyChoice::Off => Some(Notice::Unchecked),
        PolicyChoice::On => {
            let verdict = verdict(request, terms, &cwd);
            handed = handoff::notices(&verdict);
            admit(request, verdict, terms)?
        }
    };
    Ok(Cleared { request, cwd, notices: notice.into_iter().chain(moved).chain(handed).collect() })
}

/// The verdict alone.
pub(crate) fn judge(request: &Request, terms: &SessionTerms) -> Result<Option<Verdict>> {
    check_input(request)?;
    let (cwd, _said_when_it_runs) = working_directory(request, terms)?;
    Ok((terms.check.choice == PolicyChoice::On).then(|| verdict(request, terms, &cwd)))
}

fn admit(request: &Request, verdict: Verdict, terms: &SessionTerms) -> Result<Option<Notice>> {
    let consent = match verdict.decision {
        Decision::Allow => return Ok(None),
        Decision::Ask => consent(request, &verdict, terms),
        Decision::Deny => None,
    };
    match consent {
        Some(consent) => Ok(Some(Notice::Asked { rules: VerdictSummary::of(&verdict).rules, consent })),
        None => Err(Error::Denied { command: display(&request.command), verdict: Box::new(verdict) }),
    }
}

fn consent(request: &Request, verdict: &Verdict, terms: &SessionTerms) -> Option<Consent> {
    let Check { policy, on_ask, .. } = &terms.check;
    if terms.settings.on_ask.value == OnAsk::Sandboxed && request.answer.is_none() {
        return Some(Consent::Sandboxed);
    }
    let asked = || on_ask.as_ref().map_or(Answer::Nobody, |ask| (ask.0)(verdict));
    match (request.answer.unwrap_or_else(asked), policy.non_interactive(), terms.door) {
        (Answer::Run, ..) => Some(Consent::Given),
        (Answer::Refuse, ..) | (Answer::Nobody, Decision::Deny, _) => None,
        (Answer::Nobody, Decision::Allow, _) | (Answer::Nobody, Decision::Ask, Door::Wrapper) => {
            Some(Consent::Assumed)
        }
        (Answer::Nobody, Decision::Ask, Door::Agent) => None,
    }
}

fn verdict(request: &Request, terms: &SessionTerms, cwd: &Path) -> Verdict {
    let home = home(request, terms);
    let (cwd, home) = (cwd.to_string_lossy(), home.to_string_lossy());
    // An agent works where its session was opened, wherever a single command runs.
    let workspace = (terms.door == Door::Agent).then(|| terms.whereabouts.root().to_string_lossy());
    let check = |command: policy::Command<'_>| {
        let workspace = workspace.as_deref();
        terms.check.policy.check(&policy::Request { command, cwd: &cwd, home: &home, workspace })
    };
    let verdict = match &request.command {
        Command::Shell(line) => check(policy::Command::Shell(&line.to_string_lossy())),
        Command::Argv(argv) => check(policy::Command::Argv(&texts(argv))),
    };
    if request.env.is_empty() {
        return verdict;
    }
    // Variables can run programs of their own (LD_PRELOAD, BASH_ENV): judged as `env NAME=VALUE true` would be.
    let assigned = request.env.iter().map(|(name, value)| [name.as_os_str(), value].join(OsStr::new("=")));
    let argv: Vec<OsString> = std::iter::once("env".into()).chain(assigned).chain(["true".into()]).collect();
    worse(verdict, check(policy::Command::Argv(&texts(&argv))))
}

/// The first verdict with the findings of the second, which is about the environment and not about the command's text.
fn worse(mut command: Verdict, environment: Verdict) -> Verdict {
    command.decision = command.decision.max(environment.decision);
    command
        .findings
        .extend(environment.findings.into_iter().map(|finding| policy::Finding { span: (0, 0), ..finding }));
    command
}

fn texts(argv: &[OsString]) -> Vec<String> {
    argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The home directory that the command will see.
pub(crate) fn home(request: &Request, terms: &SessionTerms) -> OsString {
    let named = |env: &[(OsString, OsString)]| {
        env.iter().rev().find(|(name, _)| name == "HOME").map(|(_, home)| home.clone())
    };
    named(&request.env)
        .or_else(|| named(&terms.environment.variables))
        .filter(|home| Path::new(home).is_absolute())
        .or_else(|| crate::places::account_home().map(PathBuf::into_os_string))
        .unwrap_or_else(|| "/".into())
}
