//! Code flow into shells and other interpreters: where their code is, and what is known of it.

use super::{Call, lang::Language};
use crate::ast::Span;
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, NET, RUN, TRUSTED};
use crate::parse::{Origin, ParseError, parse};

/// Shells, all read as bash.
pub(crate) const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "yash",
    "pwsh", "hush", "xonsh", "elvish",
];

impl Checker<'_> {
    pub(super) fn interpreter(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        if SHELLS.contains(&call.name) {
            return Some(self.shell(env, call));
        }
        let language = Language::of(call.name)?;
        Some(self.language(env, call, language))
    }

    fn shell(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        // `-c` may stand in any bundle; its string is the first operand.
        let mut words = call.args.iter();
        let (mut command, mut from_stdin, mut check_only, mut operands) = (false, false, false, Vec::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--" | "-" => {
                    operands.extend(words.by_ref().cloned());
                }
                "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o" => {
                    let value = words.next();
                    if word.contains("file") {
                        self.source_file(env, value.map_or("", String::as_str));
                    }
                }
                "--command" => command = true,
                flag if flag.starts_with("--") => {}
                flag if flag.starts_with(['-', '+']) && flag.len() > 1 => {
                    command |= flag.contains('c');
                    from_stdin |= flag.contains('s');
                    check_only |= flag.contains('n');
                }
                _ => {
                    operands.push(word.clone());
                    operands.extend(words.by_ref().cloned());
                }
            }
        }
        if check_only {
            return String::new();
        }
        let mut inner = env.clone();
        inner.functions = std::rc::Rc::clone(&env.exported);
        let args = |from: usize| Some(std::rc::Rc::new(operands.get(from..).unwrap_or_default().to_vec()));
        if command {
            inner.args = args(2);
            if let Some(name) = operands.get(1) {
                inner.set_text("0", name.clone());
            }
            let Some(code) = operands.first() else { return String::new() };
            let out = self.deeper(|checker| checker.shell_code(&mut inner, code, call.stdin));
            env.files = inner.files;
            return out;
        }
        if let (Some(file), false) = (operands.first(), from_stdin) {
            inner.args = args(1);
            let out = self.script_file(&mut inner, file, call.stdin);
            env.files = inner.files;
            return out;
        }
        inner.args = args(0);
        match call.stdin {
            Some(code) => self.deeper(|checker| checker.shell_code(&mut inner, code, None)),
            None => String::new(),
        }
    }

    /// Runs a script that is named.
    pub(super) fn script_file(&mut self, env: &mut Env, file: &str, stdin: Option<&str>) -> String {
        if matches!(file, "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0") {
            return stdin.map_or_else(String::new, |code| self.shell_code(env, code, None));
        }
        let known = self.content(env, file);
        match known {
            Some(code) => self.deeper(|checker| checker.shell_code(env, &code, stdin)),
            None if file.contains(NET) => {
                self.report("exec.remote", file);
                RUN.to_string()
            }
            // A file that exists already: its owner has seen it, we cannot.
            None => RUN.to_string(),
        }
    }

    /// What the line has written to a file.
    pub(super) fn content(&self, env: &Env, path: &str) -> Option<String> {
        if env.files.is_empty() && env.fds.is_empty() {
            return None;
        }
        self.absolute(env, path).iter().find_map(|full| env.file(full).cloned())
    }

    /// `. file` and `--rcfile`: as a script, in this shell.
    pub(crate) fn source_file(&mut self, env: &mut Env, file: &str) {
        self.script_file(env, file, None);
    }

    /// Runs a file that the line wrote: by its first line, else as a shell script.
    pub(super) fn run_file(
        &mut self,
        env: &mut Env,
        code: &str,
        args: &[String],
        stdin: Option<&str>,
    ) -> String {
        let first = code.lines().next().unwrap_or_default();
        let language = first.strip_prefix("#!").and_then(|line| {
            line.split_whitespace().find_map(|word| Language::of(word.rsplit('/').next().unwrap_or_default()))
        });
        if let Some(language) = language {
            self.deeper(|checker| checker.foreign(env, code, language));
            return RUN.to_string();
        }
        let outer = env.args.replace(std::rc::Rc::new(args.to_vec()));
        let mut inner = env.clone();
        let out = self.deeper(|checker| checker.shell_code(&mut inner, code, stdin));
        env.args = outer;
        out
    }

    /// Runs text as shell code in this shell.
    pub(crate) fn shell_code(&mut self, env: &mut Env, code: &str, stdin: Option<&str>) -> String {
        if !self.may_run(code) {
            return RUN.to_string();
        }
        let code = mark::deactivate(code);
        self.spend(u32::try_from(code.len() / 32).unwrap_or(u32::MAX));
        match parse(&code, Origin::Computed(self.span), self.depth) {
            Ok(script) => self.script(env, &script, stdin),
            Err(error) => {
                self.unreadable(&error, &code);
                RUN.to_string()
            }
        }
    }

    /// Whether anything of a code is known; reports where it comes from if not.
    pub(super) fn may_run(&mut self, code: &str) -> bool {
        if code.contains(NET) {
            self.report("exec.remote", "");
            return false;
        }
        if code.trim().chars().all(|c| c == TRUSTED) {
            return false;
        }
        if mark::is_opaque(code) {
            self.report("exec.opaque", "");
            return false;
        }
        true
    }

    /// Code that does not parse: a question, or worse where its words already show what it is.
    pub(crate) fn unreadable(&mut self, error: &ParseError, code: &str) {
        let outer = self.span;
        let (ParseError::Syntax { at, .. } | ParseError::TooDeep { at } | ParseError::TooMany { at }) = error;
        if outer == Span::default() {
            // At the end of the text there is nothing more to point at.
            let end = at.saturating_add(1).min(u32::try_from(code.len()).unwrap_or(u32::MAX));
            self.span = Span { start: end.min(*at), end };
        }
        match error {
            ParseError::Syntax { .. } if mark::has_hole(code) => self.report("exec.opaque", ""),
            ParseError::Syntax { .. } => self.report("parse.error", &error.to_string()),
            ParseError::TooDeep { .. } => self.report("limit.depth", ""),
            ParseError::TooMany { .. } => self.report("limit.work", ""),
        }
        crate::scan::raw(self, code);
        self.span = outer;
    }
}
