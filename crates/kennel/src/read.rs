//! Reading a task's output: from an offset, a number of lines before the end or a point in time; never destructive.

use std::path::Path;
use std::time::Duration;

pub use supervisor::spool::{Chunk, Stream};

use crate::error::{Error, Result};
use crate::source::{PAGE_BYTES, Source};
use crate::text::{Ending, ModelText, Rendered};

/// Where a read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Offset(u64),
    Tail(u64),
    Since(Duration),
}

/// For what to wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Until {
    /// Nothing.
    #[default]
    Now,
    /// At least one byte.
    Growth,
    /// A match of this pattern.
    Match(String),
    /// The leader's end.
    End,
}

/// What to read, and for what to wait.
#[derive(Debug, Clone)]
#[must_use = "a read does nothing until a task performs it"]
pub struct Read {
    pub(crate) start: Start,
    pub(crate) stream: Option<Stream>,
    pub(crate) filter: Option<String>,
    pub(crate) until: Until,
    pub(crate) wait: Option<Duration>,
    pub(crate) max_chars: usize,
}

impl Read {
    /// From this byte offset on.
    pub fn from(offset: u64) -> Self {
        Self {
            start: Start::Offset(offset),
            stream: None,
            filter: None,
            until: Until::Now,
            wait: None,
            max_chars: crate::request::MAX_OUTPUT_DEFAULT,
        }
    }

    /// The last `lines` lines.
    pub fn tail(lines: u64) -> Self {
        Self { start: Start::Tail(lines), ..Self::from(0) }
    }

    /// What came within the last `time`, exact to a tenth of a second.
    pub fn since(time: Duration) -> Self {
        Self { start: Start::Since(time), ..Self::from(0) }
    }

    /// Only this stream.
    pub fn stream(mut self, stream: Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Only lines that match this regular expression, as they are seen: without colours, after overwriting. A line of
    /// more than 4096 bytes is judged in pieces of that size.
    pub fn filter(mut self, pattern: impl Into<String>) -> Self {
        self.filter = Some(pattern.into());
        self
    }

    /// Waits until the output matches this regular expression, the task ends, or the wait is over. It sees the text
    /// without escape sequences, every state of an overwritten line as a line of its own; `^` and `$` are those of lines.
    pub fn until(mut self, pattern: impl Into<String>) -> Self {
        self.until = Until::Match(pattern.into());
        self
    }

    /// Waits until there is at least one byte to read, the task ends, or the wait is over.
    pub fn until_growth(mut self) -> Self {
        self.until = Until::Growth;
        self
    }

    /// Waits until the task's leader has ended, or the wait is over.
    pub fn until_end(mut self) -> Self {
        self.until = Until::End;
        self
    }

    /// How long to wait at most; by default 30 s.
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// Most characters of the text, the mark of a cut included.
    pub fn max_chars(mut self, characters: usize) -> Self {
        self.max_chars = characters;
        self
    }
}

pub(crate) fn pattern(text: &str) -> Result<regex::Regex> {
    regex::RegexBuilder::new(text)
        .multi_line(true)
        .build()
        .map_err(|error| Error::Pattern { pattern: text.to_owned(), why: error.to_string() })
}

/// Both streams, each for a model, in one pass and bounded memory.
pub(crate) fn render_streams(
    dir: &Path,
    chars_max: usize,
    ending: Ending,
    id: &str,
) -> Result<(Rendered, Rendered)> {
    let mut source = Source::of(dir)?;
    let header = source.header()?;
    let mut out = ModelText::new(chars_max, None);
    let mut err = ModelText::new(chars_max, None);
    let mut at = 0;
    while let Some(page) = source.page_before(at, header.total)? {
        if page.gap_bytes > 0 {
            out.gap(page.next);
            err.gap(page.next);
        }
        at = page.next;
        for chunk in page.chunks {
            match chunk.stream {
                Stream::Stdout => out.feed(chunk),
                Stream::Stderr => err.feed(chunk),
            }
        }
    }
    // What was written and not seen was dropped at the cap, or could not be stored.
    let gone_out = header.stdout_bytes.saturating_sub(out.bytes());
    let gone_err = header.stderr_bytes.saturating_sub(err.bytes());
    Ok((out.finish(ending, gone_out, id), err.finish(ending, gone_err, id)))
}

/// One text of one or both streams from `offset` on, and the offset at which to read on.
pub(crate) fn render(
    dir: &Path,
    offset: u64,
    read: &Read,
    filter: Option<regex::Regex>,
    (ending, id): (Ending, &str),
) -> Result<(Rendered, u64)> {
    let mut source = Source::of(dir)?;
    // No further than now: a command that writes faster than we read would never let us go.
    let end = source.header()?.total.max(offset);
    let mut text = ModelText::new(read.max_chars, filter);
    let (mut at, mut gone) = (offset, 0);
    while let Some(page) = source.page_before(at, end)? {
        if page.gap_bytes > 0 {
            gone += page.gap_bytes;
            text.gap(page.next);
        }
        at = page.next;
        for chunk in page.chunks {
            if read.stream.is_none_or(|stream| chunk.stream == stream) {
                text.feed(chunk);
            }
        }
    }
    let rendered = text.finish(ending, gone, id);
    let next = at.saturating_sub(rendered.unfinished);
    Ok((rendered, next))
}

/// The bytes that are kept at and after `offset`, up to a page, and where to read on.
pub(crate) fn chunks(dir: &Path, offset: u64) -> Result<(Vec<Chunk>, u64)> {
    let page = Source::of(dir)?.page(offset, PAGE_BYTES)?;
    Ok((page.chunks, page.next))
}
