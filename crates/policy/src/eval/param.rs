//! Parameters and what `${…}` does with them.

use super::Checker;
use super::env::{Env, Var};
use super::expand::{Context, Piece};
use crate::ast::{Param, ParamOp, Part};
use crate::mark::{self, RUN, STAR, UNSET};

/// One value of a parameter.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    /// Several fields; `joined` where quotes make one of them, as in `"$*"`.
    List {
        items: Vec<String>,
        joined: bool,
    },
    /// A default that was given in the expansion, which is split only if it was not quoted there.
    Quoted(String),
}

impl Value {
    pub(super) fn unquoted(self) -> Piece {
        match self {
            Value::Text(text) => Piece::Split(text),
            Value::Quoted(text) => Piece::Whole(text),
            Value::List { items, .. } => Piece::Split(items.join(" ")),
        }
    }

    pub(super) fn quoted(self) -> Piece {
        match self {
            Value::Text(text) | Value::Quoted(text) => Piece::Whole(text),
            Value::List { items, joined: true } => Piece::Whole(items.join(" ")),
            Value::List { items, joined: false } => Piece::List(items),
        }
    }

    fn map(self, change: impl Fn(&str) -> String) -> Value {
        match self {
            Value::Text(text) | Value::Quoted(text) => Value::Text(change(&text)),
            Value::List { items, joined } => {
                Value::List { items: items.iter().map(|item| change(item)).collect(), joined }
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Value::Text(text) | Value::Quoted(text) => text.clone(),
            Value::List { items, .. } => items.join(" "),
        }
    }
}

impl Checker<'_> {
    /// All values that an expansion may have.
    pub(super) fn param(&mut self, env: &mut Env, param: &Param, quoted: bool) -> Vec<Value> {
        if matches!(param.op, ParamOp::Names) {
            return vec![Value::Text(RUN.to_string())];
        }
        let mut values = self.lookup(env, &param.name, param.index.as_deref());
        if param.indirect {
            let names: Vec<String> = values.iter().map(Value::text).collect();
            values = names.iter().flat_map(|name| self.lookup_indirect(env, name)).collect();
        }
        if matches!(param.op, ParamOp::Plain) {
            return values;
        }
        values.into_iter().flat_map(|value| self.apply(env, param, value, quoted)).collect()
    }

    fn lookup_indirect(&mut self, env: &mut Env, name: &str) -> Vec<Value> {
        if mark::has_hole(name) {
            return vec![Value::Text(RUN.to_string())];
        }
        match name.split_once('[') {
            Some((name, index)) => {
                let index = vec![Part::Quoted(index.trim_end_matches(']').to_owned())];
                self.lookup(env, name, Some(&index))
            }
            None => self.lookup(env, name, None),
        }
    }

