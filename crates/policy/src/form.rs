//! How a line must be started so that its working directory and pipe statuses can be reported.
//!
//! A line that cannot move the main shell and has no top-level pipeline runs as it is. Every other line gets the
//! report trap around it, unless it uses `trap` itself: ours would be visible to it, or replaced by it.
//! In doubt the answer is [`ShellForm::Wrapped`], which is correct for every line and only costs a little.

use brush_parser::ast;
use brush_parser::{Parser, ParserOptions};

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

/// Longest line that is parsed, in bytes.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Openers (brackets, braces, compound words) that a parsed line may have before one is closed.
const NESTING_MAX: usize = 64;
/// The grammar tries each of these twice a level, so their cost doubles with every one.
const DOUBLING_MAX: usize = 8;

/// Commands that can move the main shell, or run text that can.
const MOVERS: &[&str] = &[
    "cd",
    "pushd",
    "popd",
    "eval",
    "source",
    ".",
    "alias",
    "shopt",
    "enable",
    "mapfile",
    "readarray",
    "trap",
];
/// Builtins that run the builtin named by their operand.
const PREFIXES: &[&str] = &["command", "builtin"];

/// Chooses the form in which `line` is started by `bash -c`.
pub fn shell_form(line: &str) -> ShellForm {
    if let Some(form) = plain_line(line) {
        return form;
    }
    if !within_limits(line) {
        return ShellForm::Wrapped;
    }
    let parsed = Parser::new(line.as_bytes(), &ParserOptions::default()).parse_program();
    let Ok(program) = parsed else { return ShellForm::Wrapped };
    let mut seen = Seen { moves: has_funsub(line), pipeline: false, trap: false };
    for list in &program.complete_commands {
        seen.list(list, Level::Top);
    }
    // Substitutions are text in this AST; the word there is enough to fear a `trap -p` in one.
    seen.trap =
        seen.trap || (line.contains("trap") && line.contains(['`', '$', '<']) && has_word(line, "trap"));
    // Our trap redirects, which a restricted shell reports as an error.
    seen.trap = seen.trap || restricts(line);
    match seen {
        Seen { trap: true, moves: true, .. } => ShellForm::BareCwdUnknown,
        Seen { trap: true, .. } => ShellForm::Bare,
        Seen { moves: false, pipeline: false, .. } => ShellForm::Bare,
        _ => ShellForm::Wrapped,
    }
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

fn has_funsub(line: &str) -> bool {
    ["${ ", "${\t", "${\n", "${|"].iter().any(|opener| line.contains(opener))
}

/// Whether a `set -r` or `set -o restricted` may be in the line.
fn restricts(line: &str) -> bool {
    let mut words = line.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c));
    words.any(|word| word == "set")
        && words.any(|word| word == "restricted" || (word.starts_with('-') && word.contains('r')))
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
}

/// Whether the recursive parser can be given this line on the current thread's stack, and will return soon.
fn within_limits(line: &str) -> bool {
    if line.len() > LINE_BYTES_MAX {
        return false;
    }
    let (mut depth, mut deepest, mut round) = (0_usize, 0_usize, 0_usize);
    for byte in line.bytes() {
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        round += usize::from(byte == b'(');
        deepest = deepest.max(depth);
    }
    let words = |wanted: &[&str]| {
        line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| wanted.contains(word)).count()
    };
    let nested = words(&["if", "while", "until", "for", "coproc", "do", "function"]);
    let heavy = words(&["case"]) > DOUBLING_MAX || (round > DOUBLING_MAX && deepest > DOUBLING_MAX);
    let backticks = line.bytes().filter(|byte| *byte == b'`').count();
    let negations = line.bytes().filter(|byte| *byte == b'!').count();
    deepest + nested + backticks + negations <= NESTING_MAX && !heavy && !has_huge_descriptor(line)
}

