//! Processes for the tests: forked or executed, killed and reaped when they go out of scope.
#![expect(unsafe_code, reason = "tests make processes in states that no safe call gives")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

/// A child of the test; its pid cannot be recycled before `reap` or the drop, which are the only places that wait.
#[derive(Debug)]
pub(crate) struct Forked {
    pub(crate) pid: i32,
    reaped: bool,
}

impl Forked {
    pub(crate) fn kill(&self) {
        assert!(!self.reaped);
        // SAFETY: kill takes no pointers; the pid is our unreaped child's.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
    }

    /// Waits until the child is a zombie, without reaping it.
    pub(crate) fn wait_dead(&self) {
        // SAFETY: all-zero bytes are a valid siginfo_t.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let id = libc::id_t::try_from(self.pid).unwrap();
        // SAFETY: info is a valid place for the call to write to.
        let rc = unsafe { libc::waitid(libc::P_PID, id, &raw mut info, libc::WEXITED | libc::WNOWAIT) };
        assert_eq!(rc, 0);
    }

    /// Waits and reaps; the wait status.
    pub(crate) fn reap(&mut self) -> i32 {
        let mut status = 0;
        // SAFETY: status is a valid place for the call to write to.
        let rc = unsafe { libc::waitpid(self.pid, &raw mut status, 0) };
        assert_eq!(rc, self.pid);
        self.reaped = true;
        status
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.reap();
        }
    }
}

/// Forks; the child keeps descriptors 0 to 2 and `keep`, runs `body` and exits with what that returns.
pub(crate) fn fork(keep: &[BorrowedFd<'_>], body: impl FnOnce() -> i32) -> Forked {
    // SAFETY: the child runs test code that glibc allows in the child of a threaded process (its locks are reset).
    let pid = unsafe { libc::fork() };
    run_forked(i64::from(pid), keep, body)
}

/// Forks a child with the pid that the caller wants. Needs `CAP_CHECKPOINT_RESTORE`; `None` without it.
pub(crate) fn fork_with_pid(wanted: i32, body: impl FnOnce() -> i32) -> Option<Forked> {
    let set_tid = [wanted];
    // SAFETY: all-zero bytes are a valid clone_args.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.exit_signal = u64::try_from(libc::SIGCHLD).unwrap();
    args.set_tid = set_tid.as_ptr() as u64;
    args.set_tid_size = 1;
    // SAFETY: args is a whole clone_args that points to one pid; without CLONE_VM the child has its own memory.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    if pid < 0 {
        let error = std::io::Error::last_os_error();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM), "clone3 with pid {wanted}");
        return None;
    }
    Some(run_forked(pid, &[], body))
}

fn run_forked(pid: i64, keep: &[BorrowedFd<'_>], body: impl FnOnce() -> i32) -> Forked {
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid > 0 {
        return Forked { pid: i32::try_from(pid).unwrap(), reaped: false };
    }
    // A sibling's copy of a pipe would keep that sibling's reader waiting.
    for fd in 3..1024 {
        if !keep.iter().any(|kept| kept.as_raw_fd() == fd) {
            // SAFETY: nothing in this child uses a descriptor that it was not told to keep.
            unsafe { libc::close(fd) };
        }
    }
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
    // SAFETY: ends the child without running the exit handlers of the test program.
    unsafe { libc::_exit(code) }
}

/// Never returns; signals end it.
pub(crate) fn hold() -> ! {
    loop {
        // SAFETY: pause takes nothing and touches no memory.
        unsafe { libc::pause() };
    }
}

/// The main thread ends, the others go on: a zombie leader.
pub(crate) fn exit_thread() -> ! {
    // SAFETY: the calling thread holds nothing that another thread of this child waits for.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("exit returned");
}

/// A pipe whose reader waits for single bytes.
pub(crate) struct Gate {
    reader: File,
    writer: File,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        Self { reader: reader.into(), writer: writer.into() }
    }

    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.reader.as_fd(), self.writer.as_fd()]
    }

    pub(crate) fn open(&self) {
        (&self.writer).write_all(b"x").unwrap();
    }

    /// Blocks until `open` was called once more. The watchdog makes a dead fixture a failure instead of a hang.
    pub(crate) fn wait(&self) {
        wait_readable(self.reader.as_fd());
        let mut byte = [0];
        (&self.reader).read_exact(&mut byte).unwrap();
    }

    pub(crate) fn send(&self, number: i32) {
        (&self.writer).write_all(&number.to_ne_bytes()).unwrap();
    }

    pub(crate) fn receive(&self) -> i32 {
        wait_readable(self.reader.as_fd());
        let mut bytes = [0; 4];
        (&self.reader).read_exact(&mut bytes).unwrap();
        i32::from_ne_bytes(bytes)
    }
}

pub(crate) fn wait_readable(fd: BorrowedFd<'_>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let ready = poll(&mut fds, Some(&Timespec { tv_sec: 20, tv_nsec: 0 })).unwrap();
    assert_eq!(ready, 1, "nothing came for 20 s");
}

/// A shell command with a pipe to each end; killed as a group and reaped when it goes out of scope.
pub(crate) struct Shell {
    child: Child,
    lines: BufReader<File>,
}

impl Shell {
    pub(crate) fn start(script: &str) -> Self {
        Self::start_with(script, |_| {})
    }

    #[expect(clippy::disallowed_methods, reason = "tests start the processes that they look at")]
    pub(crate) fn start_with(script: &str, set_up: impl FnOnce(&mut Command)) -> Self {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        set_up(&mut command);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(File::from(OwnedFd::from(child.stdout.take().unwrap())));
        Self { child, lines }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The next line of its output, without the line end.
    pub(crate) fn line(&mut self) -> String {
        if self.lines.buffer().is_empty() {
            wait_readable(self.lines.get_ref().as_fd());
        }
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next line as a pid.
    pub(crate) fn number(&mut self) -> i32 {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("no number: {line:?}"))
    }

    /// Writes a line to its input.
    pub(crate) fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    /// Waits for the shell itself and reaps it.
    pub(crate) fn reap(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            let mut members = Vec::new();
            drop(proctree::descendants(self.pid(), &mut members));
            let ids: Vec<_> = members.iter().filter_map(|member| proctree::proc_id(member.pid)).collect();
            self.child.kill().unwrap();
            for id in ids {
                drop(proctree::signal_checked(id, proctree::Signal::KILL));
            }
            self.child.wait().unwrap();
        }
    }
}

/// Kills a process that is not our child when it goes out of scope.
pub(crate) struct Stray(pub(crate) proctree::ProcId);

impl Drop for Stray {
    fn drop(&mut self) {
        drop(proctree::signal_checked(self.0, proctree::Signal::KILL));
    }
}

/// Blocks until the process has ended.
pub(crate) fn wait_gone(id: proctree::ProcId) {
    if let Some(fd) = proctree::PidFd::open_checked(id).unwrap() {
        wait_readable(fd.as_fd());
    }
}

pub(crate) fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Prints the name of a test that cannot run, and why.
pub(crate) fn skip(test: &str, missing: &str) {
    println!("SKIPPED {test}: needs {missing}");
}
