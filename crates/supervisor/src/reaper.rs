//! The init of a task's PID namespace: it reaps, and its end is the end of every member.
//!
//! It must be ours: were the task's shell the init, background jobs would die with the shell. Its line to the
//! supervisor carries one byte each way: "the leader has gone", and "others live on". It ends when the leader has gone
//! and nobody is left, or when the line closes, because then both keepers of the task may be dead.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};

use crate::keeper::close_all_but;
use crate::sys::{self, Wait, WaitFor};

/// comm of a reaper.
const REAPER_NAME: &std::ffi::CStr = c"knl-init";

/// The reaper. Runs in a fresh copy of the supervisor and never returns.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the line is ours until we end, and its closing tells that we have"
)]
pub(crate) fn main(line: OwnedFd) -> ! {
    close_all_but(&mut [line.as_raw_fd()]);
    sys::set_name(REAPER_NAME);
    let Ok(signals) = sys::child_signal_fd() else { sys::exit_now(70) };
    let (mut leader_gone, mut told) = (false, false);
    loop {
        let mut polled = [PollFd::new(&signals, PollFlags::IN), PollFd::new(&line, PollFlags::IN)];
        let _interrupted_is_a_turn = poll(&mut polled, None);
        let heard = !polled[1].revents().is_empty();
        let mut info = [0; 512];
        while rustix::io::read(&signals, &mut info).is_ok_and(|count| count > 0) {}
        if heard {
            match rustix::io::read(&line, &mut [0; 8]) {
                Ok(1..) => leader_gone = true,
                _keepers_gone => sys::exit_now(0),
            }
        }
        let alone = loop {
            match sys::wait_any(WaitFor::Everything) {
                Wait::Changed(_) => {}
                Wait::Nothing => break false,
                Wait::NoChild => break true,
            }
        };
        if leader_gone && alone {
            sys::exit_now(0);
        }
        if leader_gone && !told {
            told = true;
            let _seen_as_closed = rustix::io::write(&line, &[1]);
        }
    }
}
