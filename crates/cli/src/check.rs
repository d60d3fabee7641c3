//! `kennel check`: may this command run? Nothing is run.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use kennel::policy::{Command, Decision, Policy, Request, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::CheckOptions;
use crate::fault::Fault;
use crate::run::read_command;
use crate::{config, hook, render};

/// The longest line of `--stdin`: a command of 1 MiB, every byte of it escaped.
const LINE_BYTES_MAX: u64 = 8 << 20;

/// `check --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckReport {
    /// allow, ask or deny.
    decision: &'static str,
    /// Why, in the order of the command.
    rules: Vec<RuleReport>,
    /// With `--explain`: how the command was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trace: Vec<String>,
}

/// One reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RuleReport {
    /// Stable id.
    id: String,
    /// What this reason alone would decide.
    decision: &'static str,
    /// One sentence.
    reason: String,
    /// Byte offsets into the command.
    span: (u32, u32),
    /// The command as it would run, as far as that is known.
    argv: Vec<String>,
    /// The directory in which it would run.
    cwd: String,
    /// What to do instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    instead: String,
}

/// Answers.
pub(crate) fn check(options: &CheckOptions) -> Result<u8, Fault> {
    if let Some(host) = options.hook {
        return Ok(hook::hook(host));
    }
    let here = config::here();
    let cwd = options.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let policy = config::load(&cwd)?.policy;
    if options.stdin {
        return Ok(lines(&policy, std::io::stdin().lock()));
    }
    one(&policy, &cwd, options)
}

fn one(policy: &Policy, cwd: &Path, options: &CheckOptions) -> Result<u8, Fault> {
    let words: Vec<String> = match &options.command_file {
        Some(file) => vec![read_command(file)?.to_string_lossy().into_owned()],
        None => options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let command = match words.as_slice() {
        [] => return Err(Fault::usage("no command was given", "kennel check 'rm -rf build'")),
        [line] if line.trim().is_empty() => {
            return Err(Fault::usage("the command is empty", "give a command line"));
        }
        [line] => Command::Shell(line),
        argv => Command::Argv(argv),
    };
    let (cwd, home) = (text(cwd), text(&config::home()));
    let request = Request { command, cwd: &cwd, home: &home, workspace: None };
    let verdict = if options.explain { policy.explain(&request) } else { policy.check(&request) };
    if options.json {
        render::json(&report(&verdict));
    } else {
        render::answer(&render::verdict(&words.join(" "), &verdict));
    }
    Ok(match verdict.decision {
        Decision::Allow => 0,
        Decision::Deny => 1,
        Decision::Ask => 3,
    })
}

pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn report(verdict: &Verdict) -> CheckReport {
    let rules = verdict.findings.iter().map(|finding| RuleReport {
        id: finding.rule.clone(),
        decision: render::decision(finding.decision),
        reason: finding.reason.clone(),
        span: finding.span,
        argv: finding.argv.clone(),
        cwd: finding.cwd.clone(),
        instead: finding.instead.clone(),
    });
    CheckReport {
        decision: render::decision(verdict.decision),
        rules: rules.collect(),
        trace: verdict.trace.clone(),
    }
}

/// A line of `--stdin`.
#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    id: Value,
    command: Words,
    cwd: Option<String>,
    home: Option<String>,
    workspace: Option<String>,
}

/// A line for bash, or a program and its arguments.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Words {
    Line(String),
    Argv(Vec<String>),
}

impl Words {
    pub(crate) fn command(&self) -> Command<'_> {
        match self {
            Self::Line(line) => Command::Shell(line),
            Self::Argv(argv) => Command::Argv(argv),
        }
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: Value,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Answers every line. A malformed one is answered too, with `deny`, and does not stop the rest.
fn lines(policy: &Policy, input: impl std::io::Read) -> u8 {
    let place = Place::here();
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return 0,
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 >= LINE_BYTES_MAX => {
                render::json_line(&malformed(&[], &format!("more than {LINE_BYTES_MAX} bytes in a line")));
                if !skip_line(&mut input) {
                    return 0;
                }
            }
            Ok(_) if line.trim_ascii().is_empty() => {}
            Ok(_) => answer(policy, &place, &line),
            Err(error) => {
                render::error(&format!("failed to read standard input: {error}"), None);
                return 125;
            }
        }
    }
}

/// Passes over the rest of a line; `false` at the end of the input.
fn skip_line(input: &mut impl BufRead) -> bool {
    let mut rest = Vec::new();
    loop {
        rest.clear();
        match input.by_ref().take(1 << 16).read_until(b'\n', &mut rest) {
            Ok(0) | Err(_) => return false,
            Ok(_) if rest.last() == Some(&b'\n') => return true,
            Ok(_) => {}
        }
    }
}

/// What a line that names no place gets.
struct Place {
    cwd: String,
    home: String,
}

impl Place {
    fn here() -> Self {
        Self { cwd: text(&config::here()), home: text(&config::home()) }
    }
}

fn answer(policy: &Policy, place: &Place, line: &[u8]) {
    let asked: Asked = match serde_json::from_slice(line) {
        Ok(asked) => asked,
        Err(error) => return render::json_line(&malformed(line, &error.to_string())),
    };
    let request = Request {
        command: asked.command.command(),
        cwd: asked.cwd.as_deref().unwrap_or(&place.cwd),
        home: asked.home.as_deref().unwrap_or(&place.home),
        workspace: asked.workspace.as_deref(),
    };
    let verdict = policy.check(&request);
    let rules = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    let answer = Answer { id: asked.id, verdict: render::decision(verdict.decision), rules, error: None };
    render::json_line(&answer);
}

fn malformed(line: &[u8], why: &str) -> Answer<'static> {
    let id = serde_json::from_slice::<Value>(line).ok().and_then(|line| line.get("id").cloned());
    let error = format!("not a question {{id, command, cwd, home}}: {why}");
    Answer { id: id.unwrap_or_default(), verdict: "deny", rules: Vec::new(), error: Some(error) }
}
