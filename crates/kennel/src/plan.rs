//! From a cleared request to everything that a supervisor needs. Bad input is refused here, before anything starts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use policy::ShellForm;
use supervisor::wire::{
    CommandSpec, ConfineSpec, Dialect, Launch, OutputSpec, PROTOCOL, PlacementSpec, StdinSpec,
};
use supervisor::{ByteStr, Inherited, Tag};

use crate::check::Cleared;
use crate::environ::{self, Variables};
use crate::error::{Error, Result};
use crate::id::{TaskId, random_text, random_u64};
use crate::outcome::Notice;
use crate::request::{Command, Output, Request, Stdin, Timeout};
use crate::sandbox::{Around, confine_spec};
use crate::session::{Door, SessionTerms, check_directory};

/// Whether a call is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The caller waits; a disconnect cancels.
    Foreground,
    /// The task is on its own.
    Background,
}

/// Makes the launch of a cleared request.
pub(crate) fn plan(cleared: &Cleared<'_>, terms: &SessionTerms, mode: Mode) -> Result<Launch> {
    let request = cleared.request();
    let id = TaskId::random()?;
    let token = random_text(16)?;
    let (timeout_ms, clamped) = timeout(request.timeout, terms, mode);
    let mut env = environment(cleared, terms, &id, &token);
    let without_report = shell_is_not_ours(&env);
    let around =
        Around { terms, cwd: cleared.cwd(), home: crate::check::home(request, terms), id: id.as_str() };
    let choice = request.sandbox.over(&terms.sandbox).or_configured(&terms.settings);
    let choice = if cleared.must_be_sandboxed() { choice.instead_of_a_question() } else { choice };
    let mut confine = confine_spec(&choice, &around)?;
    confine.limits = request.limits.over(terms.limits).or_configured(&terms.settings).spec(terms.door)?;
    if confine.sandbox.is_some() {
        forget_shared_temp(&mut env, request);
    }
    Ok(Launch {
        protocol: PROTOCOL,
        id: id.to_string(),
        token,
        tag: if Tag::can_be_set() { Some(Tag::from_random(random_u64()?).value()) } else { None },
        session_id: terms.session_id.clone(),
        command: command(&request.command, terms, without_report)?,
        display: display(&request.command),
        description: request.description.clone(),
        cwd: ByteStr::from(&working_directory_in(&confine, cleared.cwd())),
        env: env
            .iter()
            .map(|(name, value)| ByteStr([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect(),
        inherited: (!terms.guard_is_fresh).then(|| Inherited::capture().into()),
        placement: request.terminal.map_or(PlacementSpec::OwnSession, PlacementSpec::Group),
        stdin: match request.stdin {
            Stdin::Null => StdinSpec::Null,
            Stdin::Inherit => StdinSpec::Inherit,
            Stdin::Pipe => StdinSpec::Pipe,
        },
        output: match request.output {
            Output::Split => OutputSpec::Split,
            Output::Merged => OutputSpec::Merged,
            Output::Inherit => OutputSpec::Inherit,
        },
        timeout_ms,
        on_timeout: request.on_timeout,
        survivors: request.survivors.unwrap_or(terms.survivors),
        on_owner_exit: request.on_owner_exit.unwrap_or(terms.on_owner_exit),
        grace_ms: u64::try_from(request.grace.as_millis()).unwrap_or(u64::MAX),
        output_cap_bytes: request.output_cap_bytes.unwrap_or(terms.settings.output_cap.value.0),
        output_total_bytes: terms.settings.output_total.value.0,
        on_output_cap: request.on_output_cap,
        volatile_dir: terms.places.volatile.as_ref().map(ByteStr::from),
        durable_dir: ByteStr::from(&terms.places.durable),
        durable: mode == Mode::Background,
        cancel_on_disconnect: mode == Mode::Foreground,
        owner_pid: terms.owner_pid,
        boundary: request.boundary,
        boundary_required: request.boundary_required,
        notices: clamped
            .into_iter()
            .chain(cleared.notices().iter().cloned())
            .chain(terms.notices.iter().cloned())
            .chain(scrubbed(request, terms))
            .collect(),
        terminal: request.pty,
        confine,
    })
}

fn bad(what: String, hint: &str) -> Error {
    Error::BadRequest { what, hint: hint.to_owned() }
}

/// Refuses what no policy could clear and no program be given.
pub(crate) fn check_input(request: &Request) -> Result<()> {
    check_command(&request.command)?;
    check_terminal(request)?;
    request.env.iter().try_for_each(|(name, value)| check_variable(name, value))
}

fn check_terminal(request: &Request) -> Result<()> {
    match request.pty {
        Some(size) if size.cols == 0 || size.rows == 0 => Err(bad(
            format!("a terminal of {} columns and {} rows", size.cols, size.rows),
            "give at least one of each, like 80x24",
        )),
        Some(_) if request.stdin_bytes.is_some() => Err(bad(
            "input for a pipe and a terminal at once".to_owned(),
            "start the task on the terminal, then send it the text",
        )),
        _ => Ok(()),
    }
}

fn check_command(command: &Command) -> Result<()> {
    let parts: Vec<&OsStr> = match command {
        Command::Shell(line) => vec![line],
        Command::Argv(argv) => argv.iter().map(OsString::as_os_str).collect(),
    };
    let blank = match command {
        Command::Shell(line) => line.as_bytes().iter().all(u8::is_ascii_whitespace),
        Command::Argv(argv) => argv.first().is_none_or(|program| program.is_empty()),
    };
    if blank {
        return Err(bad(
            "the command is empty".to_owned(),
            "give a command line, or a program and its arguments",
        ));
    }
    if let Some(at) = parts.iter().find_map(|part| part.as_bytes().iter().position(|byte| *byte == 0)) {
        return Err(bad(
            format!("the command holds a NUL byte at position {at}"),
            "no program can be given one; remove it",
        ));
    }
    Ok(())
}

/// Where the command runs, and what is to be said about that.
pub(crate) fn working_directory(
    request: &Request,
    terms: &SessionTerms,
) -> Result<(PathBuf, Option<Notice>)> {
    let (start, notice) = terms.whereabouts.start();
    let (cwd, notice) = match &request.cwd {
        Some(cwd) if cwd.is_absolute() => (cwd.clone(), None),
        Some(cwd) => (start.join(cwd), notice),
        None => (start, notice),
    };
    check_directory("the working directory", &cwd)?;
    Ok((cwd, notice))
}

fn environment(cleared: &Cleared<'_>, terms: &SessionTerms, id: &TaskId, token: &str) -> Variables {
    let mut env = terms.environment.variables.clone();
    environ::point_pwd(&mut env, cleared.cwd());
    for (name, value) in &cleared.request().env {
        environ::set(&mut env, name, value);
    }
    if cleared.request().pty.is_some() && cleared.request().env.iter().all(|(name, _)| name != "TERM") {
        // The terminal is ours, and so is what it understands; its size is the kernel's to tell.
        env.retain(|(name, _)| !["COLUMNS", "LINES"].iter().any(|ours| name == ours));
        environ::set(&mut env, OsStr::new("TERM"), OsStr::new("xterm-256color"));
    }
    environ::set(&mut env, OsStr::new("KENNEL_TASK"), OsStr::new(&format!("{id}:{token}")));
    env
}

/// What the doors did to the environment, but for what this request sets itself.
fn scrubbed(request: &Request, terms: &SessionTerms) -> Option<Notice> {
    let set = |name: &String| request.env.iter().any(|(known, _)| known.to_str() == Some(name));
    let names = terms.environment.scrubbed.as_ref()?.iter().filter(|name| !set(name)).cloned().collect();
    Some(Notice::Scrubbed { names })
}

/// What names a shared temp directory means nothing in a sandbox, which has its own.
fn forget_shared_temp(env: &mut Variables, request: &Request) {
    let asked = |name: &str| request.env.iter().any(|(known, _)| known == name);
    for name in ["TMPDIR", "TMP", "TEMP"].into_iter().filter(|name| !asked(name)) {
        env.retain(|(known, _)| known != name);
    }
}

/// A sandbox shows directories where they really are.
fn working_directory_in(confine: &ConfineSpec, cwd: &Path) -> PathBuf {
    let real = confine.sandbox.as_ref().and_then(|_| cwd.canonicalize().ok());
    real.unwrap_or_else(|| cwd.to_owned())
}

fn check_variable(name: &OsStr, value: &OsStr) -> Result<()> {
    let bytes = name.as_bytes();
    let shown = name.to_string_lossy();
    let hint = "environment variables are NAME=value, the name without = and NUL";
    if bytes.is_empty() || bytes.contains(&b'=') || bytes.contains(&0) {
        return Err(bad(format!("the environment variable name {shown:?} cannot be used"), hint));
    }
    if value.as_bytes().contains(&0) {
        return Err(bad(format!("the value of the environment variable {shown} holds a NUL byte"), hint));
    }
    Ok(())
}

/// The timeout in force, and the clamp where there was one.
pub(crate) fn timeout(asked: Timeout, terms: &SessionTerms, mode: Mode) -> (Option<u64>, Option<Notice>) {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let asked = match (asked, terms.door, mode) {
        (Timeout::After(Duration::ZERO) | Timeout::DoorDefault, Door::Agent, Mode::Foreground) => {
            return (terms.settings.timeout_default.value.duration().map(ms), None);
        }
        (Timeout::None | Timeout::After(Duration::ZERO) | Timeout::DoorDefault, ..) => return (None, None),
        (Timeout::After(asked), ..) => ms(asked),
    };
    match longest(terms).map(ms) {
        Some(used) if asked > used => {
            (Some(used), Some(Notice::Clamped { name: "timeout_ms".to_owned(), asked, used }))
        }
        _ => (Some(asked), None),
    }
}

/// The longest timeout of a door: a wrapper clamps only where somebody configured it to.
fn longest(terms: &SessionTerms) -> Option<Duration> {
    let limit = &terms.settings.timeout_max;
    match terms.door {
        Door::Agent => limit.value.duration(),
        Door::Wrapper => limit.said().and_then(|limit| limit.duration()),
    }
}

fn command(command: &Command, terms: &SessionTerms, without_report: bool) -> Result<CommandSpec> {
    match command {
        Command::Argv(argv) => Ok(CommandSpec::Argv(argv.iter().map(ByteStr::from).collect())),
        Command::Shell(line) => {
            let shell = terms.shell.as_ref().ok_or_else(no_shell)?;
            let form = shell_form(line, without_report || shell.dialect != Dialect::Bash);
            Ok(CommandSpec::Shell {
                shell: ByteStr::from(&shell.file),
                dialect: shell.dialect,
                line: ByteStr::from(line),
                wrapped: form == ShellForm::Wrapped,
                cwd_unknown: form == ShellForm::BareCwdUnknown,
            })
        }
    }
}

/// A `BASH_ENV` of the user's own stays in charge. An exported `verbose` would print ours, line by line.
fn shell_is_not_ours(env: &Variables) -> bool {
    let options = environ::get(env, "SHELLOPTS").map(OsStr::to_string_lossy).unwrap_or_default();
    environ::get(env, "BASH_ENV").is_some() || options.split(':').any(|option| option == "verbose")
}

/// A shell that is not ours to prepare gives no report (others than bash have no `BASH_ENV`), and the directory is not known
/// where it could change.
fn shell_form(line: &OsStr, without_report: bool) -> ShellForm {
    let form = line.to_str().map_or(ShellForm::Wrapped, policy::shell_form);
    if without_report && form == ShellForm::Wrapped { ShellForm::BareCwdUnknown } else { form }
}

fn no_shell() -> Error {
    Error::NotStarted {
        why: "no bash in PATH, /bin, /usr/bin or /usr/local/bin can be executed".to_owned(),
        exit_code: 125,
    }
}

/// The command as people read it.
pub(crate) fn display(command: &Command) -> String {
    match command {
        Command::Shell(line) => line.to_string_lossy().into_owned(),
        Command::Argv(argv) => {
            argv.iter().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
        }
    }
}

fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
