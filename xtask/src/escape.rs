//! The escape suite against the built binary: does `kennel kill` really end everything that a task started, and does the
//! death of whoever supervises it?

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::tally::Tally;

/// Cases that are known to fail, each with the reason, one a line: `scenario case: reason`. Counted as skipped, and as a
/// failure when one of them has begun to hold, so that the list cannot grow stale.
const KNOWN: &str = "tests/acceptance/escape/known-failures.txt";

/// Whom the suite asks or kills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// `kennel kill` of a task that `kennel start` left behind.
    Kill,
    /// SIGKILL to a host program on the library.
    Host,
    /// SIGKILL to the task's supervisor.
    Supervisor,
    /// SIGKILL to the session's guard.
    Guard,
}

impl Scenario {
    pub(crate) const ALL: [Self; 4] = [Self::Kill, Self::Host, Self::Supervisor, Self::Guard];

    fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Host => "sup",
            Self::Supervisor => "wrap-supervisor",
            Self::Guard => "wrap-guard",
        }
    }

    /// The suite's name for it.
    fn of_suite(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Host => "sup",
            Self::Supervisor | Self::Guard => "wrap",
        }
    }

    /// How the suite starts a task in this scenario and learns whom to kill.
    fn arguments(self, programs: &Path) -> Vec<String> {
        let kennel = programs.join("kennel");
        let kennel = kennel.display();
        let kill = ["--kill".to_owned(), format!("{kennel} kill --grace 300ms {{id}}")];
        let host = programs.join("examples/suite_host");
        let pid_of = |field: &str| {
            let pick = "import json, sys; print(*[task[sys.argv[1]] for task in json.load(sys.stdin)[\"tasks\"] if task[\"id\"] == sys.argv[2]])";
            format!("{kennel} tasks --all --json | python3 -c '{pick}' {field} {{id}}")
        };
        let start = match self {
            Self::Kill => format!("{kennel} start --keep --no-check bash {{cmd_file}}"),
            Self::Host | Self::Supervisor | Self::Guard => format!("exec {} {{cmd_file}}", host.display()),
        };
        let mut arguments = vec!["--start".to_owned(), start];
        arguments.extend(kill);
        match self {
            Self::Kill => return arguments,
            Self::Host => {}
            Self::Supervisor => arguments.extend(["--wrap-pid".to_owned(), pid_of("supervisor_pid")]),
            Self::Guard => arguments.extend(["--wrap-pid".to_owned(), pid_of("guard_pid")]),
        }
        arguments.push("--start-foreground".to_owned());
        arguments
    }
}

/// Run these scenarios, if this machine can.
pub(crate) fn run(root: &Path, scenarios: &[Scenario]) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    for program in ["bash", "python3", "cc"] {
        if !answers(program) {
            tally.skip(format!("escape suite: needs {program}"));
            return Ok(tally);
        }
    }
    let known = std::fs::read_to_string(root.join(KNOWN)).unwrap_or_default();
    for &scenario in scenarios {
        println!("==> escape suite, {}", scenario.name());
        for record in records(root, scenario)? {
            judge(scenario, &record, &known, &mut tally);
        }
    }
    Ok(tally)
}

/// What the suite says of each case.
fn records(root: &Path, scenario: Scenario) -> anyhow::Result<Vec<Value>> {
    let place = tempfile::Builder::new().prefix("kx-").tempdir().context("failed to make a directory")?;
    let report = place.path().join("report.json");
    std::fs::create_dir(place.path().join("state"))?;
    let mut suite = Command::new("python3");
    suite.arg(root.join("tests/acceptance/escape/escape_suite.py"));
    suite.args(["--name", "kennel", "--scenario", scenario.of_suite(), "--quiet"]);
    suite.args(scenario.arguments(&root.join("target/debug")));
    suite.arg("--json").arg(&report).arg("--cache").arg(place.path().join("cache"));
    suite
        .env("KENNEL_STATE_DIR", place.path().join("state"))
        .env("TMPDIR", place.path())
        .stdin(Stdio::null());
    suite.status().context("failed to start python3")?;
    let report = std::fs::read(&report).context("failed to read the suite's report")?;
    Ok(serde_json::from_slice(&report)?)
}

/// Count one case.
fn judge(scenario: Scenario, record: &Value, known: &str, tally: &mut Tally) {
    let case = record.get("case").and_then(Value::as_str).unwrap_or("?");
    let name = format!("{} {case}", scenario.name());
    if let Some(missing) = record.get("skipped") {
        return tally.skip(format!("escape {name}: needs {missing}"));
    }
    let survivors = record.get("survivors").and_then(Value::as_u64).unwrap_or(1);
    let harmed = record.get("harmed").and_then(Value::as_array).is_none_or(|list| !list.is_empty());
    let hung = record.get("kill_hung").and_then(Value::as_bool).unwrap_or(false);
    let shown = record.get("valid").and_then(Value::as_bool).unwrap_or(false);
    let ready = record.get("ready").and_then(Value::as_bool).unwrap_or(false);
    let holds = ready && survivors == 0 && !harmed && !hung;
    let reason = known.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(':'));
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