/// The parser panics on a descriptor number that does not fit an `i32`.
fn has_huge_descriptor(line: &str) -> bool {
    let mut digits = 0_usize;
    line.bytes().any(|byte| {
        let huge = digits > 9 && matches!(byte, b'<' | b'>');
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        huge
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Inner,
}

struct Seen {
    moves: bool,
    pipeline: bool,
    trap: bool,
}

impl Seen {
    fn list(&mut self, list: &ast::CompoundList, level: Level) {
        for ast::CompoundListItem(chain, _) in &list.0 {
            for (_, pipeline) in chain {
                self.pipeline |= level == Level::Top && pipeline.seq.len() > 1;
                for command in &pipeline.seq {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, _) => self.compound(compound),
            ast::Command::Function(function) => self.compound(&function.body.0),
            ast::Command::ExtendedTest(..) => {}
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        use ast::CompoundCommand as C;
        match compound {
            C::BraceGroup(group) => self.list(&group.list, Level::Inner),
            C::Subshell(group) => self.list(&group.list, Level::Inner),
            C::ForClause(clause) => self.list(&clause.body.list, Level::Inner),
            C::ArithmeticForClause(clause) => self.list(&clause.body.list, Level::Inner),
            C::CaseClause(clause) => {
                for list in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(list, Level::Inner);
                }
            }
            C::IfClause(clause) => {
                self.list(&clause.condition, Level::Inner);
                self.list(&clause.then, Level::Inner);
                for part in clause.elses.iter().flatten() {
                    part.condition.iter().for_each(|list| self.list(list, Level::Inner));
                    self.list(&part.body, Level::Inner);
                }
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                self.list(&clause.0, Level::Inner);
                self.list(&clause.1.list, Level::Inner);
            }
            C::Coprocess(clause) => self.command(&clause.body),
            C::Arithmetic(_) => {}
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let Some(name) = &simple.word_or_name else { return };
        self.word(&name.value);
        if !PREFIXES.contains(&unquoted(&name.value).as_str()) {
            return;
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            if let ast::CommandPrefixOrSuffixItem::Word(word) = item {
                self.word(&word.value);
            }
        }
    }

    fn word(&mut self, word: &str) {
        let name = unquoted(word);
        let dynamic = word.contains(['$', '`', '*', '?', '[', '{', '~']) && word != "[" && word != "[[";
        self.trap |= name == "trap";
        // What a trap runs is text, and some of it may move the shell.
        self.moves |= dynamic || MOVERS.contains(&name.as_str());
    }
}

fn unquoted(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect()
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
    fn a_line_that_cannot_move_the_shell_is_bare() {
        check(
            ShellForm::Bare,
            &[
                "",
                "true",
                "cargo test --workspace",
                "A=b make",
                "echo 'cd /'",
                "git commit -m \"cd /; eval\"",
                "echo hi > out; ls",
                "[ -d x ] && ls",
                "[[ -d x ]] || ls",
                "for i in 1 2; do echo $i; done",
                "echo $(ls)",
                "exec make",
                "sleep 1 &",
                "command ls",
                "f() { ls; }; f",
                "{ ls | wc; }",
            ],
        );
    }

    #[test]
    fn a_line_that_may_move_the_shell_or_has_a_pipeline_is_wrapped() {
        check(
            ShellForm::Wrapped,
            &[
                "cd /",
                "ls && cd x",
                "c\"\"d /",
                "\\cd /",
                "'cd' x",
                "pushd x",
                "popd",
                "eval ls",
                ". ./env.sh",
                "source x",
                "$X y",
                "\"$X\"",
                "`x`",
                "$(x) y",
                "command cd /",
                "builtin cd /",
                "command $X",
                "f() { cd /; }; f",
                "{ cd /; }",
                "if cd x; then ls; fi",
                "while cd ..; do :; done",
                "time cd /",
                "case x in x) cd /;; esac",
                "a | b",
                "ls; a | b",
                "! cd /",
                "for i in x; do cd $i; done",
                "alias g=cd",
                "echo ${ cd /; }",
                "mapfile -C 'cd /' -c 1 x < y",
                "c?d x",
                "{c,}d /",
                "if",
                "(",
                "'",
            ],
        );
        check(
            ShellForm::Wrapped,
            &[&"{ ".repeat(2000), &"( ".repeat(99), &"if ".repeat(500), &"x ".repeat(1 << 20)],
        );
    }

    #[test]
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
