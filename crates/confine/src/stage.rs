//! The stages of a child's set-up and the eight bytes that report where one failed.

/// A step between fork and the first instruction; [`crate::ChildPlan::enter`] has their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Session or process group (`setsid(2)`, `setpgid(2)`).
    Placement = 1,
    /// Descriptors 0, 1 and 2.
    Stdio = 2,
    /// `umask`, nice value and CPU affinity of the request.
    Inherited = 3,
    /// Resource limits of the request, and the task's tag.
    Limits = 4,
    /// The working directory (`chdir(2)`).
    WorkingDirectory = 5,
    /// Signal dispositions and the mask.
    Signals = 6,
    /// `execve(2)`.
    Exec = 7,
    /// The sandbox's view of the file tree.
    FileView = 8,
    /// A required protection could not be had.
    Required = 9,
    /// `oom_score_adj` as it was before the keepers lowered theirs.
    OomScore = 10,
}

impl Stage {
    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Placement,
            Self::Stdio,
            Self::Inherited,
            Self::Limits,
            Self::WorkingDirectory,
            Self::Signals,
            Self::Exec,
            Self::FileView,
            Self::Required,
            Self::OomScore,
        ]
        .into_iter()
        .find(|stage| *stage as u8 == byte)
    }
}

/// Where and why the set-up of a child ended before its first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The stage that failed.
    pub stage: Stage,
    /// The errno of the failing call.
    pub errno: i32,
}

impl Failure {
    /// Length of the report on the error pipe; far below `PIPE_BUF`, so that it arrives whole or not at all.
    pub const WIRE_BYTES: usize = 8;

    /// The report as it goes over the error pipe.
    pub fn to_wire(self) -> [u8; Self::WIRE_BYTES] {
        let errno = self.errno.to_le_bytes();
        [self.stage as u8, 0, 0, 0, errno[0], errno[1], errno[2], errno[3]]
    }

    /// Reads a report back; `None` for bytes that no child of ours has written.
    pub fn from_wire(bytes: [u8; Self::WIRE_BYTES]) -> Option<Self> {
        let [stage, 0, 0, 0, a, b, c, d] = bytes else { return None };
        Some(Self { stage: Stage::from_byte(stage)?, errno: i32::from_le_bytes([a, b, c, d]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_round_trips() {
        let failure = Failure { stage: Stage::Exec, errno: 13 };
        assert_eq!(Failure::from_wire(failure.to_wire()), Some(failure));
        assert_eq!(Failure::from_wire([9; 8]), None);
    }
}
