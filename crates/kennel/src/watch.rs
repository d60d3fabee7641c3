//! Looks for a pattern in output as it grows.

use std::path::PathBuf;

use regex::Regex;
use supervisor::spool::Stream;

use crate::error::Result;
use crate::source::Following;
use crate::text::{Decoder, Fold, Segment};

/// A line longer than this is searched in pieces.
const CARRY_BYTES_MAX: usize = 64 << 10;
/// Pages in one look; then somebody else gets a turn.
const PAGES_AT_ONCE: usize = 16;

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Found,
    /// There is more to look at.
    More,
    /// All that has come was looked at.
    Dry,
}

/// Sees text without escape sequences; every state of an overwritten line is a line.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// Without one, any byte will do.
    pattern: Option<Regex>,
    source: Following,
    decoders: [Decoder; 2],
    fold: Fold,
    /// The last line so far: a match may begin in one page and end in the next.
    carry: String,
    at: u64,
    stream: Option<Stream>,
}

impl Watcher {
    pub(crate) fn new(pattern: Option<Regex>, from: u64, stream: Option<Stream>) -> Self {
        Self {
            pattern,
            source: Following::default(),
            decoders: Default::default(),
            fold: Fold::every_state(),
            carry: String::new(),
            at: from,
            stream,
        }
    }

    /// Looks at what is new.
    pub(crate) fn look(&mut self, find: impl Fn() -> Result<PathBuf>) -> Result<Look> {
        for _page in 0..PAGES_AT_ONCE {
            let page = self.source.page(self.at, &find)?;
            if page.next == self.at {
                return Ok(Look::Dry);
            }
            self.at = page.next;
            for chunk in page.chunks {
                if self.stream.is_none_or(|stream| chunk.stream == stream)
                    && self.take(chunk.stream, &chunk.bytes)
                {
                    return Ok(Look::Found);
                }
            }
        }
        Ok(Look::More)
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        let Some(pattern) = &self.pattern else { return !bytes.is_empty() };
        let [out, err] = &mut self.decoders;
        let text = if stream == Stream::Stdout { out } else { err }.feed(bytes);
        let carry = &mut self.carry;
        self.fold.push(&text, 0, 0, &mut |segment: Segment| carry.push_str(&segment.text));
        let ended = carry.len();
        carry.push_str(self.fold.pending());
        let found = pattern.is_match(carry);
        carry.truncate(ended);
        // What has ended was searched; a line that is still growing is searched again.
        let line = carry.rfind('\n').map_or(0, |at| at + 1);
        let most = carry.len().saturating_sub(CARRY_BYTES_MAX);
        let old = (line.max(most)..=carry.len()).find(|at| carry.is_char_boundary(*at)).unwrap_or(0);
        carry.drain(..old);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pattern: &str, pieces: &[&str]) -> bool {
        let mut watcher = Watcher::new(Some(crate::read::pattern(pattern).unwrap()), 0, None);
        pieces.iter().any(|piece| watcher.take(Stream::Stdout, piece.as_bytes()))
    }

    #[test]
    fn matches_lie_across_pieces_and_under_colours() {
        assert!(seen("ready in 5", &["\u{1b}[32mrea", "dy\u{1b}[0m in", " 5 ms"]));
        assert!(seen("^Password: $", &["hello\nPassw", "ord: "]));
        assert!(seen("100%", &["\r 99%", "\r100%", "\r done"]));
        assert!(!seen("^b$", &["ab", "\n", "bc\n"]));
        assert!(seen("^b$", &["a\n", "b", "\n"]));
        assert!(!seen("nothing", &["x".repeat(300_000).as_str(), "y"]));
    }
}
