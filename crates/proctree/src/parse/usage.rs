//! What a process uses: `/proc/PID/statm`, `smaps_rollup` and `fdinfo`.

use super::{fields, number};

/// `/proc/PID/statm`, as far as it is about memory that is there, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statm {
    /// Resident.
    pub resident_pages: u64,
    /// Of these, pages of files and shared memory.
    pub shared_pages: u64,
}

impl Statm {
    /// Resident pages of no file and no shared memory. After a fork they may be another process's too.
    pub fn private_pages(self) -> u64 {
        self.resident_pages.saturating_sub(self.shared_pages)
    }
}

/// Parses the one line.
pub fn parse_statm(text: &[u8]) -> Option<Statm> {
    let mut rest = fields(text).skip(1);
    Some(Statm { resident_pages: number(rest.next()?)?, shared_pages: number(rest.next()?)? })
}

/// The proportional set size (`Pss:`) in bytes: each page counts for as much as there are processes that map it.
pub fn parse_rollup(text: &[u8]) -> Option<u64> {
    let kib: u64 = value(text, b"Pss:").and_then(number)?;
    kib.checked_mul(1024)
}

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFile {
    /// Where it will be read or written next.
    pub offset: u64,
    /// It may be written.
    pub writable: bool,
}

/// Parses `/proc/PID/fdinfo/FD`.
pub fn parse_fdinfo(text: &[u8]) -> Option<OpenFile> {
    const ACCESS_MODE: u32 = 3;
    let flags = std::str::from_utf8(value(text, b"flags:")?).ok()?;
    let mode = u32::from_str_radix(flags, 8).ok()? & ACCESS_MODE;
    Some(OpenFile { offset: value(text, b"pos:").and_then(number)?, writable: mode != 0 })
}

fn value<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    text.split(|byte| *byte == b'\n').find_map(|line| fields(line.strip_prefix(name)?).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() {
        let statm = parse_statm(b"5120 3000 1000 2 0 900 0\n").unwrap();
        assert_eq!((statm.resident_pages, statm.shared_pages, statm.private_pages()), (3000, 1000, 2000));
        let rollup =
            b"00400000-7ffd ---p 0 00:00 0 [rollup]\nRss:   884 kB\nPss:   385 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(parse_rollup(rollup), Some(385 * 1024));
        let open = parse_fdinfo(b"pos:\t10\nflags:\t0100001\nmnt_id:\t29\nino:\t7\n");
        assert_eq!(open, Some(OpenFile { offset: 10, writable: true }));
        assert_eq!(parse_fdinfo(b"pos:\t0\nflags:\t02\n").map(|open| open.writable), Some(true));
        assert_eq!(parse_fdinfo(b"pos:\t0\nflags:\t0100000\n").map(|open| open.writable), Some(false));
    }

    #[test]
    fn odd_text_is_none() {
        for text in [&b""[..], b"1", b"1 x y", b"Pss:", b"Pss: x kB", b"pos: 1\n", b"flags: 9\npos: 1\n"] {
            assert_eq!((parse_statm(text), parse_rollup(text), parse_fdinfo(text)), (None, None, None));
        }
    }
}
