//! From the options of `run` and `start` to a session and a request.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use kennel::{
    Answer, Door, GuardStart, Kennel, OnOutputCap, OnOwnerExit, OnTimeout, Output, Request, Session, Stdin,
    Survivors, TERMINAL_SIZE_DEFAULT,
};

use crate::args::{AskArg, CommandOptions, OnOutputCapArg, OnTimeoutArg, RunOptions, SurvivorsArg};
use crate::ask::Asking;
use crate::fault::Fault;
use crate::relay::{self, size_of_caller};
use crate::render;
use crate::send::PtySize;
use crate::sys::Terminal;

/// Opens the session of `run` or `start`.
pub(crate) async fn open_session(
    options: &CommandOptions,
    guard: GuardStart,
    asking: &Asking,
) -> Result<Session, Fault> {
    let kennel = Kennel::builder().guard(guard).build().await.map_err(|error| Fault::of_command(&error))?;
    if let Some(notice) = kennel.state_dir_notice() {
        render::note(notice);
    }
    let mut session = asking.apply(kennel.session().door(Door::Wrapper));
    if let Some(id) = &options.session {
        session = session.id(id).saved();
    }
    session = options.environment.apply(session);
    if let Some(owner) = options.owner_pid {
        session = session.owner(owner);
    }
    session.open().await.map_err(|error| Fault::of_command(&error))
}

pub(super) fn request(options: &RunOptions, terminal: Option<&Terminal>) -> Result<Request, Fault> {
    let mut request = common_request(&options.command)?;
    if options.command.keep {
        request = request.on_owner_exit(OnOwnerExit::Keep);
    }
    if !options.command.stdin {
        request = request.stdin(Stdin::Inherit);
    }
    if let Some(characters) = options.max_output {
        request = request.max_output(characters);
    }
    if options.tty {
        request = request.output(Output::Inherit);
    }
    let given = |variable: &OsString| variable.as_bytes().starts_with(b"TERM=");
    if options.command.pty.is_some()
        && !options.command.environment.env.iter().any(given)
        && let Some(term) = relay::term_of_caller()
    {
        request = request.env("TERM", term);
    }
    if let Some(terminal) = terminal {
        request = request.in_process_group(terminal.group);
    }
    Ok(request)
}

/// What `run` and `start` ask alike.
pub(crate) fn common_request(options: &CommandOptions) -> Result<Request, Fault> {
    let mut request = command(options)?
        .grace(options.grace)
        .sandbox(options.sandbox.choice()?)
        .limits(options.limits.limits())
        .on_timeout(match options.on_timeout {
            OnTimeoutArg::Kill => OnTimeout::Kill,
            OnTimeoutArg::Background => OnTimeout::Background,
        });
    if let Some(answer) = options.ask {
        request = request.answered(if answer == AskArg::Allow { Answer::Run } else { Answer::Refuse });
    }
    if let Some(choice) = options.survivors {
        request = request.survivors(match choice {
            SurvivorsArg::Adopt => Survivors::Adopt,
            SurvivorsArg::Kill => Survivors::Kill,
            SurvivorsArg::Leave => Survivors::Leave,
        });
    }
    request = options.boundary.apply(request, options.sandbox.require);
    if let Some(timeout) = options.timeout {
        request = request.timeout(timeout);
    }
    if let Some(cwd) = &options.cwd {
        request = request.cwd(cwd);
    }
    if let Some(text) = &options.description {
        request = request.description(text);
    }
    request = request.on_output_cap(match options.on_output_cap {
        OnOutputCapArg::Drop => OnOutputCap::Drop,
        OnOutputCapArg::Kill => OnOutputCap::Kill,
    });
    if let Some(bytes) = options.output_cap {
        request = request.output_cap_bytes(bytes);
    }
    if options.stdin {
        request = request.stdin(Stdin::Pipe);
    }
    if let Some(size) = options.pty {
        request = request.pty(match size {
            PtySize::Given(size) => size,
            PtySize::OfCaller => size_of_caller().unwrap_or(TERMINAL_SIZE_DEFAULT),
        });
    }
    if options.merge {
        request = request.output(Output::Merged);
    }
    for variable in &options.environment.env {
        let (name, value) = split_variable(variable)?;
        request = request.env(name, value);
    }
    Ok(request)
}

fn command(options: &CommandOptions) -> Result<Request, Fault> {
    if let Some(file) = &options.command_file {
        return Ok(Request::shell(read_command(file)?));
    }
    match options.command.as_slice() {
        [] => Err(Fault::usage("no command was given", "kennel run 'make test', or kennel run -- make test")),
        [line] => Ok(Request::shell(line)),
        argv => Ok(Request::argv(argv)),
    }
}

pub(crate) fn read_command(file: &Path) -> Result<OsString, Fault> {
    let mut bytes = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|content| bytes = content)
    };
    read.map_err(|error| {
        Fault::usage(
            format!("the command file {}: {error}", file.display()),
            "name a readable file, or - for standard input",
        )
    })?;
    Ok(OsString::from_vec(bytes))
}

pub(crate) fn split_variable(variable: &OsString) -> Result<(OsString, OsString), Fault> {
    let bytes = variable.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) if at > 0 => {
            let (name, value) = bytes.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            Ok((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        }
        _ => Err(Fault::usage(
            format!("--env {}: not NAME=VALUE", variable.to_string_lossy()),
            "write --env NAME=VALUE",
        )),
    }
}
