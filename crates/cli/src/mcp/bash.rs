//! Running a command: in the foreground with patience, or in the background.
//!
//! Foreground is background plus wait: after `wait_ms` the same task goes on and the call comes back with what it has.
//! A cancel, the end of the server and the timeout take the library's kill path.

use std::path::PathBuf;
use std::time::Duration;

use kennel::policy::Decision;
use kennel::{
    Answer, Kill, OnOwnerExit, OnTimeout, Outcome, Request, Session, Stdin, TERMINAL_SIZE_DEFAULT, Task,
    TerminalSize, Timeout,
};
use serde_json::Value;

use super::answer::{Refusal, Reply};
use super::arguments::Arguments;
use super::consent::{self, Consent};
use super::progress::Progress;
use super::server::Call;
use super::text::{self, Limit};
use crate::clock;

/// Clients give up on a call after 60 s.
const WAIT_DEFAULT: Duration = Duration::from_secs(45);
/// What Codex calls `yield_time_ms`.
const YIELD_DEFAULT: Duration = Duration::from_secs(10);
/// Between SIGTERM and SIGKILL when the server itself ends.
const CLOSING_GRACE: Duration = Duration::from_millis(300);
/// Characters that a token is worth, for those who count in tokens.
const TOKEN_CHARS: u64 = 4;

/// Whose defaults hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habits {
    /// Those of INTERFACES section 3.
    Bash,
    /// No timeout, and an answer after ten seconds.
    Exec,
}

/// What a call asks for.
#[derive(Debug)]
struct Order {
    command: String,
    session_id: Option<String>,
    description: Option<String>,
    timeout: Timeout,
    background: bool,
    wait: Duration,
    on_timeout: OnTimeout,
    cwd: Option<PathBuf>,
    env: Vec<(String, String)>,
    keep: bool,
    input: Stdin,
    terminal: Option<TerminalSize>,
    max_output: Option<usize>,
}

impl Order {
    fn read(arguments: &mut Arguments, habits: Habits) -> Result<Self, Refusal> {
        let timeout = arguments.number(&["timeout", "timeout_ms"])?.filter(|ms| *ms > 0);
        let wait = arguments.number(&["wait_ms", "yield_time_ms"])?.map(Duration::from_millis);
        let on_timeout = arguments
            .choice(&["on_timeout"], &[("kill", OnTimeout::Kill), ("background", OnTimeout::Background)])?;
        let tokens = arguments.number(&["max_output_tokens"])?;
        Ok(Self {
            command: arguments.required_text(&["command", "cmd"])?,
            session_id: arguments.text(&["session_id"])?,
            description: arguments.text(&["description", "justification"])?,
            timeout: match (timeout, habits) {
                (Some(ms), _) => Timeout::After(Duration::from_millis(ms)),
                (None, Habits::Bash) => Timeout::DoorDefault,
                (None, Habits::Exec) => Timeout::None,
            },
            background: arguments.flag(&["run_in_background", "is_background"])?.unwrap_or(false),
            wait: wait.unwrap_or(match habits {
                Habits::Bash => WAIT_DEFAULT,
                Habits::Exec => YIELD_DEFAULT,
            }),
            on_timeout: on_timeout.unwrap_or_default(),
            cwd: arguments
                .text(&["cwd", "workdir", "dir_path"])?
                .filter(|dir| !dir.is_empty())
                .map(PathBuf::from),
            env: arguments.variables("env")?,
            keep: arguments.flag(&["keep"])?.unwrap_or(false),
            input: if arguments.flag(&["stdin"])?.unwrap_or(false) { Stdin::Pipe } else { Stdin::Null },
            terminal: terminal(arguments)?,
            max_output: tokens.and_then(|tokens| usize::try_from(tokens.saturating_mul(TOKEN_CHARS)).ok()),
        })
    }

