//! The lifecycle of a task as one pure table: `step(state, input)` gives the next state and what to do.
//!
//! A timeout, a cancel, a kill, a limit, the owner's death and the end of a session are six inputs; all of them lead
//! to [`Action::SignalTree`], [`Action::ArmGrace`] and [`Action::Sweep`], which is the one kill path. Nothing here
//! knows a process, a clock or a descriptor; the driver performs the actions and reports back as inputs.

use crate::end::{Crossed, End, StoppedBy, WaitStatus};

/// What may happen to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// The leader runs its program.
    Started,
    /// The leader could not be made; no member was left.
    NotStarted(String),
    /// The leader has been reaped. `alone`: nothing else of the tree is left.
    LeaderEnded {
        /// How, by its wait status.
        status: WaitStatus,
        /// The tree is proved empty.
        alone: bool,
    },
    /// What the leader left in the pipes was read, or its time is over.
    Settled,
    /// The tree is proved empty (ECHILD).
    Empty,
    /// The timeout of the request is over.
    TimedOut,
    /// Somebody wants the task to end.
    Stop(Stop),
    /// The owner, the guard or the session has gone.
    OwnerGone(Farewell),
    /// A limit of the task was crossed.
    Limit(Crossed),
    /// The grace is over and members live.
    GraceOver,
    /// The caller's answer is due though the sweep goes on.
    SweepOverdue,
}

/// How the owner left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// It closed the session.
    Closed,
    /// It is dead. Nobody waits for a clean-up, and a storm outruns whoever begins with a request.
    Died,
    /// It lives, and the guard is dead: without it the task would be alone when the next keeper goes.
    GuardDied,
}

/// An order to end the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    /// On whose behalf; becomes `end.by`.
    pub by: StoppedBy,
    /// The first signal of the ladder.
    pub signal: i32,
    /// How long to wait for emptiness after the first signal; 0 goes to the sweep at once.
    pub grace_ms: u64,
    /// Whether the ladder goes on to SIGKILL.
    pub force: Force,
}

/// Whether a ladder ends in SIGKILL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// Signal, grace, SIGKILL, proof.
    Kill,
    /// Signal and grace only; what lives then lives on.
    Never,
}

/// What becomes of members that outlive the leader of a command that ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survivors {
    /// They go on as a running task of the session.
    #[default]
    Adopt,
    /// They are ended by the kill path.
    Kill,
    /// They go on and are no longer bound to the owner's life.
    Leave,
}

/// What a timeout does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// End the task.
    #[default]
    Kill,
    /// Let it go on in the background.
    Background,
}

/// What happens when the spool is full and its oldest output would have to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOutputCap {
    /// The middle goes: head and newest part are kept, and what was dropped is counted.
    #[default]
    Drop,
    /// The task is ended (`limit`, of `output`).
    Kill,
}

/// What the owner's death does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnOwnerExit {
    /// End the task.
    #[default]
    Kill,
    /// Let it go on.
    Keep,
}

/// The choices of the request that the table needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// See [`Survivors`].
    pub survivors: Survivors,
    /// See [`OnTimeout`].
    pub on_timeout: OnTimeout,
    /// See [`OnOwnerExit`].
    pub on_owner_exit: OnOwnerExit,
    /// Grace after a timeout, milliseconds.
    pub grace_ms: u64,
}

/// Why the kill path was entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The timeout.
    TimedOut,
    /// A wish.
    Stopped(StoppedBy),
    /// A limit.
    Limit(Crossed),
}

impl Why {
    fn end(&self) -> End {
        match self {
            Self::TimedOut => End::TimedOut,
            Self::Stopped(by) => End::Stopped { by: *by },
            Self::Limit(crossed) => (*crossed).into(),
        }
    }
}

/// How far the kill path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The signal was sent; waiting for emptiness.
    Grace {
        /// What follows.
        force: Force,
        /// The last signal that was sent.
        signal: i32,
    },
    /// SIGKILL to all that is left, to ECHILD.
    Sweep,
}

/// Where a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// Between fork and exec.
    Starting,
    /// The leader runs.
    Running,
    /// The leader has ended by itself; what it left in the pipes is being read.
    Settling {
        /// The leader's end.
        end: End,
    },
    /// The leader has ended, members live on.
    Lingering {
        /// The leader's end.
        end: End,
    },
    /// On the kill path.
    Ending {
        /// The end, if the leader had ended before.
        end: Option<End>,
        /// What the end becomes if the leader is still there.
        why: Why,
        /// How far.
        phase: Phase,
    },
    /// The tree is empty.
    Ended {
        /// The leader's end, which never changes again.
        end: End,
    },
}

