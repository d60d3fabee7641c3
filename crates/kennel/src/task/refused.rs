//! A sandboxed command that signals another task of its session in vain: what it says about that is turned into the way
//! that works.

use supervisor::wire::Protection;

use crate::outcome::Notice;
use crate::registry::{self, Registry, Standing};

/// As `strerror(3)` says it; tools that speak another language are not understood.
const REFUSED: &str = "Operation not permitted";
/// More than the longest message, and little enough for any command.
const LINES_MAX: usize = 50;

/// The notice, where the signals of the command are scoped and its last errors name a process of another task.
pub(super) fn notice(
    errors: &str,
    protections: &[Protection],
    (own, session): (&str, &str),
    registry: &Registry,
) -> Option<Notice> {
    if !protections.iter().any(|protection| protection.name == "signals") {
        return None;
    }
    let named: Vec<i32> = errors.lines().rev().take(LINES_MAX).flat_map(pids_of_refusal).collect();
    if named.is_empty() {
        return None;
    }
    let here = registry::own_origin();
    registry.scan().into_iter().filter(|found| found.id != own).find_map(|found| {
        let record = found.record.ok().filter(|record| record.session_id == session)?;
        if registry::standing(&record, here.as_ref()) != Standing::Kept {
            return None;
        }
        let members = registry::survivors_of(&record);
        let pid = named.iter().find(|pid| members.contains(pid) || **pid == record.supervisor.pid)?;
        Some(Notice::SignalRefused { pid: *pid, task_id: found.id })
    })
}

/// The numbers in a line such as `bash: line 1: kill: (123) - Operation not permitted`.
fn pids_of_refusal(line: &str) -> Vec<i32> {
    if !line.contains("kill") || !line.contains(REFUSED) {
        return Vec::new();
    }
    let numbers = line.split(|character: char| !character.is_ascii_digit());
    numbers.filter_map(|digits| digits.parse().ok()).filter(|pid| *pid > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_usual_tools_are_read() {
        for (line, pids) in [
            ("bash: line 1: kill: (123) - Operation not permitted", &[123][..]),
            ("kill: sending signal to 123 failed: Operation not permitted", &[123]),
            ("pkill: killing pid 123 failed: Operation not permitted", &[123]),
            ("cat: /root/123: Operation not permitted", &[]),
            ("kill: (123) - No such process", &[]),
        ] {
            assert_eq!(pids_of_refusal(line), pids, "{line}");
        }
    }
}
