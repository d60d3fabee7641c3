//! From the request to a running leader.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use confine::{ChildPlan, ExecPlan, KeeperSignals, Placement, Program, StdioPlan, Tag};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, open};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::bounds::Bounds;
use super::clients::Clients;
use super::confinement::{self, Binding};
use super::drain::{self, Pipes};
use super::end_report::{self, EndReport};
use super::input::{Inputs, Sink};
use super::limits::Watch;
use super::news::News;
use super::place::Place;
use super::terminal::Terminal;
use super::waiting::Waiting;
use super::{Birth, Task, Timers};
use crate::bytes::ByteStr;
use crate::clock;
use crate::keeper::null_stdio;
use crate::lifecycle::{State, Terms};
use crate::record::{RECORD_VERSION, Record};
use crate::spool::Spool;
use crate::sys::{self, Fork};
use crate::total::Total;
use crate::wire::{
    Boundary, CommandSpec, Dialect, InputKind, Launch, OutputSpec, PlacementSpec, SizeSince, StdinSpec,
    TerminalSize, Usage,
};

/// `MAX_ARG_STRLEN` is 32 pages, the terminating NUL included.
pub(super) const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// Nothing was started; the host is to be told why.
pub(super) struct RefusedLaunch {
    pub(super) clients: Clients,
    pub(super) why: String,
}

/// The leader's ends of its pipes; closed in the supervisor once the leader has them.
#[derive(Default)]
struct LeaderEnds {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

/// What the loop waits on, made before the first fork.
pub(super) struct Tools {
    pub(super) clients: Clients,
    pub(super) epoll: OwnedFd,
    pub(super) signals: OwnedFd,
    pub(super) started_ms: u64,
}

/// Makes everything that the leader needs, then the leader.
pub(super) fn prepare(
    birth: Birth<'_>,
    launch: Launch,
    tools: Tools,
) -> Result<Task<'_>, Box<RefusedLaunch>> {
    match try_prepare(&birth, &launch) {
        Ok(ready) => Ok(ready.into_task(birth, launch, tools)),
        Err(why) => Err(Box::new(RefusedLaunch { clients: tools.clients, why })),
    }
}

struct Ready {
    place: Place,
    record: Record,
    spool: Spool,
    connections: Connections,
    exec_error: OwnedFd,
    end_report: Option<EndReport>,
    leader: i32,
    binding: Binding,
    bounds: Bounds,
    limits: Watch,
}

fn try_prepare(birth: &Birth<'_>, launch: &Launch) -> Result<Ready, String> {
    let place = Place::make(launch)
        .map_err(|error| format!("make a task directory in {}: {error}", launch.durable_dir.to_text()))?;
    let ready = in_place(birth, launch, &place);
    match ready {
        Ok((record, spool, connections, exec_error, end_report, leader, binding, (bounds, limits))) => {
            Ok(Ready {
                place,
                record,
                spool,
                connections,
                exec_error,
                end_report,
                leader,
                binding,
                bounds,
                limits,
            })
        }
        Err(why) => {
            place.remove();
            Err(why)
        }
    }
}

type InPlace = (Record, Spool, Connections, OwnedFd, Option<EndReport>, i32, Binding, (Bounds, Watch));

