//! How a line must be started so that its working directory and pipe statuses can be reported.
//!
//! A line that cannot move the main shell and has no top-level pipeline runs as it is. Every other line gets the
//! report trap around it, unless it uses `trap` itself: ours would be visible to it, or replaced by it.
//! In doubt the answer is [`ShellForm::Wrapped`], which is correct for every line and only costs a little.

use crate::ast::{Command, Item, Kind, Mode, Part, Script, Word};
use crate::guard::LINE_BYTES_MAX;
use crate::parse::{Origin, parse};

/// The form in which a shell line is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellForm {
    /// As it is: the directory stays what it was, and there is no top-level pipeline.
    Bare,
    /// With the trap that reports the directory and `PIPESTATUS` at exit.
    Wrapped,
    /// As it is, because the line uses `trap`; the directory afterwards is unknown.
    BareCwdUnknown,
}

/// Commands that can move the main shell, or run text that can.
#[rustfmt::skip]
const MOVERS: &[&str] = &[
    "cd", "pushd", "popd", "eval", "source", ".", "alias", "shopt", "enable", "mapfile", "readarray", "trap",
];
/// Builtins that run the builtin named by their operand.
const PREFIXES: &[&str] = &["command", "builtin"];

/// Chooses the form in which `line` is started by `bash -c`.
pub fn shell_form(line: &str) -> ShellForm {
    if let Some(form) = plain_line(line) {
        return form;
    }
    if line.len() > LINE_BYTES_MAX {
        return ShellForm::Wrapped;
    }
    let Ok(script) = parse(line, Origin::At(0), 0) else { return ShellForm::Wrapped };
    let mut seen = Seen::default();
    seen.script(&script, Shell::Main);
    seen.pipeline =
        script.items.iter().flat_map(|item| &item.chain).any(|(_, pipeline)| pipeline.stages.len() > 1);
    // Our trap redirects, which a restricted shell reports as an error.
    seen.trap = seen.trap || restricts(line);
    match seen {
        Seen { trap: true, moves: true, .. } => ShellForm::BareCwdUnknown,
        Seen { trap: true, .. } => ShellForm::Bare,
        Seen { moves: false, pipeline: false, .. } => ShellForm::Bare,
        _ => ShellForm::Wrapped,
    }
}

/// Whether a `set -r` or `set -o restricted` may be in the line.
fn restricts(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    words.any(|word| word == "set")
        && words.any(|word| word == "restricted" || (word.starts_with('-') && word.contains('r')))
}

/// Decides a line of plain words, which most are, without parsing it.
fn plain_line(line: &str) -> Option<ShellForm> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b" _-./:,@%+=".contains(&b);
    if line.len() > 4096 || !line.bytes().all(plain) {
        return None;
    }
    let reserved = ["time", "coproc", "function", "if", "for", "while", "until", "case", "select"];
    let first = line.split(' ').find(|word| !word.is_empty() && !word.contains('=')).unwrap_or("true");
    let known = MOVERS.contains(&first) || PREFIXES.contains(&first) || reserved.contains(&first);
    (!known).then_some(ShellForm::Bare)
}

/// Whether a command runs in the shell that the line started, or in a child of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shell {
    Main,
    Child,
}

/// What of a line matters here.
#[derive(Default)]
struct Seen {
    moves: bool,
    pipeline: bool,
    /// In any shell: a child's `trap -p` shows the traps of the main one.
    trap: bool,
}

impl Seen {
    fn script(&mut self, script: &Script, shell: Shell) {
        for Item { chain, mode } in &script.items {
            let shell = if *mode == Mode::Background { Shell::Child } else { shell };
            for (_, pipeline) in chain {
                for command in &pipeline.stages {
                    // With `lastpipe` the last stage is the main shell.
                    self.command(command, shell);
                }
            }
        }
    }

