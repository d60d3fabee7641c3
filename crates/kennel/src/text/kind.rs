//! Is it text? Told by the first bytes of a stream.

use super::decode::{Wide, mark};

/// How many bytes are looked at.
pub(crate) const SAMPLE_BYTES: usize = 8192;
/// Fewer say nothing, unless they are a known beginning.
const TELLING_BYTES: usize = 32;

/// What a stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Utf8,
    Utf16(Wide),
    /// Not for eyes; the MIME type.
    Binary(&'static str),
}

impl Kind {
    /// By the first bytes.
    pub(crate) fn of(sample: &[u8]) -> Self {
        let sample = sample.get(..SAMPLE_BYTES).unwrap_or(sample);
        if let Some(wide) = mark(sample).or_else(|| unmarked(sample)) {
            return Self::Utf16(wide);
        }
        let (odd, invalid) = (controls(sample), invalid(sample));
        let known = infer::get(sample).filter(|kind| kind.matcher_type() != infer::MatcherType::Text);
        match known {
            Some(kind) if odd + invalid > 0 => return Self::Binary(kind.mime_type()),
            _ if sample.len() < TELLING_BYTES => return Self::Utf8,
            _ => {}
        }
        let share = |count: usize, percent: usize| count * 100 > sample.len() * percent;
        // Text in an old code page has no control characters; names that NUL ends have nothing invalid.
        if share(odd, 30) || share(odd, 3) && share(invalid, 3) {
            return Self::Binary("application/octet-stream");
        }
        Self::Utf8
    }
}

/// Characters that text for eyes does not have.
fn controls(sample: &[u8]) -> usize {
    sample.iter().filter(|byte| matches!(byte, 0..=6 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f)).count()
}

fn invalid(sample: &[u8]) -> usize {
    sample.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}

/// UTF-16 without a mark: every other byte of a text in Latin letters is NUL.
fn unmarked(sample: &[u8]) -> Option<Wide> {
    let (pairs, _) = sample.as_chunks::<2>();
    if pairs.len() < TELLING_BYTES / 2 {
        return None;
    }
    let letters = |low: usize, high: usize| {
        let latin = pairs.iter().filter(|pair| {
            pair.get(high) == Some(&0)
                && pair.get(low).is_some_and(|b| b.is_ascii_graphic() || b.is_ascii_whitespace())
        });
        latin.count() * 10 >= pairs.len() * 9
    };
    if letters(0, 1) {
        Some(Wide::Little)
    } else if letters(1, 0) {
        Some(Wide::Big)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_text_and_the_rest_is_named() {
        let latin1: Vec<u8> = b"d\xe9j\xe0 vu, na\xefve caf\xe9\n".repeat(20);
        let greek: Vec<u8> = [0xe1, 0xe2, 0xe3, b' '].repeat(20);
        let names: Vec<u8> = b"./some/file.txt\0./b\0".repeat(20);
        let colours: Vec<u8> = b"\x1b[32mok\x1b[0m\x08\x07\n".repeat(20);
        for text in [
            &b""[..],
            b"hello\n",
            b"a\xffb",
            b"\0",
            &latin1,
            &greek,
            &names,
            &colours,
            "€𝄞".repeat(99).as_bytes(),
        ] {
            assert_eq!(Kind::of(text), Kind::Utf8, "{:?}", String::from_utf8_lossy(text));
        }
        let mut wide: Vec<u8> = "some words\n".repeat(9).encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(Kind::of(&wide), Kind::Utf16(Wide::Little));
        wide.remove(0);
        assert_eq!(Kind::of(&wide), Kind::Utf16(Wide::Big));
        let random: Vec<u8> =
            (0..9000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect();
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], "image/png"),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40\0\x38", "application/x-executable"),
            (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "application/gzip"),
            (&random, "application/octet-stream"),
            (&[0; 4096], "application/octet-stream"),
        ] {
            assert_eq!(Kind::of(bytes), Kind::Binary(kind), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_kind(bytes: Vec<u8>) {
            Kind::of(&bytes);
        }

        #[test]
        fn printable_text_is_never_binary(text in "\\PC{0,300}") {
            prop_assert_eq!(Kind::of(text.as_bytes()), Kind::Utf8);
        }
    }
}
