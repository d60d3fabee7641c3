//! bash's grammar, read in one pass from the text into the AST.
//!
//! Bounded by construction: the cost is linear in the text (times the nesting, which is capped), nothing backtracks
//! more than once, and no input panics or exhausts the stack. What bash would not accept, or what this parser does not
//! understand, is an error; it never guesses. brush-parser is the oracle of the tests, not the parser: it reads
//! `"${x:-'}"` and `\$'` differently from bash, so that a command can be hidden in what it takes for a string; it is
//! exponential in nested `case` and open brackets; and it panics on large descriptor numbers.

mod command;
mod compound;
mod heredoc;
mod param;
mod word;

use crate::ast::{Script, Span, Word};

/// How deep commands and expansions may nest.
pub(crate) const NESTING_MAX: u32 = 64;

/// How many commands, words and pieces of words are read.
const NODES_MAX: u32 = 150_000;

/// Why a text is not a program that can be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// bash would refuse it, or this parser does not know it.
    #[error("unexpected {what} at byte {at}")]
    Syntax { what: &'static str, at: u32 },
    /// It has more than [`NODES_MAX`] words and pieces of words.
    #[error("more than {NODES_MAX} words by byte {at}")]
    TooMany { at: u32 },
    /// It nests deeper than [`NESTING_MAX`].
    #[error("nesting deeper than {NESTING_MAX} at byte {at}")]
    TooDeep { at: u32 },
}

type Parsed<T> = Result<T, ParseError>;

/// Parses `text`, whose first byte is at `origin` in the line that was asked about.
pub(crate) fn parse(text: &str, origin: Origin, depth: u32) -> Parsed<Script> {
    let mut parser = Parser::new(text, origin, depth);
    let script = parser.script()?;
    if parser.pos < text.len() { Err(parser.unexpected("token")) } else { Ok(script) }
}

/// Parses `text` as the inside of a heredoc: only `$`, backticks and some backslashes are special.
pub(crate) fn parse_heredoc(text: &str, origin: Origin, depth: u32) -> Parsed<Word> {
    let mut parser = Parser::new(text, origin, depth);
    let parts = parser.double_quoted(word::Until::End)?;
    Ok(Word { parts })
}

/// How positions in a text become positions in the line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// The text is a slice of the line.
    At(u32),
    /// The text was computed from this part of the line.
    Computed(Span),
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    origin: Origin,
    depth: u32,
    /// Heredocs whose bodies begin after the next newline.
    pending: Vec<heredoc::Pending>,
    extglob: bool,
    nodes: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, origin: Origin, depth: u32) -> Self {
        Parser {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            origin,
            depth,
            pending: Vec::new(),
            extglob: text.contains("extglob"),
            nodes: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn peek_at(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.pos + offset).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        self.bytes.get(self.pos..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.pos += text.len();
        }
        found
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn at(&self, pos: usize) -> u32 {
        match self.origin {
            Origin::At(base) => base.saturating_add(u32::try_from(pos).unwrap_or(u32::MAX)),
            Origin::Computed(span) => span.start,
        }
    }

    fn span_from(&self, start: usize) -> Span {
        match self.origin {
            Origin::At(_) => Span { start: self.at(start), end: self.at(self.pos) },
            Origin::Computed(span) => span,
        }
    }

    fn unexpected(&self, what: &'static str) -> ParseError {
        let what = if self.pos >= self.bytes.len() { "end of text" } else { what };
        ParseError::Syntax { what, at: self.at(self.pos) }
    }

    /// Counts one more command, word or piece.
    fn count(&mut self) -> Parsed<()> {
        self.nodes += 1;
        if self.nodes > NODES_MAX { Err(ParseError::TooMany { at: self.at(self.pos) }) } else { Ok(()) }
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_MAX {
            return Err(ParseError::TooDeep { at: self.at(self.pos) });
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks and line continuations.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.pos += 2,
                _ => return,
            }
        }
    }

    fn comment(&mut self) {
        if self.peek() == Some(b'#') {
            while self.peek().is_some_and(|byte| byte != b'\n') {
                self.pos += 1;
            }
        }
    }

    /// Skips blanks, comments and newlines; reads the heredocs that a newline starts.
    fn newlines(&mut self) -> Parsed<bool> {
        let mut any = false;
        loop {
            self.blanks();
            self.comment();
            if self.peek() != Some(b'\n') {
                return Ok(any);
            }
            self.newline()?;
            any = true;
        }
    }

    fn newline(&mut self) -> Parsed<()> {
        self.pos += 1;
        self.read_heredocs()
    }
}

#[cfg(test)]
mod tests;
