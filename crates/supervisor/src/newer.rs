//! What an older Kennel understands of a record that a newer one has written: who it is, who keeps it and how it ended.
//!
//! So that a task is listed, read and killed after a downgrade too. Such a record is never written back: what this
//! version does not know would be lost.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::end::End;
use crate::record::Record;
use crate::wire::{Boundary, Usage};

/// The record, as far as it can be understood; `None` when even its identity cannot.
pub(crate) fn essentials(text: &[u8]) -> Option<Record> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let version = field(&value, "version")?;
    let notices = match value.get("notices") {
        Some(Value::Array(notices)) => {
            notices.iter().filter_map(|notice| serde_json::from_value(notice.clone()).ok()).collect()
        }
        _ => Vec::new(),
    };
    let ended_unix_ms: Option<u64> = field(&value, "ended_unix_ms");
    let unknown = || End::Lost { why: "a newer version of Kennel has recorded it".to_owned() };
    Some(Record {
        version,
        id: field(&value, "id")?,
        session_id: field(&value, "session_id").unwrap_or_default(),
        command: field(&value, "command").unwrap_or_default(),
        description: field(&value, "description"),
        cwd: field(&value, "cwd").unwrap_or_default(),
        origin: field(&value, "origin")?,
        supervisor: field(&value, "supervisor")?,
        guard: field(&value, "guard")?,
        leader: field(&value, "leader"),
        owner: field(&value, "owner"),
        token: field(&value, "token").unwrap_or_default(),
        tag: field(&value, "tag"),
        outer_tag: field(&value, "outer_tag"),
        background: field(&value, "background").unwrap_or_default(),
        started_unix_ms: field(&value, "started_unix_ms").unwrap_or_default(),
        ended_unix_ms,
        end: field(&value, "end").or_else(|| ended_unix_ms.map(|_| unknown())),
        exit_code: field(&value, "exit_code"),
        pipestatus: field(&value, "pipestatus"),
        cwd_after: field(&value, "cwd_after"),
        duration_ms: field(&value, "duration_ms"),
        boundary: field(&value, "boundary").unwrap_or(Boundary::Subreaper),
        cgroup: field(&value, "cgroup"),
        reaper: field(&value, "reaper"),
        proof: field(&value, "proof"),
        stdout_bytes: field(&value, "stdout_bytes").unwrap_or_default(),
        stderr_bytes: field(&value, "stderr_bytes").unwrap_or_default(),
        dropped_bytes: field(&value, "dropped_bytes").unwrap_or_default(),
        usage: field(&value, "usage").unwrap_or_else(Usage::default),
        notices,
        input: field(&value, "input"),
        sizes: field(&value, "sizes").unwrap_or_default(),
        protections: field(&value, "protections").unwrap_or_default(),
    })
}

fn field<T: DeserializeOwned>(value: &Value, name: &str) -> Option<T> {
    serde_json::from_value(value.get(name)?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_future_is_understood_as_far_as_it_goes() {
        let text = br#"{"version": 9, "id": "bash-x", "origin": {"machine": "m", "boot": "b", "pid_namespace": 1, "realm": 3},
            "supervisor": {"pid": 7, "start_ticks": 9}, "guard": {"pid": 6, "start_ticks": 8}, "boundary": "hypervisor",
            "end": {"cause": "evaporated"}, "notices": [{"kind": "cwd_unknown"}, {"kind": "seen_a_ghost", "at": 3}, 7],
            "started_unix_ms": 5, "ended_unix_ms": 6, "aura": "blue"}"#;
        let record = essentials(text).unwrap();
        assert_eq!((record.version, record.id.as_str(), record.supervisor.pid), (9, "bash-x", 7));
        assert!(
            record.is_final() && matches!(record.end, Some(End::Lost { .. })) && record.notices.len() == 2
        );
        assert!(essentials(br#"{"version": 9, "id": "bash-x"}"#).is_none());
    }
}
