//! `/proc/PID/cgroup`, see `cgroups(7)`.

use super::number;

/// The group of a process in one hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the hierarchy, 0 for v2.
    pub hierarchy: u32,
    /// Controllers of a v1 hierarchy, parted by commas, or `name=…`; empty for v2.
    pub controllers: &'a [u8],
    /// Path in the hierarchy, seen from our cgroup namespace; ends in ` (deleted)` when the group is gone.
    pub path: &'a [u8],
}

/// All entries. Lines that are none are skipped.
pub fn parse_cgroup(text: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let mut parts = line.splitn(3, |byte| *byte == b':');
        Some(Entry { hierarchy: number(parts.next()?)?, controllers: parts.next()?, path: parts.next()? })
    })
}

/// The path in the v2 hierarchy.
pub fn parse_cgroup_v2(text: &[u8]) -> Option<&[u8]> {
    parse_cgroup(text).find(|entry| entry.hierarchy == 0).map(|entry| entry.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_and_v2_stand_side_by_side() {
        let text = b"12:cpu,cpuacct:/a\n1:name=systemd:/b:c\n0::/user.slice/x\n";
        let paths: Vec<_> = parse_cgroup(text).map(|entry| entry.path).collect();
        assert_eq!(paths, [&b"/a"[..], b"/b:c", b"/user.slice/x"]);
        assert_eq!(parse_cgroup_v2(text), Some(&b"/user.slice/x"[..]));
        assert_eq!(parse_cgroup_v2(b"1:cpu:/\n\nx\n2:\n"), None);
    }
}
