//! Every workflow of the project, the same on a developer's machine and in CI.
//!
//! `cargo xtask test` is the whole check, `quick` the same without what is slow, `full` adds the release build and the
//! benches; `built` runs test binaries that are already there, so that another user can run them without a toolchain.
#![cfg_attr(not(unix), no_main)]
#![cfg(unix)]
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a developer's tool: it talks to a person and starts other programs"
)]

mod bench;
mod built;
mod checks;
mod dist;
mod escape;
mod residue;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use escape::Scenario;
use tally::Tally;

/// How much to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Quick,
    Usual,
    Full,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(Extent::Usual),
        ["quick"] => test(Extent::Quick),
        ["full"] => test(Extent::Full),
        ["built"] => built::run_listed(&root()),
        ["escape"] => escape::run(&root(), &Scenario::ALL),
        ["dist"] => return finish(dist::run(&root())),
        ["bench", only @ ..] => return finish(bench::run(&root(), only)),
        _ => {
            println!("{USAGE}");
            return ExitCode::from(64);
        }
    };
    match done {
        Ok(tally) => {
            println!("{tally}");
            if tally.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The end of a command that counts nothing.
fn finish(done: anyhow::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "\
cargo xtask test     format, lints, docs, every test, and that none leaves anything behind
cargo xtask quick    the same without what is slow
cargo xtask full     the same, and the end-to-end tests against the release build
cargo xtask built    run the test binaries of the last build again, as whoever calls
cargo xtask escape   the escape suite, all scenarios: kill, and the host, supervisor or guard killed
cargo xtask dist     a static binary with man pages and completions, in dist/
cargo xtask bench    what Kennel costs, as ratios, beside the budgets; a word chooses a part: cold, kills, ...";

/// The repository. The binary may be run without cargo, by a user who has none, so it is known from the build.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The whole check.
fn test(extent: Extent) -> anyhow::Result<Tally> {
    let root = root();
    let mut tally = Tally::default();
    checks::style(&root, &mut tally);
    if let Some(list) = built::build(&root, &mut tally)? {
        built::run(&root, &list, extent, &mut tally)?;
        if extent == Extent::Full {
            built::run_against_release(&root, &list, &mut tally)?;
        }
    }
    checks::doc_tests(&root, &mut tally);
    if extent != Extent::Quick {
        checks::other_platforms(&root, &mut tally);
        tally.add(&escape::run(&root, &[Scenario::Kill, Scenario::Host])?);
    }
    tally.report();
    Ok(tally)
}
