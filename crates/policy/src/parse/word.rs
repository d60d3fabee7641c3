//! Words: quotes, escapes, and where expansions begin and end.

use super::{Origin, Parsed, Parser};
use crate::ast::{Flow, Part, Script, Word};

/// Where a run of parts ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// A metacharacter.
    Meta,
    /// A blank, outside brackets: the right side of `=~`.
    Regex,
    /// As `Meta`, with `@(…)` and its kin.
    Extglob,
    /// The closing double quote.
    Quote,
    /// The closing brace of an expansion; what it is in decides how quotes are read.
    Brace,
    /// The closing brace, inside double quotes.
    BraceQuoted,
    /// The end of the text.
    End,
}

impl Until {
    fn is_quoted(self) -> bool {
        matches!(self, Until::Quote | Until::BraceQuoted | Until::End)
    }
}

impl Parser<'_> {
    /// A word that has at least one character.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let until = if self.extglob { Until::Extglob } else { Until::Meta };
        self.pattern(until)
    }

    pub(super) fn pattern(&mut self, until: Until) -> Parsed<Word> {
        let start = self.pos;
        let word = self.word_until(until)?;
        if self.pos == start { Err(self.unexpected("token where a word is needed")) } else { Ok(word) }
    }

    pub(super) fn word_or_empty(&mut self) -> Parsed<Word> {
        self.word_until(if self.extglob { Until::Extglob } else { Until::Meta })
    }

    fn word_until(&mut self, until: Until) -> Parsed<Word> {
        let parts = self.parts(until)?;
        Ok(Word { parts })
    }

    /// Parts up to `until`, which is not consumed.
    pub(super) fn parts(&mut self, until: Until) -> Parsed<Vec<Part>> {
        if until.is_quoted() {
            return self.double_quoted(until);
        }
        let mut parts = Vec::new();
        let mut brackets = 0_u32;
        while let Some(byte) = self.peek() {
            if self.ends(byte, until, brackets) {
                break;
            }
            self.count()?;
            match byte {
                b'\\' => self.escape(&mut parts),
                b'\'' => parts.push(Part::Quoted(self.single_quotes()?)),
                b'"' => parts.push(self.double_quotes()?),
                b'$' => self.dollar(&mut parts, until)?,
                b'`' => parts.push(self.backticks(until)?),
                b'<' | b'>' if self.peek_at(1) == Some(b'(') && until != Until::Regex => {
                    parts.push(self.process_substitution(byte)?);
                }
                b'(' if until == Until::Extglob => self.extglob_group(&mut parts)?,
                b'(' | b')' if until == Until::Regex => {
                    brackets = if byte == b'(' { brackets + 1 } else { brackets.saturating_sub(1) };
                    self.plain(&mut parts);
                }
                _ => self.plain(&mut parts),
            }
        }
        Ok(parts)
    }

    fn ends(&self, byte: u8, until: Until, brackets: u32) -> bool {
        let substitution = matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(');
        match until {
            Until::Meta => b" \t\n;&|<>()".contains(&byte) && !substitution,
            Until::Extglob => {
                let group = byte == b'(' && self.pos > 0 && b"@?*+!".contains(&self.bytes[self.pos - 1]);
                b" \t\n;&|<>()".contains(&byte) && !substitution && !group
            }
            Until::Regex => brackets == 0 && b" \t\n;&<>".contains(&byte),
            Until::Brace => byte == b'}',
            Until::Quote | Until::BraceQuoted | Until::End => false,
        }
    }

    /// Adds the plain character here, and the plain ASCII characters after it, to the last bare part.
    fn plain(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        self.pos += 1;
        while let Some(byte) = self.peek() {
            let plain = byte.is_ascii_alphanumeric() || b"_-./,:=@%+^~*?[]!".contains(&byte) || byte >= 0x80;
            if !plain {
                break;
            }
            self.pos += 1;
        }
        // Every byte that stops the run is ASCII, so both ends are character borders.
        let text = self.slice(start, self.pos);
        match parts.last_mut() {
            Some(Part::Bare(last)) => last.push_str(text),
            _ => parts.push(Part::Bare(text.to_owned())),
        }
    }

    fn escape(&mut self, parts: &mut Vec<Part>) {
        self.pos += 1;
        if self.peek() == Some(b'\n') {
            self.pos += 1;
            return;
        }
        let mut text = String::new();
        self.push_char(&mut text);
        if text.is_empty() {
            text.push('\\');
        }
        parts.push(Part::Quoted(text));
    }

    fn single_quotes(&mut self) -> Parsed<String> {
        let start = self.pos + 1;
        let length = self.bytes.get(start..).and_then(|rest| rest.iter().position(|b| *b == b'\''));
        let Some(length) = length else { return Err(self.unexpected("open single quote")) };
        self.pos = start + length + 1;
        Ok(self.slice(start, start + length).to_owned())
    }

    fn double_quotes(&mut self) -> Parsed<Part> {
        let open = self.pos;
        self.pos += 1;
        let parts = self.nested(|parser| parser.double_quoted(Until::Quote))?;
        if self.eat("\"") {
            return Ok(Part::Double(parts));
        }
        self.pos = open;
        Err(super::ParseError::Syntax { what: "open double quote", at: self.at(open) })
    }

    /// Parts as they are inside double quotes.
    pub(super) fn double_quoted(&mut self, until: Until) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        while let Some(byte) = self.peek() {
            self.count()?;
            match byte {
                b'"' if until == Until::Quote => break,
                b'}' if until == Until::BraceQuoted => break,
                b'"' if until == Until::BraceQuoted => {
                    flush(&mut literal, &mut parts);
                    parts.push(self.double_quotes()?);
                }
                b'\\' => {
                    self.pos += 1;
                    match self.peek() {
                        Some(b'\n') => self.pos += 1,
                        Some(b'$' | b'`' | b'\\') => self.push_char(&mut literal),
                        Some(b'"') if until != Until::End => self.push_char(&mut literal),
                        Some(b'}') if until == Until::BraceQuoted => self.push_char(&mut literal),
                        _ => literal.push('\\'),
                    }
                }
                b'$' | b'`' => {
                    flush(&mut literal, &mut parts);
                    if byte == b'`' {
                        parts.push(self.backticks(until)?);
                    } else {
                        self.dollar(&mut parts, until)?;
                    }
                }
                _ => {
                    let start = self.pos;
                    while self.peek().is_some_and(|b| !matches!(b, b'"' | b'}' | b'\\' | b'$' | b'`')) {
                        self.pos += 1;
                    }
                    // A quote or brace that did not end the run above is an ordinary character.
                    if self.pos == start {
                        self.pos += 1;
                    }
                    literal.push_str(self.slice(start, self.pos));
                }
            }
        }
        flush(&mut literal, &mut parts);
        Ok(parts)
    }

    fn dollar(&mut self, parts: &mut Vec<Part>, until: Until) -> Parsed<()> {
        let part = match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') && self.arith_end(self.pos + 3).is_some() => {
                let end = self.arith_end(self.pos + 3).unwrap_or_default();
                let word = self.arith_word(self.pos + 3, end)?;
                self.pos = end + 2;
                Part::Arith(word.parts)
            }
            Some(b'(') => {
                self.pos += 2;
                Part::Substitution(self.substitution()?)
            }
            Some(b'[') => {
                let rest = self.bytes.get(self.pos + 2..).unwrap_or_default();
                let Some(length) = rest.iter().position(|b| *b == b']') else {
                    return Err(self.unexpected("open bracket"));
                };
                let start = self.pos + 2;
                let word = self.arith_word(start, start + length)?;
                self.pos = start + length + 1;
                Part::Arith(word.parts)
            }
            Some(b'{') => self.nested(|parser| parser.braced_param(until.is_quoted()))?,
            Some(b'\'') if !until.is_quoted() => {
                self.pos += 2;
                Part::Quoted(self.ansi_c()?)
            }
            Some(b'"') if !until.is_quoted() => {
                self.pos += 1;
                self.double_quotes()?
            }
            _ => {
                if let Some(part) = self.plain_param() {
                    part
                } else {
                    self.pos += 1;
                    Part::Quoted("$".to_owned())
                }
            }
        };
        parts.push(part);
        Ok(())
    }

    /// The commands up to the bracket that closes a substitution.
    fn substitution(&mut self) -> Parsed<Script> {
        let outer = std::mem::take(&mut self.pending);
        let script = self.nested(Self::script)?;
        self.expect_paren()?;
        self.pending = outer;
        Ok(script)
    }

    fn process_substitution(&mut self, byte: u8) -> Parsed<Part> {
        self.pos += 2;
        let flow = if byte == b'<' { Flow::FromCommand } else { Flow::IntoCommand };
        Ok(Part::Process(flow, self.substitution()?))
    }

    fn backticks(&mut self, until: Until) -> Parsed<Part> {
        let start = self.pos;
        let mut text = String::new();
        self.pos += 1;
        loop {
            match self.peek() {
                None => return Err(super::ParseError::Syntax { what: "open backtick", at: self.at(start) }),
                Some(b'`') => break,
                Some(b'\\') => {
                    self.pos += 1;
                    let special = match self.peek() {
                        Some(b'$' | b'`' | b'\\') => true,
                        Some(b'"') => matches!(until, Until::Quote | Until::BraceQuoted),
                        _ => false,
                    };
                    if special {
                        self.push_char(&mut text);
                    } else {
                        text.push('\\');
                    }
                }
                Some(_) => self.push_char(&mut text),
            }
        }
        self.pos += 1;
        let origin = Origin::Computed(self.span_from(start));
        let depth = self.depth;
        let script = self.nested(|_| super::parse(&text, origin, depth + 1))?;
        Ok(Part::Substitution(script))
    }

    /// `@(a|b)` and its kin: some text that matches, as far as we care.
    fn extglob_group(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        let mut depth = 0_u32;
        while let Some(byte) = self.peek() {
            self.pos += 1;
            match byte {
                b'(' => depth += 1,
                b')' if depth == 1 => {
                    parts.push(Part::Bare("*".to_owned()));
                    return Ok(());
                }
                b')' => depth -= 1,
                // What such text is expanded to, we do not follow.
                b'$' | b'`' | b'\'' | b'"' | b'\\' => return Err(self.unexpected("quote in a pattern")),
                _ => {}
            }
        }
        Err(self.unexpected("open bracket"))
    }

    /// Where the `))` is that ends the arithmetic which begins at `start`.
    pub(super) fn arith_end(&self, start: usize) -> Option<usize> {
        let mut depth = 0_u32;
        let mut bytes = self.bytes.iter().enumerate().skip(start);
        while let Some((pos, byte)) = bytes.next() {
            match byte {
                // Brackets without end are not arithmetic.
                b'(' if depth > 2 * super::NESTING_MAX => return None,
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' => return (self.bytes.get(pos + 1) == Some(&b')')).then_some(pos),
                b'\\' => {
                    bytes.next();
                }
                b'\'' | b'"' => {
                    bytes.find(|(_, other)| *other == byte)?;
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn arith_word(&mut self, start: usize, end: usize) -> Parsed<Word> {
        let text = self.slice(start, end);
        let origin = match self.origin {
            Origin::At(_) => Origin::At(self.at(start)),
            computed @ Origin::Computed(_) => computed,
        };
        let depth = self.depth;
        self.nested(|_| super::parse_heredoc(text, origin, depth + 1))
    }
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Quoted(std::mem::take(literal)));
    }
}
