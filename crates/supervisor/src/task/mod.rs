//! One task, from its first fork to its last byte: set up, drain, end, record.
//!
//! [`main`] is the supervisor. It owns everything about the task; there is one loop, one `epoll_wait`, and every event
//! becomes an input of [`crate::lifecycle::step`], whose actions are performed here.

mod bounds;
mod clients;
mod confinement;
mod drain;
mod end_report;
mod held;
mod input;
mod ladder;
mod launch;
mod limits;
mod news;
mod place;
mod temp;
mod terminal;
mod turn;
mod waiting;

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::epoll;

use crate::clock;
use crate::end::{Crossed, WaitStatus};
use crate::keeper::{TASK_NAME, become_keeper, close_all_but};
use crate::lifecycle::{State, Terms};
use crate::record::{Origin, ProcRef, Record};
use crate::spool::Spool;
use crate::sweep::Sweep;
use crate::sys::{self, SharedWords};
use crate::wire::{FromSupervisor, Launch, Notice};

pub use place::{SOCKET_FILE, remove_task_dir};
pub use temp::TempDir;

use bounds::Bounds;
use clients::{Clients, Role};
use confinement::Binding;
use drain::Pipes;
use end_report::EndReport;
use input::Inputs;
use ladder::KillWaiter;
use news::News;
use place::Place;
use waiting::Waiting;

/// What a supervisor gets from its guard.
#[derive(Debug)]
pub(crate) struct Birth<'guard> {
    /// Where the guard sends the host's end of a task, until it has.
    pub(crate) orders: Option<OwnedFd>,
    /// Read end of the session's lifeline.
    pub(crate) lifeline: RawFd,
    /// The owner's pidfd.
    pub(crate) owner: Option<RawFd>,
    /// The owner by identity, for the record.
    pub(crate) owner_ref: Option<ProcRef>,
    /// Descriptors that a wrapped command inherits besides 0–2.
    pub(crate) passed: &'guard [RawFd],
    /// Where to acknowledge the owner's death.
    pub(crate) words: &'guard SharedWords,
    /// Index of the word.
    pub(crate) slot: usize,
    /// Machine, boot and namespace.
    pub(crate) origin: &'guard Origin,
    /// The guard.
    pub(crate) guard: ProcRef,
    /// SIGHUP was ignored when the guard began.
    pub(crate) hangup_ignored: bool,
    /// What the guard was worth when memory runs out, before it became a keeper.
    pub(crate) oom_score: Option<confine::OomScore>,
    /// This supervisor; looked up while it is a spare, when nobody waits.
    pub(crate) own: ProcRef,
}

/// Values of a supervisor's shared word.
pub(crate) mod word {
    /// Nothing to say.
    pub(crate) const IDLE: u32 = 0;
    /// The owner's death was seen and is being acted on.
    pub(crate) const ACTING: u32 = 1;
    /// The task is not bound to the owner.
    pub(crate) const KEPT: u32 = 2;
    /// The guard's: the session was closed by its host, which is no death.
    pub(crate) const CLOSED: u32 = 3;
}

/// Everything about one task.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that was seen or told once, not a choice")]
struct Task<'guard> {
    birth: Birth<'guard>,
    launch: Launch,
    terms: Terms,
    state: State,
    place: Place,
    /// Where the task was before it moved to the state directory.
    old_place: Option<Place>,
    record: Record,
    epoll: OwnedFd,
    signals: OwnedFd,
    clients: Clients,
    pipes: Pipes,
    input: Inputs,
    waiting: Waiting,
    news: News,
    spool: Spool,
    exec_error: Option<OwnedFd>,
    exec_failure: Option<confine::Failure>,
    binding: Binding,
    end_report: Option<EndReport>,
    leader: i32,
    bounds: Bounds,
    limits: limits::Watch,
    leader_status: Option<WaitStatus>,
    /// The leader's end was fed to the table.
    leader_told: bool,
    /// ECHILD was seen.
    empty: bool,
    started_ms: u64,
    leader_ended_ms: Option<u64>,
    timers: Timers,
    sweep: Option<Sweep>,
    sweep_forced: bool,
    kills: Vec<KillWaiter>,
    capped_told: bool,
    limited_told: bool,
    /// A limit that was crossed and is still to be fed to the table.
    crossed: Option<Crossed>,
    members_peak: u64,
    finished: bool,
}

