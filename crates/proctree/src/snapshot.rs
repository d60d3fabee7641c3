//! The process table at about one instant, indexed for questions about parents and groups.

use std::io;

use crate::identity::ProcId;
use crate::parse::stat::Stat;
use crate::sys;

/// One process of a [`Snapshot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// Process id.
    pub pid: i32,
    /// Parent, 0 if outside our PID namespace.
    pub ppid: i32,
    /// Process group.
    pub pgrp: i32,
    /// Session.
    pub session: i32,
    /// Start, as in [`ProcId`].
    pub start_ticks: u64,
    /// As in [`Stat`].
    pub state: u8,
    /// As in [`Stat`].
    pub num_threads: i64,
}

impl Row {
    /// The identity of the process.
    pub fn id(&self) -> ProcId {
        ProcId { pid: self.pid, start_ticks: self.start_ticks }
    }

    /// True for a zombie or less. A leader that has exited while its threads live is not dead.
    pub fn is_dead(&self) -> bool {
        match self.state {
            b'Z' => self.num_threads <= 1,
            b'X' | b'x' => true,
            _ => false,
        }
    }
}

impl From<&Stat> for Row {
    fn from(stat: &Stat) -> Self {
        Self {
            pid: stat.pid,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            session: stat.session,
            start_ticks: stat.start_ticks,
            state: stat.state,
            num_threads: stat.num_threads,
        }
    }
}

/// Rows by pid, with indexes by parent and by group.
///
/// The kernel gives no consistent picture: rows are read one after the other while processes come and go.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    rows: Vec<Row>,
    by_parent: Vec<u32>,
    by_group: Vec<u32>,
}

impl Snapshot {
    /// Reads every process that `/proc` shows. Costs the size of the machine.
    ///
    /// # Errors
    /// What reading `/proc` said; `Unsupported` where there is no such table. A process that ends meanwhile or that
    /// may not be read is left out.
    pub fn take() -> io::Result<Self> {
        let mut rows = Vec::new();
        sys::for_each_pid(&mut |pid| {
            if let Ok(Some(stat)) = sys::read_stat(pid) {
                rows.push(Row::from(&stat));
            }
        })?;
        Ok(Self::from_rows(rows))
    }

    /// A snapshot of rows from anywhere. Of several rows with one pid the last is kept.
    pub fn from_rows(mut rows: Vec<Row>) -> Self {
        rows.reverse();
        rows.sort_by_key(|row| row.pid);
        rows.dedup_by_key(|row| row.pid);
        let count = u32::try_from(rows.len().min(sys::PIDS_MAX)).unwrap_or(0);
        let row_of = |&index: &u32| rows.get(index as usize);
        let mut by_parent: Vec<u32> = (0..count).collect();
        by_parent.sort_by_key(|index| row_of(index).map(|row| (row.ppid, row.pid)));
        let mut by_group: Vec<u32> = (0..count).collect();
        by_group.sort_by_key(|index| row_of(index).map(|row| (row.pgrp, row.pid)));
        Self { rows, by_parent, by_group }
    }

    /// All rows, by pid.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of this pid.
    pub fn get(&self, pid: i32) -> Option<&Row> {
        let index = self.rows.binary_search_by_key(&pid, |row| row.pid).ok()?;
        self.rows.get(index)
    }

    /// The row of this very process.
    pub fn find(&self, id: ProcId) -> Option<&Row> {
        self.get(id.pid).filter(|row| row.start_ticks == id.start_ticks)
    }

    /// The processes whose parent is `ppid`.
    pub fn children(&self, ppid: i32) -> impl Iterator<Item = &Row> {
        self.run(&self.by_parent, move |row| row.ppid, ppid)
    }

    /// The processes whose group is `pgrp`.
    pub fn group(&self, pgrp: i32) -> impl Iterator<Item = &Row> {
        self.run(&self.by_group, move |row| row.pgrp, pgrp)
    }

    /// The rows of a sorted index whose key is `wanted`.
    fn run<'a>(
        &'a self,
        index: &'a [u32],
        key: impl Fn(&Row) -> i32 + Copy + 'a,
        wanted: i32,
    ) -> impl Iterator<Item = &'a Row> {
        let row_of = move |&at: &u32| self.rows.get(at as usize);
        let start = index.partition_point(|at| row_of(at).is_some_and(|row| key(row) < wanted));
        index.iter().skip(start).filter_map(row_of).take_while(move |row| key(row) == wanted)
    }
}