    fn lookup(&mut self, env: &mut Env, name: &str, index: Option<&[Part]>) -> Vec<Value> {
        if let Some(index) = index {
            return self.element(env, name, index);
        }
        let name = &env.named(name).to_owned();
        match env.vars.get(name) {
            Some(Var::Scalar(values)) if values.is_empty() => return vec![Value::Text(String::new())],
            Some(Var::Scalar(values)) => return values.iter().cloned().map(Value::Text).collect(),
            Some(Var::Array(items)) => return vec![Value::Text(items.first().cloned().unwrap_or_default())],
            Some(Var::Map(_)) => return vec![Value::Text(String::new())],
            // A circle of references, or one to what is not set.
            Some(Var::Ref(_)) => return vec![Value::Text(UNSET.to_string())],
            None => {}
        }
        let value = match name.as_str() {
            "@" | "*" => match &env.args {
                Some(args) => return vec![Value::List { items: args.to_vec(), joined: name == "*" }],
                None => UNSET.to_string(),
            },
            "#" => env.args.as_ref().map_or(RUN.to_string(), |args| args.len().to_string()),
            "0" => "bash".to_owned(),
            "IFS" => " \t\n".to_owned(),
            "PPID" => mark::PARENT.to_string(),
            "HOME" => self.ctx.home.clone(),
            "PWD" => return env.cwd.iter().cloned().map(Value::Text).collect(),
            "OLDPWD" if !env.previous.is_empty() => {
                return env.previous.iter().cloned().map(Value::Text).collect();
            }
            "USER" | "LOGNAME" => self.ctx.user().to_owned(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "TMPDIR" => "/tmp".to_owned(),
            "XDG_CACHE_HOME" => format!("{}/.cache", self.ctx.home),
            "XDG_CONFIG_HOME" => format!("{}/.config", self.ctx.home),
            "XDG_DATA_HOME" => format!("{}/.local/share", self.ctx.home),
            "?" | "$" | "!" | "-" | "_" | "OLDPWD" | "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS"
            | "UID" | "EUID" | "BASHPID" | "HOSTNAME" | "LINENO" | "PATH" | "LANG" | "TERM" | "OSTYPE" => {
                RUN.to_string()
            }
            digits if digits.bytes().all(|b| b.is_ascii_digit()) => {
                match (&env.args, digits.parse::<usize>()) {
                    (Some(args), Ok(n)) => match args.get(n.wrapping_sub(1)) {
                        Some(arg) => arg.clone(),
                        // An unknown argument may stand for several.
                        None if args.iter().any(|arg| mark::is_opaque(arg)) => UNSET.to_string(),
                        None => String::new(),
                    },
                    _ => UNSET.to_string(),
                }
            }
            name if mark::is_secret_name(name) => mark::TOKEN.to_string(),
            _ => UNSET.to_string(),
        };
        vec![Value::Text(value)]
    }

    fn element(&mut self, env: &mut Env, name: &str, index: &[Part]) -> Vec<Value> {
        let key = self.text(env, index, Context::Value).into_iter().next().unwrap_or_default();
        self.arithmetic(env, &key, 0);
        let unset = || vec![Value::Text(UNSET.to_string())];
        match (env.vars.get(env.named(name)), key.as_str()) {
            (Some(Var::Array(items)), "@" | "*") => {
                vec![Value::List { items: items.clone(), joined: key == "*" }]
            }
            (Some(Var::Map(pairs)), "@" | "*") => {
                let items = pairs.iter().map(|(_, value)| value.clone()).collect();
                vec![Value::List { items, joined: key == "*" }]
            }
            (Some(Var::Scalar(values)), "@" | "*" | "0") => values.iter().cloned().map(Value::Text).collect(),
            (Some(Var::Array(items)), key) => match super::arith::integer(key) {
                Some(n) => {
                    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                    let at = usize::try_from(if n < 0 { n.saturating_add(length) } else { n }).ok();
                    vec![Value::Text(at.and_then(|at| items.get(at)).cloned().unwrap_or_default())]
                }
                // Some element: each is possible.
                None => items.iter().cloned().map(Value::Text).take(super::env::ALTERNATIVES_MAX).collect(),
            },
            (Some(Var::Map(pairs)), key) => {
                let found = pairs.iter().rev().find(|(name, _)| name == key);
                found.map_or_else(unset, |(_, value)| vec![Value::Text(value.clone())])
            }
            _ => unset(),
        }
    }

    fn apply(&mut self, env: &mut Env, param: &Param, value: Value, quoted: bool) -> Vec<Value> {
        let one = |value| vec![value];
        match &param.op {
            ParamOp::Plain | ParamOp::Names => one(value),
            ParamOp::Length => match value {
                Value::List { items, .. } => one(Value::Text(items.len().to_string())),
                value if mark::has_hole(&value.text()) => one(Value::Text(RUN.to_string())),
                value => one(Value::Text(value.text().chars().count().to_string())),
            },
            ParamOp::Default { kind, colon, word } => {
                self.default(env, param, value, (*kind, *colon, word, quoted))
            }
            ParamOp::TrimPrefix { longest, pattern } => {
                let pattern = self.first_pattern(env, pattern);
                one(value.map(|text| trim(text, &pattern, *longest, End::Front)))
            }
            ParamOp::TrimSuffix { longest, pattern } => {
                let pattern = self.first_pattern(env, pattern);
                one(value.map(|text| trim(text, &pattern, *longest, End::Back)))
            }
            ParamOp::Substring { offset, length } => {
                let offset = self.number(env, offset);
                let length = match length {
                    Some(parts) => self.number(env, parts),
                    None => Some(i64::MAX),
                };
                one(substring(value, offset, length, param.index.is_none()))
            }
            ParamOp::Replace { anchor, pattern, with } => {
                let pattern: String = self.first_pattern(env, pattern).iter().collect();
                let with = self.text(env, with, Context::Value).into_iter().next().unwrap_or_default();
                one(value.map(|text| replace(text, *anchor, &pattern, &with)))
            }
            ParamOp::Case { upper, all } => one(value.map(|text| recase(text, *upper, *all))),
            ParamOp::Transform(letter) => one(value.map(|text| match letter {
                'U' => text.to_uppercase(),
                'L' => text.to_lowercase(),
                'u' => recase(text, true, false),
                'E' => crate::text::unescape(text, crate::text::Escapes::AnsiC),
                'Q' => text.to_owned(),
                _ => RUN.to_string(),
            })),
        }
    }

    fn first_pattern(&mut self, env: &mut Env, parts: &[Part]) -> Vec<char> {
        self.pattern(env, parts).into_iter().next().unwrap_or_default().chars().collect()
    }

    fn number(&mut self, env: &mut Env, parts: &[Part]) -> Option<i64> {
        let text = self.text(env, parts, Context::Value).into_iter().next().unwrap_or_default();
        if text.trim().is_empty() { Some(0) } else { super::arith::integer(&text) }
    }

    fn default(
        &mut self,
        env: &mut Env,
        param: &Param,
        value: Value,
        (kind, colon, word, quoted): (char, bool, &[Part], bool),
    ) -> Vec<Value> {
        let text = value.text();
        let known_unset = matches!(env.vars.get(&param.name), Some(Var::Scalar(values)) if values.is_empty());
        let unset = text == UNSET.to_string();
        let missing = unset || known_unset || (colon && text.is_empty());
        let given = |checker: &mut Self, env: &mut Env| -> Vec<Value> {
            if quoted {
                return checker.text(env, word, Context::Value).into_iter().map(Value::Quoted).collect();
            }
            let kept = word.iter().all(|part| matches!(part, Part::Quoted(_) | Part::Double(_)));
            let texts = checker.text(env, word, Context::Value);
            texts.into_iter().map(|text| if kept { Value::Quoted(text) } else { Value::Text(text) }).collect()
        };
        match kind {
            '+' if unset => {
                let mut values = vec![Value::Text(String::new())];
                values.extend(given(self, env));
                values
            }
            '+' if missing => vec![Value::Text(String::new())],
            '+' => given(self, env),
            '?' if unset => vec![Value::Text(RUN.to_string())],
            '-' | '=' if missing => {
                let values = given(self, env);
                if kind == '=' {
                    env.set(&param.name, Var::Scalar(values.iter().map(Value::text).collect()));
                }
                values
            }
            _ => vec![value],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

/// Longest text on which patterns are tried at every position.
const MATCH_CHARS_MAX: usize = 512;

fn trim(text: &str, pattern: &[char], longest: bool, end: End) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() > MATCH_CHARS_MAX {
        return RUN.to_string();
    }
    let mut lengths: Vec<usize> = (0..=chars.len()).collect();
    if longest {
        lengths.reverse();
    }
    for length in lengths {
        let (cut, rest) = match end {
            End::Front => chars.split_at(length),
            End::Back => {
                let (rest, cut) = chars.split_at(chars.len() - length);
                (cut, rest)
            }
        };
        if mark::glob_matches(pattern, cut) {
            return rest.iter().collect();
        }
    }
    text.to_owned()
}

fn substring(value: Value, offset: Option<i64>, length: Option<i64>, positional: bool) -> Value {
    let (Some(offset), Some(length)) = (offset, length) else {
        return Value::Text(RUN.to_string());
    };
    let range = |total: usize| {
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        let start = if offset < 0 { offset.saturating_add(total) } else { offset }.clamp(0, total);
        let end = if length < 0 { total.saturating_add(length) } else { start.saturating_add(length) };
        let end = end.clamp(start, total);
        (usize::try_from(start).unwrap_or(0), usize::try_from(end).unwrap_or(0))
    };
    match value {
        // Positional parameters count from one.
        Value::List { items, joined } => {
            let first = usize::from(positional);
            let (start, end) = range(items.len() + first);
            let items = items.get(start.saturating_sub(first)..end.saturating_sub(first)).unwrap_or_default();
            let items = items.to_vec();
            Value::List { items, joined }
        }
        value => {
            let text = value.text();
            if mark::has_hole(&text) {
                return Value::Text(RUN.to_string());
            }
            let chars: Vec<char> = text.chars().collect();
            let (start, end) = range(chars.len());
            Value::Text(chars.get(start..end).unwrap_or_default().iter().collect())
        }
    }
}

fn replace(text: &str, anchor: char, pattern: &str, with: &str) -> String {
    if pattern.is_empty() {
        return text.to_owned();
    }
    if !mark::has_glob(pattern) {
        return match anchor {
            '/' => text.replace(pattern, with),
            '#' => text.strip_prefix(pattern).map_or(text.to_owned(), |rest| format!("{with}{rest}")),
            '%' => text.strip_suffix(pattern).map_or(text.to_owned(), |rest| format!("{rest}{with}")),
            _ => text.replacen(pattern, with, 1),
        };
    }
    if pattern == STAR.to_string() {
        return with.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    if chars.len() > 64 {
        return RUN.to_string();
    }
    let (mut out, mut at, mut done) = (String::new(), 0, false);
    while at < chars.len() {
        let longest = (at + 1..=chars.len())
            .rev()
            .find(|end| chars.get(at..*end).is_some_and(|part| mark::glob_matches(&pattern, part)));
        match longest {
            Some(end) if !done => {
                out.push_str(with);
                at = end;
                done = anchor != '/';
            }
            _ => {
                out.extend(chars.get(at));
                at += 1;
            }
        }
    }
    out
}

fn recase(text: &str, upper: bool, all: bool) -> String {
    let change = |text: &str| if upper { text.to_uppercase() } else { text.to_lowercase() };
    if all {
        return change(text);
    }
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| format!("{}{}", change(&first.to_string()), chars.as_str()))
}
