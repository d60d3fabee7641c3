//! bash as the oracle: what it accepts and what words it makes.
//!
//! Nothing here runs a line under test. Syntax is asked of `bash -n`; words are printed by `printf`, and are made of
//! quotes, escapes, braces and variables only.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::context::Context;
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark;
use crate::parse::{Origin, parse};
use crate::policy::Policy;

#[expect(clippy::disallowed_methods, reason = "the oracle is a shell that runs nothing of ours")]
fn bash(args: &[&str], input: &str) -> Option<(bool, String)> {
    let mut child = Command::new("/bin/bash")
        .args(["--norc", "--noprofile"])
        .args(args)
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // A shell that refuses its first words may end before it has read them all.
    let _short = child.stdin.take()?.write_all(input.as_bytes());
    let out = child.wait_with_output().ok()?;
    let refused = String::from_utf8_lossy(&out.stderr).contains("syntax error");
    Some((out.status.success() && !refused, String::from_utf8_lossy(&out.stdout).into_owned()))
}

/// A small generator of its own, so that a failure is the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items.get(self.below(items.len())).copied().unwrap_or_default()
    }

    fn line(&mut self, items: &[&str], length: usize, glue: &[&str]) -> String {
        let count = 1 + self.below(length);
        let mut line = String::new();
        for _ in 0..count {
            line.push_str(self.pick(items));
            line.push_str(self.pick(glue));
        }
        line
    }
}

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "a", "b", ";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}", "if", "then", "else", "fi", "while", "do", "done", "for",
    "in", "case", "esac", ";;", "!", "time", "function", "f()", ">", "<", "2>&1", "<<<", "x=1", "a=(", "'q'",
    "\"q\"", "$x", "${x}", "$(", "((", "))", "#", "\\", "select", "elif", "until", "&>", ">>", "|&", "<(", "$((",
];

/// Valid pieces, so that longer lines are valid too.
#[rustfmt::skip]
const STATEMENTS: &[&str] = &[
    "a b", "a | b", "if a; then b; fi", "for x in a b; do c; done", "while a; do b; done", "case x in a) b;; *) c;; esac",
    "{ a; b; }", "(a; b)", "f() { a; }", "x=1", "x=(1 2)", "[[ a == b ]]", "((1+2))", "a > b 2>&1", "a <<< b", "! a", "a $(b)",
    "a \"$(b \"c\")\"", "a `b`", "a ${x:-b}", "a <(b)", "time a", "a 'b c' \"d\" \\e", "a #b", "a=b c", "echo $((1+(2)))",
];

