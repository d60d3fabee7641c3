//! `/proc/PID/status`, see `proc_pid_status(5)`.

use super::{fields, number};

/// What of a process only `status` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status {
    /// Real user id.
    pub uid: u32,
    /// Effective user id.
    pub euid: u32,
    /// Who traces it, 0 if nobody.
    pub tracer_pid: i32,
    /// Resident memory in KiB; 0 for a zombie and a kernel thread.
    pub rss_kib: u64,
    /// Ignored signals, signal n as bit n - 1; 0 where the line is missing.
    pub ignored_signals: u64,
}

/// Parses the text. `None` if the user ids are missing.
pub fn parse_status(text: &[u8]) -> Option<Status> {
    let mut uids = value(text, "Uid").map(fields)?;
    let (uid, euid) = (number(uids.next()?)?, number(uids.next()?)?);
    let first = |name| value(text, name).and_then(|text| fields(text).next());
    let tracer_pid = first("TracerPid").and_then(number).unwrap_or(0);
    let rss_kib = first("VmRSS").and_then(number).unwrap_or(0);
    let mask = first("SigIgn").and_then(|text| std::str::from_utf8(text).ok());
    let ignored_signals = mask.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    Some(Status { uid, euid, tracer_pid, rss_kib, ignored_signals })
}

/// What follows `NAME:` in its line. The name of the process is in the first line and escaped, so it cannot forge one.
fn value<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() {
        let text = b"Name:\ta\\nUid:\t9\nState:\tS (sleeping)\nTracerPid:\t42\nUid:\t1000\t0\t0\t0\nVmRSS:\t    1234 kB\nSigIgn:\t0000000000384004\n";
        let expected =
            Status { uid: 1000, euid: 0, tracer_pid: 42, rss_kib: 1234, ignored_signals: 0x38_4004 };
        assert_eq!(parse_status(text), Some(expected));
        let zombie = parse_status(b"Uid:\t1\t2\t3\t4\n").unwrap();
        assert_eq!((zombie.rss_kib, zombie.tracer_pid, zombie.ignored_signals), (0, 0, 0));
    }

    #[test]
    fn odd_text_is_none() {
        for text in [&b""[..], b"Uid:", b"Uid:\t1", b"Uid:\tx\ty", b"TracerPid:\t1"] {
            assert_eq!(parse_status(text), None);
        }
    }
}
