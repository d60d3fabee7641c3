//! `kennel check --hook`: an agent asks before it runs a command, in its own format.
//!
//! Hosts let a command run when its hook fails. So every failure of ours is a refusal: malformed input, wrong rules, a
//! panic (the hook of panics answers; release builds abort after it) and a deadline, kept by a thread of its own. Only the
//! user's own file can make it the host's affair (`on_hook_failure = "allow"`).
//! An allow is "no opinion": it must not stand in for the host's own question to its user.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use kennel::config::HookFailure;
use kennel::policy::{Decision, Policy, Request};
use serde_json::{Value, json};

use crate::args::HookArg;
use crate::check::{Words, text};
use crate::{config, render, sys};

/// Hosts give up after 5 s (as we install ourselves) or later, and then let the command run.
const DEADLINE: Duration = Duration::from_secs(3);
/// A command of 1 MiB, every byte of it escaped, and what else a host says.
const INPUT_BYTES_MAX: u64 = 16 << 20;
/// Tools that run commands: without one they are not understood. Others without a command are none of our business.
const SHELL_TOOLS: [&str; 8] =
    ["Bash", "bash", "shell", "Shell", "local_shell", "exec_command", "run_shell_command", "unified_exec"];

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Host {
    /// Not known (yet): a refusal is exit 2 with the reason on stderr, which every host takes for one.
    Unknown,
    Claude,
    Codex,
    Gemini,
    Cursor,
}

/// What is said about the command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Opinion {
    None,
    Ask(String),
    Deny(String),
    /// We could not find out: the reason, with which the command is refused unless the user wants otherwise.
    Failed(String),
}

/// What the host gets.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    out: String,
    err: String,
    code: u8,
}

/// The host, for those who answer from outside the main function.
static HOST: AtomicU8 = AtomicU8::new(0);
/// Whether the user's own file makes our failures the host's affair. Until it has been read they are refusals.
static FAILURES_ALLOW: AtomicBool = AtomicBool::new(false);
/// One answer is given, whoever comes first.
static ANSWERED: AtomicBool = AtomicBool::new(false);

/// Answers the hook that asks on standard input.
pub(crate) fn hook(named: HookArg) -> u8 {
    let host = match named {
        HookArg::Auto => Host::Unknown,
        HookArg::Claude => Host::Claude,
        HookArg::Codex => Host::Codex,
        HookArg::Gemini => Host::Gemini,
        HookArg::Cursor => Host::Cursor,
    };
    remember(host);
    refuse_on_panic();
    let _watch = refuse_after(DEADLINE);
    FAILURES_ALLOW.store(config::hook_failure() == HookFailure::Allow, Ordering::Release);
    let (host, opinion) = match read_input() {
        Ok(input) => opinion(host, &input),
        Err(why) => (host, failed(&why)),
    };
    give(&reply(host, &opinion))
}

fn remember(host: Host) {
    HOST.store(host as u8, Ordering::Release);
}

fn remembered() -> Host {
    let known = [Host::Claude, Host::Codex, Host::Gemini, Host::Cursor];
    let number = HOST.load(Ordering::Acquire);
    known.into_iter().find(|host| *host as u8 == number).unwrap_or(Host::Unknown)
}

fn failed(why: &str) -> Opinion {
    Opinion::Failed(render::escape(why))
}

fn refuse_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        sys::exit_now(give(&reply(remembered(), &failed(&format!("an internal error at {place}")))));
    }));
}

/// The refusal at the deadline; off when the result is dropped. Without a thread there is none.
fn refuse_after(limit: Duration) -> Option<Sender<()>> {
    let (done, wait) = channel();
    let watch = move || {
        if wait.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let why = format!("there was no answer within {} s", limit.as_secs());
            sys::exit_now(give(&reply(remembered(), &failed(&why))));
        }
    };
    std::thread::Builder::new().spawn(watch).ok().map(|_detached| done)
}

fn read_input() -> Result<Vec<u8>, String> {
    let mut input = Vec::new();
    std::io::stdin()
        .lock()
        .take(INPUT_BYTES_MAX + 1)
        .read_to_end(&mut input)
        .map_err(|error| format!("reading standard input: {error}"))?;
    if input.len() as u64 > INPUT_BYTES_MAX {
        return Err(format!("the input has more than {INPUT_BYTES_MAX} bytes"));
    }
    Ok(input)
}

