//! Whom the kernel ends when memory runs out: a keeper last, for it holds the proof; a task as soon as without us.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, Result};

const FILE: &str = "/proc/self/oom_score_adj";
/// Only a value of -1000 is spared more.
const KEEPER: i16 = -900;

/// What a process was worth before it became a keeper, as the kernel writes it: `oom_score_adj`, -1000 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OomScore {
    text: [u8; 8],
    length: usize,
}

impl OomScore {
    /// Makes the calling process one of the last to go and gives what it was worth before; `None` where it stays as it
    /// is. To lower a value needs `CAP_SYS_RESOURCE`, and a keeper that is not dumpable needs to be root to give a child
    /// the old one back: for anybody else nothing is changed.
    pub fn lower_to_keeper() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let mut before = Self { text: [0; 8], length: 0 };
        let file = open(FILE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).ok()?;
        before.length = rustix::io::read(&file, &mut before.text).ok()?;
        let value: i16 = std::str::from_utf8(before.bytes()).ok()?.trim().parse().ok()?;
        if value <= KEEPER {
            return None;
        }
        rustix::io::write(&file, KEEPER.to_string().as_bytes()).ok().map(|_| before)
    }

    /// Gives the calling process this worth. Async-signal-safe.
    pub(crate) fn apply(&self) -> Result<()> {
        let file = open(FILE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        match rustix::io::write(&file, self.bytes())? {
            written if written == self.length => Ok(()),
            _ => Err(Errno::IO),
        }
    }

    fn bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}
