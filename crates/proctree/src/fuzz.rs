//! One entry per parser for a fuzzer: any bytes in, no panic, and what holds for every input.
//!
//! Plain functions, so that the same entries run under proptest here and under `cargo fuzz` in `fuzz/`.

use crate::parse::children::{Pids, parse_children};
use crate::parse::connector::parse_messages;
use crate::parse::environ::{Finder, find};
use crate::parse::lines::Lines;
use crate::parse::net::{parse_inet, parse_link, parse_unix};
use crate::parse::stat::parse_stat;
use crate::parse::{cgroup, limits, status, usage};

/// Pieces of a size that the input chooses, so that every edge between two is met.
fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = usize::from(text.first().copied().unwrap_or(0) % 7) + 1;
    text.chunks(size)
}

/// `/proc/PID/stat`.
pub fn fuzz_stat(text: &[u8]) {
    if let Some(stat) = parse_stat(text) {
        assert!(stat.comm.len() < text.len(), "a name is part of its line");
    }
}

/// `/proc/PID/task/TID/children`: whole and in pieces alike.
pub fn fuzz_children(text: &[u8]) {
    let whole = parse_children(text);
    assert!(whole.iter().all(|&pid| pid > 0), "a pid is positive");
    let (mut parser, mut pids) = (Pids::default(), Vec::new());
    for piece in pieces(text) {
        parser.feed(piece, &mut |pid| pids.push(pid));
    }
    parser.finish(&mut |pid| pids.push(pid));
    assert_eq!(pids, whole, "pieces change nothing");
}

/// `/proc/PID/environ`: whole and in pieces alike, and like a search entry by entry.
pub fn fuzz_environ(text: &[u8]) {
    let name = text.get(..text.len().min(2)).unwrap_or_default();
    let mut finder = Finder::new(name);
    pieces(text).for_each(|piece| finder.feed(piece));
    let whole = find(text, name);
    assert_eq!(finder.finish(), whole, "pieces change nothing");
    if !name.is_empty() && !name.contains(&0) && !name.contains(&b'=') {
        let prefix = [name, b"="].concat();
        let by_entry = text.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(&prefix[..]));
        assert_eq!(whole.as_deref(), by_entry, "the first entry counts");
    }
}

/// `/proc/PID/limits`.
pub fn fuzz_limits(text: &[u8]) {
    assert_eq!(
        limits::parse_rttime_hard(text),
        limits::parse_limit(text, "Max realtime timeout").and_then(|limit| limit.hard),
        "the row is the same"
    );
}

/// `/proc/PID/status`.
pub fn fuzz_status(text: &[u8]) {
    drop(status::parse_status(text).map(|status| status.uid.to_string()));
}

/// `/proc/PID/cgroup`.
pub fn fuzz_cgroup(text: &[u8]) {
    assert!(
        cgroup::parse_cgroup(text).all(|entry| entry.path.len() < text.len()),
        "a path is part of its line"
    );
    assert!(cgroup::parse_cgroup_v2(text).is_none_or(|path| path.len() < text.len()), "so is that of v2");
}

/// `/proc/PID/net/*` and links, line by line, whole and in pieces alike.
pub fn fuzz_net(text: &[u8]) {
    let (mut lines, mut joined) = (Lines::default(), Vec::new());
    for piece in pieces(text) {
        lines.feed(piece, &mut |line| joined.push(line.to_vec()));
    }
    lines.finish(&mut |line| joined.push(line.to_vec()));
    for line in joined {
        let inet = parse_inet(&line);
        assert!(
            inet.is_none_or(|socket| !(socket.is_listening() && socket.is_bound_datagram())),
            "one state"
        );
        assert!(
            parse_unix(&line).is_none_or(|socket| socket.path.len() < line.len()),
            "a path is part of its line"
        );
        drop(parse_link(&line, "socket").map(|inode| inode.to_string()));
    }
}

/// Messages of the process-event connector.
pub fn fuzz_connector(datagram: &[u8]) {
    let mut count = 0usize;
    parse_messages(datagram, &mut |_| count += 1);
    assert!(count <= datagram.len() / 36, "a message has a header");
}

