//! Our own failures: what happened, why, what to do; and the exit status that says whose failure it is.

use std::process::ExitCode;

use crate::render;

/// A failure of a verb.
#[derive(Debug)]
pub(crate) struct Fault {
    code: u8,
    what: String,
    hint: Option<String>,
}

impl Fault {
    /// Kennel could not do its part: 125.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is the end of the error's way, and `map_err` wants it so"
    )]
    pub(crate) fn own(error: anyhow::Error) -> Self {
        Self { code: 125, what: format!("{error:#}"), hint: None }
    }

    /// The command line is wrong: 64.
    pub(crate) fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: 64, what: what.into(), hint: Some(hint.into()) }
    }

    /// The same failure with the exit status of a verb that does not run commands.
    pub(crate) fn not_done(error: &kennel::Error) -> Self {
        let code = if matches!(error, kennel::Error::MalformedId { .. } | kennel::Error::Pattern { .. }) {
            64
        } else {
            1
        };
        Self { code, what: error.to_string(), hint: error.hint() }
    }

    /// As the exit status of `run` and `start`.
    pub(crate) fn of_command(error: &kennel::Error) -> Self {
        let code = match error {
            kennel::Error::NotStarted { exit_code, .. } => u8::try_from(*exit_code).unwrap_or(125),
            kennel::Error::BadRequest { what, .. } if what.starts_with("the working directory") => 125,
            kennel::Error::BadRequest { .. } | kennel::Error::MalformedId { .. } => 64,
            _ => 125,
        };
        Self { code, what: error.to_string(), hint: error.hint() }
    }

    pub(crate) fn report(&self) -> ExitCode {
        render::error(&self.what, self.hint.as_deref());
        ExitCode::from(self.code)
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
