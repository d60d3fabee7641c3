//! From bytes to text for people and models: stateful decoding, and cutting at character and line edges.

use std::collections::VecDeque;

/// Decodes UTF-8 that comes in pieces: a character split between two pieces comes out whole.
#[derive(Debug, Default, Clone)]
pub(crate) struct Decoder {
    carry: Vec<u8>,
    invalid: u64,
}

impl Decoder {
    /// Decodes the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.extend_from_slice(piece);
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at_checked(error.valid_up_to()).unwrap_or((rest, &[]));
                    text.push_str(&String::from_utf8_lossy(valid));
                    let Some(length) = error.error_len() else {
                        self.carry = after.to_vec();
                        return text;
                    };
                    self.replace(&mut text, length);
                    rest = after.get(length..).unwrap_or_default();
                }
            }
        }
    }

    fn replace(&mut self, text: &mut String, bytes: usize) {
        text.push(char::REPLACEMENT_CHARACTER);
        self.invalid += bytes as u64;
    }

    /// Ends the text: an unfinished character is invalid now.
    pub(crate) fn finish(&mut self) -> String {
        let mut text = String::new();
        let rest = std::mem::take(&mut self.carry);
        if !rest.is_empty() {
            self.replace(&mut text, rest.len());
        }
        text
    }

    /// Bytes that were replaced so far.
    pub(crate) fn invalid(&self) -> u64 {
        self.invalid
    }
}

/// Head and tail of a stream of unknown length, in bounded memory, with the middle counted.
#[derive(Debug)]
pub(crate) struct HeadTail {
    max_chars: usize,
    head: String,
    head_chars: usize,
    tail: VecDeque<char>,
    /// Bytes and lines that fell out between head and tail.
    cut_bytes: u64,
    cut_lines: u64,
}

/// Room for the cut marker within the limit.
const MARKER_CHARS: usize = 120;

impl HeadTail {
    pub(crate) fn new(max_chars: usize) -> Self {
        Self {
            max_chars,
            head: String::new(),
            head_chars: 0,
            tail: VecDeque::new(),
            cut_bytes: 0,
            cut_lines: 0,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let head_max = self.max_chars / 2;
        for character in text.chars() {
            if self.head_chars < head_max {
                self.head.push(character);
                self.head_chars += 1;
                continue;
            }
            self.tail.push_back(character);
            if self.tail.len() > self.max_chars - head_max {
                self.drop_oldest();
            }
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(character) = self.tail.pop_front() {
            self.cut_bytes += character.len_utf8() as u64;
            self.cut_lines += u64::from(character == '\n');
        }
    }

    /// The text, whether something is missing; `hint` says where to find it.
    pub(crate) fn finish(mut self, gone_bytes: u64, hint: &str) -> (String, bool) {
        if self.cut_bytes == 0 && gone_bytes == 0 {
            self.head.extend(self.tail);
            return (self.head, false);
        }
        self.make_room();
        let marker = format!(
            "\n[… {} bytes and {} lines cut{} …]\n",
            self.cut_bytes + gone_bytes,
            self.cut_lines,
            if hint.is_empty() { String::new() } else { format!("; {hint}") }
        );
        let room = self.max_chars.saturating_sub(self.head_chars + self.tail.len());
        self.head.extend(marker.chars().take(room));
        self.head.extend(self.tail);
        (self.head, true)
    }

    /// Makes room for the marker and cuts at line edges, where lines are short enough for that to lose little.
    fn make_room(&mut self) {
        let marker = MARKER_CHARS.min(self.max_chars / 2);
        while self.max_chars - self.head_chars.min(self.max_chars) < self.tail.len() + marker
            && !self.tail.is_empty()
        {
            self.drop_oldest();
        }
        let edge = (self.max_chars / 8).min(400);
        if let Some(at) = self.tail.iter().take(edge).position(|character| *character == '\n') {
            (0..=at).for_each(|_| self.drop_oldest());
        }
        let line_start = self.head.rfind('\n').map_or(0, |at| at + 1);
        let partial = self.head.get(line_start..).unwrap_or_default();
        let partial_chars = partial.chars().count();
        if partial_chars <= edge && line_start > 0 {
            self.cut_bytes += partial.len() as u64;
            self.head_chars -= partial_chars;
            self.head.truncate(line_start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_character_in_three_pieces_comes_out_whole() {
        let mut decoder = Decoder::default();
        let text: String = "€".bytes().map(|byte| decoder.feed(&[byte])).collect();
        assert_eq!((text.as_str(), decoder.invalid()), ("€", 0));
    }

    #[test]
    fn invalid_bytes_are_replaced_and_counted() {
        let mut decoder = Decoder::default();
        let text = decoder.feed(b"a\xffb\xe2\x82") + &decoder.finish();
        assert_eq!((text.as_str(), decoder.invalid()), ("a\u{fffd}b\u{fffd}", 3));
    }

    fn cut(text: &str, max: usize) -> (String, bool) {
        let mut buffer = HeadTail::new(max);
        buffer.push(text);
        buffer.finish(0, "")
    }

    #[test]
    fn short_text_is_not_touched_and_long_text_fits() {
        assert_eq!(cut("hello", 30), ("hello".to_owned(), false));
        let (text, truncated) = cut(&"€".repeat(40_000), 30_000);
        assert!(truncated && text.chars().count() <= 30_000 && text.starts_with('€') && text.ends_with('€'));
        assert!(text.contains("bytes and 0 lines cut"));
        let lines = (0..20_000).fold(String::new(), |text, line| text + &line.to_string() + "\n");
        let (text, _) = cut(&lines, 30_000);
        assert!(text.starts_with("0\n1\n") && text.ends_with("19999\n"));
        let (head, tail) = text.split_once("[…").unwrap();
        assert!(head.ends_with("\n\n") && tail.contains("…]\n"));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_lossy_text(bytes: Vec<u8>, at in 0usize..64) {
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            let mut decoder = Decoder::default();
            let text = decoder.feed(first) + &decoder.feed(second) + &decoder.finish();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn the_limit_holds(text in "\\PC{0,400}", max in 0usize..200) {
            let (out, truncated) = cut(&text, max);
            prop_assert!(out.chars().count() <= max);
            prop_assert_eq!(truncated, text.chars().count() > max);
        }
    }
}
