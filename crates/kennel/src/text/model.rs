//! The output of a task, or one stream of it, as a text for a model: decoded, folded, filtered, cut.

use regex::Regex;
use supervisor::spool::{Chunk, Stream};

use super::cut::HeadTail;
use super::decode::Decoder;
use super::fold::Fold;
use super::kind::{Kind, SAMPLE_BYTES};
use super::segment::Segment;

/// Pieces in which lines are decoded.
const PIECE_BYTES: usize = 4096;

/// Text for a model, with what it took to make it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    pub(crate) truncated: bool,
    /// Bytes that were no characters.
    pub(crate) invalid: u64,
    /// Bytes at the end that are the beginning of a character, and were left out.
    pub(crate) unfinished: u64,
}

/// What becomes of the beginning of a character at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// More may come: it is left for the next read.
    Open,
    /// Nothing more comes: it is invalid.
    Closed,
}

/// One text in the making; takes chunks in order and holds a bounded part of them.
#[derive(Debug)]
pub(crate) struct ModelText {
    /// Until the kind is known.
    sample: Vec<Chunk>,
    kind: Option<Kind>,
    decoders: [Decoder; 2],
    fold: Fold,
    filter: Option<Regex>,
    cut: HeadTail,
    chars_max: usize,
    bytes: u64,
    /// Where the last chunk ended, and its stream.
    end: u64,
    last: Stream,
}

impl ModelText {
    /// At most `chars_max` characters, only lines that match.
    pub(crate) fn new(chars_max: usize, filter: Option<Regex>) -> Self {
        Self {
            sample: Vec::new(),
            kind: None,
            decoders: Default::default(),
            fold: Fold::default(),
            filter,
            cut: HeadTail::new(chars_max),
            chars_max,
            bytes: 0,
            end: 0,
            last: Stream::Stdout,
        }
    }

    /// Bytes taken so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next bytes.
    pub(crate) fn feed(&mut self, chunk: Chunk) {
        self.bytes += chunk.bytes.len() as u64;
        (self.end, self.last) = (chunk.offset + chunk.bytes.len() as u64, chunk.stream);
        if self.kind.is_some() {
            return self.take(&chunk);
        }
        self.sample.push(chunk);
        if self.bytes >= SAMPLE_BYTES as u64 {
            self.settle();
        }
    }

    /// Something before the next bytes is no longer kept.
    pub(crate) fn gap(&mut self, offset: u64) {
        self.settle();
        let Self { fold, cut, filter, .. } = self;
        fold.flush(&mut |segment| keep(cut, filter.as_ref(), segment));
        cut.push(Segment::gap(offset));
    }

    /// Decides what it is, by what has come so far.
    fn settle(&mut self) {
        if self.kind.is_some() || self.sample.is_empty() {
            return;
        }
        let chunks = std::mem::take(&mut self.sample);
        let start: Vec<u8> =
            chunks.iter().flat_map(|chunk| &chunk.bytes).take(SAMPLE_BYTES).copied().collect();
        let kind = Kind::of(&start);
        self.kind = Some(kind);
        let wide = if let Kind::Utf16(wide) = kind { Some(wide) } else { None };
        self.decoders = [Decoder::new(wide), Decoder::new(wide)];
        for chunk in &chunks {
            self.take(chunk);
        }
    }

    fn take(&mut self, chunk: &Chunk) {
        if matches!(self.kind, Some(Kind::Binary(_))) {
            return;
        }
        let Self { decoders: [out, err], fold, cut, filter, .. } = self;
        let decoder = if chunk.stream == Stream::Stdout { out } else { err };
        let mut offset = chunk.offset;
        let lines = chunk.bytes.split_inclusive(|byte| *byte == b'\n');
        for piece in lines.flat_map(|line| line.chunks(PIECE_BYTES)) {
            let carried = decoder.unfinished() as u64;
            let text = decoder.feed(piece);
            let raw = carried + piece.len() as u64 - decoder.unfinished() as u64;
            fold.push(&text, raw, offset.saturating_sub(carried), &mut |segment| {
                keep(cut, filter.as_ref(), segment);
            });
            offset += piece.len() as u64;
        }
    }

