//! Real tools in `workspace-write` without network: what an agent builds and tests with all day.

use std::path::Path;

use testkit::{Rig, lacks, lacks_program};

use crate::sandbox::rigs;

/// Puts files into the workspace as the rig's user, runs the command in the sandbox, and finds `said` at the end of it.
#[track_caller]
fn works(rig: &Rig, files: &[(&str, &str)], command: &str, said: &str) {
    use std::fmt::Write as _;
    let mut script = String::new();
    for (file, content) in files {
        let directory = Path::new(file).parent().unwrap_or(Path::new(".")).display().to_string();
        writeln!(script, "mkdir -p './{directory}'\ncat > '{file}' <<'END-OF-FILE'\n{content}\nEND-OF-FILE")
            .expect("text");
    }
    rig.bash(&script).finish().exits(0);
    let words = ["run", "--no-check", "--sandbox", "workspace-write", "--require", command];
    let done = rig.kennel(words).within(std::time::Duration::from_secs(120)).finish();
    assert!(done.code() == 0 && done.text().trim_end().ends_with(said), "{command}: {done}");
}

#[test]
fn cargo_builds_and_tests_a_vendored_crate() {
    // Symptom: a lock in a read-only place, or a look at the registry, fails the build.
    let cargo = Path::new(env!("CARGO"));
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"c\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ndep = \"1.0.0\"",
        ),
        (
            "src/main.rs",
            "fn main() { println!(\"{}\", dep::one()); }\n#[test]\nfn t() { assert_eq!(dep::one(), 1); }",
        ),
        ("vendor/dep/Cargo.toml", "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\""),
        ("vendor/dep/src/lib.rs", "pub fn one() -> i32 { 1 }"),
        ("vendor/dep/.cargo-checksum.json", "{\"files\":{}}"),
        (
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"",
        ),
    ];
    for rig in rigs() {
        let bin = cargo.parent().expect("a directory").display();
        let reach = rig.bash(&format!("'{}' --version && command -v cc", cargo.display())).finish();
        if lacks("a cargo that the user may execute, and a linker", reach.code() == 0) {
            continue;
        }
        let build =
            format!("export PATH='{bin}':$PATH; cargo build -q && cargo test -q >&2 && ./target/debug/c");
        works(&rig, &files, &build, "1");
    }
}

#[test]
fn npm_builds_an_installed_project() {
    // Symptom: npm cannot write its log and gives up.
    if lacks_program(&["node", "npm"]) {
        return;
    }
    let files = [
        (
            "package.json",
            "{\"name\": \"n\", \"version\": \"1.0.0\", \"scripts\": {\"build\": \"node build.js\"}}",
        ),
        ("build.js", "require('fs').writeFileSync('out.txt', require('dep')())"),
        ("node_modules/dep/index.js", "module.exports = () => 'built'"),
    ];
    for rig in rigs() {
        works(&rig, &files, "npm run build && cat out.txt", "built");
    }
}

#[test]
fn git_commits() {
    // Symptom: the read-only hooks are in the way of `git init` or a commit.
    if lacks_program(&["git"]) {
        return;
    }
    for rig in rigs() {
        let commit =
            "git add -A && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s";
        works(&rig, &[("a", "a")], &format!("git init -q . && {commit}"), "one");
        works(&rig, &[("b", "b")], &format!("git checkout -qb other && {commit}"), "one");
        works(&rig, &[], "git gc -q && git stash list && git status --short && echo clean", "clean");
    }
}

#[test]
fn python_makes_an_environment_and_runs_its_tests() {
    if lacks_program(&["python3"]) {
        return;
    }
    let test = ("test_a.py", "def test_a(tmp_path):\n    (tmp_path / 'x').write_text('y')");
    for rig in rigs() {
        let has = |module: &str| rig.bash(&format!("python3 -c 'import {module}'")).finish().code() == 0;
        if !lacks("the python module ensurepip", has("ensurepip")) {
            works(&rig, &[], "python3 -m venv v && v/bin/python -c 'import pip; print(\"in\")'", "in");
        }
        if !lacks("the python module pytest", has("pytest")) {
            works(&rig, &[test], "python3 -m pytest -q -p no:cacheprovider >&2 && echo passed", "passed");
        }
        let pool = "python3 -c 'import multiprocessing as m; print(sum(m.Pool(2).map(abs, [-1, -2])))'";
        works(&rig, &[], pool, "3");
    }
}

#[test]
fn make_compiles() {
    if lacks_program(&["make", "cc"]) {
        return;
    }
    let files = [("Makefile", "a.out: a.c\n\tcc -o a.out a.c"), ("a.c", "int main(void) { return 0; }")];
    for rig in rigs() {
        works(&rig, &files, "make -j2 && ./a.out && echo made", "made");
    }
}
