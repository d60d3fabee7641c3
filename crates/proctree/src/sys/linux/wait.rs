//! Waiting for whichever comes first.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::write;

use super::{PidHandle, Watch};
use crate::sys::Woken;

/// Wakes one waiter, once and for all.
#[derive(Debug)]
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(crate) fn wake(&self) {
        // EAGAIN means that it has been woken 2^64 times already.
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Waits for the waker, the end of `leader`, an event, or the timeout; several at once are told in this order.
pub(crate) fn wait(
    waker: &Waker,
    leader: Option<&PidHandle>,
    events: Option<&Watch>,
    timeout: Option<Duration>,
) -> Woken {
    // The waker stands in for what is missing: it is asked first anyway.
    let leader: &OwnedFd = leader.map_or(&waker.0, |leader| &leader.0);
    let events = events.map_or(&waker.0, |events| &events.0);
    let mut fds = [&waker.0, leader, events].map(|fd| PollFd::new(fd, PollFlags::IN));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(0) => Woken::Timeout,
        // Interrupted by a signal: an early look does no harm.
        Err(rustix::io::Errno::INTR) => Woken::Timeout,
        Err(_) => Woken::Stop,
        Ok(_) => match fds.each_ref().map(|fd| !fd.revents().is_empty()) {
            [true, _, _] => Woken::Stop,
            [_, true, _] => Woken::LeaderEnded,
            _ => Woken::Events,
        },
    }
}