    /// The text. `gone` bytes of it are no longer kept; `id` names the task where something is missing.
    pub(crate) fn finish(mut self, ending: Ending, gone: u64, id: &str) -> Rendered {
        self.settle();
        if let Some(Kind::Binary(kind)) = self.kind {
            let bytes = self.bytes + gone;
            let text =
                format!("[binary output: {kind}, {bytes} bytes; for the bytes: kennel output {id} --raw]\n");
            let text = text.chars().take(self.chars_max).collect();
            return Rendered { text, truncated: true, ..Rendered::default() };
        }
        let Self { decoders: [mut out, mut err], mut fold, mut cut, filter, end, last, .. } = self;
        let mut sink = |segment| keep(&mut cut, filter.as_ref(), segment);
        let mut unfinished = 0;
        for (stream, decoder) in [(Stream::Stdout, &mut out), (Stream::Stderr, &mut err)] {
            if ending == Ending::Open && stream == last {
                unfinished = decoder.unfinished() as u64;
            } else {
                let raw = decoder.unfinished() as u64;
                let text = decoder.finish();
                fold.push(&text, raw, end - raw.min(end), &mut sink);
            }
        }
        fold.flush(&mut sink);
        let cut = cut.finish(gone, id);
        Rendered {
            text: cut.text,
            truncated: cut.truncated,
            invalid: out.invalid() + err.invalid(),
            unfinished,
        }
    }
}

fn keep(cut: &mut HeadTail, filter: Option<&Regex>, segment: Segment) {
    if filter.is_none_or(|filter| filter.is_match(segment.text.trim_end_matches(['\n', '\r']))) {
        cut.push(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(stream: Stream, offset: usize, bytes: &[u8]) -> Chunk {
        Chunk { offset: offset as u64, time_ms: 0, stream, bytes: bytes.to_vec() }
    }

    fn text_of(bytes: &[u8], size: usize, max: usize) -> Rendered {
        let mut text = ModelText::new(max, None);
        for (number, piece) in bytes.chunks(size).enumerate() {
            text.feed(chunk(Stream::Stdout, number * size, piece));
        }
        text.finish(Ending::Closed, 0, "bash-x")
    }

    #[test]
    fn progress_colours_and_characters_in_pieces() {
        let raw = "\r  1%\r 50%\r100%\n\u{1b}[1m€𝄞\u{1b}[0m\r\n".as_bytes();
        for size in 1..raw.len() {
            assert_eq!(text_of(raw, size, 30_000).text, "100%\n€𝄞\r\n", "pieces of {size}");
        }
    }

    #[test]
    fn a_stream_does_not_break_a_character_of_the_other() {
        let mut text = ModelText::new(100, None);
        text.feed(chunk(Stream::Stdout, 0, b"\xe2\x82"));
        text.feed(chunk(Stream::Stderr, 2, b"x"));
        text.feed(chunk(Stream::Stdout, 3, b"\xac"));
        let it = text.finish(Ending::Closed, 0, "");
        assert_eq!((it.text.as_str(), it.invalid), ("x€", 0));
    }

    #[test]
    fn the_beginning_of_a_character_waits_for_its_rest_while_there_may_be_one() {
        for (ending, expected) in [(Ending::Open, ("a", 0, 2)), (Ending::Closed, ("a\u{fffd}", 2, 0))] {
            let mut text = ModelText::new(100, None);
            text.feed(chunk(Stream::Stdout, 0, b"a\xe2\x82"));
            let it = text.finish(ending, 0, "");
            assert_eq!((it.text.as_str(), it.invalid, it.unfinished), expected);
        }
    }

    #[test]
    fn binary_is_named_and_not_poured_out() {
        let random: Vec<u8> =
            (0..100_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
        let it = text_of(&random, 1000, 30_000);
        assert!(it.truncated && it.text.contains("application/octet-stream, 100000 bytes"), "{}", it.text);
    }

    #[test]
    fn a_filter_judges_what_is_seen() {
        let mut text = ModelText::new(100, Some(Regex::new("^error$").unwrap()));
        text.feed(chunk(Stream::Stdout, 0, b"fine\n\x1b[31merror\x1b[0m\r\nerrors\nerror"));
        assert_eq!(text.finish(Ending::Closed, 0, "").text, "error\r\nerror");
    }

    #[test]
    fn the_offset_of_a_cut_reads_on_without_a_loss() {
        let raw: Vec<u8> = (0..9000).flat_map(|line| format!("line {line} €\n").into_bytes()).collect();
        let it = text_of(&raw, 777, 2000);
        let (head, rest) = it.text.split_once("[… ").unwrap();
        let at: usize = rest.split_once("offset ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(head.as_bytes(), &raw[..at]);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_text_within_the_limit(bytes in prop::collection::vec(any::<u8>(), 0..600), size in 1usize..40, max in 0usize..400) {
            let it = text_of(&bytes, size, max);
            prop_assert_eq!(&it, &text_of(&bytes, bytes.len().max(1), max));
            if !it.text.starts_with("[binary") {
                prop_assert!(it.text.chars().count() <= max);
            }
        }
    }
}