/// What is said about an input, and to whom.
fn opinion(named: Host, input: &[u8]) -> (Host, Opinion) {
    let input: Value = match serde_json::from_slice(input) {
        Ok(input) => input,
        Err(error) => return (named, failed(&format!("the input is not JSON: {error}"))),
    };
    let host = if named == Host::Unknown { detect(&input) } else { named };
    remember(host);
    let call = match call(&input) {
        Ok(Some(call)) => call,
        Ok(None) => return (host, Opinion::None),
        Err(why) => return (host, failed(why)),
    };
    match config::load(&call.cwd) {
        Ok(config) => (host, judge(&config.policy, &call)),
        Err(fault) => (host, failed(&[fault.what(), fault.hint().unwrap_or_default()].join(". "))),
    }
}

fn detect(input: &Value) -> Host {
    match input.get("hook_event_name").and_then(Value::as_str) {
        Some("PreToolUse") if input.get("turn_id").is_some() => Host::Codex,
        Some("PreToolUse") => Host::Claude,
        Some("BeforeTool") => Host::Gemini,
        Some("beforeShellExecution" | "preToolUse") => Host::Cursor,
        _ => Host::Unknown,
    }
}

/// The command of an input and where it would run.
#[derive(Debug)]
struct Call {
    words: Words,
    cwd: PathBuf,
    workspace: Option<PathBuf>,
}

/// `None`: a tool that runs no command.
fn call(input: &Value) -> Result<Option<Call>, &'static str> {
    if !input.is_object() {
        return Err("the input is not an object");
    }
    let tool = input.get("tool_name").and_then(Value::as_str);
    let arguments = input.get("tool_input").unwrap_or(&Value::Null);
    let command = [(input, "command"), (arguments, "command"), (arguments, "cmd")]
        .into_iter()
        .find_map(|(holder, name)| holder.get(name));
    let Some(command) = command else {
        return match tool {
            Some(tool) if !SHELL_TOOLS.contains(&tool) => Ok(None),
            _ => Err("the input has no command"),
        };
    };
    let words = serde_json::from_value(command.clone())
        .map_err(|_other| "the command is neither a text nor a list of texts")?;
    let texts = [(input, "cwd"), (arguments, "dir_path"), (arguments, "workdir")];
    let is_path = |value: &Value| value.is_string() || value.is_null();
    if texts.iter().filter_map(|(holder, name)| holder.get(name)).any(|value| !is_path(value)) {
        return Err("the directory is not a text");
    }
    let (cwd, workspace) = place(input, arguments);
    Ok(Some(Call { words, cwd, workspace }))
}

/// Where a command would run, and the directory that the work is in.
fn place(input: &Value, arguments: &Value) -> (PathBuf, Option<PathBuf>) {
    let path = |holder: &Value, name| {
        holder.get(name).and_then(Value::as_str).filter(|path| !path.is_empty()).map(PathBuf::from)
    };
    let roots: Vec<PathBuf> = input
        .get("workspace_roots")
        .and_then(Value::as_array)
        .map(|roots| roots.iter().filter_map(Value::as_str).map(PathBuf::from).collect())
        .unwrap_or_default();
    let base = path(input, "cwd").or_else(|| roots.first().cloned()).unwrap_or_else(config::here);
    let base = if base.is_absolute() { base } else { config::here().join(base) };
    let cwd = path(arguments, "dir_path").or_else(|| path(arguments, "workdir"));
    let cwd = cwd.map_or_else(|| base.clone(), |cwd| base.join(cwd));
    let known = roots.into_iter().chain(config::absolute("CLAUDE_PROJECT_DIR")).chain([base]);
    let workspace = known.into_iter().find(|root| contains(root, &cwd));
    (cwd, workspace)
}

fn contains(root: &Path, directory: &Path) -> bool {
    root.is_absolute() && directory.starts_with(root)
}

fn judge(policy: &Policy, call: &Call) -> Opinion {
    let (cwd, home) = (text(&call.cwd), text(&config::home()));
    let workspace = call.workspace.as_deref().map(text);
    let request =
        Request { command: call.words.command(), cwd: &cwd, home: &home, workspace: workspace.as_deref() };
    let verdict = policy.check(&request);
    match verdict.decision {
        Decision::Allow => Opinion::None,
        Decision::Ask => Opinion::Ask(render::verdict_in_words(&verdict)),
        Decision::Deny => Opinion::Deny(render::verdict_in_words(&verdict)),
    }
}

