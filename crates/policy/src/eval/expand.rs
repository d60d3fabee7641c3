//! Words to fields, as bash expands them, with every value that a word may have.

use super::Checker;
use super::env::{ALTERNATIVES_MAX, Env};
use crate::ast::{Part, Word};
use crate::mark::{self, RUN};

/// One way in which a list of words may come out.
pub(crate) type Fields = Vec<String>;

/// What one part of a word contributes.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Text that is kept together.
    Whole(String),
    /// Text that is split at `IFS` and whose globs are active.
    Split(String),
    /// Fields of their own: `"$@"`.
    List(Vec<String>),
}

/// How the parts of a word are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// A command word: braces, tildes, splitting, globs.
    Command,
    /// The right side of an assignment, a here-string, a `case` subject.
    Value,
    /// A pattern: unquoted globs are active, nothing is split.
    Pattern,
}

#[derive(Debug, Clone, Default)]
struct Builder {
    fields: Fields,
    current: String,
    open: bool,
}

impl Builder {
    fn push(&mut self, piece: &Piece, separators: &str) {
        match piece {
            Piece::Whole(text) => {
                self.current.push_str(text);
                self.open = true;
            }
            Piece::Split(text) => self.split(text, separators),
            Piece::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        self.close();
                    }
                    self.current.push_str(item);
                    self.open = true;
                }
            }
        }
    }

    fn split(&mut self, text: &str, separators: &str) {
        let mut last_was_separator = false;
        for (i, part) in text.split(|c| separators.contains(c)).enumerate() {
            if i > 0 {
                self.close();
            }
            last_was_separator = part.is_empty();
            if !part.is_empty() {
                self.current.push_str(&mark::activate(part));
                self.open = true;
            }
        }
        if last_was_separator {
            self.close();
        }
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.fields.push(std::mem::take(&mut self.current));
        }
    }

    fn finish(mut self) -> Fields {
        self.close();
        self.fields
    }
}

