//! Text that bash reads as arithmetic, or as the name of a variable: a subscript in it is expanded once more, and a
//! `$(…)` in that is run.

use super::Checker;
use super::env::{Env, Var};
use crate::ast::Word;
use crate::parse::{Origin, parse_heredoc};

/// How often a value names another variable before it is left alone.
const FOLLOWED: u32 = 4;

impl Checker<'_> {
    /// A text that names a variable: `x[$(…)]`.
    pub(super) fn subscripted(&mut self, env: &Env, text: &str) {
        if !text.contains('[') || !text.contains(['$', '`']) {
            return;
        }
        let Ok(word) = parse_heredoc(text, Origin::Computed(self.span), self.depth) else { return };
        let mut inner = env.clone();
        self.deeper(|checker| checker.value(&mut inner, &word));
    }

    /// An arithmetic text: names in it are read, and their values are arithmetic too.
    pub(super) fn arithmetic(&mut self, env: &Env, text: &str, followed: u32) {
        self.subscripted(env, text);
        if env.vars.is_empty() || followed >= FOLLOWED || !text.contains(|c: char| c.is_ascii_alphabetic()) {
            return;
        }
        for name in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').take(64) {
            let values: Vec<String> = match env.vars.get(env.named(name)) {
                Some(Var::Scalar(values) | Var::Array(values)) => {
                    values.iter().filter(|value| value.contains(['[', '$'])).take(8).cloned().collect()
                }
                _ => continue,
            };
            for value in values {
                if self.spend(1) {
                    self.arithmetic(env, &value, followed + 1);
                }
            }
        }
    }

    pub(super) fn arithmetic_word(&mut self, env: &mut Env, word: &Word) {
        for text in self.value(env, word) {
            self.arithmetic(env, &text, 0);
        }
    }

    /// `[[ … ]]`: operands of `-v` are names, those of `-eq` and its like arithmetic.
    pub(super) fn test(&mut self, env: &mut Env, words: &[Word]) {
        let compares = |word: &Word| {
            word.bare().is_some_and(|op| matches!(op, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"))
        };
        for (at, word) in words.iter().enumerate() {
            let named = at.checked_sub(1).and_then(|i| words.get(i)).and_then(Word::bare) == Some("-v");
            let before = at.checked_sub(1).and_then(|i| words.get(i)).is_some_and(compares);
            let counted = before || words.get(at + 1).is_some_and(compares);
            for text in self.value(env, word) {
                if named {
                    self.subscripted(env, &text);
                } else if counted {
                    self.arithmetic(env, &text, 0);
                }
            }
        }
    }

    /// Builtins whose operands are names or arithmetic.
    pub(super) fn builtin_subscripts(&mut self, env: &Env, name: &str, args: &[String]) {
        let behind = |option: &str| {
            let at = args.iter().position(|arg| arg == option);
            at.and_then(|at| args.get(at + 1)).into_iter().collect::<Vec<_>>()
        };
        match name {
            "let" => args.iter().for_each(|arg| self.arithmetic(env, arg, 0)),
            "read" | "mapfile" | "readarray" | "unset" | "getopts" | "declare" | "typeset" | "local"
            | "export" | "readonly" => args.iter().for_each(|arg| {
                self.subscripted(env, arg.split('=').next().unwrap_or_default());
            }),
            "printf" | "test" | "[" => behind("-v").into_iter().for_each(|arg| self.subscripted(env, arg)),
            "wait" => behind("-p").into_iter().for_each(|arg| self.subscripted(env, arg)),
            _ => {}
        }
        let integer = matches!(name, "declare" | "typeset" | "local")
            && args.iter().any(|arg| arg.starts_with('-') && arg.contains('i'));
        if integer {
            let values = args.iter().filter_map(|arg| arg.split_once('='));
            values.for_each(|(_, value)| self.arithmetic(env, value, 0));
        }
    }
}
