//! The process table read again and again, at the cost of what is new in it.
//!
//! Reading one stat file costs more than listing one entry, and nearly every process of a machine is older than the
//! leader and therefore never a member. Such a row is read once and kept for as long as the entry's inode number in
//! `/proc` stays: another process on the same pid has another inode.

use std::collections::HashMap;
use std::io;

use crate::snapshot::{Row, Snapshot};
use crate::sys;

/// Looks at a young stranger before it is read less often, and how often then.
const LOOKS_AT_FIRST: u32 = 8;
const LOOKS_LATER_EVERY: u64 = 16;

/// How thorough a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Of the sampler: young strangers that stay strangers are skipped now and then.
    Timed,
    /// On demand: whatever could have become a member is read.
    Demanded,
}

#[derive(Debug, Default)]
pub(crate) struct Table {
    known: HashMap<i32, Known>,
    looks: u64,
}

#[derive(Debug)]
struct Known {
    row: Row,
    /// 0 where the platform gives none: then nothing is kept.
    inode: u64,
    seen: u64,
    calm_looks: u32,
    due: u64,
}

impl Table {
    /// The table of now, and in `fresh` the pids of the rows that were read for it.
    pub(crate) fn read(
        &mut self,
        look: Look,
        born_ticks: u64,
        is_member: &dyn Fn(i32) -> bool,
        fresh: &mut Vec<i32>,
    ) -> io::Result<Snapshot> {
        self.looks += 1;
        let now = self.looks;
        fresh.clear();
        let known = &mut self.known;
        sys::for_each_process(&mut |pid, inode| {
            let kept = known.get_mut(&pid).filter(|kept| kept.inode == inode && inode != 0);
            let calm_looks = kept.as_ref().map_or(0, |kept| kept.calm_looks);
            if let Some(kept) = kept {
                kept.seen = now;
                let skip = match look {
                    Look::Timed => kept.due > now,
                    Look::Demanded => kept.due == u64::MAX,
                };
                if skip && !is_member(pid) {
                    return;
                }
            }
            let Ok(Some(stat)) = sys::read_stat(pid) else {
                known.remove(&pid);
                return;
            };
            let row = Row::from(&stat);
            let due = match calm_looks {
                _ if row.start_ticks < born_ticks => u64::MAX,
                0..LOOKS_AT_FIRST => 0,
                _ => now + LOOKS_LATER_EVERY,
            };
            fresh.push(pid);
            known.insert(pid, Known { row, inode, seen: now, calm_looks: calm_looks.saturating_add(1), due });
        })?;
        self.known.retain(|_, kept| kept.seen == now);
        Ok(Snapshot::from_rows(self.known.values().map(|kept| kept.row).collect()))
    }
}