impl Checker<'_> {
    /// All ways in which `words` may come out, at least one and at most [`ALTERNATIVES_MAX`].
    pub(crate) fn words(&mut self, env: &mut Env, words: &[Word]) -> Vec<Fields> {
        let mut all: Vec<Fields> = vec![Vec::with_capacity(words.len())];
        for word in words {
            if !self.spend(1) {
                break;
            }
            if let Some(text) = plain(word) {
                for fields in &mut all {
                    fields.push(text.to_owned());
                }
                continue;
            }
            let ways = self.word(env, word);
            match ways.as_slice() {
                [one] => all.iter_mut().for_each(|fields| fields.extend(one.iter().cloned())),
                many if all.len() * many.len() <= ALTERNATIVES_MAX => {
                    let product = |fields: &Fields| {
                        let fields = fields.clone();
                        many.iter()
                            .map(move |way| fields.iter().chain(way).cloned().collect::<Fields>())
                            .collect::<Vec<_>>()
                    };
                    all = all.iter().flat_map(product).collect();
                }
                // Too many combinations: each value is still seen, in one of the courses.
                many => {
                    for (i, fields) in all.iter_mut().enumerate() {
                        fields.extend(many.get(i % many.len().max(1)).into_iter().flatten().cloned());
                    }
                }
            }
        }
        all
    }

    /// All ways in which one word may come out.
    pub(super) fn word(&mut self, env: &mut Env, word: &Word) -> Vec<Fields> {
        let mut all = Vec::new();
        for parts in super::brace::expand(&word.parts) {
            if !self.spend(2) {
                break;
            }
            let ways = self.fields(env, &parts);
            if all.is_empty() {
                all = ways;
            } else {
                let extra = ways.first().cloned().unwrap_or_default();
                for fields in &mut all {
                    fields.extend(extra.iter().cloned());
                }
            }
        }
        if all.is_empty() { vec![Vec::new()] } else { all }
    }

    fn fields(&mut self, env: &mut Env, parts: &[Part]) -> Vec<Fields> {
        let separators = separators(env);
        let mut builders = vec![Builder::default()];
        for (i, part) in parts.iter().enumerate() {
            if parts.len() > 1 && env.args.is_none() && is_all_args(part) {
                // `r$@m`: a shell that is given no arguments makes nothing of it.
                continue;
            }
            let pieces = self.part(env, part, Context::Command, i == 0 && has_tilde(parts));
            self.pay_for(&pieces, builders.len());
            combine(&mut builders, &pieces, |builder, piece| builder.push(piece, &separators));
            if self.is_exhausted() {
                break;
            }
        }
        builders.into_iter().map(Builder::finish).collect()
    }

    /// The texts that a word may be where it is not split.
    pub(crate) fn value(&mut self, env: &mut Env, word: &Word) -> Vec<String> {
        self.text(env, &word.parts, Context::Value)
    }

    /// As [`Checker::value`], with active globs.
    pub(super) fn pattern(&mut self, env: &mut Env, parts: &[Part]) -> Vec<String> {
        self.text(env, parts, Context::Pattern)
    }

    pub(super) fn text(&mut self, env: &mut Env, parts: &[Part], context: Context) -> Vec<String> {
        let mut texts = vec![String::new()];
        for (i, part) in parts.iter().enumerate() {
            let pieces = self.part(env, part, context, i == 0 && has_tilde(parts));
            self.pay_for(&pieces, texts.len());
            combine(&mut texts, &pieces, |text, piece| match piece {
                Piece::Split(more) if context == Context::Pattern => text.push_str(&mark::activate(more)),
                Piece::Whole(more) | Piece::Split(more) => text.push_str(more),
                Piece::List(items) => text.push_str(&items.join(" ")),
            });
            if self.is_exhausted() {
                return vec![RUN.to_string()];
            }
        }
        texts
    }

    /// Text that is made costs as much as words that are read.
    fn pay_for(&mut self, pieces: &[Piece], states: usize) {
        let bytes: usize = pieces.iter().map(Piece::bytes).sum();
        self.spend(u32::try_from(1 + bytes * states / 64).unwrap_or(u32::MAX));
    }

    fn part(&mut self, env: &mut Env, part: &Part, context: Context, first: bool) -> Vec<Piece> {
        match part {
            Part::Bare(text) => {
                let text = if first || (context == Context::Value && text.contains(":~")) {
                    self.tilde(env, text, context)
                } else {
                    std::borrow::Cow::Borrowed(text.as_str())
                };
                let text = if context == Context::Value { text.into_owned() } else { mark::activate(&text) };
                vec![Piece::Whole(text)]
            }
            Part::Quoted(text) => vec![Piece::Whole(text.clone())],
            Part::Double(parts) => self.double(env, parts),
            Part::Param(param) => {
                self.param(env, param, false).into_iter().map(super::param::Value::unquoted).collect()
            }
            Part::Substitution(script) => {
                vec![Piece::Split(self.substitute(env, script))]
            }
            Part::Arith(parts) => vec![Piece::Whole(self.arith(env, parts))],
            Part::Process(flow, script) => vec![Piece::Whole(self.process(env, *flow, script))],
        }
    }

    fn double(&mut self, env: &mut Env, parts: &[Part]) -> Vec<Piece> {
        let mut pieces = vec![Piece::Whole(String::new())];
        for part in parts {
            let more: Vec<Piece> = match part {
                Part::Param(param) => {
                    self.param(env, param, true).into_iter().map(super::param::Value::quoted).collect()
                }
                Part::Double(inner) => self.double(env, inner),
                part => self.part(env, part, Context::Value, false).into_iter().map(Piece::kept).collect(),
            };
            self.pay_for(&more, pieces.len());
            combine(&mut pieces, &more, Piece::append);
        }
        pieces
    }

    /// What a substitution prints, without the newlines at its end.
    pub(super) fn substitute(&mut self, env: &mut Env, script: &crate::ast::Script) -> String {
        let mut inner = env.clone();
        let mut text = self.deeper(|checker| checker.script(&mut inner, script, None));
        let length = text.trim_end_matches('\n').len();
        text.truncate(length);
        text
    }

    fn arith(&mut self, env: &mut Env, parts: &[Part]) -> String {
        let text = self.text(env, parts, Context::Value).into_iter().next().unwrap_or_default();
        self.arithmetic(env, &text, 0);
        match super::arith::integer(&text) {
            Some(value) => value.to_string(),
            None => RUN.to_string(),
        }
    }

    fn tilde<'t>(&self, env: &Env, text: &'t str, context: Context) -> std::borrow::Cow<'t, str> {
        if context == Context::Value && text.contains(":~") {
            return text
                .split(':')
                .map(|part| self.one_tilde(env, part))
                .collect::<Vec<_>>()
                .join(":")
                .into();
        }
        self.one_tilde(env, text)
    }

    fn one_tilde<'t>(&self, env: &Env, text: &'t str) -> std::borrow::Cow<'t, str> {
        let Some(rest) = text.strip_prefix('~') else { return text.into() };
        let (user, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let home = match user {
            "" => match env.vars.get("HOME") {
                Some(super::env::Var::Scalar(values)) => values.first().cloned().unwrap_or_default(),
                _ => self.ctx.home.clone(),
            },
            "+" => env.cwd.first().cloned().unwrap_or_default(),
            "-" => env.previous.first().cloned().unwrap_or_else(|| RUN.to_string()),
            "root" => "/root".to_owned(),
            name if name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)) => {
                if name == self.ctx.user() { self.ctx.home.clone() } else { format!("/home/{name}") }
            }
            _ => return text.into(),
        };
        format!("{home}{path}").into()
    }
}

