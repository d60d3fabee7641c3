//! The escape suite against the built binary: does `kennel kill` really end everything that a task started?

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::tally::Tally;

/// Cases that are known to fail, each with the reason, one a line: `case: reason`. Counted as skipped, and as a failure
/// when one of them has begun to hold, so that the list cannot grow stale.
const KNOWN: &str = "tests/acceptance/escape/known-failures.txt";

/// Run it, if this machine can.
pub(crate) fn run(root: &Path) -> anyhow::Result<Tally> {
    println!("==> escape suite");
    let mut tally = Tally::default();
    for program in ["bash", "python3", "cc"] {
        if !answers(program) {
            tally.skip(format!("escape suite: needs {program}"));
            return Ok(tally);
        }
    }
    let kennel = root.join("target/debug/kennel");
    let place = tempfile::Builder::new().prefix("kx-").tempdir().context("failed to make a directory")?;
    let report = place.path().join("report.json");
    let kennel = kennel.display();
    let mut suite = Command::new("python3");
    suite.arg(root.join("tests/acceptance/escape/escape_suite.py"));
    suite.args(["--name", "kennel", "--scenario", "kill", "--quiet"]);
    suite.args([
        "--start",
        &format!("{kennel} start --no-check -- bash {{cmd_file}}"),
        "--kill",
        &format!("{kennel} kill {{id}}"),
    ]);
    suite.arg("--json").arg(&report).arg("--cache").arg(place.path().join("cache"));
    suite
        .env("KENNEL_STATE_DIR", place.path().join("state"))
        .env("TMPDIR", place.path())
        .stdin(Stdio::null());
    std::fs::create_dir(place.path().join("state"))?;
    suite.status().context("failed to start python3")?;
    let report = std::fs::read(&report).context("failed to read the suite's report")?;
    let known = std::fs::read_to_string(root.join(KNOWN)).unwrap_or_default();
    for record in serde_json::from_slice::<Vec<Value>>(&report)? {
        judge(&record, &known, &mut tally);
    }
    Ok(tally)
}

/// Count one case.
fn judge(record: &Value, known: &str, tally: &mut Tally) {
    let name = record.get("case").and_then(Value::as_str).unwrap_or("?");
    if let Some(missing) = record.get("skipped") {
        return tally.skip(format!("escape {name}: needs {missing}"));
    }
    let survivors = record.get("survivors").and_then(Value::as_u64).unwrap_or(1);
    let harmed = record.get("harmed").and_then(Value::as_array).is_none_or(|list| !list.is_empty());
    let hung = record.get("kill_hung").and_then(Value::as_bool).unwrap_or(false);
    let shown = record.get("valid").and_then(Value::as_bool).unwrap_or(false);
    let ready = record.get("ready").and_then(Value::as_bool).unwrap_or(false);
    let holds = ready && survivors == 0 && !harmed && !hung;
    let reason = known.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    match (holds, reason) {
        (true, None) if shown => tally.pass(),
        (true, None) => tally.skip(format!("escape {name}: needs a machine on which the case takes shape")),
        (false, Some(reason)) => tally.skip(format!("escape {name}: needs{reason}")),
        (true, Some(_)) => tally.fail(format!("escape {name}: holds now; take it off {KNOWN}")),
        (false, None) => tally.fail(format!("escape {name}: {record}")),
    }
}

fn answers(program: &str) -> bool {
    let mut probe = Command::new(program);
    probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
