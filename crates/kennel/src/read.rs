//! Reading a task's output: from an offset or a number of lines before the end, never destructive.

use std::path::Path;
use std::time::Duration;

use regex::bytes::Regex;
use rustix::fs::{Mode, OFlags, open};
use supervisor::spool::Reader;
pub use supervisor::spool::{Chunk, Stream};

use crate::error::{Error, Result};
use crate::text::{Decoder, HeadTail};

/// Where a read begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Offset(u64),
    Tail(u64),
}

/// What to read, and for what to wait.
#[derive(Debug, Clone)]
#[must_use = "a read does nothing until a task performs it"]
pub struct Read {
    pub(crate) start: Start,
    pub(crate) stream: Option<Stream>,
    pub(crate) until: Option<String>,
    pub(crate) until_end: bool,
    pub(crate) wait: Option<Duration>,
    pub(crate) max_chars: usize,
}

impl Read {
    /// From this byte offset on.
    pub fn from(offset: u64) -> Self {
        Self {
            start: Start::Offset(offset),
            stream: None,
            until: None,
            until_end: false,
            wait: None,
            max_chars: crate::request::MAX_OUTPUT_DEFAULT,
        }
    }

    /// The last `lines` lines.
    pub fn tail(lines: u64) -> Self {
        Self { start: Start::Tail(lines), ..Self::from(0) }
    }

    /// Only this stream.
    pub fn stream(mut self, stream: Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Waits until the output matches this regular expression, the task ends, or the wait is over.
    pub fn until(mut self, pattern: impl Into<String>) -> Self {
        self.until = Some(pattern.into());
        self
    }

    /// Waits until the task's leader has ended, or the wait is over.
    pub fn until_end(mut self) -> Self {
        self.until_end = true;
        self
    }

    /// How long to wait at most; by default 30 s.
    pub fn wait(mut self, limit: Duration) -> Self {
        self.wait = Some(limit);
        self
    }

    /// Most characters of the text.
    pub fn max_chars(mut self, characters: usize) -> Self {
        self.max_chars = characters;
        self
    }
}

/// The offset from which the last `lines` lines of the output, or of one stream of it, are kept.
pub(crate) fn tail_offset(dir: &Path, lines: u64, stream: Option<Stream>) -> Result<u64> {
    let failed = Error::io("find the last lines");
    let mut reader = reader(dir)?;
    let Some(stream) = stream else { return reader.tail_offset(lines).map_err(failed) };
    // The other stream's lines lie between: look further back until enough are of this one.
    let mut wanted = lines;
    loop {
        let from = reader.tail_offset(wanted).map_err(Error::io("find the last lines"))?;
        let starts = line_starts(&mut reader, from, stream)?;
        let enough = u64::try_from(starts.len()).unwrap_or(u64::MAX);
        if enough >= lines || from == 0 {
            let skip = usize::try_from(enough.saturating_sub(lines)).unwrap_or(0);
            return Ok(starts.get(skip).copied().unwrap_or(from));
        }
        wanted = wanted.saturating_mul(4);
    }
}

/// Offsets at which lines of `stream` begin, from `from` on.
fn line_starts(reader: &mut Reader, from: u64, stream: Stream) -> Result<Vec<u64>> {
    let (mut at, mut starts, mut fresh) = (from, Vec::new(), true);
    loop {
        let page = reader.read(at, PAGE_BYTES).map_err(Error::io("find the last lines"))?;
        if page.chunks.is_empty() && page.next == at {
            return Ok(starts);
        }
        at = page.next;
        for chunk in page.chunks.iter().filter(|chunk| chunk.stream == stream) {
            for (offset, byte) in (chunk.offset..).zip(&chunk.bytes) {
                if fresh {
                    starts.push(offset);
                }
                fresh = *byte == b'\n';
            }
        }
    }
}

/// Text for a model, with what it took to make it.
#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) truncated: bool,
    pub(crate) invalid: u64,
    pub(crate) next: u64,
}

/// Bytes a page; larger ones give nothing.
const PAGE_BYTES: usize = 256 << 10;

pub(crate) fn reader(dir: &Path) -> Result<Reader> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = open(dir, flags, Mode::empty())
        .map_err(|errno| Error::io("open the task's directory")(errno.into()))?;
    Ok(Reader::new(dir))
}

