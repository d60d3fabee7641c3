//! Bytes that come in pieces, as text: UTF-8, or UTF-16 where a mark or the look of the first bytes says so.

use std::borrow::Cow;

/// Byte order of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wide {
    Little,
    Big,
}

/// Decodes one stream. A character that is split between pieces comes out whole; what is none becomes U+FFFD and is
/// counted.
#[derive(Debug, Default, Clone)]
pub(crate) struct Decoder {
    wide: Option<Wide>,
    /// The beginning of a character, at most three bytes.
    carry: Vec<u8>,
    /// Something came: a byte order mark can no longer come.
    begun: bool,
    invalid: u64,
}

impl Decoder {
    /// For a stream of which it is known that it is UTF-16, or not.
    pub(crate) fn new(wide: Option<Wide>) -> Self {
        Self { wide, begun: true, ..Self::default() }
    }

    /// Decodes the next piece.
    pub(crate) fn feed<'piece>(&mut self, piece: &'piece [u8]) -> Cow<'piece, str> {
        if !self.begun && !piece.is_empty() {
            let start = [self.carry.as_slice(), piece.get(..2).unwrap_or(piece)].concat();
            match (mark(&start), start.as_slice()) {
                (None, [0xff | 0xfe]) => {
                    self.carry = start;
                    return Cow::Borrowed("");
                }
                (wide, _) => (self.wide, self.begun) = (wide, true),
            }
        }
        if self.wide.is_some() {
            return Cow::Owned(self.feed_wide(piece));
        }
        if self.carry.is_empty()
            && let Ok(text) = std::str::from_utf8(piece)
        {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.feed_narrow(piece))
    }

    fn feed_narrow(&mut self, piece: &[u8]) -> String {
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

    fn feed_wide(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.carry);
        bytes.extend_from_slice(piece);
        let wide = self.wide;
        let unit = |pair: &[u8; 2]| match wide {
            Some(Wide::Big) => u16::from_be_bytes(*pair),
            _ => u16::from_le_bytes(*pair),
        };
        let (pairs, odd) = bytes.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(unit).collect();
        // The first half of a surrogate pair waits for the second.
        let half = units.pop_if(|unit| (0xd800..0xdc00).contains(unit)).is_some();
        self.carry =
            bytes.get(bytes.len() - odd.len() - if half { 2 } else { 0 }..).unwrap_or_default().to_vec();
        let mut text = String::with_capacity(units.len());
        for character in char::decode_utf16(units) {
            match character {
                Ok('\u{feff}') if text.is_empty() => {}
                Ok(character) => text.push(character),
                Err(_lone) => self.replace(&mut text, 2),
            }
        }
        text
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

    /// Bytes of a character that is not whole yet.
    pub(crate) fn unfinished(&self) -> usize {
        self.carry.len()
    }

    /// Bytes that were replaced so far.
    pub(crate) fn invalid(&self) -> u64 {
        self.invalid
    }
}

/// The byte order mark with which UTF-16 begins.
pub(crate) fn mark(start: &[u8]) -> Option<Wide> {
    match start {
        [0xff, 0xfe, ..] => Some(Wide::Little),
        [0xfe, 0xff, ..] => Some(Wide::Big),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(pieces: &[&[u8]]) -> (String, u64) {
        let mut decoder = Decoder::default();
        let mut text: String = pieces.iter().map(|piece| decoder.feed(piece).into_owned()).collect();
        text.push_str(&decoder.finish());
        (text, decoder.invalid())
    }

    #[test]
    fn characters_in_pieces_come_out_whole() {
        for text in ["€", "𝄞", "aé€𝄞z"] {
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(decoded(&bytes), (text.to_owned(), 0));
        }
    }

    #[test]
    fn utf_16_is_known_by_its_mark() {
        for (mark, encode) in
            [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
        {
            let mut bytes = mark.to_vec();
            bytes.extend("a€𝄞\n".encode_utf16().flat_map(encode));
            let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(decoded(&one_by_one), ("a€𝄞\n".to_owned(), 0));
            assert_eq!(decoded(&[&bytes]), ("a€𝄞\n".to_owned(), 0));
        }
        // A lone surrogate, and half a unit at the end.
        assert_eq!(decoded(&[&[0xff, 0xfe, 0x00, 0xdc, 0x41]]), ("\u{fffd}\u{fffd}".to_owned(), 3));
    }

    #[test]
    fn invalid_bytes_are_replaced_and_counted() {
        assert_eq!(decoded(&[b"a\xffb\xe2\x82"]), ("a\u{fffd}b\u{fffd}".to_owned(), 3));
        // Latin-1.
        assert_eq!(decoded(&[b"caf\xe9 cr\xe8me"]), ("caf\u{fffd} cr\u{fffd}me".to_owned(), 2));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_lossy_text(bytes: Vec<u8>, at in 0usize..64) {
            prop_assume!(mark(&bytes).is_none());
            let (first, second) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(decoded(&[first, second]).0, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn any_bytes_after_a_mark_decode_alike_in_any_pieces(bytes: Vec<u8>, size in 1usize..5) {
            let bytes = [&[0xff, 0xfe], bytes.as_slice()].concat();
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            prop_assert_eq!(decoded(&pieces).1, decoded(&[&bytes]).1);
        }
    }
}
