//! `kennel session`: sessions that outlive a command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kennel::config::units as duration;
use kennel::{Door, Kennel, Kill, OnOwnerExit, Persist, SessionInfo, SessionList, SessionState};

use crate::args::EnvironmentOptions;
use crate::fault::Fault;
use crate::render;
use crate::run::split_variable;

/// Open, close and look at sessions.
#[derive(Debug, Parser)]
#[command(name = "kennel session", max_term_width = 100)]
pub(crate) struct SessionOptions {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Open a session and print its name; `run` and `start` take it with --session.
    Open(OpenOptions),
    /// End a session and all of its tasks, with proof.
    Close(CloseOptions),
    /// List sessions.
    List(ListOptions),
    /// Show one session.
    Show(ShowOptions),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PersistArg {
    /// Every call starts in the session's root.
    None,
    /// A call starts where the last one ended.
    Cwd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OwnerExitArg {
    /// Its tasks end.
    Kill,
    /// They go on.
    Keep,
}

#[derive(Debug, Args)]
pub(crate) struct OpenOptions {
    /// Its name; by default a random one.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Its root; by default the current directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentOptions,
    /// What a call leaves to the next one.
    #[arg(long, value_enum, default_value = "cwd")]
    pub(crate) persist: PersistArg,
    /// Bind the session to the life of this process.
    #[arg(long, value_name = "PID")]
    pub(crate) owner_pid: Option<i32>,
    /// What the owner's end does to its tasks.
    #[arg(long, value_enum, default_value = "kill")]
    pub(crate) on_owner_exit: OwnerExitArg,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CloseOptions {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Let its tasks go on.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Time between SIGTERM and SIGKILL.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5s")]
    pub(crate) grace: Duration,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Does what the verb says.
pub(crate) async fn session(options: &SessionOptions) -> Result<u8, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    match &options.verb {
        SessionVerb::Open(options) => open(&kennel, options),
        SessionVerb::Close(options) => close(&kennel, options).await,
        SessionVerb::List(options) => {
            list(&kennel, options);
            Ok(0)
        }
        SessionVerb::Show(options) => {
            let session = kennel.session_info(&options.name).map_err(|error| Fault::not_done(&error))?;
            if options.json {
                render::json(&session);
            } else {
                show(&session);
            }
            Ok(0)
        }
    }
}

fn open(kennel: &Kennel, options: &OpenOptions) -> Result<u8, Fault> {
    let mut session = options.environment.apply(kennel.session().door(Door::Wrapper));
    if let Some(name) = &options.name {
        session = session.id(name);
    }
    if let Some(cwd) = &options.cwd {
        session = session.cwd(cwd);
    }
    for variable in &options.environment.env {
        let (name, value) = split_variable(variable)?;
        session = session.variable(name, value);
    }
    if let Some(pid) = options.owner_pid {
        session = session.owner(pid);
    }
    let session = session
        .persist(match options.persist {
            PersistArg::None => Persist::None,
            PersistArg::Cwd => Persist::Cwd,
        })
        .on_owner_exit(match options.on_owner_exit {
            OwnerExitArg::Kill => OnOwnerExit::Kill,
            OwnerExitArg::Keep => OnOwnerExit::Keep,
        });
    let name = session.save().map_err(|error| Fault::not_done(&error))?;
    if options.json {
        render::json(&kennel.session_info(&name).map_err(|error| Fault::not_done(&error))?);
    } else {
        render::answer(&format!("{name}\n"));
    }
    Ok(0)
}

async fn close(kennel: &Kennel, options: &CloseOptions) -> Result<u8, Fault> {
    let kill = Kill::terminate().grace(options.grace);
    let closed = kennel.close_session(&options.name, &kill, options.keep).await;
    let closed = closed.map_err(|error| Fault::not_done(&error))?;
    if options.json {
        render::json(&closed);
        return Ok(u8::from(!closed.success));
    }
    let title = if closed.success {
        format!("{} is closed", closed.id)
    } else {
        format!("{} could not be closed: it has tasks that could not be ended", closed.id)
    };
    let mut lines = Vec::new();
    for report in &closed.killed {
        let how = if report.success { "dead" } else { "ALIVE" };
        lines.push((how, report.shell_id.clone()));
    }
    lines.extend(closed.kept.iter().map(|id| ("kept", id.clone())));
    render::panel(&title, &lines);
    Ok(u8::from(!closed.success))
}

fn list(kennel: &Kennel, options: &ListOptions) {
    let sessions = kennel.sessions();
    if options.json {
        return render::json(&SessionList { sessions });
    }
    if sessions.is_empty() {
        return render::answer("No sessions. kennel session open NAME opens one.\n");
    }
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            let running = session.running.len().to_string();
            vec![session.id.clone(), state(session).to_owned(), running, session.cwd.clone()]
        })
        .collect();
    render::table(&["SESSION", "STATE", "RUNNING", "DIRECTORY"], &rows);
}

fn show(session: &SessionInfo) {
    let mut lines = vec![
        ("state", state(session).to_owned()),
        ("root", session.root.clone()),
        ("directory", session.cwd.clone()),
    ];
    if let Some(at) = &session.opened_at {
        lines.push(("opened", at.clone()));
    }
    if let Some(pid) = session.owner_pid {
        lines.push(("owner", format!("process {pid}")));
    }
    if !session.variables.is_empty() {
        lines.push(("variables", session.variables.join(" ")));
    }
    lines.extend(session.running.iter().map(|id| ("running", id.clone())));
    render::panel(&session.id, &lines);
}

fn state(session: &SessionInfo) -> &'static str {
    match session.state {
        SessionState::Open => "open",
        SessionState::Closing => "being closed",
        SessionState::OwnerGone => "its owner has ended",
        SessionState::Unsaved => "of a program",
    }
}
