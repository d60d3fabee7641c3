//! What must hold for every output, for proptest here and `cargo fuzz` in `fuzz/`.

use supervisor::spool::{Chunk, Stream};

use super::decode::Decoder;
use super::model::{Ending, ModelText};

/// Decodes bytes whole and in pieces of a size that the first byte chooses, and makes text for a model of them.
///
/// # Panics
/// When pieces make a difference, a character is split, or the text is longer than was asked for: defects of ours.
pub fn decode(input: &[u8]) {
    let Some((first, bytes)) = input.split_first() else { return };
    let size = usize::from(*first % 61) + 1;
    let (whole, invalid) = decoded(bytes, bytes.len().max(1));
    let (pieces, invalid_in_pieces) = decoded(bytes, size);
    assert_eq!((pieces, invalid_in_pieces), (whole, invalid), "pieces of {size} change nothing");
    for chars_max in [100, 30_000] {
        let mut text = ModelText::new(chars_max, None);
        for (number, piece) in bytes.chunks(size).enumerate() {
            let stream = if number % 3 == 2 { Stream::Stderr } else { Stream::Stdout };
            let offset = (number * size) as u64;
            text.feed(Chunk { offset, time_ms: 0, stream, bytes: piece.to_vec() });
        }
        let text = text.finish(Ending::Closed, 0, "bash-x");
        assert!(
            text.text.chars().count() <= chars_max,
            "{} of {chars_max} characters",
            text.text.chars().count()
        );
        assert!(text.invalid <= bytes.len() as u64, "no more can be invalid than came");
    }
}

/// The text, and how many of its bytes were none. A mark of byte order is no text: where a piece begins with one it goes.
fn decoded(bytes: &[u8], size: usize) -> (String, u64) {
    let mut decoder = Decoder::default();
    let mut text: String = bytes.chunks(size).map(|piece| decoder.feed(piece).into_owned()).collect();
    text.push_str(&decoder.finish());
    text.retain(|character| character != '\u{feff}');
    (text, decoder.invalid())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    const PARTS: &[&str] = &[
        "plain\n",
        "€",
        "𝄞",
        "\r 50%\r100%\n",
        "\x1b[1mbold\x1b[0m",
        "\x1b]0;t\x07",
        "\u{feff}",
        "a\x08b",
        "\0",
        "a longer piece without any end of line, of which a few make a line that is shortened, ",
    ];

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            super::decode(&bytes);
        }

        #[test]
        fn bytes_that_look_like_text(
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..200),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            wide: bool,
            size: u8,
        ) {
            let text = parts.concat();
            let mut bytes = vec![size];
            if wide {
                bytes.extend([0xff, 0xfe]);
                bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            } else {
                bytes.extend(text.bytes());
            }
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            super::decode(&bytes);
        }
    }
}