fn in_place(birth: &Birth<'_>, launch: &Launch, place: &Place) -> Result<InPlace, String> {
    let context = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    // RACE(record-first): if both keepers are killed between the leader's fork and the record, nobody would know of
    // the leader; closed by writing the record before the fork.
    let mut record = first_record(birth, launch);
    let mut bounds = Bounds::set_up(launch, &mut record)?;
    let limits = Watch::set_up(launch.confine.limits, bounds.leaf());
    record.protections = limits.protections();
    if launch.confine.required && confinement::is_weaker(&record.protections) {
        return Err(confinement::refusal(&record.protections));
    }
    record.write_first(&place.dir).map_err(|error| {
        let place = place.path();
        format!(
            "write the task's record in {} ({error}): free space there, or set KENNEL_STATE_DIR",
            place.display()
        )
    })?;
    let total = Total::new(launch.durable_dir.as_path(), &launch.id, launch.output_total_bytes);
    let spool = Spool::new(Rc::clone(&place.dir), &launch.id, launch.output_cap_bytes)
        .bounded(total.free_bytes(), Box::new(total));
    let (connections, ends) = match launch.terminal {
        Some(size) => terminal(size).map_err(context("make a terminal"))?,
        None => pipes(launch).map_err(context("make pipes"))?,
    };
    let end_report = end_report(launch, place)?;
    let mut binding = Binding::prepare(launch)?;
    let exec = program(launch, place, end_report.as_ref(), binding.temp_variable.as_deref())?;
    binding.show_shell_files(place);
    let (exec_error, error_end) =
        pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(|e| context("make a pipe")(e.into()))?;
    let mut plan = ChildPlan {
        placement: match launch.placement {
            _ if launch.terminal.is_some() => Placement::Terminal,
            PlacementSpec::OwnSession => Placement::OwnSession,
            // In there our pid is 0, and `kill -9 $PPID` hits the whole process group: it must be the task's own.
            PlacementSpec::Group(_) if bounds.reaper().is_some() => Placement::OwnSession,
            PlacementSpec::Group(group) => Placement::Group(
                Pid::from_raw(group).ok_or_else(|| format!("process group {group} is not one"))?,
            ),
        },
        stdio: StdioPlan {
            stdin: ends.stdin.as_ref().map(AsFd::as_fd),
            stdout: ends.stdout.as_ref().map(AsFd::as_fd),
            stderr: ends.stderr.as_ref().or(ends.stdout.as_ref()).map(AsFd::as_fd),
        },
        fresh_proc: bounds.shows_own_processes(),
        cwd: CString::new(launch.cwd.0.clone())
            .map_err(|_| "the working directory holds a NUL byte".to_owned())?,
        inherited: launch.inherited.clone().map(Into::into),
        limits: limits.of_each_process(),
        tag: launch.tag.and_then(Tag::from_value),
        confinement: binding.confinement.take(),
        required: launch.confine.required,
        oom_score: birth.oom_score,
        signals: KeeperSignals { hangup_ignored: birth.hangup_ignored },
        exec,
        temp_variable_last: binding.temp_variable.is_some(),
        error_pipe: error_end.as_fd(),
    };
    // RACE(owner-start): the owner dies while its command is being started; closed by watching a pidfd and a lifeline,
    // which say so at the first wait whenever it was.
    fault::point("owner-start");
    match bounds.fork(launch, &mut record).map_err(context("fork"))? {
        Fork::Child => plan.enter(),
        Fork::Parent { pid, .. } => {
            fault::point("record-first");
            binding.confinement = plan.confinement.take();
            let end_report = end_report.map(|(report, _)| report);
            Ok((record, spool, connections, exec_error, end_report, pid, binding, (bounds, limits)))
        }
    }
}

fn first_record(birth: &Birth<'_>, launch: &Launch) -> Record {
    Record {
        version: RECORD_VERSION,
        id: launch.id.clone(),
        session_id: launch.session_id.clone(),
        command: launch.display.clone(),
        description: launch.description.clone(),
        cwd: launch.cwd.clone(),
        origin: birth.origin.clone(),
        supervisor: birth.own,
        guard: birth.guard,
        leader: None,
        owner: birth.owner_ref,
        token: launch.token.clone(),
        tag: launch.tag,
        outer_tag: Tag::of_self().filter(|_| launch.tag.is_none()).map(Tag::value),
        background: launch.durable,
        started_unix_ms: clock::unix_ms(),
        ended_unix_ms: None,
        end: None,
        exit_code: None,
        pipestatus: None,
        cwd_after: None,
        duration_ms: None,
        boundary: Boundary::Subreaper,
        cgroup: None,
        reaper: None,
        proof: None,
        stdout_bytes: 0,
        stderr_bytes: 0,
        dropped_bytes: 0,
        usage: Usage::default(),
        notices: launch.notices.clone(),
        input: match (launch.terminal, launch.stdin) {
            (Some(_), _) => Some(InputKind::Terminal),
            (None, StdinSpec::Pipe) => Some(InputKind::Pipe),
            _ => None,
        },
        sizes: launch.terminal.map(|size| SizeSince { offset: 0, size }).into_iter().collect(),
        protections: Vec::new(),
    }
}

/// The end report where the shell is to give one, with its variable.
fn end_report(launch: &Launch, place: &Place) -> Result<Option<(EndReport, ByteStr)>, String> {
    match &launch.command {
        CommandSpec::Shell { wrapped: true, .. } => {
            EndReport::prepare(place).map(Some).map_err(|error| format!("prepare the end report: {error}"))
        }
        _ => Ok(None),
    }
}

