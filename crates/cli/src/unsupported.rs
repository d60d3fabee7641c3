//! The binary on a system that it does not run on: whatever is asked of it, it says so.
#![expect(clippy::print_stderr, reason = "the one thing that this program does here is to speak to a person")]

use std::process::ExitCode;

/// 125, as for everything that Kennel itself could not do.
pub(crate) fn main() -> ExitCode {
    kennel::init();
    eprintln!("kennel: {} is not supported yet; Kennel runs on Linux", std::env::consts::OS);
    eprintln!("  hint: run it in a Linux container or virtual machine, on Windows in WSL 2");
    ExitCode::from(125)
}