/// Absolute deadlines in milliseconds of the monotonic clock.
#[derive(Debug, Default)]
struct Timers {
    timeout: Option<u64>,
    /// What was left of the timeout when the leader was stopped.
    timeout_paused: Option<u64>,
    grace: Option<u64>,
    settle: Option<u64>,
    /// When the record of a foreground call is completed with its leader.
    record: Option<u64>,
    sweep: Option<u64>,
    sweep_overdue: Option<u64>,
    /// When it is looked for a member that waits for input.
    quiet: Option<u64>,
    /// Children wait to be collected.
    reap: Option<u64>,
    /// When the tree is next looked at for its limits.
    limits: Option<u64>,
    /// When it is told that nothing was written for long.
    silence: Option<u64>,
    /// When new ports are looked for.
    ports: Option<u64>,
}

impl Timers {
    fn next(&self) -> Option<u64> {
        let ends = [self.timeout, self.grace, self.settle, self.sweep, self.sweep_overdue, self.reap];
        let looks = [self.record, self.limits, self.quiet, self.silence, self.ports];
        ends.into_iter().chain(looks).flatten().min()
    }
}

/// Tokens of the epoll set; control connections count from [`token::CLIENT`].
mod token {
    pub(super) const SIGNALS: u64 = 1;
    pub(super) const LIFELINE: u64 = 2;
    pub(super) const OWNER: u64 = 3;
    pub(super) const LISTENER: u64 = 4;
    pub(super) const STDOUT: u64 = 5;
    pub(super) const STDERR: u64 = 6;
    pub(super) const EXEC_ERROR: u64 = 7;
    pub(super) const INPUT: u64 = 8;
    pub(super) const REAPER: u64 = 9;
    pub(super) const CLIENT: u64 = 16;
}

/// The calling process by identity.
pub(crate) fn own_ref() -> ProcRef {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    proctree::proc_id(own).map_or(ProcRef { pid: own, start_ticks: 0 }, ProcRef::from)
}

/// The supervisor. Runs in a fresh copy of the guard and never returns.
pub(crate) fn main(mut birth: Birth<'_>) -> ! {
    let mut keep = vec![0, 1, 2, birth.lifeline];
    keep.extend(birth.orders.as_ref().map(AsRawFd::as_raw_fd));
    keep.extend(birth.owner);
    keep.extend(birth.passed);
    // First act: a sibling's copy of a lifeline would keep it open for ever.
    close_all_but(&mut keep);
    birth.own = own_ref();
    let status = match run(birth) {
        Ok(()) => 0,
        Err(_told_by_the_broken_connection) => 70,
    };
    sys::exit_now(status)
}

fn run(mut birth: Birth<'_>) -> std::io::Result<()> {
    become_keeper(TASK_NAME)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let signals = sys::child_signal_fd()?;
    let mut clients = Clients::default();
    let Some(launch) = clients.receive_launch(birth.orders.as_ref(), birth.lifeline)? else { return Ok(()) };
    birth.orders = None;
    let (durable, session) = (launch.durable_dir.clone(), launch.session_id.clone());
    let tools = launch::Tools { clients, epoll, signals, started_ms: clock::monotonic_ms() };
    match launch::prepare(birth, launch, tools) {
        Ok(mut task) => {
            task.live();
            Ok(())
        }
        Err(mut refused) => {
            crate::log::note(
                durable.as_path(),
                &session,
                &format!("a task was not started: {}", refused.why),
            );
            refused.clients.tell(Role::Host, &FromSupervisor::Refused { why: refused.why });
            refused.clients.flush_last();
            Ok(())
        }
    }
}

impl Task<'_> {
    /// The loop.
    fn live(&mut self) {
        while !self.finished {
            self.turn();
        }
        self.clients.flush_last();
        // After the answer: nobody waits for this.
        self.place.retire();
        self.keep_within_bounds();
        if self.end_report.is_some() || self.record.command.len() > launch::ARGUMENT_BYTES_MAX {
            self.place.retire_shell_files();
        }
        if let Some(old) = self.old_place.take() {
            old.remove();
        }
        if let Some(temp) = self.binding.temp.take() {
            temp.leave();
        }
    }

    /// Notes what went wrong for who looks for a cause.
    fn log(&self, text: &str) {
        let text = format!("{}: {text}", self.launch.id);
        crate::log::note(self.launch.durable_dir.as_path(), &self.launch.session_id, &text);
    }

    fn notice(&mut self, notice: Notice) {
        // What is known before the start is told with it.
        if !matches!(self.state, State::Starting) {
            self.clients.tell_all(&FromSupervisor::Notice(notice.clone()));
        }
        self.record.notices.push(notice);
    }
}
