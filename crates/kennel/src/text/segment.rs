//! A piece of text on its way to a model.

/// A line longer than this comes in several segments.
pub(crate) const SEGMENT_BYTES: usize = 4096;

/// A line, or a part of a long one, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) text: String,
    pub(crate) chars: usize,
    /// Offset of its first byte in the spool.
    pub(crate) offset: u64,
    /// Bytes of the stream that it stands for.
    pub(crate) raw: u64,
}

/// Room for the mark of a gap.
const GAP_CHARS: usize = 60;

impl Segment {
    /// Here something is no longer kept.
    pub(crate) fn gap(offset: u64) -> Self {
        Self { text: String::new(), chars: GAP_CHARS, offset, raw: 0 }
    }

    /// Whether it is a [`Segment::gap`].
    pub(crate) fn is_gap(&self) -> bool {
        self.text.is_empty() && self.chars > 0
    }

    pub(crate) fn new(text: String, offset: u64, raw: u64) -> Self {
        Self { chars: text.chars().count(), text, offset, raw }
    }

    /// Whether a line ends with it.
    pub(crate) fn ends_line(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// Two segments, the first of at most `chars` characters.
    pub(crate) fn split(mut self, chars: usize) -> (Self, Self) {
        let at = self.text.char_indices().nth(chars).map_or(self.text.len(), |(at, _)| at);
        let rest = self.text.split_off(at);
        // Where something was folded or replaced, a place within is not known: the second part is told to begin where
        // the whole does, so that reading on from there repeats a little and misses nothing.
        let plain = self.raw == (at + rest.len()) as u64;
        let raw = match rest.is_empty() {
            true => self.raw,
            false if plain => at as u64,
            false => 0,
        };
        let second = Self {
            chars: self.chars.saturating_sub(chars),
            text: rest,
            offset: self.offset + raw,
            raw: self.raw - raw,
        };
        (Self { chars: self.chars - second.chars, raw, ..self }, second)
    }
}