/// An opinion in a host's words.
fn reply(host: Host, opinion: &Opinion) -> Reply {
    let (word, reason) = match (host, opinion) {
        (_, Opinion::Failed(why)) if FAILURES_ALLOW.load(Ordering::Acquire) => {
            let err = format!("Kennel could not check this command, and says nothing about it: {why}\n");
            return Reply { out: "{}\n".to_owned(), err, code: 0 };
        }
        (_, Opinion::Failed(why)) => {
            ("deny", format!("Kennel could not check this command, so it is refused: {why}"))
        }
        (_, Opinion::None) => return Reply { out: "{}\n".to_owned(), err: String::new(), code: 0 },
        // Codex lets an "ask" run; of an unknown host nothing better is known.
        (Host::Codex | Host::Unknown, Opinion::Ask(reason)) => (
            "deny",
            format!(
                "{reason} Nobody can be asked here: let the user run it, or allow the rule in Kennel's configuration."
            ),
        ),
        (_, Opinion::Ask(reason)) => ("ask", reason.clone()),
        (_, Opinion::Deny(reason)) => ("deny", reason.clone()),
    };
    let out = match host {
        Host::Unknown => Value::Null,
        Host::Claude | Host::Codex => json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }}),
        Host::Gemini => json!({"decision": word, "reason": reason}),
        Host::Cursor => json!({"permission": word, "user_message": reason, "agent_message": reason}),
    };
    let out = if out.is_null() { String::new() } else { format!("{out}\n") };
    // Claude reads JSON on exit 0 only; the others take 2 with a reason on stderr for a refusal, whatever else fails.
    let refused = word == "deny" && host != Host::Claude;
    let (err, code) = if refused { (format!("{reason}\n"), 2) } else { (String::new(), 0) };
    Reply { out, err, code }
}

/// Writes the reply, unless somebody else has: the exit status. Straight to the descriptors: no lock can be in the way.
fn give(reply: &Reply) -> u8 {
    if ANSWERED.swap(true, Ordering::AcqRel) {
        // The other one is writing and ends the process.
        loop {
            std::thread::park();
        }
    }
    let mut written = write(rustix::stdio::stdout(), &reply.out);
    written &= write(rustix::stdio::stderr(), &reply.err);
    // A refusal that could not be written must still be one.
    if written { reply.code } else { 2 }
}

fn write(fd: std::os::fd::BorrowedFd<'_>, text: &str) -> bool {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(fd, rest) {
            Ok(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(_reader_gone) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in the process of the test below that panics.
    const PANICS: &str = "KENNEL_TEST_PANICS_AS";

    #[test]
    fn a_panic_is_a_refusal() {
        // Symptom: a bug ends the hook by a signal (release builds abort), and the host lets the command run.
        #[expect(clippy::disallowed_methods, reason = "the other half of this test, in a process of its own")]
        if std::env::var_os(PANICS).is_some() {
            remember(Host::Gemini);
            refuse_on_panic();
            panic!("on purpose");
        }
        let this = std::env::current_exe().expect("this test");
        // The names of tests leave out the crate's.
        let path = module_path!().split_once("::").map_or("", |(_, path)| path);
        #[expect(clippy::disallowed_methods, reason = "the process that panics is no task")]
        let done = std::process::Command::new(this)
            .args(["--exact", &format!("{path}::a_panic_is_a_refusal"), "--nocapture"])
            .env(PANICS, "gemini")
            .output()
            .expect("the process that panics");
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(told.contains(r#"{"decision":"deny","reason":"Kennel could not check"#), "{told}");
        assert!(String::from_utf8_lossy(&done.stderr).contains("an internal error at"), "{done:?}");
    }

    #[test]
    fn a_failure_is_a_refusal_unless_the_user_wants_otherwise() {
        // Symptom: `on_hook_failure` is read and has no effect, or has one for verdicts.
        let refused = reply(Host::Claude, &failed("why"));
        assert!(refused.out.contains("\"deny\"") && refused.code == 0, "{refused:?}");
        assert_eq!(reply(Host::Codex, &failed("why")).code, 2);
    }
}
