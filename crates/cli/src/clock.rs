//! The command line's time.
#![expect(
    clippy::disallowed_methods,
    reason = "the one module of the binary that reads the time and waits for it to pass"
)]

use std::time::{Duration, Instant};

/// Comes back after `limit`; never without one.
pub(crate) async fn passed(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// The time of the monotonic clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}
