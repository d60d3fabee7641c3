//! What code of other languages does that the machine feels: a scan for calls of known functions, with the
//! arguments that can be read. Strings that only are printed are data, and are not looked at.

mod bind;
mod calls;
mod format;
mod lexer;
mod names;
mod shapes;

use lexer::{Token, tokens};
use names::{DELETE_CALLS, EVALS, FETCHES, FILE_CALLS, SHELL_CALLS, WALKS};

use std::collections::HashSet;

use super::lang::Language;
use crate::mark::{NET, RUN};

/// Something that code does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) enum Sink {
    Shell(String),
    Argv(Vec<String>),
    Delete {
        path: String,
        recursive: bool,
    },
    /// Deletes what a walk of this directory finds, or some of it.
    Sweep(String),
    Write(String),
    Read(String),
    /// A mode change; true if it lets everyone write.
    Chmod(String, bool),
    Bomb,
    ReverseShell,
    RemoteCode,
    OpaqueCode,
    KillAll,
    /// The whole environment goes over a connection.
    Environment,
    Connects,
    /// A string that is run in the same language.
    Code(String),
}

/// Finds the sinks of `code`.
pub(in crate::model) fn scan(code: &str, language: Language, home: &str) -> Vec<Sink> {
    let tokens = tokens(code, language);
    let words = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Name(text) | Token::Text(text) if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let mut scan = Scan {
        tokens: &tokens,
        words,
        calls: 0,
        language,
        home,
        constants: Vec::new(),
        aliases: Vec::new(),
        found: Vec::new(),
        walked: Vec::new(),
        deletes_unknown: false,
    };
    scan.bind();
    scan.all();
    let Scan { mut found, walked, deletes_unknown, .. } = scan;
    if deletes_unknown {
        found.extend(walked.into_iter().map(Sink::Sweep));
    }
    shapes::find(code, &tokens, language, &mut found);
    found
}

/// Longest call or statement that is looked at, in tokens.
const SPAN_MAX: usize = 512;
/// Longest text that is put together.
const TEXT_BYTES_MAX: usize = 4096;
/// Calls of sinks that are looked at; code with more is not known.
const CALLS_MAX: usize = 2048;
/// Names whose values are kept.
const CONSTANTS_MAX: usize = 128;

struct Scan<'a> {
    tokens: &'a [Token],
    calls: usize,
    /// All names and texts, for what code mentions.
    words: HashSet<&'a str>,
    language: Language,
    home: &'a str,
    constants: Vec<(String, String)>,
    /// Names and what they were imported from.
    aliases: Vec<(String, String)>,
    found: Vec<Sink>,
    /// Directories that the code goes through.
    walked: Vec<String>,
    /// It deletes something whose path cannot be read.
    deletes_unknown: bool,
}