impl State {
    /// The leader's end, once it is known for good.
    pub(crate) fn end(&self) -> Option<&End> {
        match self {
            Self::Starting | Self::Running => None,
            Self::Settling { end } | Self::Lingering { end } | Self::Ended { end } => Some(end),
            Self::Ending { end, .. } => end.as_ref(),
        }
    }
}

/// What the driver must do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start the clock of the timeout and tell the owner.
    AnnounceStart,
    /// Stop the clock of the timeout.
    DisarmTimeout,
    /// Tell the owner that the task goes on in the background.
    AnnounceBackground,
    /// Read what the leader left in the pipes, for a bounded time.
    Settle,
    /// Tell the owner how the leader ended and who lives on.
    Report,
    /// Stop being bound to the owner.
    Disown,
    /// Send this signal to every member.
    SignalTree(i32),
    /// Come back with [`Input::GraceOver`] after so many milliseconds.
    ArmGrace(u64),
    /// Kill and reap, pass after pass, until the tree is empty.
    Sweep,
    /// Answer those who asked for the kill: not empty, and why.
    AnswerStuck,
    /// Write the last record, answer everybody, leave.
    Finish,
}

/// Grace when the session was closed. Its owner waits for all to be gone, so it is short.
pub(crate) const SESSION_CLOSED_GRACE_MS: u64 = 250;

/// Grace after a limit was crossed: it is to bind, and not to be lived in.
pub(crate) const LIMIT_GRACE_MS: u64 = 250;

impl Crossed {
    /// A hog of memory or processes takes more while it is asked.
    fn outruns_a_request(&self) -> bool {
        ["memory", "pids"].contains(&self.limit)
    }
}

/// The table.
pub(crate) fn step(state: State, input: Input, terms: Terms) -> (State, Vec<Action>) {
    match (state, input) {
        (State::Starting, Input::Started) => (State::Running, vec![Action::AnnounceStart]),
        (State::Starting | State::Running, Input::NotStarted(why)) => {
            (State::Ended { end: End::NotStarted { why } }, vec![Action::Finish])
        }
        (State::Starting | State::Running, Input::LeaderEnded { status, alone: true }) => {
            (State::Ended { end: status.into() }, vec![Action::DisarmTimeout, Action::Finish])
        }
        (State::Starting | State::Running, Input::LeaderEnded { status, alone: false }) => {
            (State::Settling { end: status.into() }, vec![Action::DisarmTimeout, Action::Settle])
        }
        (State::Running, Input::TimedOut) if terms.on_timeout == OnTimeout::Background => {
            (State::Running, vec![Action::DisarmTimeout, Action::AnnounceBackground])
        }
        (State::Settling { end }, Input::Settled) => settled(end, terms),
        (State::Settling { end } | State::Lingering { end }, Input::Empty) => {
            (State::Ended { end }, vec![Action::Finish])
        }
        (State::Ending { end, why, .. }, Input::LeaderEnded { alone: true, .. } | Input::Empty) => (
            State::Ended { end: end.unwrap_or_else(|| why.end()) },
            vec![Action::DisarmTimeout, Action::Finish],
        ),
        (State::Ending { end: None, why, phase }, Input::LeaderEnded { .. }) => leader_heeded(why, phase),
        (State::Ending { end, why, phase: Phase::Grace { force, .. } }, Input::GraceOver) => {
            grace_over(end, why, force)
        }
        (State::Ending { end, why, phase: Phase::Grace { .. } }, order) if order.is_kill(terms).is_some() => {
            tighten(end, why, &order, terms)
        }
        (state @ State::Ending { phase: Phase::Sweep, .. }, Input::SweepOverdue) => {
            (state, vec![Action::AnswerStuck])
        }
        (State::Ended { end }, _) => (State::Ended { end }, Vec::new()),
        (state, order) => match order.is_kill(terms) {
            Some((why, stop)) if !matches!(state, State::Ending { .. }) => {
                enter_kill_path(state.end().cloned(), why, &stop)
            }
            _ => (state, Vec::new()),
        },
    }
}

