//! sed: what its scripts run and write, and what simple ones make of a text.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;

impl Checker<'_> {
    pub(super) fn sed(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::new("efl", "expression file line-length").read(call.args);
        // `-i` may have a suffix attached; `-e` and the script are told apart by it.
        let mut scripts: Vec<String> = opts.values("e expression").map(str::to_owned).collect();
        let mut files = opts.operands.clone();
        if scripts.is_empty() && !opts.has("f file") && !files.is_empty() {
            scripts.push(files.remove(0));
        }
        for file in opts.values("f file").map(str::to_owned).collect::<Vec<_>>() {
            self.program_text(env, call, &file, Self::sed_script);
        }
        for script in &scripts {
            self.sed_script(env, script);
        }
        if opts.in_place() {
            for path in files {
                self.effect(env, Effect::Write { path, content: None, how: How::Edit });
            }
            return String::new();
        }
        let text = self.inputs(env, &files, call.stdin);
        let simple = scripts.iter().try_fold(text.clone(), |text, script| substituted(script, &text));
        match simple {
            Some(text) if !crate::mark::has_hole(&text) => text,
            _ => super::text::reworded(&text),
        }
    }
}

impl Checker<'_> {
    /// What a script of sed runs and writes.
    fn sed_script(&mut self, env: &mut Env, script: &str) {
        if !crate::mark::is_opaque(script) && !self.may_run(script) {
            return;
        }
        for command in script.split([';', '\n', '{', '}']) {
            let command = without_address(command);
            if let Some(code) = command.strip_prefix("e ") {
                self.run_code(env, code);
            }
            let flagged = substitution(command).map(|(_, _, flags)| flags);
            let written = match (&flagged, command.strip_prefix(['w', 'W'])) {
                (Some(flags), _) => flags.split_once('w').map(|(_, path)| path),
                (None, Some(path)) if path.starts_with([' ', '/', '\t', '.']) => Some(path),
                _ => None,
            };
            if let Some(path) = written.map(str::trim).filter(|path| !path.is_empty()) {
                self.effect(env, Effect::Write { path: path.to_owned(), content: None, how: How::Replace });
            }
        }
        if let Some(code) = executed_replacement(script) {
            self.run_code(env, &code);
        }
    }
}

/// A command without the lines that it is for.
fn without_address(command: &str) -> &str {
    let skip = |text: &'_ str| -> usize {
        text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || "$,!+~ \t".contains(c)).len()
    };
    let mut rest = command.trim();
    for _ in 0..2 {
        rest = rest.get(skip(rest)..).unwrap_or_default();
        let closed = rest.strip_prefix('/').and_then(|inner| inner.split_once('/'));
        rest = closed.map_or(rest, |(_, after)| after);
    }
    rest.get(skip(rest)..).unwrap_or_default()
}

/// The pieces of `s/a/b/flags`.
fn substitution(script: &str) -> Option<(String, String, String)> {
    let rest = script.trim().strip_prefix('s')?;
    let mark = rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace())?;
    let mut pieces = vec![String::new()];
    let mut chars = rest.chars().skip(1);
    while let Some(c) = chars.next() {
        if c == '\\' {
            let next = chars.next()?;
            if next != mark {
                pieces.last_mut()?.push('\\');
            }
            pieces.last_mut()?.push(next);
        } else if c == mark && pieces.len() < 3 {
            pieces.push(String::new());
        } else {
            pieces.last_mut()?.push(c);
        }
    }
    let mut pieces = pieces.into_iter();
    Some((pieces.next()?, pieces.next()?, pieces.next()?))
}

/// The command that `s/…/command/e` runs.
fn executed_replacement(script: &str) -> Option<String> {
    let (_, with, flags) = substitution(script)?;
    flags.contains('e').then_some(with)
}

/// What one plain substitution makes of a text; nothing if it is more than that.
fn substituted(script: &str, text: &str) -> Option<String> {
    let (pattern, with, flags) = substitution(script)?;
    if pattern.is_empty() || pattern.contains(['.', '*', '[', '^', '$', '\\']) || with.contains(['&', '\\']) {
        return None;
    }
    Some(if flags.contains('g') {
        text.replace(&pattern, &with)
    } else {
        text.lines().map(|line| line.replacen(&pattern, &with, 1) + "\n").collect()
    })
}
