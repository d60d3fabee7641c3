//! Code of other languages as names, strings and marks; near enough for all of them.

use super::super::lang::Language;
use crate::mark::RUN;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name with its dots, `::` and `->`.
    Name(String),
    Text(String),
    /// What stands in backticks where those run a shell.
    Run(String),
    Mark(char),
}

/// Splits `code`.
pub(super) fn tokens(code: &str, language: Language) -> Vec<Token> {
    let chars: Vec<char> = code.chars().collect();
    let mut lexer = Lexer { chars: &chars, pos: 0, language, tokens: Vec::new() };
    while lexer.pos < chars.len() {
        lexer.next();
    }
    lexer.tokens
}

struct Lexer<'a> {
    chars: &'a [char],
    pos: usize,
    language: Language,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, offset: usize) -> char {
        self.chars.get(self.pos + offset).copied().unwrap_or('\0')
    }

    fn next(&mut self) {
        let c = self.peek(0);
        let hash = !matches!(self.language, Language::JavaScript | Language::Lua | Language::Other);
        match c {
            '\n' => self.mark(c),
            c if c.is_whitespace() => self.pos += 1,
            '#' if hash && !matches!(self.tokens.last(), Some(Token::Mark('$'))) => self.skip_line(),
            '/' if self.peek(1) == '/' && matches!(self.language, Language::JavaScript | Language::Php) => {
                self.skip_line();
            }
            '\'' | '"' => self.string(c),
            '`' if self.language == Language::JavaScript => self.string(c),
            '`' => {
                self.string(c);
                if let Some(Token::Text(code)) = self.tokens.pop() {
                    self.tokens.push(Token::Run(code));
                }
            }
            '%' | 'q' if self.percent() => {}
            c if c.is_alphanumeric()
                || c == '_'
                || (c == '$' && (self.peek(1).is_alphabetic() || self.peek(1) == '_')) =>
            {
                self.word();
            }
            '-' if self.peek(1).is_ascii_digit() => self.word(),
            c => self.mark(c),
        }
    }

    fn mark(&mut self, c: char) {
        self.pos += 1;
        self.tokens.push(Token::Mark(c));
    }

    fn skip_line(&mut self) {
        while self.pos < self.chars.len() && self.peek(0) != '\n' {
            self.pos += 1;
        }
    }

    /// `%x(…)`, `qx{…}`, `q(…)`, `qq{…}`, `%w[…]`; false if none begins here.
    fn percent(&mut self) -> bool {
        let before = self
            .pos
            .checked_sub(1)
            .and_then(|i| self.chars.get(i))
            .is_some_and(|c| c.is_alphanumeric() || *c == '_');
        let (prefix, runs) = match (self.peek(0), self.peek(1), self.language) {
            ('%', 'x', Language::Ruby) => (2, true),
            ('%', 'q' | 'Q' | 'w', Language::Ruby) => (2, false),
            ('q', 'x', Language::Perl) => (2, true),
            ('q', 'q' | 'w', Language::Perl) => (2, false),
            ('q', _, Language::Perl) => (1, false),
            _ => return false,
        };
        let close = match self.peek(prefix) {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            c @ ('/' | '|' | '!') => c,
            _ => return false,
        };
        if before {
            return false;
        }
        self.pos += prefix + 1;
        let start = self.pos;
        while self.pos < self.chars.len() && self.peek(0) != close {
            self.pos += 1;
        }
        let text: String = self.chars.get(start..self.pos).unwrap_or_default().iter().collect();
        self.pos += 1;
        self.tokens.push(if runs { Token::Run(text) } else { Token::Text(text) });
        true
    }

    fn string(&mut self, quote: char) {
        let triple = self.language == Language::Python && self.peek(1) == quote && self.peek(2) == quote;
        let width = if triple { 3 } else { 1 };
        self.pos += width;
        let mut text = String::new();
        while self.pos < self.chars.len() {
            let c = self.peek(0);
            if c == quote && (!triple || (self.peek(1) == quote && self.peek(2) == quote)) {
                break;
            }
            if c == '\\' {
                text.push(c);
                text.extend(self.chars.get(self.pos + 1));
                self.pos += 2;
                continue;
            }
            text.push(c);
            self.pos += 1;
        }
        self.pos += width;
        let interpolated = quote != '\'' && ["#{", "${"].iter().any(|open| text.contains(open));
        let text = if text.contains('\\') {
            crate::text::unescape(&text, crate::text::Escapes::AnsiC)
        } else {
            text
        };
        let text = if interpolated { holes(&text) } else { text };
        self.tokens.push(Token::Text(text));
    }

    fn word(&mut self) {
        let start = self.pos;
        self.pos += 1;
        loop {
            let c = self.peek(0);
            let next = self.peek(1);
            let joins = (c == '.' || c == '?') && next.is_alphabetic()
                || (c == ':' && next == ':')
                || (c == '-' && (next == '>' || next.is_alphabetic() && self.language == Language::Other));
            if c.is_alphanumeric() || c == '_' {
                self.pos += 1;
            } else if joins {
                self.pos += if c == ':' || next == '>' { 2 } else { 1 };
            } else {
                break;
            }
        }
        let name: String = self.chars.get(start..self.pos).unwrap_or_default().iter().collect();
        // `File.rm_rf!(…)`
        if self.peek(0) == '!' && self.peek(1) == '(' {
            self.pos += 1;
        }
        let number = name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        self.tokens.push(if number { Token::Text(name) } else { Token::Name(name) });
    }
}

/// Interpolated expressions in a string are not known.
fn holes(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '#' | '$') && chars.peek() == Some(&'{') {
            for inner in chars.by_ref() {
                if inner == '}' {
                    break;
                }
            }
            out.push(RUN);
        } else {
            out.push(c);
        }
    }
    out
}
