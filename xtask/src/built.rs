//! Build the test binaries once, then run them: here, and again as other users who need no toolchain.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use crate::checks::cargo;
use crate::residue::Residue;
use crate::tally::{Reader, Tally};
use crate::{Extent, residue};

/// A test binary that has not ended by then is a failure.
const BINARY_LIMIT: Duration = Duration::from_secs(600);

/// One test binary.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Binary {
    name: String,
    path: PathBuf,
    /// Its package's directory: where cargo would run it.
    dir: PathBuf,
    /// The binary under test, where it is not that of the same build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kennel: Option<PathBuf>,
}

/// Build every test binary. `None` when they do not build, which is then counted.
pub(crate) fn build(root: &Path, tally: &mut Tally) -> anyhow::Result<Option<Vec<Binary>>> {
    println!("==> build the tests");
    let mut build = cargo(root);
    build.args(["test", "--workspace", "--no-run", "--locked", "--message-format=json-render-diagnostics"]);
    let output = build.stderr(Stdio::inherit()).output().context("failed to start cargo")?;
    if !output.status.success() {
        tally.fail("build of the tests");
        return Ok(None);
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let list: Vec<Binary> = lines.lines().filter_map(test_binary).collect();
    std::fs::write(list_path(root), serde_json::to_vec_pretty(&list)?)?;
    Ok(Some(list))
}

/// A test binary named by one of cargo's messages.
fn test_binary(line: &str) -> Option<Binary> {
    let message: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_test = message.pointer("/profile/test")?.as_bool()?;
    let path = message.get("executable")?.as_str()?;
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    let dir = manifest.parent()?;
    let target = message.pointer("/target/name")?.as_str()?;
    let package = dir.file_name()?.to_str()?;
    is_test.then(|| Binary {
        name: format!("{package}/{target}"),
        path: path.into(),
        dir: dir.into(),
        kennel: None,
    })
}

fn list_path(root: &Path) -> PathBuf {
    root.join("target/test-binaries.json")
}

/// Run the end-to-end tests once more against the release build of the binary.
pub(crate) fn run_against_release(root: &Path, list: &[Binary], tally: &mut Tally) -> anyhow::Result<()> {
    let mut build = cargo(root);
    build.args(["build", "--release", "--locked", "--package", "kennel-cli"]);
    crate::checks::step(root, "build (release)", &mut build, tally);
    let mut ends: Vec<Binary> = list.iter().filter(|binary| binary.name == "cli/e2e").cloned().collect();
    for binary in &mut ends {
        binary.kennel = Some(root.join("target/release/kennel"));
    }
    run(root, &ends, Extent::Full, tally)
}

/// Run what the last build made.
pub(crate) fn run_listed(root: &Path) -> anyhow::Result<Tally> {
    let list =
        std::fs::read(list_path(root)).context("failed to read the list; `cargo xtask test` writes it")?;
    let list: Vec<Binary> = serde_json::from_slice(&list)?;
    let mut tally = Tally::default();
    run(root, &list, Extent::Usual, &mut tally)?;
    tally.report();
    Ok(tally)
}

/// Run these binaries one after another, each with a temporary directory and a home that must be empty in the end.
pub(crate) fn run(root: &Path, list: &[Binary], extent: Extent, tally: &mut Tally) -> anyhow::Result<()> {
    let residue = Residue::mark()?;
    for binary in list {
        println!("==> {}", binary.name);
        let mut command = Command::new(&binary.path);
        command.current_dir(&binary.dir).env("INSTA_WORKSPACE_ROOT", root).env("INSTA_UPDATE", "no");
        command.env("TMPDIR", residue.temporary()).env("HOME", residue.home());
        command.env_remove("KENNEL_STATE_DIR").env_remove("KENNEL_TASK");
        if let Some(kennel) = &binary.kennel {
            command.env("KENNEL_TEST_BINARY", kennel);
        }
        if extent == Extent::Quick {
            command.env("KENNEL_TEST_QUICK", "1");
        }
        watch(&binary.name, &mut command, tally);
    }
    for line in residue.left() {
        println!("left behind: {line}");
        tally.fail(format!("left behind: {line}"));
    }
    tally.pass();
    for line in residue::shared_places() {
        println!("note: {line}");
    }
    Ok(())
}

/// Run one binary, show its lines, count them.
fn watch(name: &str, command: &mut Command, tally: &mut Tally) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let (mut child, lines) = match child {
        Ok(mut child) => {
            let lines = child.stdout.take().map(lines_of);
            (child, lines)
        }
        Err(error) => return tally.fail(format!("{name}: {error}")),
    };
    let mut reader = Reader::default();
    let timed_out = lines.is_some_and(|lines| show(&lines, &mut reader) == Ended::TooLate);
    if timed_out {
        child.kill().ok();
        tally.fail(format!("{name}: no line for {} s, killed", BINARY_LIMIT.as_secs()));
    }
    let success = wait(&mut child);
    reader.end(name, success || timed_out, tally);
}

#[derive(PartialEq, Eq)]
enum Ended {
    Itself,
    TooLate,
}

/// Show lines until there are no more, or none comes for too long.
fn show(lines: &mpsc::Receiver<String>, reader: &mut Reader) -> Ended {
    loop {
        match lines.recv_timeout(BINARY_LIMIT) {
            Ok(line) => {
                reader.line(&line);
                if !(line.ends_with("... ok") || line.is_empty() || line.starts_with("SKIP ")) {
                    println!("{line}");
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ended::Itself,
            Err(mpsc::RecvTimeoutError::Timeout) => return Ended::TooLate,
        }
        std::io::stdout().flush().ok();
    }
}

fn lines_of(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn wait(child: &mut Child) -> bool {
    child.wait().is_ok_and(|status| status.success())
}
