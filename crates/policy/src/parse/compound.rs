//! Compound commands and function definitions.

use std::rc::Rc;

use super::{Parsed, Parser};
use crate::ast::{Command, Kind, Script, Word};

impl Parser<'_> {
    /// A compound command, if one begins here.
    pub(super) fn compound(&mut self) -> Parsed<Option<Kind>> {
        if self.peek() == Some(b'(') {
            return self.parenthesis().map(Some);
        }
        let kind = match self.plain_word() {
            "{" => self.keyword(1, Self::group)?,
            "if" => self.keyword(2, Self::conditional)?,
            "while" | "until" => self.keyword(5, Self::repeated)?,
            "for" => self.keyword(3, Self::for_loop)?,
            "select" => self.keyword(6, Self::for_loop)?,
            "case" => self.keyword(4, Self::case)?,
            "coproc" => self.keyword(6, Self::coproc)?,
            "[[" => self.keyword(2, Self::test)?,
            "function" => {
                self.pos += "function".len();
                self.blanks();
                let name = self.plain_word().to_owned();
                if name.is_empty() {
                    return Err(self.unexpected("function without a plain name"));
                }
                self.pos += name.len();
                self.function_kind(name)?
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    fn keyword(&mut self, length: usize, rest: fn(&mut Self) -> Parsed<Kind>) -> Parsed<Kind> {
        self.pos += length;
        self.nested(rest)
    }

    fn parenthesis(&mut self) -> Parsed<Kind> {
        if self.peek_at(1) == Some(b'(')
            && let Some(end) = self.arith_end(self.pos + 2)
        {
            let word = self.arith_word(self.pos + 2, end)?;
            self.pos = end + 2;
            return Ok(Kind::Arith(word));
        }
        self.pos += 1;
        let script = self.body()?;
        self.expect_paren()?;
        Ok(Kind::Subshell(script))
    }

    /// The bracket that closes a list of commands.
    pub(super) fn expect_paren(&mut self) -> Parsed<()> {
        // A heredoc that has not begun yet would begin behind the bracket; bash and this parser would differ.
        if self.peek() == Some(b')') && self.pending.is_empty() {
            self.pos += 1;
            return Ok(());
        }
        Err(self.unexpected("token before a closing bracket"))
    }

    fn group(&mut self) -> Parsed<Kind> {
        let script = self.body()?;
        self.expect_word("}")?;
        Ok(Kind::Group(script))
    }

    fn conditional(&mut self) -> Parsed<Kind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.body()?;
            self.expect_word("then")?;
            branches.push((condition, self.body()?));
            if !self.eat_word("elif") {
                break;
            }
        }
        let otherwise = if self.eat_word("else") { Some(self.body()?) } else { None };
        self.expect_word("fi")?;
        Ok(Kind::If { branches, otherwise })
    }

    fn repeated(&mut self) -> Parsed<Kind> {
        let condition = self.body()?;
        Ok(Kind::Loop { condition, body: self.do_group()? })
    }

    fn do_group(&mut self) -> Parsed<Script> {
        self.expect_word("do")?;
        let body = self.body()?;
        self.expect_word("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Parsed<Kind> {
        self.blanks();
        if self.looking_at("((") {
            let Some(end) = self.arith_end(self.pos + 2) else { return Err(self.unexpected("open bracket")) };
            let header = self.arith_word(self.pos + 2, end)?;
            self.pos = end + 2;
            self.blanks();
            self.eat(";");
            self.newlines()?;
            let body = if self.eat_word("{") {
                let body = self.body()?;
                self.expect_word("}")?;
                body
            } else {
                self.do_group()?
            };
            return Ok(Kind::ForArith { header, body });
        }
        let name = self.plain_word().to_owned();
        if name.is_empty() {
            return Err(self.unexpected("loop variable"));
        }
        self.pos += name.len();
        self.newlines()?;
        let words = if self.eat_word("in") { Some(self.loop_words()?) } else { None };
        self.blanks();
        self.eat(";");
        Ok(Kind::For { name, words, body: self.do_group()? })
    }

    fn loop_words(&mut self) -> Parsed<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            if matches!(self.peek(), None | Some(b'\n' | b';' | b'#')) {
                return Ok(words);
            }
            words.push(self.word()?);
        }
    }

    fn case(&mut self) -> Parsed<Kind> {
        self.blanks();
        let subject = self.word()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.eat_word("esac") {
                return Ok(Kind::Case { subject, arms });
            }
            if self.eat("(") {
                self.blanks();
            }
            let mut patterns = vec![self.word()?];
            loop {
                self.blanks();
                if self.eat("|") {
                    self.blanks();
                    patterns.push(self.word()?);
                } else if self.eat(")") {
                    break;
                } else {
                    return Err(self.unexpected("token in a case pattern"));
                }
            }
            let script = self.nested(Self::script)?;
            arms.push((patterns, script));
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) && self.plain_word() != "esac" {
                return Err(self.unexpected("token in a case"));
            }
        }
    }

    fn coproc(&mut self) -> Parsed<Kind> {
        self.blanks();
        let name_length = self.plain_word().len();
        let start = self.pos;
        self.pos += name_length;
        self.blanks();
        let named = name_length > 0 && (self.peek() == Some(b'(') || self.plain_word() == "{");
        if !named {
            self.pos = start;
        }
        Ok(Kind::Coproc(Box::new(self.command()?)))
    }

    pub(super) fn function(&mut self, start: usize, name: String) -> Parsed<Command> {
        let kind = self.nested(|parser| parser.function_kind(name))?;
        Ok(Command { kind, redirects: Vec::new(), span: self.span_from(start) })
    }

    /// The rest of a definition, from behind its name.
    fn function_kind(&mut self, name: String) -> Parsed<Kind> {
        self.blanks();
        if self.peek() == Some(b'(') {
            let close = self.bytes.get(self.pos + 1..).unwrap_or_default().iter().position(|b| *b == b')');
            let empty = |end: usize| self.slice(self.pos + 1, self.pos + 1 + end).trim().is_empty();
            if let Some(length) = close.filter(|end| empty(*end)) {
                self.pos += length + 2;
            }
        }
        self.newlines()?;
        if self.peek() != Some(b'(')
            && !["{", "if", "while", "until", "for", "select", "case", "[["].contains(&self.plain_word())
        {
            return Err(self.unexpected("function without a compound body"));
        }
        let body = self.nested(Self::command)?;
        Ok(Kind::Function { name, body: Rc::new(body) })
    }

    /// `[[ … ]]`: what is expanded inside, operators as words.
    fn test(&mut self) -> Parsed<Kind> {
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.newlines()?;
            if self.eat_word("]]") {
                return if words.is_empty() {
                    Err(self.unexpected("empty test"))
                } else {
                    Ok(Kind::Test(words))
                };
            }
            if ["&&", "||"].iter().any(|op| self.looking_at(op)) {
                self.pos += 2;
            } else if matches!(self.peek(), Some(b'(' | b')' | b'<' | b'>')) {
                self.pos += 1;
            } else if self.peek().is_none() {
                return Err(self.unexpected("token"));
            } else {
                let word = match words.last().and_then(Word::bare) {
                    Some("=~") => self.pattern(super::word::Until::Regex)?,
                    Some("=" | "==" | "!=") => self.pattern(super::word::Until::Extglob)?,
                    _ => self.word()?,
                };
                words.push(word);
            }
        }
    }
}
