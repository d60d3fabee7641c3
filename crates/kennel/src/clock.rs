//! The library's time.
#![expect(clippy::disallowed_methods, reason = "the one module that may wait for time to pass")]

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// A point in time after which a wait gives up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Self {
        Self(Instant::now().checked_add(duration))
    }

    /// The time that is left.
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Comes back when the time is over.
    pub(crate) async fn passed(self) {
        match self.0 {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// `2026-11-30T16:22:51.123Z`.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
        .map_or_else(|| unix_ms.to_string(), |at| at.to_string())
}
