//! Our own failures: what happened, why, what to do; and the exit status that says whose failure it is.

use kennel::ConfigError;
use kennel::config::Origin;
use kennel::policy::Verdict;

use crate::render;

/// A failure of a verb.
#[derive(Debug)]
pub(crate) struct Fault {
    code: u8,
    what: String,
    hint: Option<String>,
    denied: Option<Box<Denied>>,
}

/// A refusal of the policy.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) command: String,
    pub(crate) verdict: Verdict,
}

impl Fault {
    /// Kennel could not do its part: 125.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is the end of the error's way, and `map_err` wants it so"
    )]
    pub(crate) fn own(error: anyhow::Error) -> Self {
        Self { code: 125, what: format!("{error:#}"), hint: None, denied: None }
    }

    /// The same with what to do about it.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The command line is wrong: 64.
    pub(crate) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 64, what: what.into(), hint: Some(hint.into()), denied: None }
    }

    /// The caller may not: 126.
    pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 126, what: what.into(), hint: Some(hint.into()), denied: None }
    }

    /// A verb that does not run commands has not done its work: 1.
    pub(crate) fn undone(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 1, what: what.into(), hint: Some(hint.into()), denied: None }
    }

    /// The configuration is wrong: 125; or says what is not its to say inside a task: 126.
    pub(crate) fn of_config(error: &ConfigError) -> Self {
        let inside_task = matches!(error.origin(), Origin::Variable { inside_task: true, .. });
        let code = if inside_task && error.loosens() { 126 } else { 125 };
        Self { code, what: format!("failed to {error}"), hint: error.hint(), denied: None }
    }

    /// The same failure of a verb that does not run commands: 1.
    pub(crate) fn into_undone(self) -> Self {
        Self { code: 1, ..self }
    }

    /// A signal ended the wait for an answer: 128 and its number.
    pub(crate) fn interrupted(signal: i32) -> Self {
        let code = u8::try_from(128 + signal).unwrap_or(125);
        Self { code, what: "interrupted; nothing was run".to_owned(), hint: None, denied: None }
    }

    /// The same failure with the exit status of a verb that does not run commands.
    pub(crate) fn not_done(error: &kennel::Error) -> Self {
        let code = if matches!(error, kennel::Error::MalformedId { .. } | kennel::Error::Pattern { .. }) {
            64
        } else {
            1
        };
        Self { code, what: error.to_string(), hint: error.hint(), denied: None }
    }

    /// As the exit status of `run` and `start`.
    pub(crate) fn of_command(error: &kennel::Error) -> Self {
        let code = match error {
            kennel::Error::Denied { .. } => 126,
            kennel::Error::NotStarted { exit_code, .. } => u8::try_from(*exit_code).unwrap_or(125),
            kennel::Error::BadRequest { what, .. } if what.starts_with("the working directory") => 125,
            kennel::Error::BadRequest { .. } | kennel::Error::MalformedId { .. } => 64,
            _ => 125,
        };
        let denied = match error {
            kennel::Error::Denied { command, verdict } => {
                Some(Box::new(Denied { command: command.clone(), verdict: (**verdict).clone() }))
            }
            _ => None,
        };
        Self { code, what: error.to_string(), hint: error.hint(), denied }
    }

    pub(crate) fn report(&self) -> u8 {
        match &self.denied {
            Some(denied) => render::refusal(&denied.command, &denied.verdict, self.hint.as_deref()),
            None => render::error(&self.what, self.hint.as_deref()),
        }
        self.code
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    pub(crate) fn denied(&self) -> Option<&Denied> {
        self.denied.as_deref()
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
