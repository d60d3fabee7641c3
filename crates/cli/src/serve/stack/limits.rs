//! How much of everything one client may have.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock;

/// The largest request.
pub(crate) const BODY_BYTES_MAX: usize = 4 << 20;
/// For a request's headers, and between two requests of a connection.
pub(crate) const HEADERS_WITHIN: Duration = Duration::from_secs(15);
/// For a request's body.
pub(crate) const BODY_WITHIN: Duration = Duration::from_secs(15);
/// For a client of the 2025 era whose connection broke to come back for its answer: it is told to try after three seconds.
pub(crate) const RESUME_WITHIN: Duration = Duration::from_secs(10);
/// A session of that era in which nothing happens for so long is over: longer than the longest call, which is ten minutes.
pub(crate) const SESSION_IDLE: Duration = Duration::from_secs(15 * 60);
/// Requests with a valid token: at once, and a second.
pub(crate) const REQUESTS: (u32, u32) = (2_000, 500);
/// Requests without one.
pub(crate) const STRANGERS: (u32, u32) = (100, 20);

/// A bucket of permissions that fills with time.
#[derive(Debug)]
pub(crate) struct Bucket {
    size: f64,
    per_second: f64,
    now: Mutex<(f64, Instant)>,
}

impl Bucket {
    pub(crate) fn new((size, per_second): (u32, u32)) -> Self {
        let size = f64::from(size);
        Self { size, per_second: f64::from(per_second), now: Mutex::new((size, clock::now())) }
    }

    /// Takes one permission, if there is one at this time.
    pub(crate) fn take(&self) -> bool {
        self.take_at(clock::now())
    }

    fn take_at(&self, time: Instant) -> bool {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = *now;
        let filled = left + time.saturating_duration_since(since).as_secs_f64() * self.per_second;
        let left = filled.min(self.size);
        *now = (if left >= 1.0 { left - 1.0 } else { left }, time.max(since));
        left >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_what_it_holds_and_fills_with_time() {
        let bucket = Bucket::new((3, 2));
        let start = clock::now();
        let taken = |time| (0..10).filter(|_| bucket.take_at(time)).count();
        assert_eq!(taken(start), 3);
        assert_eq!(taken(start + Duration::from_secs(1)), 2);
        assert_eq!(taken(start + Duration::from_secs(3600)), 3);
    }
}
