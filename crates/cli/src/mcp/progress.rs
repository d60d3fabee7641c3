//! Progress of a long call: a tick every few seconds with the last line of the output.
//!
//! A hint and nothing more: clients drop some, and the result stands alone. It never holds the result up: both are
//! awaited side by side.

use std::convert::Infallible;
use std::time::Duration;

use kennel::{Read, Task};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use super::text;
use crate::{clock, render};

/// Between two ticks.
const EVERY: Duration = Duration::from_secs(5);
/// Of the last line.
const LINE_CHARS_MAX: usize = 200;

/// Where ticks go, when the client asked for them.
#[derive(Debug)]
pub(crate) struct Progress {
    to: Option<(ProgressToken, Peer<RoleServer>)>,
}

impl Progress {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self { to: context.meta.get_progress_token().map(|token| (token, context.peer.clone())) }
    }

    /// Ticks for ever.
    pub(crate) async fn tell(&self, task: &Task) -> Infallible {
        let Some((token, peer)) = &self.to else { return std::future::pending().await };
        let mut seconds = 0.0;
        loop {
            clock::passed(Some(EVERY)).await;
            seconds += EVERY.as_secs_f64();
            let tick = ProgressNotificationParam::new(token.clone(), seconds)
                .with_message(message(task, seconds).await);
            if peer.notify_progress(tick).await.is_err() {
                // The client has gone; the connection's end is noticed elsewhere.
                return std::future::pending().await;
            }
        }
    }
}

async fn message(task: &Task, seconds: f64) -> String {
    let read = task.read(Read::tail(2).max_chars(4 * LINE_CHARS_MAX)).await;
    let text = read.map(|page| page.text).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if last.is_empty() {
        return format!("no output after {seconds} s");
    }
    text::shorten(&render::escape(last.trim()), LINE_CHARS_MAX)
}