/// Both streams, each for a model, in one pass and bounded memory.
pub(crate) fn render_streams(dir: &Path, max_chars: usize, hint: &str) -> Result<(Rendered, Rendered)> {
    let mut reader = reader(dir)?;
    let mut out = Side::new(max_chars);
    let mut err = Side::new(max_chars);
    let mut offset = 0;
    let mut gone = 0;
    loop {
        let page = reader.read(offset, PAGE_BYTES).map_err(Error::io("read the output"))?;
        gone += page.gap_bytes;
        if page.chunks.is_empty() && page.next == offset {
            break;
        }
        offset = page.next;
        for chunk in page.chunks {
            match chunk.stream {
                Stream::Stdout => out.feed(&chunk.bytes),
                Stream::Stderr => err.feed(&chunk.bytes),
            }
        }
    }
    // Which stream the dropped bytes were of is not known; the larger one says so.
    let (gone_out, gone_err) = if out.bytes >= err.bytes { (gone, 0) } else { (0, gone) };
    Ok((out.finish(gone_out, offset, hint), err.finish(gone_err, offset, hint)))
}

/// One text of one or both streams from `offset` on.
pub(crate) fn render(dir: &Path, offset: u64, stream: Option<Stream>, max_chars: usize) -> Result<Rendered> {
    let mut reader = reader(dir)?;
    let mut side = Side::new(max_chars);
    let (mut at, mut gone) = (offset, 0);
    loop {
        let page = reader.read(at, PAGE_BYTES).map_err(Error::io("read the output"))?;
        gone += page.gap_bytes;
        if page.chunks.is_empty() && page.next == at {
            break;
        }
        at = page.next;
        for chunk in page.chunks.iter().filter(|chunk| stream.is_none_or(|stream| chunk.stream == stream)) {
            side.feed(&chunk.bytes);
        }
    }
    Ok(side.finish(gone, at, ""))
}

struct Side {
    decoder: Decoder,
    buffer: HeadTail,
    bytes: u64,
}

impl Side {
    fn new(max_chars: usize) -> Self {
        Self { decoder: Decoder::default(), buffer: HeadTail::new(max_chars), bytes: 0 }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.buffer.push(&self.decoder.feed(bytes));
    }

    fn finish(mut self, gone: u64, next: u64, hint: &str) -> Rendered {
        let last = self.decoder.finish();
        self.buffer.push(&last);
        let (text, truncated) = self.buffer.finish(gone, hint);
        Rendered { text, truncated, invalid: self.decoder.invalid(), next }
    }
}

/// Looks for a pattern in output as it grows.
#[derive(Debug)]
pub(crate) struct Watcher {
    pattern: Regex,
    /// The last line so far: a match may begin in one chunk and end in the next.
    carry: Vec<u8>,
    at: u64,
    stream: Option<Stream>,
}

/// A line longer than this is searched in pieces.
const CARRY_BYTES_MAX: usize = 64 << 10;

impl Watcher {
    pub(crate) fn new(pattern: &str, from: u64, stream: Option<Stream>) -> Result<Self> {
        let pattern = Regex::new(pattern)
            .map_err(|error| Error::Pattern { pattern: pattern.to_owned(), why: error.to_string() })?;
        Ok(Self { pattern, carry: Vec::new(), at: from, stream })
    }

    /// Searches what is new; true once it matched.
    pub(crate) fn matched(&mut self, dir: &Path) -> Result<bool> {
        let mut reader = reader(dir)?;
        loop {
            let page = reader.read(self.at, PAGE_BYTES).map_err(Error::io("read the output"))?;
            if page.chunks.is_empty() && page.next == self.at {
                return Ok(false);
            }
            self.at = page.next;
            for chunk in page.chunks {
                if self.stream.is_none_or(|stream| chunk.stream == stream) {
                    self.carry.extend_from_slice(&chunk.bytes);
                }
            }
            if self.pattern.is_match(&self.carry) {
                return Ok(true);
            }
            let keep = self.carry.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.carry.drain(..keep.max(self.carry.len().saturating_sub(CARRY_BYTES_MAX)));
        }
    }
}
