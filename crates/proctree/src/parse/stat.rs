//! `/proc/PID/stat`, see `proc_pid_stat(5)`.

use super::{fields, number};

/// One process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Process id.
    pub pid: i32,
    /// Name of the executable or what the process set by `prctl`: any bytes but NUL, usually at most 15.
    pub comm: Vec<u8>,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `t` traced, `Z` zombie, `X` dead, `I` idle.
    pub state: u8,
    /// Parent, 0 if outside our PID namespace.
    pub ppid: i32,
    /// Process group.
    pub pgrp: i32,
    /// Session.
    pub session: i32,
    /// Device number of the controlling terminal, 0 if none.
    pub tty_nr: i32,
    /// Kernel flags (`PF_*`); `0x0020_0000` is a kernel thread.
    pub flags: u32,
    /// Minor page faults of children that were waited for: 0 as long as the process has reaped none.
    pub child_minor_faults: u64,
    /// Time in user mode, in clock ticks, of all threads.
    pub utime_ticks: u64,
    /// Time in kernel mode, in clock ticks, of all threads.
    pub stime_ticks: u64,
    /// Time in both modes of children that were waited for, and of theirs, in clock ticks.
    pub child_time_ticks: u64,
    /// Threads that have not been released, the leader included even when it has exited.
    pub num_threads: i64,
    /// Start, in clock ticks since boot.
    pub start_ticks: u64,
    /// Virtual memory in bytes.
    pub vsize_bytes: u64,
    /// Resident memory in pages.
    pub rss_pages: i64,
}

/// Parses one stat line. `None` if it is not one, or ends before the 24th field.
///
/// `comm` may hold anything, also `)` and line ends, so the fields after it start at the *last* `)`.
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&b| b == b'(')?;
    let close = text.iter().rposition(|&b| b == b')')?;
    let pid = number(text.get(..open)?.trim_ascii())?;
    let comm = text.get(open + 1..close)?.to_vec();
    let mut rest = fields(text.get(close + 1..)?);
    let state = match rest.next()? {
        [state] => *state,
        _ => return None,
    };
    // Fields are numbered as in the man page; `nth(n)` skips n of them.
    Some(Stat {
        pid,
        comm,
        state,
        ppid: number(rest.next()?)?,
        pgrp: number(rest.next()?)?,
        session: number(rest.next()?)?,
        tty_nr: number(rest.next()?)?,
        flags: number(rest.nth(1)?)?,              // 9, after tpgid
        child_minor_faults: number(rest.nth(1)?)?, // 11, after minflt
        utime_ticks: number(rest.nth(2)?)?,        // 14, after majflt and cmajflt
        stime_ticks: number(rest.next()?)?,        // 15
        child_time_ticks: number::<u64>(rest.next()?)?.saturating_add(number(rest.next()?)?), // 16, 17
        num_threads: number(rest.nth(2)?)?,        // 20, after priority and nice
        start_ticks: number(rest.nth(1)?)?,        // 22, after itrealvalue
        vsize_bytes: number(rest.next()?)?,        // 23
        rss_pages: number(rest.next()?)?,          // 24
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: &[u8] =
        b" S 7 8 9 34816 10 4194560 1 2 3 4 55 66 77 88 20 0 3 0 12345 4096 42 18446744073709551615 1";

    fn line(comm: &[u8]) -> Vec<u8> {
        [b"123 (", comm, b")", TAIL].concat()
    }

    #[test]
    fn every_field_is_the_one_of_the_man_page() {
        let stat = parse_stat(&line(b"bash")).unwrap();
        let expected = Stat {
            pid: 123,
            comm: b"bash".to_vec(),
            state: b'S',
            ppid: 7,
            pgrp: 8,
            session: 9,
            tty_nr: 34816,
            flags: 4_194_560,
            child_minor_faults: 2,
            utime_ticks: 55,
            stime_ticks: 66,
            child_time_ticks: 77 + 88,
            num_threads: 3,
            start_ticks: 12345,
            vsize_bytes: 4096,
            rss_pages: 42,
        };
        assert_eq!(stat, expected);
    }

    #[test]
    fn comm_may_hold_anything() {
        for comm in [&b""[..], b")", b"a) R 1 2 (b", b"\n", b"\xff\xfe", b"x) S 0 0 0\n1 (y", b"()()"] {
            assert_eq!(parse_stat(&line(comm)).unwrap().comm, comm);
            assert_eq!(parse_stat(&line(comm)).unwrap().start_ticks, 12345);
        }
    }

    #[test]
    fn what_is_not_a_stat_line_is_none() {
        for text in
            [&b""[..], b"1", b"1 (a", b"1 a) S", b")(", b"1 (a) S 1 2", b"x (a) S 1 2 3", b"1 (a) SS 1 2 3"]
        {
            assert_eq!(parse_stat(text), None, "{:?}", text.escape_ascii().to_string());
        }
    }
}
