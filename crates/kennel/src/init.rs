//! Where a process finds out that it was started to be a guard.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// argv[0] and argv[1] of a guard that was executed.
pub(crate) const GUARD_ARGV: [&str; 2] = ["knl-guard", "kennel-guard-protocol-1"];

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Must be the first statement of `main` in a program that uses this library without naming a `kennel` binary.
///
/// Kennel starts its guard by executing the running program once more (`/proc/self/exe`). In that process `init` takes
/// over and never returns; in every other it returns at once and does nothing else: no thread, no handler, no file.
///
/// ```no_run
/// kennel::init();
/// // … the rest of your main
/// ```
pub fn init() {
    INITIALISED.store(true, Ordering::Release);
    let mut arguments = std::env::args_os();
    if GUARD_ARGV.iter().all(|expected| arguments.next().is_some_and(|argument| argument == *expected)) {
        let task_dirs = arguments
            .map(|argument| PathBuf::from(std::ffi::OsString::from_vec(argument.into_vec())))
            .collect();
        supervisor::executed_guard(task_dirs);
    }
}

pub(crate) fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Acquire)
}