impl Scan<'_> {
    fn all(&mut self) {
        for at in 0..self.tokens.len() {
            match self.tokens.get(at) {
                Some(Token::Run(code)) => self.found.push(Sink::Shell(code.clone())),
                // Scala: `"command".!`
                Some(Token::Text(code))
                    if matches!(
                        (self.tokens.get(at + 1), self.tokens.get(at + 2)),
                        (Some(Token::Mark('.')), Some(Token::Mark('!')))
                    ) =>
                {
                    self.found.push(Sink::Shell(code.clone()));
                }
                Some(Token::Name(name)) => {
                    let name = self.unaliased(name);
                    self.name(at, &name);
                }
                Some(Token::Mark(')' | ']')) => self.named_by_text(at),
                Some(Token::Mark('|')) if self.language == Language::Awk => self.awk_pipe(at),
                Some(Token::Mark('>')) if self.language == Language::Awk => {
                    if let Some(Token::Text(path)) = self.tokens.get(at + 1) {
                        self.found.push(Sink::Write(path.clone()));
                    }
                }
                _ => {}
            }
        }
    }

    /// `getattr(os, "system")("…")`, `module["exec"]("…")`: the function is named by a text.
    fn named_by_text(&mut self, at: usize) {
        let called = matches!(self.tokens.get(at + 1), Some(Token::Mark('(')));
        if !called {
            return;
        }
        // `'sys' + 'tem'`
        let mut name = String::new();
        for token in self.tokens.get(at.saturating_sub(8)..at).unwrap_or_default().iter().rev() {
            match token {
                Token::Text(text) => name.insert_str(0, text),
                Token::Mark('+' | '.') => {}
                _ => break,
            }
        }
        let known =
            SHELL_CALLS.contains(&name.as_str()) || DELETE_CALLS.iter().any(|(known, _)| *known == name);
        if known && let Some(args) = self.arguments(at, false) {
            self.call(&name, "require", &args);
        }
    }

    /// `"command" | getline` and `print | "command"`.
    fn awk_pipe(&mut self, at: usize) {
        if let Some(Token::Text(program)) = self.tokens.get(at + 1) {
            let shell = super::shell::SHELLS.contains(&program.rsplit('/').next().unwrap_or_default());
            let code = if shell {
                self.resolve(self.statement_start(at), at)
            } else {
                self.resolve(at + 1, self.statement_end(at + 1))
            };
            self.found.push(Sink::Shell(code));
        }
        let after = if matches!(self.tokens.get(at + 1), Some(Token::Mark('&'))) { at + 2 } else { at + 1 };
        let getline = matches!(self.tokens.get(after), Some(Token::Name(name)) if name == "getline");
        if getline {
            let start = self.statement_start(at);
            let code = self.resolve(start, at);
            if !code.is_empty() {
                self.found.push(Sink::Shell(code));
            }
        }
    }

    fn statement_start(&self, at: usize) -> usize {
        let begins = |token: &Token| match token {
            Token::Mark(c) => matches!(c, ';' | '{' | '}' | '\n' | '(' | '='),
            Token::Name(name) => matches!(name.as_str(), "print" | "printf"),
            _ => false,
        };
        self.tokens
            .iter()
            .take(at)
            .rev()
            .take(SPAN_MAX)
            .position(begins)
            .map_or(at.saturating_sub(SPAN_MAX), |back| at - back)
    }

    fn statement_end(&self, from: usize) -> usize {
        let ends = |token: &Token| matches!(token, Token::Mark(';' | '}' | '\n'));
        let rest = self.tokens.get(from..).unwrap_or_default();
        let length = rest.iter().take(SPAN_MAX).position(ends);
        from + length.unwrap_or_else(|| rest.len().min(SPAN_MAX))
    }

    fn name(&mut self, at: usize, name: &str) {
        let assigned = match (self.tokens.get(at + 1), self.tokens.get(at + 2)) {
            (Some(Token::Mark('=')), Some(Token::Text(_))) => true,
            (Some(Token::Mark('=')), Some(Token::Name(maker))) => names::is_temp_maker(maker),
            _ => false,
        };
        if assigned {
            if self.constants.len() < CONSTANTS_MAX {
                let value = self.resolve(at + 2, self.statement_end(at + 2));
                self.constant(name.trim_start_matches('$'), value);
            }
            return;
        }
        let parts: Vec<&str> = name.split(['.', ':', '>', '-']).filter(|part| !part.is_empty()).collect();
        let lisp = matches!(at.checked_sub(1).and_then(|i| self.tokens.get(i)), Some(Token::Mark('(')))
            && name.contains('-');
        let last = if lisp { name } else { parts.last().copied().unwrap_or(name) };
        let owner = if parts.len() > 1 {
            parts.get(parts.len() - 2).copied().unwrap_or_default()
        } else {
            self.owner_before(at)
        };
        if WALKS.contains(&last)
            && let Some(dir) = self.arguments(at, lisp).and_then(|args| args.into_iter().next())
            && !dir.is_empty()
            && !crate::mark::has_hole(&dir)
        {
            self.walked.push(dir);
        }
        if let Some(inner) = self.mapped(at, last) {
            let args = self.arguments(at, false).unwrap_or_default();
            self.call(&inner, "require", args.get(1..).unwrap_or_default());
            return;
        }
        if !is_sink(last) {
            return;
        }
        if self.calls >= CALLS_MAX {
            if !self.found.contains(&Sink::OpaqueCode) {
                self.found.push(Sink::OpaqueCode);
            }
            return;
        }
        self.calls += 1;
        let Some(mut args) = self.arguments(at, lisp) else { return };
        let owner = match self.receiver(at, last) {
            Some(text) => {
                args.insert(0, text);
                "require"
            }
            None => owner,
        };
        self.call(last, owner, &args);
    }

    /// `require('fs').rmSync`: the owner is what is called before the dot.
    fn owner_before(&self, at: usize) -> &'static str {
        match at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(Token::Mark('.' | ':')) => "require",
            _ => "",
        }
    }

    /// The arguments of a call at `at`: its strings, lists flattened; `None` if it is not called.
    fn arguments(&self, at: usize, lisp: bool) -> Option<Vec<String>> {
        let bare = matches!(
            self.language,
            Language::Ruby | Language::Perl | Language::Php | Language::Lua | Language::Other
        ) || lisp;
        match self.tokens.get(at + 1) {
            Some(Token::Mark('(')) => {
                let (mut depth, mut end) = (0_u32, at + 1);
                for (i, token) in self.tokens.iter().enumerate().skip(at + 1).take(SPAN_MAX) {
                    match token {
                        Token::Mark('(' | '[' | '{') => depth += 1,
                        Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    end = i;
                    if depth == 0 {
                        break;
                    }
                }
                Some(self.split(at + 2, end))
            }
            Some(Token::Text(_)) if bare || self.language == Language::JavaScript => {
                Some(self.split(at + 1, self.statement_end(at + 1)))
            }
            Some(Token::Mark('[')) if bare => Some(self.split(at + 1, self.statement_end(at + 1))),
            Some(Token::Name(name))
                if bare
                    && (name == "glob"
                        || name.starts_with('$')
                        || name.rsplit('.').next() == Some("home")) =>
            {
                Some(self.split(at + 1, self.statement_end(at + 1)))
            }
            _ => None,
        }
    }

    /// Comma-separated arguments between two tokens.
    fn split(&self, from: usize, to: usize) -> Vec<String> {
        let (mut args, mut start, mut depth) = (Vec::new(), from, 0_u32);
        for at in from..to {
            match self.tokens.get(at) {
                Some(Token::Mark('(')) => depth += 1,
                Some(Token::Mark(')')) => depth = depth.saturating_sub(1),
                Some(Token::Mark(',')) if depth == 0 => {
                    args.push(self.resolve(start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if start < to {
            args.push(self.resolve(start, to));
        }
        args
    }

    /// The text that an expression makes, with marks for what is not known.
    fn resolve(&self, from: usize, to: usize) -> String {
        let mut out = String::new();
        let mut at = from;
        while at < to {
            if out.len() > TEXT_BYTES_MAX {
                out.push(RUN);
                break;
            }
            match self.tokens.get(at) {
                Some(Token::Text(text)) => {
                    let joined = at > from && matches!(self.tokens.get(at - 1), Some(Token::Mark(',' | '/')));
                    if joined && !out.is_empty() && !out.ends_with('/') && !text.starts_with('/') {
                        out.push('/');
                    }
                    let (text, used) = self.formatted(text, at, to);
                    out.push_str(&text);
                    at += used;
                }
                Some(Token::Name(name)) => at += self.resolve_name(name, at, &mut out),
                Some(Token::Mark('$')) => out.push(RUN),
                _ => {}
            }
            at += 1;
        }
        match out.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.home),
            _ => out,
        }
    }

    /// Adds what a name stands for; returns how many tokens behind it belong to it.
    fn resolve_name(&self, name: &str, at: usize, out: &mut String) -> usize {
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        let key = self
            .tokens
            .iter()
            .skip(at + 1)
            .take(3)
            .position(|token| matches!(token, Token::Text(text) if text == "HOME"));
        if let Some(offset) = key {
            out.push_str(self.home);
            return offset + 1;
        }
        if matches!(last, "homedir" | "HOME" | "home") {
            out.push_str(self.home);
            return 0;
        }
        if let Some((_, value)) =
            self.constants.iter().rev().find(|(known, _)| known == name.trim_start_matches('$'))
        {
            out.push_str(value);
            return 0;
        }
        let called = matches!(self.tokens.get(at + 1), Some(Token::Mark('(')));
        if names::is_temp_maker(name) {
            out.push_str("/tmp/");
            out.push(RUN);
            return if called { self.closing(at + 1) - at } else { 0 };
        }
        if called && name.split(['.', ':']).any(|part| FETCHES.contains(&part)) {
            out.push(NET);
            return 0;
        }
        let keyword = matches!(self.tokens.get(at + 1), Some(Token::Mark('=' | ':')));
        let wraps = is_path_maker(last);
        let literal = matches!(
            last,
            "True"
                | "False"
                | "None"
                | "true"
                | "false"
                | "null"
                | "r"
                | "f"
                | "b"
                | "u"
                | "recursive"
                | "force"
                | "or"
                | "and"
                | "t"
                | "nil"
        );
        let prefix =
            matches!(name, "r" | "f" | "b" | "u") && !matches!(self.tokens.get(at + 1), Some(Token::Text(_)));
        if !(wraps && (called || last == "glob")) && (!literal || prefix) && !keyword {
            out.push(RUN);
        }
        0
    }
}

/// Whether a function does something that is looked at.
fn is_sink(name: &str) -> bool {
    [SHELL_CALLS, EVALS, FILE_CALLS].iter().any(|names| names.contains(&name))
        || DELETE_CALLS.iter().any(|(known, _)| *known == name)
}

/// Whether a function makes a path of its arguments.
fn is_path_maker(name: &str) -> bool {
    matches!(
        name,
        "Path"
            | "join"
            | "expanduser"
            | "str"
            | "abspath"
            | "resolve"
            | "glob"
            | "Pathname"
            | "new"
            | "fspath"
            | "expand_path"
            | "realpath"
    )
}
