//! What a tool answers: its result, a question back to the client, or why it did not do its work.
//!
//! Everything that the model can do something about is in-band (SEP-1303). `isError` says that the tool itself failed; a
//! command that exits 3 is a result.

use kennel::VerdictSummary;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult};
use serde_json::{Value, json};

use crate::fault::Fault;

/// What a tool has to say.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The result for the program, and the same in words for the model.
    Done { structured: Value, text: String },
    /// The client has to answer something first (2026-07-28).
    Ask(Box<InputRequiredResult>),
}

impl Reply {
    pub(crate) fn done(structured: &impl serde::Serialize, text: String) -> Result<Self, Refusal> {
        let structured = serde_json::to_value(structured)
            .map_err(|error| Refusal::own("serialise", format!("the result cannot be written: {error}")))?;
        Ok(Self::Done { structured, text })
    }
}

/// Why a tool did not do its work: what, and what to do.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: &'static str,
    message: String,
    hint: Option<String>,
    verdict: Option<VerdictSummary>,
    /// Bytes of input that were taken all the same.
    written: u64,
}

impl Refusal {
    /// An argument is wrong.
    pub(crate) fn argument(name: &str, message: String, hint: String) -> Self {
        debug_assert!(message.contains(name), "an error about an argument names it");
        Self { code: "bad_argument", message, hint: Some(hint), verdict: None, written: 0 }
    }

    /// Our part could not be done.
    pub(crate) fn own(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, verdict: None, written: 0 }
    }

    /// The same, said by a part that also speaks to people.
    pub(crate) fn of_fault(code: &'static str, fault: &Fault) -> Self {
        Self {
            code,
            message: fault.what().to_owned(),
            hint: fault.hint().map(str::to_owned),
            verdict: None,
            written: 0,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For the model.
    pub(crate) fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("Error: {}\nHint: {hint}", self.message),
            None => format!("Error: {}", self.message),
        }
    }

    /// On one line, for results that have an `error` of their own.
    pub(crate) fn line(&self) -> String {
        self.hint.as_ref().map_or_else(|| self.message.clone(), |hint| format!("{}; {hint}", self.message))
    }

    /// As `Outcome.error`.
    pub(crate) fn info(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(hint) = &self.hint {
            error["hint"] = hint.clone().into();
        }
        error
    }

    pub(crate) fn verdict(&self) -> Option<VerdictSummary> {
        self.verdict.clone()
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// The answer of a failed tool, with a result of the shape that its schema promises.
    pub(crate) fn into_response(self, structured: Value) -> CallToolResponse {
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.text())]);
        result.structured_content = Some(structured);
        result.into()
    }
}

impl From<kennel::Error> for Refusal {
    fn from(error: kennel::Error) -> Self {
        let verdict = match &error {
            kennel::Error::Denied { verdict, .. } => Some(VerdictSummary::of(verdict)),
            _ => None,
        };
        let written = if let kennel::Error::Input { written, .. } = &error { *written } else { 0 };
        Self { code: error.code(), message: error.to_string(), hint: error.hint(), verdict, written }
    }
}

/// The answer of a tool that did its work.
pub(crate) fn respond(reply: Reply) -> CallToolResponse {
    match reply {
        Reply::Done { structured, text } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(structured);
            result.into()
        }
        Reply::Ask(question) => (*question).into(),
    }
}
