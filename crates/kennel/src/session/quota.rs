//! How many tasks may run: of one session, and of all.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::SessionTerms;
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::registry::Registry;

/// How long what was seen at the last look is believed.
const LOOK_HOLDS: Duration = Duration::from_secs(5);

/// What the last look at all records found, so that not every start beside thousands of ended tasks has to read them.
#[derive(Debug, Default)]
pub(crate) struct LastLook(Mutex<Option<Look>>);

#[derive(Debug, Clone, Copy)]
struct Look {
    holds: Deadline,
    directories: usize,
    /// Directories of tasks that had ended: they do not come to life again.
    ended: usize,
}

impl LastLook {
    /// No more tasks than that run, as far as is known without looking.
    fn running_at_most(&self, directories: usize) -> usize {
        let look = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |look: &Look| !look.holds.left().is_zero() && directories >= look.directories;
        directories - look.filter(holds).map_or(0, |look| look.ended)
    }

    fn seen(&self, directories: usize, running: usize) {
        let ended = directories.saturating_sub(running);
        let look = Look { holds: Deadline::after(LOOK_HOLDS), directories, ended };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
    }
}

/// Refuses a task in the background where as many as are allowed run already.
pub(super) fn check(terms: &SessionTerms, registry: &Registry, live: usize) -> Result<()> {
    let (own_max, all_max) = (terms.settings.tasks_per_session.value, terms.settings.tasks_total.value);
    let over = |what: &str, running: usize, max: usize| {
        Err(Error::Quota { what: format!("{what} has {running} running tasks, and {max} are allowed") })
    };
    let own = format!("the session {}", terms.session_id);
    if live >= own_max {
        return over(&own, live, own_max);
    }
    // There are no more tasks than directories; the exact count has its price and is rarely needed.
    let directories = registry.count();
    if terms.last_look.running_at_most(directories) < own_max.min(all_max) {
        return Ok(());
    }
    let running = registry.running_sessions();
    terms.last_look.seen(directories, running.len());
    let of_session = running.iter().filter(|session| **session == terms.session_id).count();
    if of_session >= own_max {
        return over(&own, of_session, own_max);
    }
    if running.len() >= all_max { over("this user", running.len(), all_max) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_is_counted_once() {
        let last = LastLook::default();
        assert_eq!(last.running_at_most(10), 10);
        last.seen(10, 3);
        assert_eq!((last.running_at_most(10), last.running_at_most(14)), (3, 7));
        // Some of them are gone: how many live is not known any more.
        assert_eq!(last.running_at_most(9), 9);
    }
}