    fn command(&mut self, command: &Command, shell: Shell) {
        for redirect in &command.redirects {
            if let crate::ast::Target::Word(word) = &redirect.target {
                self.parts(&word.parts);
            }
        }
        match &command.kind {
            Kind::Simple(simple) => self.simple(simple, shell),
            Kind::Group(script) => self.script(script, shell),
            Kind::Subshell(script) => self.script(script, Shell::Child),
            Kind::For { words, body, .. } => {
                words.iter().flatten().for_each(|word| self.parts(&word.parts));
                self.script(body, shell);
            }
            Kind::ForArith { header, body } => {
                self.parts(&header.parts);
                self.script(body, shell);
            }
            Kind::Case { subject, arms } => {
                self.parts(&subject.parts);
                for (_, script) in arms {
                    self.script(script, shell);
                }
            }
            Kind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.script(condition, shell);
                    self.script(body, shell);
                }
                if let Some(script) = otherwise {
                    self.script(script, shell);
                }
            }
            Kind::Loop { condition, body } => {
                self.script(condition, shell);
                self.script(body, shell);
            }
            Kind::Function { body, .. } => self.command(body, Shell::Main),
            Kind::Coproc(body) => self.command(body, Shell::Child),
            Kind::Arith(word) => self.parts(&word.parts),
            Kind::Test(words) => words.iter().for_each(|word| self.parts(&word.parts)),
        }
    }

    fn simple(&mut self, simple: &crate::ast::Simple, shell: Shell) {
        simple.words.iter().for_each(|word| self.parts(&word.parts));
        for assignment in simple.assignments.iter().chain(&simple.arrays) {
            match &assignment.value {
                crate::ast::AssignValue::Scalar(word) => self.parts(&word.parts),
                crate::ast::AssignValue::Array(items) => {
                    for (_, word) in items {
                        self.parts(&word.parts);
                    }
                }
            }
        }
        let Some(name) = simple.words.first() else { return };
        self.name(name, shell);
        if fixed(name).is_some_and(|name| PREFIXES.contains(&name.as_str())) {
            simple.words.iter().skip(1).for_each(|word| self.name(word, shell));
        }
    }

    fn name(&mut self, word: &Word, shell: Shell) {
        let name = fixed(word);
        // What a trap runs is text, and some of it may move the shell.
        self.moves |= shell == Shell::Main && name.as_deref().is_none_or(|name| MOVERS.contains(&name));
        self.trap |= name.as_deref() == Some("trap");
    }

    /// Substitutions run in children, where only a `trap` matters.
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Substitution(script) | Part::Process(_, script) => self.script(script, Shell::Child),
                Part::Double(parts) | Part::Arith(parts) => self.parts(parts),
                Part::Param(param) => {
                    if let crate::ast::ParamOp::Default { word, .. } = &param.op {
                        self.parts(word);
                    }
                }
                Part::Bare(_) | Part::Quoted(_) => {}
            }
        }
    }
}

/// The text of a word in which nothing is expanded.
fn fixed(word: &Word) -> Option<String> {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            Part::Bare(bare) if bare == "[" || !bare.contains(['*', '?', '[', '{', '~']) => {
                text.push_str(bare);
            }
            Part::Quoted(quoted) => text.push_str(quoted),
            Part::Double(parts) => match parts.as_slice() {
                [] => {}
                [Part::Quoted(quoted)] => text.push_str(quoted),
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{ShellForm, shell_form};
    use proptest::prelude::*;

    fn check(expected: ShellForm, lines: &[&str]) {
        for line in lines {
            assert_eq!(shell_form(line), expected, "{line:?}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn a_line_that_cannot_move_the_shell_is_bare() {
        check(
            ShellForm::Bare,
            &[
                "", "true", "cargo test --workspace", "A=b make", "echo 'cd /'",
                "git commit -m \"cd /; eval\"", "echo hi > out; ls", "[ -d x ] && ls", "[[ -d x ]] || ls",
                "for i in 1 2; do echo $i; done", "echo $(ls)", "exec make", "sleep 1 &", "command ls",
                "f() { ls; }; f", "{ ls | wc; }",
            ],
        );
    }

    #[test]
    #[rustfmt::skip]
    fn a_line_that_may_move_the_shell_or_has_a_pipeline_is_wrapped() {
        check(
            ShellForm::Wrapped,
            &[
                "cd /", "ls && cd x", "c\"\"d /", "\\cd /", "'cd' x", "pushd x", "popd", "eval ls",
                ". ./env.sh", "source x", "$X y", "\"$X\"", "`x`", "$(x) y", "command cd /", "builtin cd /",
                "command $X", "f() { cd /; }; f", "{ cd /; }", "if cd x; then ls; fi",
                "while cd ..; do :; done", "time cd /", "case x in x) cd /;; esac", "a | b", "ls; a | b",
                "! cd /", "for i in x; do cd $i; done", "alias g=cd", "echo ${ cd /; }",
                "mapfile -C 'cd /' -c 1 x < y", "c?d x", "{c,}d /", "if", "(", "'",
            ],
        );
        check(
            ShellForm::Wrapped,
            &[&"{ ".repeat(2000), &"( ".repeat(99), &"if ".repeat(500), &"x ".repeat(1 << 20)],
        );
    }

    #[test]
    #[rustfmt::skip]
    fn a_line_with_a_trap_is_never_wrapped() {
        check(ShellForm::BareCwdUnknown, &["trap 'cd /' EXIT", "trap - EXIT; cd /", "x=$(trap -p); cd y"]);
        check(ShellForm::Bare, &["echo $(trap -p)", "x=$(trap -p) | cat"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(line in "\\PC*") {
            let _form = shell_form(&line);
        }

        #[test]
        fn no_shell_like_text_panics(words in prop::collection::vec(
            prop::sample::select(vec!["cd", "(", ")", "{", "}", "$(", "`", "'", "\"", "<<", "E", "\n", ";", "|", "if", "fi", "case",
                "in", "esac", "do", "done", "[[", "]]", "${", "!", "&", "\\", "1>", "99999999999>", "a=(", "time", "$((", "for", "é"]), 0..40),
            glue in prop::sample::select(vec!["", " "])) {
            let _form = shell_form(&words.join(glue));
        }
    }
}
