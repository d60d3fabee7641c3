//! The steps that are one cargo command each.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::tally::{Reader, Tally};

/// Formatting, lints, documentation, licences.
pub(crate) fn style(root: &Path, tally: &mut Tally) {
    if component(root, "fmt", "rustfmt", tally) {
        step(root, "format", cargo(root).args(["fmt", "--all", "--check"]), tally);
    }
    if component(root, "clippy", "clippy", tally) {
        let mut clippy = cargo(root);
        clippy.args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]);
        step(root, "lints", &mut clippy, tally);
    }
    let mut docs = cargo(root);
    docs.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings");
    step(root, "documentation", &mut docs, tally);
    if component(root, "deny", "cargo-deny", tally) {
        let mut deny = cargo(root);
        deny.args(["deny", "--offline", "check", "bans", "licenses", "sources"]);
        step(root, "licences", &mut deny, tally);
    }
}

/// Systems that Kennel must go on compiling for, each behind the fences of `lib.rs` and `main.rs`.
const OTHER_TARGETS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-pc-windows-gnu"];

/// That nothing made for Linux has got outside its fence.
pub(crate) fn other_platforms(root: &Path, tally: &mut Tally) {
    for target in OTHER_TARGETS {
        if !is_installed(target) {
            tally.skip(format!("check {target}: needs `rustup target add {target}`"));
            continue;
        }
        let mut check = cargo(root);
        check.args(["check", "--workspace", "--locked", "--quiet", "--target", target]);
        step(root, &format!("check for {target}"), &mut check, tally);
    }
}

/// Whether the standard library of a target is there.
fn is_installed(target: &str) -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let asked = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    asked.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// The examples in the documentation.
pub(crate) fn doc_tests(root: &Path, tally: &mut Tally) {
    println!("==> documentation tests");
    let output = cargo(root).args(["test", "--workspace", "--doc", "--locked", "--quiet"]).output();
    let Ok(output) = output else { return tally.fail("documentation tests: cargo did not start") };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line));
    if !output.status.success() {
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    }
    reader.end("documentation", output.status.success(), tally);
}

/// Whether this part of cargo is there; a named skip when not.
fn component(root: &Path, verb: &str, name: &str, tally: &mut Tally) -> bool {
    let mut probe = cargo(root);
    probe.args([verb, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    let present = probe.status().is_ok_and(|status| status.success());
    if !present {
        tally.skip(format!("cargo {verb}: needs {name}"));
    }
    present
}

/// One command, one check.
pub(crate) fn step(root: &Path, name: &str, command: &mut Command, tally: &mut Tally) {
    println!("==> {name}");
    match command.current_dir(root).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => tally.pass(),
        Ok(status) => tally.fail(format!("{name}: {status}")),
        Err(error) => tally.fail(format!("{name}: {error}")),
    }
}

/// Cargo, the one that called us if it did.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).stdin(Stdio::null());
    command
}
