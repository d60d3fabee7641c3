use super::{Origin, parse};

fn check(accepted: bool, lines: &[&str]) {
    for line in lines {
        assert_eq!(
            parse(line, Origin::At(0), 0).is_ok(),
            accepted,
            "{line:?}: {:?}",
            parse(line, Origin::At(0), 0).err()
        );
    }
}

#[test]
#[rustfmt::skip]
fn what_bash_accepts_is_read() {
    check(
        true,
        &[
            "", "ls", "ls;", "ls &", "a && b || c", "a | b |& c", "! a", "time -p a | b", "(a; b)", "{ a; }",
            "{ (a) }", "if a; then b; elif c; then d; else e; fi", "while a; do b; done",
            "until a\ndo b\ndone", "for x in a b; do c; done", "for x; do c; done", "for x do c; done",
            "for ((i=0;i<3;i++)); do a; done", "for ((;;)) { a; }", "select x in a b; do c; done",
            "case x in a) b;; (c|d) e;& *) f;;& esac", "case x in esac", "case x in a) b\nesac",
            "f() { a; }", "f () (a)", "function f { a; }", "function f() { a; }", "coproc a b",
            "coproc X { a; }", "[[ a == b && ( -f c || ! -d d ) ]]", "[[ $x =~ ^(a|b)+$ ]]", "[[ a < b ]]",
            "((a+1))", "(( (a) + (b) ))", "((a); b)", "a=1 b=2 c", "a+=1", "a=(1 2 [3]=4)",
            "a=(\n1 # x\n2\n)", "a[1]=2", "declare -a x=(1 2)",
            "a > b 2>&1 < c >> d >| e &> f &>> g <> h {fd}> i 3<&- ", "cat <<E\nx\nE",
            "cat <<-'E' | b\n\tx\n\tE\nc", "cat <<A <<B\na\nA\nb\nB", "cat <<E", "a <<< b", "a <(b) >(c)",
            "a \"$(b \"c\")\" `d \\`e\\``", "echo $((1+(2*3))) $[1+2]",
            "echo ${a} ${#a} ${a:-b c} ${a:1:2} ${a#*x} ${a%%x*} ${a/b/c} ${a//b} ${a^^} ${a,,} ${a@Q} ${!a} ${!a*} ${!a[@]} ${a[0]} ${a[@]}",
            "echo ${#} $# $@ $* $? $- $$ $! ${1} ${10} ${a:-$(b)} \"${a:-'}\"",
            "echo $'a\\'b' $\"x\" $ '$' \\$'x'", "a # b'", "a#b", "echo a\\\nb",
            "echo $(case x in a) b;; esac)", "echo $(cat <<E\nx)\nE\n)", "echo {a,b}{1..3} ~ ~root *?[a-z]",
            "shopt -s extglob\nrm !(a|b)", "if ! a; then b; fi > c", "a |\nb &&\n\nc", "x=$(a) y=`b` c",
            "echo in do=1 done", "time", "{ a; } 2>&1 | b", "a\n\n\nb\n",
        ],
    );
}

#[test]
fn what_bash_refuses_is_an_error() {
    check(
        false,
        &[
            "(",
            ")",
            "a)",
            "(a",
            "{ a",
            "}",
            "if a; then b",
            "if; then a; fi",
            "fi",
            "a;; b",
            "; a",
            "& a",
            "a && ",
            "| a",
            "a | | b",
            "'",
            "\"",
            "`a",
            "$(a",
            "${a",
            "${}",
            "${ a; }",
            "${a b}",
            "echo (a)",
            "for in",
            "for x in a",
            "case x in a b) c;; esac",
            "f() a",
            "() { a; }",
            "a <",
            "cat <<",
            "{ }",
            "( )",
            "[[ a",
            "[[ ]]",
            "while a; done",
            "a=(b",
            "echo @(a)",
            "do a; done",
            "a & ; b",
            "$((1",
            "((1)",
        ],
    );
    check(
        false,
        &[
            &"{ ".repeat(100_000),
            &"$(".repeat(100_000),
            &"((".repeat(100_000),
            &"if ".repeat(9999),
            &"\"${x:-".repeat(9999),
        ],
    );
}
