//! What a screen owes to output that is too old to be replayed whole: modes that were switched on once.
//!
//! A program enters the alternate screen, switches bracketed paste on and sets its scrolling region when it begins, and
//! draws ever after. Of the old output only such sequences are replayed, which costs a search for ESC.

const ESC: u8 = 0x1b;
/// No sequence of interest is longer; a longer one is no sequence.
const SEQUENCE_BYTES_MAX: usize = 64;

/// Hands the sequences that set modes to `set`, in order. A sequence that is cut by the end of `bytes` is left out.
pub(crate) fn modes(bytes: &[u8], mut set: impl FnMut(&[u8])) {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == ESC) {
        rest = rest.get(at..).unwrap_or_default();
        let length = sequence_length(rest);
        let (sequence, after) = rest.split_at_checked(length.max(1)).unwrap_or((rest, &[]));
        if sets_a_mode(sequence) {
            set(sequence);
        }
        rest = after;
    }
}

/// Length of the sequence at the beginning: ESC, perhaps `[` and parameters, a final byte. 0 where it is cut.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        Some(b'[') => bytes
            .iter()
            .take(SEQUENCE_BYTES_MAX)
            .skip(2)
            .position(|byte| (0x40..0x7f).contains(byte))
            .map_or(0, |at| at + 3),
        Some(_) => 2,
        None => 0,
    }
}

fn sets_a_mode(sequence: &[u8]) -> bool {
    match sequence {
        // RIS; keypad modes.
        [ESC, b'c' | b'=' | b'>'] => true,
        // DECSET and DECRST, DECSTBM.
        [ESC, b'[', .., b'h' | b'l' | b'r'] => true,
        _ => false,
    }
}

/// Whether these bytes clear the whole screen: what came before them does not show any more.
pub(crate) fn last_clear(bytes: &[u8]) -> Option<usize> {
    const CLEARS: [&[u8]; 4] = [b"\x1b[2J", b"\x1bc", b"\x1b[?1049h", b"\x1b[H\x1b[J"];
    let find = |clear: &&[u8]| bytes.windows(clear.len()).rposition(|window| window == *clear);
    CLEARS.iter().filter_map(find).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modes_are_replayed() {
        let text =
            b"\x1b[?1049h\x1b[?1hhello\x1b[31m\x1b[2;20r\x1b[5;5Hx\x1b=\x1b]0;t\x07\x1b[?2004l\x1b[?25";
        let mut found = Vec::new();
        modes(text, |sequence| found.push(sequence.escape_ascii().to_string()));
        assert_eq!(found, ["\\x1b[?1049h", "\\x1b[?1h", "\\x1b[2;20r", "\\x1b=", "\\x1b[?2004l"]);
    }

    #[test]
    fn clears_are_found() {
        assert_eq!(last_clear(b"a\x1b[2Jb\x1b[2Jc"), Some(6));
        assert_eq!(last_clear(b"a\x1b[K"), None);
    }
}
