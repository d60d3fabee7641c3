//! The command line's time.
#![expect(clippy::disallowed_methods, reason = "the one module of the binary that may wait for time to pass")]

use std::time::Duration;

/// Comes back after `limit`; never without one.
pub(crate) async fn passed(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}
