//! Heredocs: registered at their redirection, read after the next newline.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{Origin, Parsed, Parser};
use crate::ast::{Part, Word};

/// A heredoc whose body is still to come.
pub(super) struct Pending {
    delimiter: String,
    strip_tabs: bool,
    expand: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    /// Registers a heredoc whose delimiter begins here; returns where its body will be.
    pub(super) fn heredoc(&mut self, strip_tabs: bool) -> Parsed<Rc<OnceCell<Word>>> {
        self.blanks();
        let (delimiter, quoted) = self.delimiter()?;
        let body = Rc::new(OnceCell::new());
        self.pending.push(Pending { delimiter, strip_tabs, expand: !quoted, body: Rc::clone(&body) });
        Ok(body)
    }

    /// The delimiter undergoes quote removal only.
    fn delimiter(&mut self) -> Parsed<(String, bool)> {
        let (start, mut text, mut quoted) = (self.pos, String::new(), false);
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' | b'"' => {
                    quoted = true;
                    self.pos += 1;
                    let from = self.pos;
                    while self.peek().is_some_and(|next| next != byte) {
                        self.pos += 1;
                    }
                    text.push_str(self.slice(from, self.pos));
                    if self.peek().is_none() {
                        return Err(self.unexpected("quote"));
                    }
                    self.pos += 1;
                }
                b'\\' => {
                    quoted = true;
                    self.pos += 1;
                    self.push_char(&mut text);
                }
                b'$' | b'`' => return Err(self.unexpected("expansion in a heredoc delimiter")),
                _ => self.push_char(&mut text),
            }
        }
        if self.pos == start { Err(self.unexpected("heredoc without delimiter")) } else { Ok((text, quoted)) }
    }

    /// Copies the character here to `text`.
    pub(super) fn push_char(&mut self, text: &mut String) {
        if let Some(next) = self.text.get(self.pos..).and_then(|rest| rest.chars().next()) {
            text.push(next);
            self.pos += next.len_utf8();
        }
    }

    /// Reads the bodies of all pending heredocs; the text begins a new line here.
    pub(super) fn read_heredocs(&mut self) -> Parsed<()> {
        for doc in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let mut body_end = self.bytes.len();
            let mut next = self.bytes.len();
            let mut line_start = start;
            while line_start < self.bytes.len() {
                let rest = self.bytes.get(line_start..).unwrap_or_default();
                let line_end = rest
                    .iter()
                    .position(|b| *b == b'\n')
                    .map_or(self.bytes.len(), |length| line_start + length);
                let line = self.slice(line_start, line_end);
                let line = if doc.strip_tabs { line.trim_start_matches('\t') } else { line };
                if line == doc.delimiter {
                    body_end = line_start;
                    next = (line_end + 1).min(self.bytes.len());
                    break;
                }
                line_start = line_end + 1;
            }
            // As in bash, the end of the text ends an open heredoc.
            self.pos = next;
            let body = self.slice(start, body_end);
            let word = self.heredoc_body(body, start, &doc)?;
            // Each heredoc is pending once, so its cell is still empty.
            let _unset = doc.body.set(word);
        }
        Ok(())
    }

    fn heredoc_body(&self, body: &str, start: usize, doc: &Pending) -> Parsed<Word> {
        let stripped = if doc.strip_tabs {
            body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
        } else {
            String::new()
        };
        let text = if doc.strip_tabs { &stripped } else { body };
        let span = self.span_from(start);
        if !doc.expand || !text.contains(['$', '`', '\\']) {
            return Ok(Word { parts: vec![Part::Quoted(text.to_owned())] });
        }
        let origin = match self.origin {
            Origin::At(_) if !doc.strip_tabs => Origin::At(self.at(start)),
            _ => Origin::Computed(span),
        };
        let mut word = super::parse_heredoc(text, origin, self.depth)?;
        word.parts = vec![Part::Double(word.parts)];
        Ok(word)
    }
}