/// Each line is well-formed for bash and for us, or for neither.
#[track_caller]
fn accepted_alike(lines: &[String]) {
    let mut wrong = Vec::new();
    for line in lines {
        let Some((accepted, _)) = bash(&["-n"], line) else { return };
        let ours = parse(line, Origin::At(0), 0);
        if accepted != ours.is_ok() {
            wrong.push(format!("bash {accepted}: {line:?} {:?}", ours.err()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

#[test]
fn syntax_is_accepted_as_bash_accepts_it() {
    let mut random = Random(7);
    let mut lines = Vec::new();
    for _ in 0..400 {
        lines.push(random.line(TOKENS, 7, &[" "]));
        lines.push(random.line(STATEMENTS, 4, &["; ", " && ", "\n", " | "]) + "a");
    }
    accepted_alike(&lines);
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b c", "-x", "/", "é", "'q s'", "\"d s\"", "\\'", "\\\"", "\\ ", "\\\\", "$'\\x41\\n'", "$'a\\'b'", "$x", "${x}", "\"$x\"", "$y", "\"$y\"",
    "${x:-d e}", "${z:-d e}", "\"${z:-d e}\"", "${x:+s}", "${#x}", "${x%l*}", "${x#*a}", "${x##*/}", "${y^^}", "${y,,}", "${x/a/b}",
    "${x//a/}", "${x:1:2}", "${x: -2}", "\"${a[@]}\"", "${a[1]}", "\"${a[*]}\"", "${#a[@]}", "\"$@\"", "$#", "$1", "{a,b}", "{1..3}", "a{b,c}d",
    "{a}", "{,x}", "{a,{b,c}}", "\"{a,b}\"", "''", "\"\"", "$((1+2*3))", "\"${z:-'q'}\"", "${z:-'q r'}", "\"${x%'l'}\"", "~/", "a~", "\\$x", "'$x'",
    "\"\\$x\"", "\"a\\b\"", "\"$\"", "%", "=", "${a[@]:1}", "${x@U}", "${!n}", "${z=w}", "\"a\\\nb\"", "a\\\nb", "$\"l\"", "{a..c}", "{3..1}", "x{1,2}y{3,4}",
];

/// Our words for the operands of one command, where there is only one way to read them.
fn our_words(line: &str) -> Option<Vec<String>> {
    let ctx = Context {
        cwd: "/w".to_owned(),
        home: "/home/dev".to_owned(),
        workspace: "/w".to_owned(),
        works_at_home: false,
        temp: Vec::new(),
        protected: Vec::new(),
    };
    let policy = Policy::builtin();
    let mut checker = Checker::new(&policy, &ctx);
    let script = parse(&format!("{SETUP}{line}"), Origin::At(0), 0).ok()?;
    let mut env = Env::new("/w");
    let (last, before) = script.items.split_last()?;
    for item in before {
        let script = crate::ast::Script { items: vec![item.clone()] };
        checker.script(&mut env, &script, None);
    }
    let (_, pipeline) = last.chain.first()?;
    let crate::ast::Kind::Simple(simple) = &pipeline.stages.first()?.kind else { return None };
    let mut ways = checker.words(&mut env, &simple.words);
    let words = ways.pop().filter(|_| ways.is_empty())?;
    Some(words.get(1..)?.iter().map(|word| mark::deactivate(word)).collect())
}

const SETUP: &str = "x=a/b/al; y='Mix ed'; n=x; a=(one 'two 2' three); HOME=/home/dev; IFS=$' \\t\\n'; set -- p 'q r'; unset z; ";

#[test]
fn words_are_the_words_of_bash() {
    let mut random = Random(11);
    let mut lines: Vec<String> = PIECES.iter().map(|piece| format!("p {piece}")).collect();
    for _ in 0..600 {
        lines.push("p ".to_owned() + &random.line(PIECES, 4, &["", " ", ""]));
    }
    let mut program = String::new();
    for line in &lines {
        let operands = line.strip_prefix("p ").unwrap_or_default();
        program.extend(["( ", SETUP, "p ", operands, "\n)\nprintf '\\2'\n"]);
    }
    let prelude = "set -f; p() { [ $# = 0 ] || printf '%s\\1' \"$@\"; }\n";
    let Some((true, printed)) = bash(&[], &format!("{prelude}{program}")) else { return };
    let answers: Vec<&str> = printed.split('\u{2}').collect();
    let (mut wrong, mut unknown) = (Vec::new(), 0);
    for (line, answer) in lines.iter().zip(&answers) {
        let theirs: Vec<String> = answer.split('\u{1}').map(str::to_owned).collect();
        let theirs = theirs.get(..theirs.len() - 1).unwrap_or_default();
        match our_words(line) {
            Some(ours) if ours == theirs => {}
            // What bash makes of an unset variable is not known to be nothing.
            Some(ours) if ours.iter().any(|word| mark::has_hole(word)) => unknown += 1,
            ours => wrong.push(format!("{line:?}: bash {theirs:?}, ours {ours:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
    assert!(unknown * 20 < lines.len(), "{unknown} lines are not compared");
}

/// The labelled lines, which are text here and are never run.
fn given() -> Vec<String> {
    let cases = include_str!("../../../tests/acceptance/cases/safety-given.jsonl").lines();
    let command = |line| -> Option<String> {
        let case: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(case.get("command")?.as_str()?.to_owned())
    };
    cases.filter_map(command).collect()
}

#[test]
fn given_lines_are_accepted_as_bash_accepts_them() {
    let lines = given();
    assert!(lines.len() > 500, "{} lines", lines.len());
    accepted_alike(&lines);
}

/// The text of the plain commands of a line that can be printed without running anything of it, with our words for each.
fn printable(line: &str) -> Vec<(String, Vec<String>)> {
    let ctx = Context {
        cwd: "/".to_owned(),
        home: "/home/dev".to_owned(),
        workspace: String::new(),
        works_at_home: false,
        temp: Vec::new(),
        protected: Vec::new(),
    };
    let policy = Policy::builtin();
    let mut checker = Checker::new(&policy, &ctx);
    let Ok(script) = parse(line, Origin::At(0), 0) else { return Vec::new() };
    let stages = script.items.iter().flat_map(|item| &item.chain).flat_map(|(_, pipeline)| &pipeline.stages);
    let mut found = Vec::new();
    for stage in stages {
        let crate::ast::Kind::Simple(simple) = &stage.kind else { continue };
        let text = line.get(stage.span.start as usize..stage.span.end as usize).unwrap_or_default();
        let runs = ["$(", "`", "<(", ">(", "~", "$P", "!"].iter().any(|part| text.contains(part));
        let plain = simple.assignments.is_empty() && simple.arrays.is_empty() && stage.redirects.is_empty();
        if runs || !plain || simple.words.is_empty() {
            continue;
        }
        let mut ways = checker.words(&mut Env::new("/"), &simple.words);
        let words = ways.pop().filter(|_| ways.is_empty()).unwrap_or_default();
        if !words.is_empty() && !words.iter().any(|word| mark::has_hole(word)) {
            let words = words.iter().map(|word| mark::deactivate(word)).collect();
            found.push((text.to_owned(), words));
        }
    }
    found
}

/// The stand-in is a function that prints what it is given; globs are off, and nothing else is in the text.
#[test]
fn commands_of_given_lines_are_the_words_of_bash() {
    let commands: Vec<(String, Vec<String>)> = given().iter().flat_map(|line| printable(line)).collect();
    assert!(commands.len() > 300, "{} commands", commands.len());
    let mut program = "set -f; HOME=/home/dev; p() { printf '%s\\1' \"$@\"; }\n".to_owned();
    for (text, _) in &commands {
        program.extend(["p ", text, "\nprintf '\\2'\n"]);
    }
    let Some((true, printed)) = bash(&[], &program) else { return };
    let wrong: Vec<String> = commands
        .iter()
        .zip(printed.split('\u{2}'))
        .filter(|((_, ours), theirs)| {
            let ended: String = ours.iter().flat_map(|word| [word.as_str(), "\u{1}"]).collect();
            **theirs != ended
        })
        .map(|((text, ours), theirs)| format!("{text:?}: bash {theirs:?}, ours {ours:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), commands.len(), wrong.join("\n"));
}

/// brush reads the rest of the grammar as we do, where it does not differ from bash.
#[test]
fn brush_sees_the_same_commands() {
    let mut random = Random(5);
    for _ in 0..300 {
        let line = random.line(STATEMENTS, 4, &["; ", " && ", "\n"]) + "a";
        let options = brush_parser::ParserOptions::default();
        let Ok(theirs) = brush_parser::Parser::new(line.as_bytes(), &options).parse_program() else {
            continue;
        };
        let ours = parse(&line, Origin::At(0), 0).expect("valid statements");
        let chains: usize = theirs.complete_commands.iter().map(|list| list.0.len()).sum();
        assert_eq!(ours.items.len(), chains, "{line:?}");
    }
}