impl Piece {
    fn bytes(&self) -> usize {
        match self {
            Piece::Whole(text) | Piece::Split(text) => text.len(),
            Piece::List(items) => items.iter().map(|item| item.len() + 16).sum(),
        }
    }

    fn kept(self) -> Piece {
        match self {
            Piece::Split(text) => Piece::Whole(text),
            piece => piece,
        }
    }

    fn append(&mut self, more: &Piece) {
        match (&mut *self, more) {
            (Piece::Whole(text) | Piece::Split(text), Piece::Whole(more) | Piece::Split(more)) => {
                text.push_str(more);
            }
            (Piece::List(items), Piece::Whole(more) | Piece::Split(more)) => match items.last_mut() {
                Some(last) => last.push_str(more),
                None => items.push(more.clone()),
            },
            (Piece::Whole(text) | Piece::Split(text), Piece::List(more)) => {
                let mut items = more.clone();
                match items.first_mut() {
                    Some(first) => first.insert_str(0, text),
                    None if !text.is_empty() => items.push(text.clone()),
                    None => {}
                }
                *self = Piece::List(items);
            }
            (Piece::List(items), Piece::List(more)) => items.extend(more.iter().cloned()),
        }
    }
}

/// Extends each of `states` by each of `pieces`, up to the cap.
fn combine<S: Clone>(states: &mut Vec<S>, pieces: &[Piece], apply: impl Fn(&mut S, &Piece)) {
    if let [piece] = pieces {
        for state in states.iter_mut() {
            apply(state, piece);
        }
        return;
    }
    let mut out = Vec::with_capacity(states.len() * pieces.len());
    for state in states.iter() {
        for piece in pieces.iter().take(ALTERNATIVES_MAX.saturating_sub(out.len())) {
            let mut state = state.clone();
            apply(&mut state, piece);
            out.push(state);
        }
    }
    *states = out;
}

/// Whether a tilde that begins a word is expanded: its name must end, unquoted, before anything else begins.
fn has_tilde(parts: &[Part]) -> bool {
    match parts {
        [Part::Bare(_)] => true,
        [Part::Bare(text), ..] => text.contains('/'),
        _ => false,
    }
}

/// Whether a part is an unquoted or quoted `$@` or `$*`.
fn is_all_args(part: &Part) -> bool {
    match part {
        Part::Param(param) => {
            matches!(param.name.as_str(), "@" | "*") && matches!(param.op, crate::ast::ParamOp::Plain)
        }
        Part::Double(parts) => matches!(parts.as_slice(), [part] if is_all_args(part)),
        _ => false,
    }
}

/// The text of a word in which nothing is expanded.
fn plain(word: &Word) -> Option<&str> {
    let special = |c: char| matches!(c, '*' | '?' | '[' | '{' | '~');
    match word.parts.as_slice() {
        [Part::Bare(text)] if !text.contains(special) => Some(text),
        [Part::Quoted(text)] => Some(text),
        _ => None,
    }
}

/// What unquoted text is split at.
pub(super) fn separators(env: &Env) -> String {
    match env.vars.get("IFS") {
        Some(super::env::Var::Scalar(values)) => values.first().cloned().unwrap_or_default(),
        _ => " \t\n".to_owned(),
    }
}
