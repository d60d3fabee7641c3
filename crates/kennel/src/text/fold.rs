//! What a terminal would have left of a text: carriage returns, backspaces and erasures are carried out within the line,
//! escape sequences are removed. Everything else passes as it is.
//!
//! Moves between lines are removed but not carried out: what they would overwrite stays. `\r\n` is a line's end and is
//! kept.

use super::segment::{SEGMENT_BYTES, Segment};

/// A control string longer than this is none: its rest is shown.
const STRING_CHARS_MAX: usize = 4096;
/// Parameters longer than this are none.
const PARAMETERS_MAX: usize = 64;

/// Where in an escape sequence we are (ECMA-48).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    /// One more character belongs to it.
    Charset,
    Control(String),
    /// A string up to BEL or ESC \, and whether its last character was ESC.
    Text(usize, bool),
}

/// The folding of one text; lines come out as [`Segment`]s.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    /// Nothing is overwritten: every state of a line is a line.
    every_state: bool,
    state: State,
    line: String,
    /// The line by columns, while it is being edited; `line` is empty then.
    cells: Vec<char>,
    column: usize,
    edited: bool,
    returned: bool,
    /// Offset of the first byte of what is not given out yet, and how many there are.
    offset: u64,
    raw: u64,
}

impl Fold {
    /// Removes escape sequences only; whatever begins a line anew ends it.
    pub(crate) fn every_state() -> Self {
        Self { every_state: true, ..Self::default() }
    }

    /// The line that has not ended yet.
    pub(crate) fn pending(&self) -> &str {
        &self.line
    }

