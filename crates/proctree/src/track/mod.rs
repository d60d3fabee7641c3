//! Following a tree that somebody else started: the third seed's tracker, with identities instead of pids.

mod lineage;
mod options;
mod recognise;
mod state;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

pub use options::{Marker, Source, TrackOptions};
use state::State;
use table::Look;

use crate::PidFd;
use crate::group::{Leader, LiveMembers};
use crate::identity::ProcId;
use crate::sweep::{SignalReport, signal_all};
use crate::sys::{self, Signal, Waker, Woken};

/// Shortest interval between samples.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// Follows the tree of `leader` from now on. The first sample has been taken when this returns.
///
/// Members are the leader, whoever has a member as parent or as founder of its group, and whoever is in a group with
/// a member, if nobody in it is older than the leader and it is not a group that the leader shares with outsiders;
/// further who carries the marker or the tag. Once seen, a member is remembered with its start time, so that nobody
/// else on its pid is ever listed or signalled.
///
/// A marker is a hint: it counts for a process that is younger than the leader and whose parent is a member, process
/// 1 or an ancestor of the leader, who may have adopted it. An outsider that copies the marker *and* detaches itself
/// cannot be told from a member. One that sheds the marker and detaches between two samples is missed; by the
/// kernel's events it is not.
///
/// Never fails: what could not be had is in [`LiveMembers::supported`], [`LiveMembers::complete`] and
/// [`Tracker::source`].
///
/// # Platform
/// Linux. Elsewhere the tracker says `supported: false` and does nothing. Process events need Linux with the
/// connector, the initial PID and user namespaces, and before 6.6 `CAP_NET_ADMIN`; LIMIT: they attribute the child of
/// a member that uses `CLONE_PARENT` to the member's parent, so an orphan's such child is seen by samples only.
pub fn track_descendants(leader: impl Into<Leader>, options: TrackOptions) -> Tracker {
    let interval = options.interval.max(INTERVAL_MIN);
    let state = State::new(leader.into(), options);
    let waker = if state.is_supported() { Waker::new().ok() } else { None };
    let shared = Arc::new(Shared { state: Mutex::new(state), waker });
    let for_thread = Arc::clone(&shared);
    // Without a thread (none can be had at RLIMIT_NPROC) samples on demand are all there is.
    let thread = shared.waker.is_some().then(|| {
        let builder = Builder::new().name("proctree-track".to_owned()).stack_size(256 * 1024);
        builder.spawn(move || follow(&for_thread, interval)).ok()
    });
    let thread = thread.flatten();
    if thread.is_none() {
        shared.state().unsubscribe();
    }
    Tracker { shared, thread: Mutex::new(thread) }
}

/// Follows one tree; dropping it stops that and touches no process.
#[derive(Debug)]
pub struct Tracker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a tracker learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActiveSource {
    /// The kernel's process events.
    Events,
    /// Samples at an interval.
    Sampler,
    /// Samples on demand only: the tracker was stopped, no thread could be had, or the platform has no process table.
    OnDemand,
}

impl Tracker {
    /// The members that are known and live now, the leader among them. Takes no sample of its own.
    pub fn live_members(&self) -> LiveMembers {
        self.shared.state().living()
    }

    /// Takes a sample at once.
    pub fn sample_now(&self) {
        self.shared.state().look(Look::Demanded);
    }

    /// Signals every member, after a sample; never the calling process and never process 1.
    ///
    /// Each is reached by identity, none as part of a group. SIGKILL stops first, where no outsider shares a group with
    /// members, and repeats until a sample brings nobody new; other signals go once to everybody.
    pub fn signal(&self, signal: Signal) -> SignalReport {
        self.signal_except(signal, &|_| false)
    }

    /// The same, but for those members for which `spare` says true: they are in [`SignalReport::spared`].
    pub fn signal_except(&self, signal: Signal, spare: &dyn Fn(ProcId) -> bool) -> SignalReport {
        let mut state = self.shared.state();
        if !state.is_supported() {
            return SignalReport::default();
        }
        let mut report = signal_all(signal, spare, &mut || state.list());
        report.complete &= state.living().complete;
        report
    }

    /// Where news comes from at present.
    pub fn source(&self) -> ActiveSource {
        match (self.thread().is_some(), self.shared.state().has_events()) {
            (true, true) => ActiveSource::Events,
            (true, false) => ActiveSource::Sampler,
            (false, _) => ActiveSource::OnDemand,
        }
    }

    /// Ends the thread and the subscription, and takes a last sample. All other calls go on to work on what is
    /// known, with samples on demand.
    pub fn stop(&self) {
        let Some(thread) = self.thread().take() else { return };
        if let Some(waker) = &self.shared.waker {
            waker.wake();
        }
        // The thread runs no code of others, so it ends, and has nothing to tell.
        drop(thread.join());
        let mut state = self.shared.state();
        state.look(Look::Demanded);
        state.unsubscribe();
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.stop();
    }
}

#[derive(Debug)]
struct Shared {
    /// Excludes samples of the thread and of callers from each other; held during a whole sample or signal.
    state: Mutex<State>,
    waker: Option<Waker>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tracker's thread: waits, looks, until it is told to stop.
fn follow(shared: &Shared, interval: Duration) {
    let Some(waker) = &shared.waker else { return };
    // At the leader's death a look is due at once: before it is reaped its pid and group are its own for sure.
    let mut leader = shared.state().leader().and_then(|id| PidFd::open_checked(id).ok().flatten());
    loop {
        let watch = shared.state().watch();
        let timeout = watch.is_none().then_some(interval);
        match sys::wait(waker, leader.as_ref().map(PidFd::handle), watch.as_ref(), timeout) {
            Woken::Stop => return,
            Woken::LeaderEnded => {
                leader = None;
                shared.state().look(Look::Demanded);
            }
            Woken::Events => shared.state().drain(),
            Woken::Timeout => shared.state().look(Look::Timed),
        }
    }
}