/// The program file with its vectors.
fn program(
    launch: &Launch,
    place: &Place,
    report: Option<&(EndReport, ByteStr)>,
    last_variable: Option<&[u8]>,
) -> Result<ExecPlan, String> {
    let path =
        launch.env.iter().find_map(|variable| variable.0.strip_prefix(b"PATH=")).unwrap_or(b"/usr/bin:/bin");
    let mut env: Vec<&[u8]> = launch.env.iter().map(|variable| variable.0.as_slice()).collect();
    env.extend(report.map(|(_, variable)| variable.0.as_slice()));
    env.extend(last_variable);
    let refused = |error: confine::PlanError| error.to_string();
    match &launch.command {
        CommandSpec::Argv(argv) => {
            let argv: Vec<&[u8]> = argv.iter().map(|argument| argument.0.as_slice()).collect();
            let name = argv.first().copied().unwrap_or_default();
            ExecPlan::new(&Program::Search { name, path }, &argv, &env).map_err(refused)
        }
        CommandSpec::Shell { shell, dialect, line, .. } => {
            let file;
            let tail: [&[u8]; 2] = if line.0.len() > ARGUMENT_BYTES_MAX {
                file = end_report::command_file(place, &line.0)
                    .map_err(|error| format!("write the command file: {error}"))?;
                [b"--", &file]
            } else {
                [b"-c", &line.0]
            };
            let name = shell.0.rsplit(|byte| *byte == b'/').next().unwrap_or(b"sh");
            let mut argv = vec![name];
            argv.extend(dialect.options().iter().map(|option| option.as_bytes()));
            argv.push(tail[0]);
            if tail[1].starts_with(b"-") && *dialect != Dialect::Fish {
                // A line that looks like an option is a line all the same; fish takes it for one by itself.
                argv.push(b"--");
            }
            argv.push(tail[1]);
            ExecPlan::new(&Program::File(&shell.0), &argv, &env).map_err(refused)
        }
    }
}

/// Our ends of what the leader has on its standard descriptors.
struct Connections {
    pipes: Pipes,
    input: Inputs,
}

fn terminal(size: TerminalSize) -> io::Result<(Connections, LeaderEnds)> {
    let (terminal, leaders) = Terminal::open(size)?;
    let output = drain::terminal(terminal.master())?;
    let ends = LeaderEnds { stdout: Some(leaders.try_clone()?), stdin: Some(leaders), stderr: None };
    let pipes = Pipes { stdout: Some(output), stderr: None };
    Ok((Connections { pipes, input: Inputs::of(Some(Sink::Terminal(terminal))) }, ends))
}

fn pipes(launch: &Launch) -> io::Result<(Connections, LeaderEnds)> {
    let mut pipes = Pipes::default();
    let mut ends = LeaderEnds::default();
    let mut sink = None;
    match launch.stdin {
        StdinSpec::Null => {
            ends.stdin = Some(open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        }
        StdinSpec::Inherit => {}
        StdinSpec::Pipe => {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            fcntl_setfl(&writer, fcntl_getfl(&writer)? | OFlags::NONBLOCK)?;
            ends.stdin = Some(reader);
            sink = Some(Sink::Pipe(writer));
        }
    }
    if launch.output != OutputSpec::Inherit {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        (pipes.stdout, ends.stdout) = (Some(drain::pipe(reader)?), Some(writer));
    }
    if launch.output == OutputSpec::Split {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        (pipes.stderr, ends.stderr) = (Some(drain::pipe(reader)?), Some(writer));
    }
    Ok((Connections { pipes, input: Inputs::of(sink) }, ends))
}

impl Ready {
    fn into_task(self, birth: Birth<'_>, launch: Launch, tools: Tools) -> Task<'_> {
        let Tools { clients, epoll, signals, started_ms } = tools;
        // The caller's own descriptors are the leader's now; a copy here would keep somebody's pipe open.
        let _kept_as_they_are = null_stdio();
        birth.passed.iter().for_each(|fd| sys::close(*fd));
        let terms = Terms {
            survivors: launch.survivors,
            on_timeout: launch.on_timeout,
            on_owner_exit: launch.on_owner_exit,
            grace_ms: launch.grace_ms,
        };
        let mut task = Task {
            terms,
            state: State::Starting,
            place: self.place,
            old_place: None,
            record: self.record,
            epoll,
            signals,
            clients,
            pipes: self.connections.pipes,
            input: self.connections.input,
            waiting: Waiting::default(),
            news: News::default(),
            spool: self.spool,
            exec_error: Some(self.exec_error),
            exec_failure: None,
            binding: self.binding,
            end_report: self.end_report,
            leader: self.leader,
            bounds: self.bounds,
            limits: self.limits,
            leader_status: None,
            leader_told: false,
            empty: false,
            started_ms,
            leader_ended_ms: None,
            timers: Timers::default(),
            sweep: None,
            sweep_forced: false,
            kills: Vec::new(),
            capped_told: false,
            limited_told: false,
            crossed: None,
            members_peak: 1,
            finished: false,
            birth,
            launch,
        };
        task.launch.env = Vec::new();
        task.register();
        task
    }
}
