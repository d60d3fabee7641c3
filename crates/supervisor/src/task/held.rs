//! Why a member that was sent SIGKILL is still there.

use proctree::parse::cgroup::parse_cgroup;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// The reason for `pid`, whose state letter is `state`.
pub(super) fn reason(pid: i32, state: u8) -> String {
    let status = proctree::read_status(pid);
    let refused = Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM));
    match (status, state) {
        (Some(status), _) if refused => format!("not permitted: it runs as user {}", status.uid),
        (None, _) if refused => "not permitted: it runs as another user".to_owned(),
        (Some(status), b'Z' | b'X') if status.tracer_pid != 0 => {
            format!("dead, held by tracer {}", status.tracer_pid)
        }
        (Some(status), _) if status.tracer_pid != 0 => format!("held by tracer {}", status.tracer_pid),
        _ if is_frozen(pid) => "frozen".to_owned(),
        (_, state) => char::from(state).to_string(),
    }
}

/// Whether the process is in a frozen cgroup v1: there SIGKILL waits for the thaw. (In v2 it does not.)
fn is_frozen(pid: i32) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{pid}/cgroup")) else { return false };
    let group = parse_cgroup(&text)
        .find(|entry| entry.controllers.split(|byte| *byte == b',').any(|it| it == b"freezer"));
    let state = group.and_then(|entry| {
        let path = std::str::from_utf8(entry.path).ok()?;
        std::fs::read_to_string(format!("/sys/fs/cgroup/freezer{path}/freezer.state")).ok()
    });
    state.is_some_and(|state| state.trim() != "THAWED")
}
