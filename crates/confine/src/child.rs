//! The child between fork and exec, as one list of stages.

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::io::Errno;
use rustix::process::{Pid, getpid, setpgid, setsid};
use rustix::termios::tcsetpgrp;

use crate::exec::ExecPlan;
use crate::facts::Facts;
use crate::inherit::Inherited;
use crate::limits::Limits;
use crate::oom::OomScore;
use crate::pid_namespace;
use crate::sandbox::{Confinement, Off};
use crate::signals::KeeperSignals;
use crate::stage::{Failure, Stage};
use crate::sys;
use crate::tag::Tag;

/// Why a plan could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A C string cannot hold a NUL byte.
    #[error("a NUL byte in a command, argument, environment variable or directory")]
    NulByte,
    /// There is no program to run.
    #[error("the command is empty")]
    EmptyCommand,
}

/// The session and process group of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// A session and group of its own, without a controlling terminal.
    OwnSession,
    /// This process group of the keeper's session: that of the command line that a terminal controls.
    Group(Pid),
    /// A group of its own in the keeper's session, in the foreground of the terminal on [`StdioPlan::stdin`].
    Terminal,
}

/// Where descriptors 0, 1 and 2 come from; `None` leaves the inherited one.
#[derive(Debug, Clone, Copy, Default)]
pub struct StdioPlan<'fd> {
    /// Becomes descriptor 0.
    pub stdin: Option<BorrowedFd<'fd>>,
    /// Becomes descriptor 1.
    pub stdout: Option<BorrowedFd<'fd>>,
    /// Becomes descriptor 2.
    pub stderr: Option<BorrowedFd<'fd>>,
}

/// Everything that the child needs, prepared before the fork.
#[derive(Debug)]
pub struct ChildPlan<'fd> {
    /// Session and group.
    pub placement: Placement,
    /// Standard descriptors.
    pub stdio: StdioPlan<'fd>,
    /// The process is in a PID namespace of its own: a `/proc` of that is mounted where that can be done.
    pub fresh_proc: bool,
    /// Working directory.
    pub cwd: CString,
    /// Attributes of the request, where they may differ from our own.
    pub inherited: Option<Inherited>,
    /// What each process may use, below what it inherits.
    pub limits: Limits,
    /// What the command is worth when memory runs out, where the keepers are worth more.
    pub oom_score: Option<OomScore>,
    /// The task's tag, where one can be set.
    pub tag: Option<Tag>,
    /// What binds the command, where something does.
    pub confinement: Option<Confinement>,
    /// A confinement that is weaker than asked is a failure.
    pub required: bool,
    /// Signal state of the starter.
    pub signals: KeeperSignals,
    /// The program.
    pub exec: ExecPlan,
    /// The last variable of its environment is `TMPDIR`, which goes where the task sees a private `/tmp`.
    pub temp_variable_last: bool,
    /// Close-on-exec write end of the error pipe.
    pub error_pipe: BorrowedFd<'fd>,
}

impl ChildPlan<'_> {
    /// Becomes the command. Runs in a freshly forked child of a single-threaded process and never returns to it.
    ///
    /// On failure the report goes to the error pipe and the child exits with 127; on success the error pipe is closed
    /// by the exec, and its end of file is the good news.
    pub fn enter(&mut self) -> ! {
        let failure = self.stages();
        let _nobody_left_to_tell = rustix::io::write(self.error_pipe, &failure.to_wire());
        sys::exit_now(127)
    }

    fn stages(&mut self) -> Failure {
        match self.prepare() {
            Err(failure) => failure,
            Ok(()) => Failure { stage: Stage::Exec, errno: self.exec.exec().raw_os_error() },
        }
    }

    fn prepare(&mut self) -> Result<(), Failure> {
        let failed = |stage| move |errno: Errno| Failure { stage, errno: errno.raw_os_error() };
        let off = Off::by_orders();
        if let Some(score) = &self.oom_score {
            score.apply().map_err(failed(Stage::OomScore))?;
        }
        self.place().map_err(failed(Stage::Placement))?;
        self.connect().map_err(failed(Stage::Stdio))?;
        if let Some(inherited) = &self.inherited {
            inherited.apply_without_limits();
        }
        if self.fresh_proc {
            // The supervisor has tried it, and has told where it fails.
            let _outer_proc_stays = pid_namespace::show_own_processes();
        }
        let mut facts = match &self.confinement {
            Some(confinement) => confinement.enter_view(off)?,
            None => Facts::default(),
        };
        rustix::process::chdir(self.cwd.as_c_str()).map_err(failed(Stage::WorkingDirectory))?;
        if let Some(inherited) = &self.inherited {
            inherited.apply_limits();
        }
        self.limits.apply();
        // A tag that the kernel refuses is a weaker recovery, not a reason to run nothing.
        if let Some(tag) = self.tag {
            let _untagged = tag.apply();
        }
        if let Some(confinement) = &self.confinement {
            let restricted = confinement.restrict(&mut facts, off, self.required);
            // First the facts: a refusal is explained by them.
            let _nobody_left_to_tell = rustix::io::write(self.error_pipe, &facts.to_wire());
            restricted?;
            if facts.mounts && self.temp_variable_last {
                self.exec.forget_last_variable();
            }
        }
        self.signals.restore_for_command().map_err(failed(Stage::Signals))
    }

    fn place(&self) -> rustix::io::Result<()> {
        match self.placement {
            Placement::OwnSession => setsid().map(drop),
            Placement::Group(group) => setpgid(None, Some(group)),
            Placement::Terminal => {
                setpgid(None, None)?;
                let Some(terminal) = self.stdio.stdin else { return Err(Errno::NOTTY) };
                // From the background this would stop us, were SIGTTOU not blocked like everything in a keeper.
                tcsetpgrp(terminal, getpid())
            }
        }
    }

    /// The sources must lie above 2, which the supervisor sees to: else one duplicate could overwrite another's source.
    fn connect(&self) -> rustix::io::Result<()> {
        let onto = |source: Option<BorrowedFd<'_>>,
                    duplicate: fn(BorrowedFd<'_>) -> rustix::io::Result<()>| {
            source.map_or(Ok(()), |fd| {
                debug_assert!(fd.as_raw_fd() > 2 as RawFd);
                duplicate(fd)
            })
        };
        onto(self.stdio.stdin, |fd| rustix::stdio::dup2_stdin(fd))?;
        onto(self.stdio.stdout, |fd| rustix::stdio::dup2_stdout(fd))?;
        onto(self.stdio.stderr, |fd| rustix::stdio::dup2_stderr(fd))
    }
}
