//! Names of keys and what a terminal sends for them: those of xterm, which `TERM=xterm-256color` promises.

/// What the program on the terminal has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Modes {
    /// DECCKM: cursor keys come as `ESC O`.
    pub(crate) application_cursor: bool,
    /// Pasted text comes between brackets.
    pub(crate) bracketed_paste: bool,
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    code: Code,
    control: bool,
    meta: bool,
    shift: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Char(char),
    /// `ESC [ X`, or `ESC O X` in application mode; with modifiers `ESC [ 1 ; m X`.
    Cursor(u8),
    /// `ESC O X` in every mode; with modifiers `ESC [ 1 ; m X`.
    Function(u8),
    /// `ESC [ n ~`; with modifiers `ESC [ n ; m ~`.
    Numbered(u8),
    BackTab,
}

const NAMES: [(&str, Code); 41] = [
    ("enter", Code::Char('\r')),
    ("return", Code::Char('\r')),
    ("tab", Code::Char('\t')),
    ("btab", Code::BackTab),
    ("esc", Code::Char('\x1b')),
    ("escape", Code::Char('\x1b')),
    ("space", Code::Char(' ')),
    ("bspace", Code::Char('\x7f')),
    ("backspace", Code::Char('\x7f')),
    ("up", Code::Cursor(b'A')),
    ("down", Code::Cursor(b'B')),
    ("right", Code::Cursor(b'C')),
    ("left", Code::Cursor(b'D')),
    ("home", Code::Cursor(b'H')),
    ("end", Code::Cursor(b'F')),
    ("insert", Code::Numbered(2)),
    ("ins", Code::Numbered(2)),
    ("ic", Code::Numbered(2)),
    ("delete", Code::Numbered(3)),
    ("del", Code::Numbered(3)),
    ("dc", Code::Numbered(3)),
    ("pageup", Code::Numbered(5)),
    ("pgup", Code::Numbered(5)),
    ("ppage", Code::Numbered(5)),
    ("prior", Code::Numbered(5)),
    ("pagedown", Code::Numbered(6)),
    ("pgdn", Code::Numbered(6)),
    ("npage", Code::Numbered(6)),
    ("next", Code::Numbered(6)),
    ("f1", Code::Function(b'P')),
    ("f2", Code::Function(b'Q')),
    ("f3", Code::Function(b'R')),
    ("f4", Code::Function(b'S')),
    ("f5", Code::Numbered(15)),
    ("f6", Code::Numbered(17)),
    ("f7", Code::Numbered(18)),
    ("f8", Code::Numbered(19)),
    ("f9", Code::Numbered(20)),
    ("f10", Code::Numbered(21)),
    ("f11", Code::Numbered(23)),
    ("f12", Code::Numbered(24)),
];

impl Key {
    /// Reads `C-c`, `^C`, `M-x`, `S-Tab`, `Enter`, `C-Left`, `x`. `None` for what is no key.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut key = Self { code: Code::Char(' '), control: false, meta: false, shift: false };
        let mut rest = name;
        while let Some((modifier, after)) = rest.split_once('-').filter(|(_, after)| !after.is_empty()) {
            match modifier.to_ascii_lowercase().as_str() {
                "c" | "ctrl" | "control" => key.control = true,
                "m" | "a" | "alt" | "meta" => key.meta = true,
                "s" | "shift" => key.shift = true,
                _ => return None,
            }
            rest = after;
        }
        if let Some(caret) = rest.strip_prefix('^').filter(|caret| caret.chars().count() == 1) {
            key.control = true;
            rest = caret;
        }
        let mut characters = rest.chars();
        key.code = match (characters.next(), characters.next()) {
            (Some(character), None) => Code::Char(character),
            _ => named(rest)?,
        };
        if key.shift && key.code == Code::Char('\t') {
            key.code = Code::BackTab;
        }
        // A control character that no terminal can send, like C-1, is refused rather than sent as something else.
        match key.code {
            Code::Char(character) if key.control && control(character).is_none() => None,
            Code::Char(character) if key.shift && !character.is_alphabetic() => None,
            _ => Some(key),
        }
    }

    /// Appends what the terminal sends.
    pub(crate) fn encode(self, modes: Modes, out: &mut Vec<u8>) {
        let modifiers = 1 + u8::from(self.shift) + 2 * u8::from(self.meta) + 4 * u8::from(self.control);
        match self.code {
            Code::Char(character) => self.encode_character(character, out),
            Code::BackTab => out.extend_from_slice(b"\x1b[Z"),
            Code::Cursor(last) | Code::Function(last) if modifiers > 1 => {
                out.extend_from_slice(format!("\x1b[1;{modifiers}{}", char::from(last)).as_bytes());
            }
            Code::Cursor(last) => {
                out.extend_from_slice(if modes.application_cursor { b"\x1bO" } else { b"\x1b[" });
                out.push(last);
            }
            Code::Function(last) => out.extend_from_slice(&[0x1b, b'O', last]),
            Code::Numbered(number) if modifiers > 1 => {
                out.extend_from_slice(format!("\x1b[{number};{modifiers}~").as_bytes());
            }
            Code::Numbered(number) => out.extend_from_slice(format!("\x1b[{number}~").as_bytes()),
        }
    }

    fn encode_character(self, character: char, out: &mut Vec<u8>) {
        if self.meta {
            out.push(0x1b);
        }
        if let Some(byte) = control(character).filter(|_| self.control) {
            return out.push(byte);
        }
        let mut buffer = [0; 4];
        if self.shift {
            character.to_uppercase().for_each(|upper| {
                out.extend_from_slice(upper.encode_utf8(&mut buffer).as_bytes());
            });
        } else {
            out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
        }
    }
}

