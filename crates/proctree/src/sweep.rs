//! One signal to a changing set of processes, each reached by identity and at most once.

use std::collections::HashSet;

use crate::identity::ProcId;
use crate::signal::{Sent, signal_checked};
use crate::sys::{self, Signal};

/// Rounds of listing and signalling before a set that grows faster than it is signalled is given up for this call.
const ROUNDS_MAX: usize = 32;

/// What a signal to a tree met. Each pid is in one of the lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignalReport {
    /// The kernel took the signal.
    pub delivered: Vec<i32>,
    /// They live and we may not signal them.
    pub not_permitted: Vec<i32>,
    /// They had gone when their turn came.
    pub gone: Vec<i32>,
    /// Not signalled, because their identity could not be verified.
    pub skipped: Vec<i32>,
    /// Not signalled, because the caller excepted them.
    pub spared: Vec<i32>,
    /// False where the platform cannot list processes: nothing was signalled.
    pub supported: bool,
    /// False where a member can have been missed.
    pub complete: bool,
}

/// True for a member that is not to be signalled.
pub(crate) type Spare<'a> = &'a dyn Fn(ProcId) -> bool;

/// The members of one look.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Parents first.
    pub(crate) ids: Vec<ProcId>,
    pub(crate) stopping: Stopping,
}

/// Whether members may be stopped before they are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stopping {
    Harmless,
    /// A group holds members and others. When a stopped member's group is orphaned by the death of another member,
    /// the kernel sends SIGHUP to the whole group, see `exit(3p)`: that would reach the others.
    #[default]
    HurtsOthers,
}

/// Signals everything that `list` gives.
///
/// SIGKILL is preceded by SIGSTOP where that is harmless, both repeated until a listing brings nobody new: what is
/// stopped cannot fork, so the list becomes final unless a member wakes others. Other signals go once to whoever is
/// there: what a member starts in answer to SIGTERM is its clean-up. The calling process itself is never signalled.
pub(crate) fn signal_all(
    signal: Signal,
    spare: Spare<'_>,
    list: &mut dyn FnMut() -> Listing,
) -> SignalReport {
    let mut report = SignalReport { supported: true, complete: true, ..SignalReport::default() };
    let mut reached = HashSet::new();
    if Some(signal) != sys::KILL {
        round(signal, spare, &list().ids, &mut reached, &mut report);
        return report;
    }
    if let Some(stop) = sys::STOP {
        // What stopping meets is not reported: killing meets it again.
        let (mut stopped, mut unreported) = (HashSet::new(), SignalReport::default());
        for _ in 0..ROUNDS_MAX {
            let listing = list();
            if listing.stopping == Stopping::HurtsOthers
                || !round(stop, spare, &listing.ids, &mut stopped, &mut unreported)
            {
                break;
            }
        }
    }
    let everybody = (0..ROUNDS_MAX).any(|_| !round(signal, spare, &list().ids, &mut reached, &mut report));
    report.complete = everybody;
    report
}

/// True if there was somebody new.
fn round(
    signal: Signal,
    spare: Spare<'_>,
    ids: &[ProcId],
    reached: &mut HashSet<ProcId>,
    report: &mut SignalReport,
) -> bool {
    let before = reached.len();
    for &id in ids {
        if id.pid <= 1 || id.pid == sys::own_pid() || !reached.insert(id) {
            continue;
        }
        if spare(id) {
            report.spared.push(id.pid);
            continue;
        }
        let list = match signal_checked(id, signal) {
            Ok(Sent::Delivered) => &mut report.delivered,
            Ok(Sent::NoSuchProcess) => &mut report.gone,
            Ok(Sent::NotPermitted) => &mut report.not_permitted,
            Err(_) => &mut report.skipped,
        };
        list.push(id.pid);
    }
    reached.len() > before
}
