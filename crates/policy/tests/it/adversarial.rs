//! Input that is made to hurt the checker: every one is answered, and not with allow where it hides something.

use super::verdict;
use policy::{Decision, shell_form};
use proptest::prelude::*;

const MIB: usize = (1 << 20) - 64;

/// Texts of up to a mebibyte that are slow, deep or many in some way.
#[rustfmt::skip]
fn heavy() -> Vec<(&'static str, String)> {
    let repeat = |text: &str| text.repeat(MIB / text.len());
    let many = |count: usize, text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<String>();
    vec![
        ("words", repeat("abcdefghi ")),
        ("assignments", many(10_000, &|i| format!("v{i}=$v{}x; ", i / 2))),
        ("subshells", many(10_000, &|i| format!("v{i}=1; (v{i}=2); "))),
        ("appends", many(20_000, &|_| "a+=xxxxxxxxxxxxxxxx; b=$a$a; ".to_owned())),
        ("doubling", many(10_000, &|_| "a=$a$a; ".to_owned())),
        ("braces", "echo ".to_owned() + &"{a,b}".repeat(100_000)),
        ("brace words", "echo ".to_owned() + &"{a,b}{c,d}{e,f} ".repeat(50_000)),
        ("nested braces", "echo ".to_owned() + &"{a,".repeat(10_000) + &"}".repeat(10_000)),
        ("range", "echo {1..999999999} {1..100000}".to_owned()),
        ("heredoc", format!("cat > f <<'E'\n{}E\n", "some text 'in a line\n".repeat(45_000))),
        ("expanded heredoc", format!("cat > f <<E\n{}E\n", "some $x text\n".repeat(70_000))),
        ("heredocs", many(10_000, &|_| "cat <<E ".to_owned())),
        ("heredoc code", format!("python3 <<'E'\n{}E\n", "os.system('ls')\n".repeat(60_000))),
        ("bash heredoc", format!("bash <<'E'\n{}E\n", "rm -rf build # x\n".repeat(60_000))),
        ("groups", "{ ".repeat(MIB / 2)),
        ("subshell openers", "(".repeat(MIB)),
        ("substitutions", "$(".repeat(MIB / 2)),
        ("arithmetic", "$((".repeat(MIB / 3)),
        ("backticks", repeat("`")),
        ("escaped backticks", repeat("`\\")),
        ("quotes", repeat("\"'")),
        ("dollars", repeat("$")),
        ("expansions", repeat("${x:-")),
        ("ifs", repeat("if ")),
        ("cases", repeat("case x in a) ")),
        ("indexes", "declare ".to_owned() + &repeat("a[ ")),
        ("elements", "a=(".to_owned() + &repeat("[ ")),
        ("pipes", repeat("a|")) ,
        ("pipeline", repeat("cat|") + "cat"),
        ("short pipeline", "a|".repeat(50_000) + "a"),
        ("separators", "a;".repeat(100_000)),
        ("arms", "case x in ".to_owned() + &"a) b;; ".repeat(100_000) + "esac"),
        ("subscripts", many(20_000, &|i| format!("v{i}='v{}[$x]'; ((v{i})); ", i / 2))),
        ("formats", format!("python3 <<'E'\n{}\nE\n", "run('%s' % ('a', 'b').format(".repeat(30_000))),
        ("xargs quotes", "echo ".to_owned() + &"\\' ".repeat(100_000) + "| xargs rm"),
        ("curl settings", format!("curl -K - <<E\n{}E\n", "data = @x\n".repeat(60_000))),
        ("trees", "git clone http://x/y; ".to_owned() + &many(2_000, &|i| format!("sh y/{}{i}; ", "a/".repeat(20)))),
        ("ands", repeat("a&&") + "a"),
        ("functions", many(20_000, &|i| format!("f{i}() {{ f{}; }}; ", i + 1))),
        ("calls", "f() { g; g; }; g() { h; h; }; h() { i; i; }; i() { j; j; }; j() { k; k; }; k() { l; l; }; l() { m; m; }; m() { rm x; rm y; }; f; f; f; f".to_owned()),
        ("loops", "for a in 1 2 3 4 5 6 7 8 9; do ".repeat(12) + "rm $a" + &"; done".repeat(12)),
        ("alternatives", many(12, &|i| format!("if a; then v{i}=1; else v{i}=2; fi; ")) + "echo $v0$v1$v2$v3$v4$v5$v6$v7$v8$v9 $v0 $v1 $v2 $v3"),
        ("eval", "eval ".repeat(20_000) + "ls"),
        ("wrappers", "nice ".repeat(100_000) + "ls"),
        ("patterns", "x=".to_owned() + &"a".repeat(500) + "; echo ${x//*a*a*a*a*a*a*b/c} ${x##*a*a*a*a*a*b}"),
        ("globs", "/".to_owned() + &"*a".repeat(400_000)),
        ("unbalanced", "echo ".to_owned() + &repeat("a'b\"c ")),
        ("newlines", repeat("\n")),
        ("comments", repeat("# x\n")),
        ("redirects", "ls ".to_owned() + &repeat(">a ")),
        ("dots", "rm -rf ".to_owned() + &repeat("../")),
        ("tests", "[[ ".to_owned() + &repeat("a && ") + "a ]]"),
        ("code calls", format!("python3 <<'E'\n{}\nE\n", "run(".repeat(200_000))),
        ("code constants", format!("awk '{}'", "x=2[x=3".repeat(100_000))),
        ("code methods", format!("python3 <<'E'\n{}\nE\n", "a.unlink() run() ".repeat(50_000))),
        ("code quotes", format!("ruby <<'E'\n{}\nE\n", "`a` \"b\" | x | {".repeat(50_000))),
        ("xargs chain", "xargs - ".repeat(2000)),
        ("sql", "psql <<E\n".to_owned() + &repeat("select 1;\n") + "E\n"),
        ("unknown program", "foo ".to_owned() + &repeat("rm ")),
        ("find", "find ".to_owned() + &repeat("-exec ls {} ; ")),
        ("xargs", "echo ".to_owned() + &"a ".repeat(100_000) + "| xargs rm -rf"),
        ("sed", "sed ".to_owned() + &repeat("-e s/a/b/ ")),
    ]
}