    /// Takes text that was decoded from `raw` bytes at `offset`.
    pub(crate) fn push(&mut self, text: &str, raw: u64, offset: u64, out: &mut impl FnMut(Segment)) {
        if self.raw == 0 {
            self.offset = offset;
        }
        self.raw += raw;
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Ground && !self.edited && !self.returned {
                let plain = rest.bytes().position(is_special).unwrap_or(rest.len());
                let (before, after) = rest.split_at_checked(plain).unwrap_or((rest, ""));
                self.line.push_str(before);
                rest = after;
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.take(character, out);
                rest = characters.as_str();
            }
        }
        if self.line.len() + self.cells.len() >= SEGMENT_BYTES {
            self.give("", out);
        }
    }

    fn take(&mut self, character: char, out: &mut impl FnMut(Segment)) {
        match std::mem::take(&mut self.state) {
            State::Ground => self.ground(character, out),
            State::Escape => match character {
                '[' => self.state = State::Control(String::new()),
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::Text(0, false),
                ' ' | '#' | '%' | '('..='/' => self.state = State::Charset,
                '0'..='~' => {}
                other => self.ground(other, out),
            },
            State::Charset if character.is_control() => self.ground(character, out),
            State::Charset => {}
            State::Control(mut parameters) => match character {
                ' '..='?' if parameters.len() < PARAMETERS_MAX => {
                    parameters.push(character);
                    self.state = State::Control(parameters);
                }
                '@'..='~' => self.control(&parameters, character),
                other => self.ground(other, out),
            },
            State::Text(_, true) if character == '\\' => {}
            State::Text(..) if character == '\u{7}' => {}
            State::Text(length, _) if character != '\n' && length < STRING_CHARS_MAX => {
                self.state = State::Text(length + 1, character == '\u{1b}');
            }
            State::Text(..) => self.ground(character, out),
        }
    }

    fn ground(&mut self, character: char, out: &mut impl FnMut(Segment)) {
        match character {
            '\n' => {
                let end = if std::mem::take(&mut self.returned) { "\r\n" } else { "\n" };
                return self.give(end, out);
            }
            '\r' => return self.returned = true,
            _ => {}
        }
        if std::mem::take(&mut self.returned) {
            if self.every_state {
                self.give("\n", out);
            } else {
                self.edit();
                self.column = 0;
            }
        }
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\u{8}' if self.every_state => {}
            '\u{8}' => {
                self.edit();
                self.column = self.column.saturating_sub(1);
            }
            '\u{7}' => {}
            other => self.write(other),
        }
    }

    fn write(&mut self, character: char) {
        if !self.edited {
            return self.line.push(character);
        }
        if self.cells.len() < self.column {
            self.cells.resize(self.column, ' ');
        }
        match self.cells.get_mut(self.column) {
            Some(cell) => *cell = character,
            None => self.cells.push(character),
        }
        self.column += 1;
    }

    /// From now on columns count.
    fn edit(&mut self) {
        if !self.edited {
            self.edited = true;
            self.cells = self.line.chars().collect();
            self.column = self.cells.len();
            self.line.clear();
        }
    }

    /// A control sequence; those that work within the line are carried out.
    fn control(&mut self, parameters: &str, last: char) {
        let count = parameters.split(';').next().and_then(|first| first.parse::<usize>().ok());
        let columns = count.unwrap_or(1).clamp(1, SEGMENT_BYTES);
        match last {
            'K' | 'C' | 'D' | 'G' | 'P' if !self.every_state && !parameters.starts_with(['?', '>']) => {
                self.edit();
            }
            _ => return,
        }
        match (last, count.unwrap_or(0)) {
            ('K', 0) => self.cells.truncate(self.column),
            ('K', 1) => self.cells.iter_mut().take(self.column + 1).for_each(|cell| *cell = ' '),
            ('K', _) => self.cells.clear(),
            ('C', _) => self.column = (self.column + columns).min(SEGMENT_BYTES),
            ('D', _) => self.column = self.column.saturating_sub(columns),
            ('G', _) => self.column = columns - 1,
            _ => drop(
                self.cells
                    .drain(self.column.min(self.cells.len())..(self.column + columns).min(self.cells.len())),
            ),
        }
    }

    /// Gives out what there is of the line.
    fn give(&mut self, end: &str, out: &mut impl FnMut(Segment)) {
        let mut text = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.edited) {
            text = self.cells.drain(..).collect();
            // Blanks are how a shorter state hides a longer one.
            text.truncate(text.trim_end_matches(' ').len());
        }
        text.push_str(end);
        self.column = 0;
        if !text.is_empty() || self.raw > 0 {
            out(Segment::new(text, self.offset, std::mem::take(&mut self.raw)));
        }
    }

    /// The end of the text, or of what may be edited in it.
    pub(crate) fn flush(&mut self, out: &mut impl FnMut(Segment)) {
        self.returned = false;
        self.give("", out);
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x1b | 0x08 | 0x07)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(pieces: &[&str]) -> String {
        let mut fold = Fold::default();
        let mut text = String::new();
        let mut keep = |segment: Segment| text.push_str(&segment.text);
        for piece in pieces {
            fold.push(piece, piece.len() as u64, 0, &mut keep);
        }
        fold.flush(&mut keep);
        text
    }

    #[test]
    fn a_line_is_what_a_terminal_would_show_last() {
        for (raw, shown) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\r\nb\r\n", "a\r\nb\r\n"),
            ("\r  1%\r 50%\r100%\n", "100%\n"),
            ("loading\rdone   \n", "done\n"),
            ("12345\rab\n", "ab345\n"),
            ("12345\r\u{1b}[Kab\n", "ab\n"),
            ("12345\u{1b}[2K\rab\n", "ab\n"),
            ("100%\r", "100%"),
            ("abc\u{8}\u{8}X\n", "aXc\n"),
            ("\u{1b}[1;31mred\u{1b}[0m\n", "red\n"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\\n", "xlink\n"),
            ("\u{1b}(B\u{1b}=\u{1b}[?25lx\u{1b}[?25h\n", "x\n"),
            // What is no sequence takes nothing with it.
            ("\u{1b}[31\nnext\n", "\nnext\n"),
            ("\u{1b}]0;never ends\nnext\n", "\nnext\n"),
            ("zero\0stays\n", "zero\0stays\n"),
        ] {
            assert_eq!(folded(&[raw]), shown, "{raw:?}");
            let pieces: Vec<String> = raw.chars().map(String::from).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(folded(&pieces), shown, "{raw:?} in pieces");
        }
    }

    #[test]
    fn a_string_without_an_end_hides_little() {
        let text = folded(&[&format!("\u{1b}]0;{}", "x".repeat(10_000))]);
        assert!(text.len() > 5_000, "{}", text.len());
    }

    proptest! {
        #[test]
        fn text_without_controls_passes_as_it_is(lines in prop::collection::vec("[^\\x00-\\x1f\\x7f]{0,80}", 0..20)) {
            let text = lines.join("\n");
            prop_assert_eq!(folded(&[&text]), text);
        }

        #[test]
        fn no_text_panics_and_every_raw_byte_is_accounted_for(pieces in prop::collection::vec("[\\x00-\\x1f\u{1b}\\[\\]0-9A-Zm;\r\n€]{0,30}", 0..20)) {
            let mut fold = Fold::default();
            let mut raw = 0;
            let mut keep = |segment: Segment| raw += segment.raw;
            let total: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
            for piece in &pieces {
                fold.push(piece, piece.len() as u64, 0, &mut keep);
            }
            fold.flush(&mut keep);
            prop_assert_eq!(raw, total);
        }
    }
}