fn named(name: &str) -> Option<Code> {
    let name = name.to_ascii_lowercase();
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
}

/// The control character of a key; Enter, Tab and the like keep theirs.
fn control(character: char) -> Option<u8> {
    match character {
        'a'..='z' | 'A'..='Z' | '@' | '[' | '\\' | ']' | '^' | '_' => Some(character as u8 & 0x1f),
        ' ' => Some(0),
        '?' => Some(0x7f),
        '/' => Some(0x1f),
        '\x7f' => Some(8),
        '\r' | '\t' | '\x1b' => Some(character as u8),
        _ => None,
    }
}

/// Text as a terminal types it. The Enter key sends a carriage return; text of several lines goes between brackets
/// where the program has asked for them, and the newline at its end is Enter again.
pub(crate) fn type_text(text: &[u8], modes: Modes, out: &mut Vec<u8>) {
    const BEGIN: &[u8] = b"\x1b[200~";
    const END: &[u8] = b"\x1b[201~";
    let (body, enter) = match text.strip_suffix(b"\n") {
        Some(body) => (body, true),
        None => (text, false),
    };
    if modes.bracketed_paste && body.contains(&b'\n') {
        out.extend_from_slice(BEGIN);
        // The text must not end the brackets itself and have its rest taken for keys.
        out.extend(body.iter().copied().filter(|byte| *byte != 0x1b));
        out.extend_from_slice(END);
    } else {
        out.extend(body.iter().map(|byte| if *byte == b'\n' { b'\r' } else { *byte }));
    }
    if enter {
        out.push(b'\r');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, wanted: &[u8]) {
        let mut out = Vec::new();
        Key::parse(name).unwrap().encode(Modes::default(), &mut out);
        assert_eq!(out.escape_ascii().to_string(), wanted.escape_ascii().to_string(), "{name}");
    }

    #[test]
    fn keys_are_those_of_xterm() {
        check("C-c", b"\x03");
        check("^C", b"\x03");
        check("ctrl-z", b"\x1a");
        check("C-[", b"\x1b");
        check("C-Space", b"\0");
        check("C-?", b"\x7f");
        check("Enter", b"\r");
        check("TAB", b"\t");
        check("S-Tab", b"\x1b[Z");
        check("Esc", b"\x1b");
        check("M-x", b"\x1bx");
        check("M-Enter", b"\x1b\r");
        check("C-M-a", b"\x1b\x01");
        check("S-a", b"A");
        check("x", b"x");
        check("-", b"-");
    }

    #[test]
    fn cursor_and_function_keys() {
        for (name, wanted) in [
            ("Up", &b"\x1b[A"[..]),
            ("C-Left", b"\x1b[1;5D"),
            ("S-F1", b"\x1b[1;2P"),
            ("F1", b"\x1bOP"),
            ("F5", b"\x1b[15~"),
            ("F12", b"\x1b[24~"),
            ("PageUp", b"\x1b[5~"),
            ("M-Delete", b"\x1b[3;3~"),
        ] {
            check(name, wanted);
        }
        let mut out = Vec::new();
        let modes = Modes { application_cursor: true, ..Modes::default() };
        for name in ["Up", "Home", "C-Up", "PageDown"] {
            Key::parse(name).unwrap().encode(modes, &mut out);
        }
        assert_eq!(out, b"\x1bOA\x1bOH\x1b[1;5A\x1b[6~");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for name in ["", "C-", "C-1", "Q-x", "F13", "enterr", "S-1", "ab"] {
            assert_eq!(Key::parse(name), None, "{name}");
        }
    }

    #[test]
    fn text_is_typed_or_pasted() {
        let typed = |text: &[u8], bracketed_paste| {
            let mut out = Vec::new();
            type_text(text, Modes { bracketed_paste, ..Modes::default() }, &mut out);
            out
        };
        assert_eq!(typed(b"a\nb\n", false), b"a\rb\r");
        assert_eq!(typed(b"a\n", true), b"a\r");
        assert_eq!(typed(b"a\nb\n", true), b"\x1b[200~a\nb\x1b[201~\r");
        assert_eq!(typed(b"a\n\x1b[201~rm", true), b"\x1b[200~a\n[201~rm\x1b[201~");
    }
}
