//! Signal dispositions and masks: what a keeper needs, and what a command must find.

use crate::sys;

/// What the command must find of its starter's signal state.
///
/// A command gets the default disposition of every signal and an empty mask, whatever the host had: Rust programs
/// ignore SIGPIPE, and `yes | head -1` under an ignored SIGPIPE prints an error. The one exception is an ignored
/// SIGHUP, which `nohup` and daemons set on purpose (`nohup(1)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeeperSignals {
    /// SIGHUP was ignored when the keeper began.
    pub hangup_ignored: bool,
}

impl KeeperSignals {
    /// Resets all dispositions but an ignored SIGHUP and empties the mask. Async-signal-safe.
    pub(crate) fn restore_for_command(self) -> rustix::io::Result<()> {
        sys::reset_dispositions(self.hangup_ignored);
        sys::set_mask(sys::Mask::Empty)
    }
}

/// Whether SIGHUP is ignored in the calling process.
pub fn hangup_is_ignored() -> bool {
    sys::is_ignored(libc::SIGHUP)
}

/// Prepares a keeper: every signal blocked (they are read through a signalfd, or not at all), SIGCHLD at its default
/// (with SIGCHLD ignored the kernel reaps by itself and the leader's wait status is lost), SIGPIPE ignored.
///
/// # Errors
/// The errno of `rt_sigprocmask(2)`.
pub fn block_all() -> rustix::io::Result<()> {
    sys::set_mask(sys::Mask::Full)?;
    sys::set_default(libc::SIGCHLD);
    sys::set_ignored(libc::SIGPIPE);
    Ok(())
}
