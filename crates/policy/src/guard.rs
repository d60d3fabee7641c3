//! What is not looked at: lines that are too long, and lines that do not look like what they are.

use crate::mark;

/// Longest line that is judged, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// The rule that a text breaks before it is read.
pub(crate) fn check(text: &str) -> Option<&'static str> {
    if text.len() > LINE_BYTES_MAX {
        return Some("limit.size");
    }
    if text.bytes().all(|b| (b' '..0x7f).contains(&b) || b == b'\n' || b == b'\t') {
        return None;
    }
    text.chars().find_map(|c| match c {
        '\0' => Some("input.nul"),
        '\r' => Some("input.carriage-return"),
        '\u{1b}' | '\u{8}' | '\u{7f}' => Some("input.control"),
        c if c.is_control() && !matches!(c, '\n' | '\t') => Some("input.control"),
        // Marks that reorder text, or that cannot be seen.
        '\u{200b}'..='\u{200c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}'
        | '\u{feff}'
        | '\u{ad}'
        | '\u{180e}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{115f}' => Some("input.invisible"),
        '\u{e0000}'..='\u{e007f}' => Some("input.invisible"),
        c if mark::is_mark(c) => Some("input.invisible"),
        // A blank that is none to the shell: part of a word that looks like two.
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2028}' | '\u{2029}' => {
            Some("input.blank")
        }
        _ => None,
    })
}
