//! The test's side of the fault points (`crates/fault`): an order for a place, and a barrier that holds whoever comes by.

use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags};

use crate::{Fifo, Rig, skip};

/// Holds a process of a rig at a fault point.
#[derive(Debug)]
pub struct Barrier {
    order: String,
    fifo: Fifo,
    go: PathBuf,
}

impl Barrier {
    /// A barrier at `place` (a name, or `NAME@N` for the Nth time). Nobody is held before [`Barrier::order`] is in the
    /// environment of a kennel.
    ///
    /// # Panics
    /// When the file system refuses a FIFO.
    pub fn at(rig: &Rig, place: &str) -> Self {
        let fifo = rig.fifo(&format!("barrier-{place}"));
        let go = fifo.path().with_file_name(format!("barrier-{place}.go"));
        rustix::fs::mkfifoat(CWD, &go, Mode::from_bits_truncate(0o666)).expect("make a FIFO");
        rustix::fs::chmod(&go, Mode::from_bits_truncate(0o666)).expect("open the FIFO to other users");
        Self { order: format!("{place}=hold:{}", fifo.word()), fifo, go }
    }

    /// The value of `KENNEL_FAULT`; several are joined by commas.
    pub fn order(&self) -> &str {
        &self.order
    }

    /// Wait until somebody is held; its pid.
    ///
    /// # Panics
    /// When nobody comes within twenty seconds.
    pub fn reached(&mut self) -> u32 {
        self.fifo.pid()
    }

    /// Let it go on.
    ///
    /// # Panics
    /// When nobody is held: open the barrier after [`Barrier::reached`].
    pub fn open(self) {
        drop(
            rustix::fs::open(&self.go, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
                .expect("the other end"),
        );
    }
}

/// Skip, if the binary under test has no fault points: a release build. Returns true when the test must end.
#[expect(clippy::disallowed_methods, reason = "the tests' own environment")]
pub fn lacks_faults() -> bool {
    skip::lacks(
        "a binary with fault points, not a release build",
        std::env::var_os("KENNEL_TEST_BINARY").is_none(),
    )
}
