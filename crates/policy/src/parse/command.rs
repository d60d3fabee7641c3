//! Lists, pipelines, simple commands and redirections.

use super::{Parsed, Parser};
use crate::ast::{
    AssignValue, Assignment, Command, Item, Kind, Link, Mode, Part, Pipeline, Redirect, RedirectOp, Script,
    Simple, Target, Word,
};

/// Words that end a list where a command could begin.
const CLOSERS: &[&str] = &["then", "do", "done", "fi", "elif", "else", "esac", "}"];
/// Reserved words that begin no command.
const MISPLACED: &[&str] = &["!", "in", "]]", "then", "do", "done", "fi", "elif", "else", "esac", "}"];
/// Builtins whose operands may be array assignments.
const DECLARERS: &[&str] = &["declare", "typeset", "local", "export", "readonly", "eval"];

/// Longest array index that is looked for; the search would be quadratic without a bound.
const INDEX_BYTES_MAX: usize = 128;

/// Redirection operators, longest first.
const OPERATORS: &[(&str, RedirectOp)] = &[
    ("&>>", RedirectOp::Both),
    ("<<<", RedirectOp::HereString),
    ("<<-", RedirectOp::HereDoc),
    ("&>", RedirectOp::Both),
    ("<<", RedirectOp::HereDoc),
    (">>", RedirectOp::Append),
    (">|", RedirectOp::Write),
    (">&", RedirectOp::DupOut),
    ("<&", RedirectOp::DupIn),
    ("<>", RedirectOp::ReadWrite),
    ("<", RedirectOp::Read),
    (">", RedirectOp::Write),
];

