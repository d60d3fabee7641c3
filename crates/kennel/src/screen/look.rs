//! What a caller asks of a screen, and what it gets.

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::outcome::{End, Status};

/// How to look at a screen.
#[derive(Debug, Clone, Default)]
#[must_use = "a look does nothing until a task performs it"]
pub struct Look {
    pub(crate) until: Option<String>,
    pub(crate) wait: Option<Duration>,
}

impl Look {
    /// As it is.
    pub fn now() -> Self {
        Self::default()
    }

    /// Waits until the text of the screen matches this regular expression (`^` and `$` are edges of its lines), the
    /// task ends, or the wait is over.
    pub fn until(mut self, pattern: impl Into<String>) -> Self {
        self.until = Some(pattern.into());
        self
    }

    /// How long to wait at most; by default 30 s.
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    pub(crate) fn pattern(&self) -> Result<Option<Regex>> {
        let compile = |pattern: &String| {
            RegexBuilder::new(pattern)
                .multi_line(true)
                .build()
                .map_err(|error| Error::Pattern { pattern: pattern.clone(), why: error.to_string() })
        };
        self.until.as_ref().map(compile).transpose()
    }
}

/// Where the cursor is, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cursor {
    /// Line.
    pub row: u16,
    /// Column.
    pub col: u16,
    /// The program shows it.
    pub visible: bool,
}

/// A terminal's screen as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "facts of a terminal on the wire, not choices")]
pub struct Screen {
    /// Task id.
    pub task_id: String,
    /// Of the tree.
    pub status: Status,
    /// The lines from the top, without blanks at their ends and without the empty ones at the bottom.
    pub text: String,
    /// Columns.
    pub cols: u16,
    /// Rows.
    pub rows: u16,
    /// The cursor.
    pub cursor: Cursor,
    /// The program has taken the whole screen (the alternate one), as editors and pagers do.
    pub alternate: bool,
    /// Cursor keys are sent in application mode.
    pub application_cursor: bool,
    /// Text of several lines is sent as a paste.
    pub bracketed_paste: bool,
    /// The title that the program has set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Everything that was shown is known: nothing of what it depends on has been dropped.
    pub complete: bool,
    /// Offset of the output up to which it is true.
    pub next_offset: u64,
    /// Whether `until` matched; absent when it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<bool>,
    /// A member of the foreground waits for input; absent where the kernel does not let us see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for_input: Option<bool>,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// The leader's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}