/// Symptom: who shows the place of a mistake cuts the text beyond its end. Found by the fuzzer with `((`.
#[test]
fn spans_lie_in_the_text() {
    for text in ["((", "$((", "if", "'", "a |", "é(", "{ ", "case x in", "<<E"] {
        for finding in verdict(text).findings {
            let (from, to) = finding.span;
            assert!(from <= to && to as usize <= text.len(), "{text:?}: {:?}", finding.span);
        }
    }
}

/// The bound of the release build is 100 ms; a debug build on a busy machine gets far more.
#[test]
fn heavy_input_is_answered() {
    let bound = if cfg!(debug_assertions) { 20_000 } else { 1_000 };
    let mut slow = Vec::new();
    for (name, text) in heavy() {
        #[expect(clippy::disallowed_methods, reason = "a bound that only a blow-up passes")]
        let start = std::time::Instant::now();
        let _verdict = verdict(&text);
        let took = start.elapsed().as_millis();
        let _form = shell_form(&text);
        if std::env::args().any(|arg| arg == "--nocapture") {
            println!("{took:>6} ms {:>8} bytes {name}", text.len());
        }
        if took > bound {
            slow.push(format!("{name}: {took} ms"));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

#[test]
fn danger_is_not_lost_in_a_crowd() {
    let lines = [
        "ls; ".repeat(5_000) + "rm -rf /",
        "{ ".repeat(60) + "rm -rf /; " + &"}; ".repeat(60),
        "x=".to_owned() + &"a".repeat(100_000) + "; rm -rf /",
        "echo ".to_owned() + &"{a,b}".repeat(200) + "; rm -rf /",
        format!("cat > f <<'E'\n{}E\nrm -rf /", "text\n".repeat(100_000)),
    ];
    for line in &lines {
        assert_eq!(verdict(line).decision, Decision::Deny, "{}", line.chars().take(40).collect::<String>());
    }
    for line in [
        "{ ".repeat(99) + "rm -rf /; " + &"}; ".repeat(99),
        "ls ".repeat(1 << 20),
        "eval ".repeat(5000) + "'rm -rf /'",
        "ls; ".repeat(250_000) + "rm -rf /",
    ] {
        assert!(verdict(&line).decision > Decision::Allow, "{}", line.chars().take(40).collect::<String>());
    }
}

/// A thread with a small stack is enough for the deepest input that is read.
#[test]
fn the_stack_is_bounded() {
    let nest = |open: &str, close: &str| open.repeat(64) + "ls" + &close.repeat(64);
    let lines = [
        nest("{ ", "; }"),
        nest("(", ")"),
        nest("$(", ")"),
        nest("\"$(", ")\""),
        nest("if ", "; then ls; fi"),
        nest("f() { ", "; }; f"),
        nest("bash -c ", ""),
        nest("eval ", ""),
        nest("while ls; do ", "; done"),
        nest("case x in x) ", ";; esac"),
        nest("`", "`"),
        nest("echo <(", ")"),
        nest("sudo ", ""),
        nest("coproc { ", "; }"),
        nest("${x:-", "}"),
    ];
    let run = move || lines.iter().for_each(|line| drop(verdict(line)));
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[rustfmt::skip]
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rm", "-rf", "/", "~", "$HOME", "cd", ";", "&&", "|", "||", "&", "(", ")", "{", "}", "$(", "`", "'",
        "\"", "<<E", "E", "\n", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "[[", "]]",
        "$((", "))", "${x", "${x:-", "}", ">", ">>", "<", "<<<", "<(", "2>&1", "x=", "a=(", "[0]=", "\\",
        "#", "*", "?", "[", "é", "\u{f0001}", "\0", "eval", "bash", "-c", "xargs", "find", "-exec", "{}",
        ";", "echo", "printf", "%s", "base64", "-d", "curl", "python3", "sed", "s/a/b/", "function", "f()",
        "!", "time", "coproc", "$@", "$1", "99999999999>", "{1..9}", "{a,b}", "$'\\x", "sudo", "tar", "git",
        "trap",
    ]);
    (prop::collection::vec((piece, prop::sample::select(vec!["", " "])), 0..40))
        .prop_map(|parts| parts.into_iter().flat_map(|(text, glue)| [text, glue]).collect())
}

proptest! {
    #[test]
    fn no_text_panics(line in "\\PC{0,80}") {
        let _verdict = verdict(&line);
    }

    #[test]
    fn no_shell_like_text_panics(line in pieces()) {
        let verdict = verdict(&line);
        for finding in &verdict.findings {
            prop_assert!(finding.span.0 <= finding.span.1 && finding.span.1 as usize <= line.len() + 1, "{finding:?}");
        }
        let _form = shell_form(&line);
    }
}
