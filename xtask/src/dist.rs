//! `cargo xtask dist`: a static binary for any Linux, its man pages and completions.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use crate::checks::cargo;

/// A C library that links statically without a word about the machine it was built on.
const TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds into `dist/`.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let dist = root.join("dist");
    let status = cargo(root)
        .args(["build", "--release", "--locked", "--package", "kennel-cli", "--target", TARGET])
        .status()
        .context("run cargo")?;
    ensure!(status.success(), "the build failed; rustup target add {TARGET} installs what it needs");
    fs::create_dir_all(dist.join("completions")).context("make dist")?;
    let binary = dist.join("kennel");
    fs::copy(root.join("target").join(TARGET).join("release/kennel"), &binary).context("copy the binary")?;
    // It must run on a machine that has nothing of this one.
    let text = output(
        Command::new(&binary).args(["run", "--no-check", "echo runs"]).env_clear().env("HOME", &dist),
    )?;
    ensure!(text == "runs\n", "the binary does not run: {text:?}");
    output(Command::new(&binary).arg("man").arg(dist.join("man")))?;
    for (shell, file) in [("bash", "kennel.bash"), ("zsh", "_kennel"), ("fish", "kennel.fish")] {
        let text = output(Command::new(&binary).args(["completions", shell]))?;
        fs::write(dist.join("completions").join(file), text).context("write completions")?;
    }
    println!("dist/kennel, dist/man, dist/completions");
    Ok(())
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let done = command.output().with_context(|| format!("run {command:?}"))?;
    if !done.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
