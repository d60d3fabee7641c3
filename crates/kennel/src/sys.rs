//! The one call of the library that the compiler cannot check.
#![expect(unsafe_code, reason = "registering a descriptor with the runtime is unsafe since tokio 1.54")]

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor that this value then owns alone.
pub(crate) fn async_fd(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is valid and stays open; nobody replaces or closes it while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}
