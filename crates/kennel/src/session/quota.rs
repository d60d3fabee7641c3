//! How many tasks may run: of one session, and of all.

use super::SessionTerms;
use crate::error::{Error, Result};
use crate::registry::Registry;

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
    if registry.count() < own_max.min(all_max) {
        return Ok(());
    }
    let running = registry.running_sessions();
    let of_session = running.iter().filter(|session| **session == terms.session_id).count();
    if of_session >= own_max {
        return over(&own, of_session, own_max);
    }
    if running.len() >= all_max { over("this user", running.len(), all_max) } else { Ok(()) }
}
