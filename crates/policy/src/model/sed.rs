//! sed: what its scripts run and write, and what simple ones make of a text.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::RUN;

impl Checker<'_> {
    pub(super) fn sed(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::new("efl", "expression file line-length").read(call.args);
        // `-i` may have a suffix attached; `-e` and the script are told apart by it.
        let mut scripts: Vec<String> = opts.values("e expression").map(str::to_owned).collect();
        let mut files = opts.operands.clone();
        if scripts.is_empty() && !opts.has("f file") && !files.is_empty() {
            scripts.push(files.remove(0));
        }
        for script in &scripts {
            for command in script.split([';', '\n', '{', '}']) {
                let command = command
                    .trim()
                    .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | ' '));
                if let Some(code) = command.strip_prefix("e ") {
                    self.run_code(env, code);
                }
                if let Some(path) = command.strip_prefix("w ") {
                    self.effect(
                        env,
                        Effect::Write { path: path.to_owned(), content: None, how: How::Replace },
                    );
                }
            }
            if let Some(code) = executed_replacement(script) {
                self.run_code(env, &code);
            }
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
            _ => format!("{}{RUN}", crate::mark::taint(&text)),
        }
    }
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