/// What a process uses: `statm`, `smaps_rollup`, `fdinfo`.
pub fn fuzz_usage(text: &[u8]) {
    drop(usage::parse_statm(text).map(|memory| memory.private_pages().to_string()));
    drop(usage::parse_rollup(text).map(|bytes| bytes.to_string()));
    drop(usage::parse_fdinfo(text).map(|open| open.offset.to_string()));
}

/// An entry for a fuzzer.
pub type Target = fn(&[u8]);

/// Every entry by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("stat", fuzz_stat),
    ("children", fuzz_children),
    ("environ", fuzz_environ),
    ("limits", fuzz_limits),
    ("status", fuzz_status),
    ("cgroup", fuzz_cgroup),
    ("net", fuzz_net),
    ("connector", fuzz_connector),
    ("usage", fuzz_usage),
];

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::parse::stat::Stat;

    /// Texts that the kernel wrote, for the parsers to be given with bytes changed.
    const SAVED: &[&[u8]] = &[
        b"123 (a) b) S 7 8 9 34816 10 4194560 1 2 3 4 55 66 77 88 20 0 3 0 12345 4096 42 18446744073709551615 1\n",
        b"1 22 4194304 ",
        b"PATH=/bin\0HOME=\0\0X=1\0",
        b"Limit  Soft Limit  Hard Limit  Units\nMax realtime timeout      unlimited            2305843009213693999  us        \n",
        b"Name:\tx\nUid:\t0\t0\t0\t0\nTracerPid:\t0\nVmRSS:\t  12 kB\n",
        b"1:name=systemd:/a\n0::/b\n",
        b"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n",
        b"5120 3000 1000 2 0 900 0\n",
        b"00400000-7ffd ---p 0 00:00 0 [rollup]\nRss:   884 kB\nPss:   385 kB\n",
        b"pos:\t10\nflags:\t0100001\nmnt_id:\t29\nino:\t7\n",
        b"0000000000000000: 00000002 00000000 00010000 0001 01 15000 /run/a b.sock\n",
    ];

    fn run_all(text: &[u8]) {
        for (_, target) in TARGETS {
            target(text);
        }
    }

    /// Saved text with some bytes replaced and its end cut off.
    fn damaged() -> impl Strategy<Value = Vec<u8>> {
        let changes = vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6);
        (0..SAVED.len(), changes, any::<proptest::sample::Index>()).prop_map(|(which, changes, end)| {
            let mut text = SAVED[which].to_vec();
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            text.truncate(end.index(text.len() + 1));
            text
        })
    }

    #[test]
    fn saved_texts_pass() {
        for text in SAVED {
            run_all(text);
        }
    }

    proptest! {
        #[test]
        fn any_bytes(text in vec(any::<u8>(), 0..400)) {
            run_all(&text);
        }

        #[test]
        fn kernel_text_with_damage(text in damaged()) {
            run_all(&text);
        }

        #[test]
        fn text_of_the_usual_bytes(text in "[ 0-9A-F:().\n\0=a-z]{0,300}") {
            run_all(text.as_bytes());
        }

        #[test]
        fn a_stat_line_gives_back_what_went_in(
            pid in 1..i32::MAX, comm in vec(any::<u8>(), 0..20), ppid in 0..i32::MAX, start_ticks: u64, rss_pages: i64,
        ) {
            let mut line = format!("{pid} (").into_bytes();
            line.extend(&comm);
            line.extend(format!(") S {ppid} 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 {start_ticks} 0 {rss_pages} 0\n").bytes());
            let expected = Stat {
                pid, comm, state: b'S', ppid, pgrp: 1, session: 1, tty_nr: 0, flags: 0, child_minor_faults: 0,
                utime_ticks: 1, stime_ticks: 2, child_time_ticks: 0, num_threads: 1, start_ticks, vsize_bytes: 0, rss_pages,
            };
            prop_assert_eq!(parse_stat(&line), Some(expected));
        }
    }
}
