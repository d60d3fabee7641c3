//! `$name`, `${…}` and `$'…'`.

use super::{Parsed, Parser, word::Until};
use crate::ast::{Param, ParamOp, Part};

impl Parser<'_> {
    /// `$name`, `$1` or `$?`, if one begins here.
    pub(super) fn plain_param(&mut self) -> Option<Part> {
        let first = self.peek_at(1)?;
        let length = if first.is_ascii_alphabetic() || first == b'_' {
            let rest = self.bytes.get(self.pos + 1..)?;
            rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(rest.len())
        } else if first.is_ascii_digit() || b"@*#?-$!".contains(&first) {
            1
        } else {
            return None;
        };
        let name = self.slice(self.pos + 1, self.pos + 1 + length).to_owned();
        self.pos += 1 + length;
        Some(Part::Param(Box::new(Param {
            name,
            indirect: false,
            braced: false,
            index: None,
            op: ParamOp::Plain,
        })))
    }

    /// `${…}`, whose dollar is here.
    pub(super) fn braced_param(&mut self, quoted: bool) -> Parsed<Part> {
        self.pos += 2;
        let mut length = false;
        if self.peek() == Some(b'#')
            && !matches!(self.peek_at(1), Some(b'}' | b':' | b'#' | b'%' | b'/' | b'^' | b','))
        {
            length = true;
            self.pos += 1;
        }
        let mut indirect = false;
        if self.peek() == Some(b'!')
            && self.peek_at(1).is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            indirect = true;
            self.pos += 1;
        }
        let name = self.param_name()?;
        let index = if self.peek() == Some(b'[') { Some(self.param_index()?) } else { None };
        let op = if length { ParamOp::Length } else { self.param_op(quoted, indirect)? };
        if !self.eat("}") {
            return Err(self.unexpected("token in an expansion"));
        }
        let names = matches!(op, ParamOp::Plain)
            && indirect
            && index
                .as_deref()
                .is_some_and(|parts| matches!(parts, [Part::Quoted(text)] if text == "@" || text == "*"));
        let op = if names { ParamOp::Names } else { op };
        Ok(Part::Param(Box::new(Param { name, indirect, braced: true, index, op })))
    }

    fn param_name(&mut self) -> Parsed<String> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let mut length =
            rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(rest.len());
        if length == 0 && rest.first().is_some_and(|b| b"@*#?-$!".contains(b)) {
            length = 1;
        }
        if length == 0 {
            return Err(self.unexpected("expansion without a name"));
        }
        let name = self.slice(self.pos, self.pos + length).to_owned();
        self.pos += length;
        Ok(name)
    }

    fn param_index(&mut self) -> Parsed<Vec<Part>> {
        let start = self.pos + 1;
        let mut depth = 0_u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'[' => depth += 1,
                b']' if depth == 1 => break,
                b']' => depth -= 1,
                _ => {}
            }
            self.pos += 1;
        }
        let end = self.pos;
        if !self.eat("]") {
            return Err(self.unexpected("open bracket"));
        }
        Ok(self.arith_word(start, end)?.parts)
    }

    fn param_op(&mut self, quoted: bool, indirect: bool) -> Parsed<ParamOp> {
        // Defaults inherit the quoting around them; patterns do not.
        let word = if quoted { Until::BraceQuoted } else { Until::Brace };
        let colon = self.peek() == Some(b':') && self.peek_at(1).is_some_and(|b| b"-=?+".contains(&b));
        if colon {
            self.pos += 1;
        }
        let Some(byte) = self.peek() else { return Err(self.unexpected("open expansion")) };
        let twice = self.peek_at(1) == Some(byte);
        let op = match byte {
            b'}' => ParamOp::Plain,
            b'-' | b'=' | b'?' | b'+' => {
                self.pos += 1;
                ParamOp::Default { kind: char::from(byte), colon, word: self.parts(word)? }
            }
            b':' => {
                self.pos += 1;
                self.substring()?
            }
            b'#' | b'%' => {
                self.pos += if twice { 2 } else { 1 };
                let pattern = self.parts(Until::Brace)?;
                if byte == b'#' {
                    ParamOp::TrimPrefix { longest: twice, pattern }
                } else {
                    ParamOp::TrimSuffix { longest: twice, pattern }
                }
            }
            b'/' => {
                self.pos += 1;
                self.replace(word)?
            }
            b'^' | b',' => {
                self.pos += if twice { 2 } else { 1 };
                self.parts(Until::Brace)?;
                ParamOp::Case { upper: byte == b'^', all: twice }
            }
            b'@' if indirect && self.peek_at(1) == Some(b'}') => {
                self.pos += 1;
                ParamOp::Names
            }
            b'*' if indirect => {
                self.pos += 1;
                ParamOp::Names
            }
            b'@' => {
                let letter = self.peek_at(1).unwrap_or_default();
                self.pos += 2;
                ParamOp::Transform(char::from(letter))
            }
            _ => return Err(self.unexpected("operator in an expansion")),
        };
        Ok(op)
    }

    fn substring(&mut self) -> Parsed<ParamOp> {
        let parts = self.parts(Until::Brace)?;
        let (mut offset, mut length) = (Vec::new(), None);
        for part in parts {
            let target = match &mut length {
                None => &mut offset,
                Some(parts) => parts,
            };
            match part {
                Part::Bare(text) if text.contains(':') && !text.contains('?') => {
                    let (before, after) = text.split_once(':').unwrap_or_default();
                    target.push(Part::Bare(before.to_owned()));
                    length = Some(vec![Part::Bare(after.to_owned())]);
                }
                part => target.push(part),
            }
        }
        Ok(ParamOp::Substring { offset, length })
    }

    fn replace(&mut self, _word: Until) -> Parsed<ParamOp> {
        let anchor = match self.peek() {
            Some(byte @ (b'/' | b'#' | b'%')) => {
                self.pos += 1;
                char::from(byte)
            }
            _ => ' ',
        };
        let (mut pattern, mut with, mut seen) = (Vec::new(), Vec::new(), false);
        for part in self.parts(Until::Brace)? {
            match part {
                Part::Bare(text) if !seen && text.contains('/') => {
                    let (before, after) = text.split_once('/').unwrap_or_default();
                    pattern.push(Part::Bare(before.to_owned()));
                    with.push(Part::Bare(after.to_owned()));
                    seen = true;
                }
                part if seen => with.push(part),
                part => pattern.push(part),
            }
        }
        Ok(ParamOp::Replace { anchor, pattern, with })
    }

    /// The inside of `$'…'`, from behind its quote.
    pub(super) fn ansi_c(&mut self) -> Parsed<String> {
        let start = self.pos;
        let mut end = None;
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => {
                    end = Some(self.pos);
                    break;
                }
                b'\\' => self.pos += 2,
                _ => self.pos += 1,
            }
        }
        let Some(end) = end else { return Err(self.unexpected("open quote")) };
        self.pos = end + 1;
        Ok(crate::text::unescape(self.slice(start, end), crate::text::Escapes::AnsiC))
    }
}