impl Parser<'_> {
    /// A list up to something that cannot begin a command; the caller looks at what that is.
    pub(super) fn script(&mut self) -> Parsed<Script> {
        let mut items = Vec::new();
        loop {
            self.newlines()?;
            if self.at_end_of_list() {
                break;
            }
            let mut item = self.chain()?;
            self.blanks();
            self.comment();
            match self.peek() {
                Some(b';') if !matches!(self.peek_at(1), Some(b';' | b'&')) => self.pos += 1,
                Some(b'&') => {
                    item.mode = Mode::Background;
                    self.pos += 1;
                }
                Some(b'\n') => self.newline()?,
                _ => {
                    items.push(item);
                    break;
                }
            }
            items.push(item);
        }
        if self.pos >= self.bytes.len() && !self.pending.is_empty() {
            self.read_heredocs()?;
        }
        Ok(Script { items })
    }

    /// A list that may not be empty.
    pub(super) fn body(&mut self) -> Parsed<Script> {
        let script = self.nested(Self::script)?;
        if script.items.is_empty() { Err(self.unexpected("end of an empty list")) } else { Ok(script) }
    }

    fn at_end_of_list(&self) -> bool {
        match self.peek() {
            None | Some(b')' | b';' | b'|') => true,
            Some(b'&') => self.peek_at(1) != Some(b'>'),
            _ => CLOSERS.contains(&self.plain_word()),
        }
    }

    /// The unquoted word here, as far as it is made of plain characters up to a separator; else empty.
    pub(super) fn plain_word(&self) -> &str {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let length = rest.iter().position(|b| b" \t\n;&|<>()$`'\"\\".contains(b)).unwrap_or(rest.len());
        let ends = rest.get(length).is_none_or(|b| !b"$`'\"\\".contains(b));
        if ends { self.slice(self.pos, self.pos + length) } else { "" }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.plain_word() == word;
        if found {
            self.pos += word.len();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        self.newlines()?;
        if self.eat_word(word) { Ok(()) } else { Err(self.unexpected("token in a compound command")) }
    }

    fn chain(&mut self) -> Parsed<Item> {
        let mut chain = vec![(Link::First, self.pipeline()?)];
        loop {
            self.blanks();
            let link = if self.eat("&&") {
                Link::And
            } else if self.eat("||") {
                Link::Or
            } else {
                return Ok(Item { chain, mode: Mode::Foreground });
            };
            self.newlines()?;
            chain.push((link, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let mut prefixed = false;
        loop {
            self.blanks();
            if self.eat_word("!") {
                prefixed = true;
            } else if self.eat_word("time") {
                prefixed = true;
                self.blanks();
                while self.eat_word("-p") || self.eat_word("--") {
                    self.blanks();
                }
            } else {
                break;
            }
        }
        let mut stages = Vec::new();
        if prefixed && matches!(self.peek(), None | Some(b'\n' | b';' | b'#')) {
            return Ok(Pipeline { stages });
        }
        loop {
            let mut command = self.command()?;
            self.blanks();
            let both = self.looking_at("|&");
            if !both && (self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|')) {
                stages.push(command);
                return Ok(Pipeline { stages });
            }
            self.pos += if both { 2 } else { 1 };
            if both {
                let word = Word { parts: vec![Part::Bare("1".into())] };
                command.redirects.push(Redirect {
                    fd: Some(2),
                    op: RedirectOp::DupOut,
                    target: Target::Word(word),
                });
            }
            stages.push(command);
            self.newlines()?;
        }
    }

    pub(super) fn command(&mut self) -> Parsed<Command> {
        self.count()?;
        self.blanks();
        let start = self.pos;
        if MISPLACED.contains(&self.plain_word()) {
            return Err(self.unexpected("reserved word"));
        }
        let Some(kind) = self.compound()? else { return self.simple(start) };
        let mut redirects = Vec::new();
        // A function's own redirections were read with its body.
        if !matches!(kind, Kind::Function { .. } | Kind::Coproc(_)) {
            self.blanks();
            while let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                self.blanks();
            }
        }
        Ok(Command { kind, redirects, span: self.span_from(start) })
    }

    fn simple(&mut self, start: usize) -> Parsed<Command> {
        let (mut simple, mut redirects) = (Simple::default(), Vec::new());
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                redirects.push(redirect);
                continue;
            }
            if matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')')) {
                break;
            }
            if self.peek() == Some(b'#') {
                break;
            }
            if simple.words.is_empty() {
                if let Some(assignment) = self.assignment()? {
                    simple.assignments.push(assignment);
                    continue;
                }
            } else if may_declare(&simple) && self.array_follows() {
                simple.arrays.extend(self.assignment()?);
                continue;
            }
            let word = self.word()?;
            simple.words.push(word);
            if let Some(name) = self.function_name(&simple, &redirects) {
                return self.function(start, name);
            }
        }
        if self.pos == start {
            return Err(self.unexpected("token where a command begins"));
        }
        Ok(Command { kind: Kind::Simple(simple), redirects, span: self.span_from(start) })
    }

    fn array_follows(&self) -> bool {
        let length = self.assignment_name_length();
        length.is_some_and(|(name, _)| {
            let value = self.pos + name;
            [&b"=("[..], b"+=("]
                .iter()
                .any(|op| self.bytes.get(value..).is_some_and(|rest| rest.starts_with(op)))
        })
    }

    /// `name ()`, with nothing before it.
    fn function_name(&self, simple: &Simple, redirects: &[Redirect]) -> Option<String> {
        let [word] = simple.words.as_slice() else { return None };
        let rest = self.bytes.get(self.pos..)?.trim_ascii_start();
        let inside = rest.strip_prefix(b"(")?.trim_ascii_start();
        (inside.first() == Some(&b')') && simple.assignments.is_empty() && redirects.is_empty())
            .then(|| word.bare().map(str::to_owned))?
    }

    /// Length of the name, and of the name with its index, if `name[…]=` or `name+=` begins here.
    fn assignment_name_length(&self) -> Option<(usize, Option<(usize, usize)>)> {
        let rest = self.bytes.get(self.pos..)?;
        let name = rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))?;
        if name == 0 || rest.first()?.is_ascii_digit() {
            return None;
        }
        let index = if rest.get(name) == Some(&b'[') {
            let inside = rest.get(name + 1..)?;
            let mut depth = 1_u32;
            let close = inside.iter().take(INDEX_BYTES_MAX).take_while(|b| **b != b'\n').position(|b| {
                depth = match b {
                    b'[' => depth + 1,
                    b']' => depth - 1,
                    _ => depth,
                };
                depth == 0
            })?;
            Some((name + 1, name + 1 + close))
        } else {
            None
        };
        let after = index.map_or(name, |(_, close)| close + 1);
        let assigns = matches!(rest.get(after), Some(b'='))
            || (rest.get(after) == Some(&b'+') && rest.get(after + 1) == Some(&b'='));
        assigns.then_some((name, index))
    }

    fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        let Some((length, index)) = self.assignment_name_length() else { return Ok(None) };
        let start = self.pos;
        let name = self.slice(start, start + length).to_owned();
        let index = if let Some((from, to)) = index {
            let text = self.slice(start + from, start + to);
            self.pos = start + to + 1;
            Some(super::parse_heredoc(text, super::Origin::At(self.at(start + from)), self.depth + 1)?)
        } else {
            self.pos += length;
            None
        };
        let append = self.eat("+");
        self.pos += 1;
        let value = if self.peek() == Some(b'(') && index.is_none() {
            AssignValue::Array(self.nested(Self::array)?)
        } else {
            AssignValue::Scalar(self.word_or_empty()?)
        };
        Ok(Some(Assignment { name, index, append, value }))
    }

    fn array(&mut self) -> Parsed<Vec<(Option<Word>, Word)>> {
        self.pos += 1;
        let mut elements = Vec::new();
        loop {
            self.newlines()?;
            if self.eat(")") {
                return Ok(elements);
            }
            let close = self.element_key();
            let key = if let Some(close) = close {
                let text = self.slice(self.pos + 1, self.pos + close);
                let key =
                    super::parse_heredoc(text, super::Origin::At(self.at(self.pos + 1)), self.depth + 1)?;
                self.pos += close + 2;
                Some(key)
            } else {
                None
            };
            let word = if key.is_some() { self.word_or_empty()? } else { self.word()? };
            elements.push((key, word));
        }
    }

    /// Offset of the bracket that ends `[key]=`, if such an element begins here.
    fn element_key(&self) -> Option<usize> {
        let rest = self.bytes.get(self.pos..)?.strip_prefix(b"[")?;
        let close = rest.iter().take(INDEX_BYTES_MAX).position(|b| *b == b']')? + 1;
        (self.peek_at(close + 1) == Some(b'=')).then_some(close)
    }

    /// A redirection, if one begins here.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let digits = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        let named = if digits == 0 && rest.first() == Some(&b'{') {
            let name =
                rest.iter().skip(1).position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(0);
            if name > 0 && rest.get(name + 1) == Some(&b'}') { name + 2 } else { 0 }
        } else {
            0
        };
        let skip = digits.max(named);
        let Some(after) = rest.get(skip..) else { return Ok(None) };
        let Some((text, op)) = OPERATORS.iter().find(|(text, _)| after.starts_with(text.as_bytes())) else {
            return Ok(None);
        };
        // `<(` and `>(` begin a word; `&>` takes no number.
        let substitutes = matches!(*text, "<" | ">") && after.get(1) == Some(&b'(');
        if substitutes || (skip > 0 && *op == RedirectOp::Both) {
            return Ok(None);
        }
        let fd = self.slice(self.pos, self.pos + digits).parse().ok();
        self.pos += skip + text.len();
        if *op == RedirectOp::HereDoc {
            let target = Target::Doc(self.heredoc(*text == "<<-")?);
            return Ok(Some(Redirect { fd, op: *op, target }));
        }
        self.blanks();
        if self.peek() == Some(b'#') {
            return Err(self.unexpected("comment where a file is needed"));
        }
        let word = self.word()?;
        // `< 2>x`: the digits belong to the next redirection.
        let number = word.bare().is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()));
        if number && matches!(self.peek(), Some(b'<' | b'>')) {
            return Err(self.unexpected("redirection where a file is needed"));
        }
        let target = Target::Word(word);
        Ok(Some(Redirect { fd, op: *op, target }))
    }
}

/// Whether operands may be array assignments.
fn may_declare(simple: &Simple) -> bool {
    simple.words.first().and_then(Word::bare).is_some_and(|name| DECLARERS.contains(&name))
}
