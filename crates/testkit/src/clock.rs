//! The only place that reads the time: bounds on waits. What ends a wait is a descriptor; a deadline ends the test.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec};

/// A moment after which a wait is a failure.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Instant,
    limit: Duration,
}

impl Deadline {
    /// The deadline so far from now.
    #[expect(clippy::disallowed_methods, reason = "the clock module of the tests")]
    pub fn after(limit: Duration) -> Self {
        Self { start: Instant::now(), limit }
    }

    /// Twenty seconds: longer than anything a test waits for on a loaded machine, shorter than a fixture lives.
    pub fn usual() -> Self {
        Self::after(Duration::from_secs(20))
    }

    /// Time since it was set.
    pub fn elapsed(self) -> Duration {
        self.start.elapsed()
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        self.elapsed() >= self.limit
    }

    /// What is left, zero when it has passed.
    pub fn left(self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }

    /// Wait for one of `fds`, at most until the deadline. True when one is ready.
    pub fn poll(self, fds: &mut [PollFd<'_>]) -> bool {
        poll_for(fds, self.left())
    }

    /// Look again and again until `condition` holds or the deadline has passed; for facts that no descriptor reports.
    pub fn until(self, mut condition: impl FnMut() -> bool) -> bool {
        loop {
            if condition() {
                return true;
            }
            if self.passed() {
                return false;
            }
            poll_for(&mut [], Duration::from_millis(5));
        }
    }
}

/// Wait for one of `fds`, at most `limit`.
fn poll_for(fds: &mut [PollFd<'_>], limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    matches!(rustix::event::poll(fds, Some(&limit)), Ok(count) if count > 0)
}