impl Input {
    /// The ladder that this input asks for, if it asks for one. The six inputs of the one kill path.
    fn is_kill(&self, terms: Terms) -> Option<(Why, Stop)> {
        let ladder = |by, grace_ms| Stop { by, signal: libc::SIGTERM, grace_ms, force: Force::Kill };
        match self {
            Self::TimedOut => Some((Why::TimedOut, ladder(StoppedBy::Kennel, terms.grace_ms))),
            Self::Limit(crossed) => {
                let grace_ms =
                    if crossed.outruns_a_request() { 0 } else { LIMIT_GRACE_MS.min(terms.grace_ms) };
                Some((Why::Limit(*crossed), ladder(StoppedBy::Kennel, grace_ms)))
            }
            Self::Stop(stop) => Some((Why::Stopped(stop.by), stop.clone())),
            Self::OwnerGone(farewell) if terms.on_owner_exit == OnOwnerExit::Kill => {
                let (by, grace_ms) = match farewell {
                    Farewell::Closed => (StoppedBy::OwnerExit, SESSION_CLOSED_GRACE_MS),
                    Farewell::Died => (StoppedBy::OwnerExit, 0),
                    Farewell::GuardDied => (StoppedBy::GuardExit, 0),
                };
                Some((Why::Stopped(by), ladder(by, grace_ms)))
            }
            _ => None,
        }
    }
}

fn settled(end: End, terms: Terms) -> (State, Vec<Action>) {
    match terms.survivors {
        Survivors::Adopt => (State::Lingering { end }, vec![Action::Report]),
        Survivors::Leave => (State::Lingering { end }, vec![Action::Disown, Action::Report]),
        Survivors::Kill => {
            let stop = Stop {
                by: StoppedBy::Kennel,
                signal: libc::SIGTERM,
                grace_ms: terms.grace_ms,
                force: Force::Kill,
            };
            enter_kill_path(Some(end), Why::Stopped(StoppedBy::Kennel), &stop)
        }
    }
}

fn enter_kill_path(end: Option<End>, why: Why, stop: &Stop) -> (State, Vec<Action>) {
    let mut actions = vec![Action::DisarmTimeout];
    if stop.force == Force::Kill && (stop.grace_ms == 0 || stop.signal == libc::SIGKILL) {
        actions.push(Action::Sweep);
        return (State::Ending { end, why, phase: Phase::Sweep }, actions);
    }
    actions.extend([Action::SignalTree(stop.signal), Action::ArmGrace(stop.grace_ms)]);
    // The terminal's Ctrl-C may have ended the leader before the order came.
    let further = after_leader(stop.force, stop.signal).filter(|_signal| end.is_some());
    actions.extend(further.map(Action::SignalTree));
    let signal = further.unwrap_or(stop.signal);
    let phase = Phase::Grace { force: stop.force, signal };
    (State::Ending { end, why, phase }, actions)
}

/// With which signal a ladder goes on once the leader has gone and others have not: the jobs that a shell has put into the
/// background ignore SIGINT, and would otherwise live until the grace is over.
fn after_leader(force: Force, signal: i32) -> Option<i32> {
    (force == Force::Kill && signal != libc::SIGTERM).then_some(libc::SIGTERM)
}

fn leader_heeded(why: Why, phase: Phase) -> (State, Vec<Action>) {
    let end = Some(why.end());
    let mut actions = vec![Action::DisarmTimeout];
    let phase = match phase {
        Phase::Grace { force, signal } => {
            let further = after_leader(force, signal);
            actions.extend(further.map(Action::SignalTree));
            Phase::Grace { force, signal: further.unwrap_or(signal) }
        }
        phase @ Phase::Sweep => phase,
    };
    (State::Ending { end, why, phase }, actions)
}

/// A second order while the grace runs: it can only make the end come sooner. A second order of the same kind is the
/// impatient user's: it skips the grace.
fn tighten(end: Option<End>, why: Why, order: &Input, terms: Terms) -> (State, Vec<Action>) {
    match order.is_kill(terms) {
        Some((_, stop))
            if stop.force == Force::Kill
                && matches!(order, Input::Stop(_) | Input::OwnerGone(_))
                && stop.grace_ms == 0 =>
        {
            (State::Ending { end, why, phase: Phase::Sweep }, vec![Action::Sweep])
        }
        Some((_, stop)) => {
            let phase = Phase::Grace { force: stop.force, signal: stop.signal };
            (
                State::Ending { end, why, phase },
                vec![Action::SignalTree(stop.signal), Action::ArmGrace(stop.grace_ms)],
            )
        }
        None => {
            let phase = Phase::Grace { force: Force::Kill, signal: libc::SIGTERM };
            (State::Ending { end, why, phase }, Vec::new())
        }
    }
}

fn grace_over(end: Option<End>, why: Why, force: Force) -> (State, Vec<Action>) {
    match (force, end) {
        (Force::Kill, end) => (State::Ending { end, why, phase: Phase::Sweep }, vec![Action::Sweep]),
        // A polite request that was not heeded: the task goes on as if it had not been asked.
        (Force::Never, None) => (State::Running, vec![Action::AnswerStuck]),
        (Force::Never, Some(end)) => (State::Lingering { end }, vec![Action::Report, Action::AnswerStuck]),
    }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