    fn request(&self) -> Request {
        let mut request = Request::shell(&self.command)
            .timeout_choice(self.timeout)
            .on_timeout(self.on_timeout)
            .stdin(self.input)
            .on_owner_exit(if self.keep { OnOwnerExit::Keep } else { OnOwnerExit::Kill });
        if let Some(text) = &self.description {
            request = request.description(text);
        }
        if let Some(cwd) = &self.cwd {
            request = request.cwd(cwd);
        }
        if let Some(size) = self.terminal {
            request = request.pty(size);
        }
        if let Some(characters) = self.max_output {
            request = request.max_output(characters.clamp(200, text::CHARS_MAX));
        }
        for (name, value) in &self.env {
            request = request.env(name, value);
        }
        request
    }
}

/// Yes, no, or a size.
fn terminal(arguments: &mut Arguments) -> Result<Option<TerminalSize>, Refusal> {
    match arguments.value("pty").or_else(|| arguments.value("tty")) {
        None | Some(Value::Bool(false)) => Ok(None),
        Some(Value::Bool(true)) => Ok(Some(TERMINAL_SIZE_DEFAULT)),
        Some(Value::String(text)) if crate::send::size(&text).is_ok() => Ok(crate::send::size(&text).ok()),
        Some(other) => Err(Refusal::argument(
            "pty",
            format!("`pty` is {other}"),
            "`pty` must be true, false, or a size such as \"120x40\"".to_owned(),
        )),
    }
}

/// The tool.
pub(crate) async fn run(call: &mut Call<'_>, habits: Habits) -> Result<Reply, Refusal> {
    let order = Order::read(&mut call.arguments, habits)?;
    let engine = call.server.engine();
    let tenant = call.server.tenant();
    let _place = engine.admit().await?;
    let used = engine.session(tenant, order.session_id.as_deref(), call.root()).await?;
    let session = used.session()?;
    let mut request = order.request();
    match consent_to(call, session, &request).await? {
        Consent::NotNeeded => {}
        Consent::Given => request = request.answered(Answer::Run),
        Consent::Refused => request = request.answered(Answer::Refuse),
        Consent::AskBack(question) => return Ok(Reply::Ask(question)),
    }
    let limit = still_ends(session, &request, &order);
    let mut outcome = if order.background {
        session.start(request).await?.outcome_now().await?
    } else {
        let task = session.foreground(request).await?;
        foreground(call, task, &order).await?
    };
    if let Some(own) = order.session_id.as_deref().or_else(|| tenant.own_id(&outcome.session_id)) {
        outcome.session_id = own.to_owned();
    }
    let text = text::outcome(&outcome, limit, &call.notes());
    Reply::done(&outcome, text)
}

/// What the clock does to the command once the call has come back.
fn still_ends(session: &Session, request: &Request, order: &Order) -> Limit {
    match (session.timeout_of(request, order.background), order.on_timeout) {
        (None, _) => Limit::None,
        (Some(_), OnTimeout::Kill) => Limit::Ends,
        (Some(_), OnTimeout::Background) => Limit::LetsGo,
    }
}

async fn consent_to(call: &Call<'_>, session: &Session, request: &Request) -> Result<Consent, Refusal> {
    if session.sandboxes_what_is_asked() {
        return Ok(Consent::NotNeeded);
    }
    match session.judge(request)? {
        Some(verdict) if verdict.decision == Decision::Ask => consent::to_command(call, &verdict).await,
        _ => Ok(Consent::NotNeeded),
    }
}

/// Waits for the end, for the patience of the call, or for a reason to stop.
async fn foreground(call: &Call<'_>, task: Task, order: &Order) -> Result<Outcome, Refusal> {
    let progress = Progress::of(&call.context);
    tokio::select! {
        biased;
        outcome = task.outcome() => outcome.map_err(Refusal::from),
        () = call.context.ct.cancelled() => stop(&task, Kill::terminate()).await,
        () = call.server.engine().closing() => stop(&task, Kill::terminate().grace(CLOSING_GRACE)).await,
        () = clock::passed(Some(order.wait)) => {
            task.background().await?;
            if order.keep {
                task.keep().await?;
            }
            Ok(task.outcome_now().await?)
        }
        never = progress.tell(&task) => match never {},
    }
}

/// The kill path, and what the command had to say until then.
async fn stop(task: &Task, kill: Kill) -> Result<Outcome, Refusal> {
    task.cancel(&kill.as_cancel()).await;
    Ok(task.outcome().await?)
}
