//! The host's side of the guard: start it, order supervisors, hear of crashes.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use proctree::PidFd;
use supervisor::{DATAGRAM_BYTES, FromGuard, GuardOptions, Received, Stance, ToGuard, receive, send};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::init::GUARD_ARGV;
use crate::places::Places;
use crate::sys::async_fd;

/// How the guard comes to be.
#[derive(Debug, Clone, Default)]
pub enum GuardStart {
    /// This program is executed once more; needs [`crate::init`].
    #[default]
    ExecuteSelf,
    /// This `kennel` binary is executed.
    Binary(PathBuf),
    /// The process forks; only while it is single-threaded, else as `ExecuteSelf`. The command inherits the given
    /// descriptors with 0, 1 and 2; a session of this kind runs one task.
    Fork(ForkedGuard),
}

/// Choices of a forked guard.
#[derive(Debug, Clone, Default)]
pub struct ForkedGuard {
    /// The command inherits descriptors 0–2 and `passed`, and may join the caller's process group.
    pub wrapper: bool,
    /// Descriptors above 2 for the command.
    pub passed: Vec<i32>,
    /// One that has been forked already.
    early: EarlyGuard,
}

/// Shared by the clones: the first session that suits it takes it.
type EarlyGuard = Arc<Mutex<Option<(OwnedFd, i32)>>>;

impl ForkedGuard {
    /// A guard of `kennel run`: the command inherits descriptors 0–2 and `passed`.
    pub fn wrapper(passed: Vec<i32>) -> Self {
        Self { wrapper: true, passed, early: EarlyGuard::default() }
    }

    /// Forks now, so that the guard gets ready while this process reads its options. It serves the first session that
    /// this process itself owns, with the state directory that the environment names, and ends when it is dropped. Where
    /// it cannot be had nothing happens: the session forks its own, and says what is wrong.
    #[must_use]
    pub fn early(self) -> Self {
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let made = Places::find(None).ok().filter(|_places| is_single_threaded()).and_then(|places| {
            let (socket, pid) = self.fork(places.task_dirs()).ok()?;
            let pidfd = PidFd::open(own).ok().flatten();
            supervisor::hello(&socket, own, pidfd.as_ref().map(AsFd::as_fd)).ok()?;
            Some((socket, pid))
        });
        *self.early.lock().unwrap_or_else(PoisonError::into_inner) = made;
        self
    }

    fn fork(&self, task_dirs: Vec<PathBuf>) -> io::Result<(OwnedFd, i32)> {
        let stance = if self.wrapper { Stance::Wrapper } else { Stance::Detached };
        let passed = if self.wrapper { self.passed.clone() } else { Vec::new() };
        supervisor::fork_guard(GuardOptions { stance, spares: supervisor::Spares::First, passed, task_dirs })
    }
}

/// What the guard has told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) failed: HashMap<u32, i32>,
    pub(crate) crashed: HashMap<u32, i32>,
    /// The session was closed and nothing of it lives but so many tasks that are kept.
    pub(crate) settled: Option<u32>,
    pub(crate) closed: bool,
}

/// The host's end.
#[derive(Debug)]
pub(crate) struct GuardLine {
    socket: Arc<AsyncFd<OwnedFd>>,
    pub(crate) told: watch::Receiver<Told>,
    listener: tokio::task::JoinHandle<()>,
    next: AtomicU32,
    pid: i32,
    pidfd: Option<OwnedFd>,
    child: Option<std::process::Child>,
    /// The session lives no longer than this process.
    bound_here: bool,
}

impl GuardLine {
    /// Starts a guard for the owner `owner_pid` (by default this process).
    pub(crate) fn start(
        start: &GuardStart,
        task_dirs: Vec<PathBuf>,
        owner: Option<&OwnedFd>,
        owner_pid: i32,
    ) -> Result<Self> {
        let failed = |source| Error::Guard { source };
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let early = match start {
            GuardStart::Fork(forked) if owner_pid == own => {
                forked.early.lock().unwrap_or_else(PoisonError::into_inner).take()
            }
            _ => None,
        };
        let greeted = early.is_some();
        let (socket, pid, child) = match (start, early) {
            (_, Some((socket, pid))) => (socket, pid, None),
            (GuardStart::Fork(forked), None) if is_single_threaded() => {
                let (socket, pid) = forked.fork(task_dirs).map_err(failed)?;
                (socket, pid, None)
            }
            (GuardStart::Binary(binary), None) => execute(binary.clone(), &task_dirs).map_err(failed)?,
            // Not `current_exe()`: after an upgrade it names a file that is gone; the link can still be executed.
            _ if crate::init::is_initialised() => {
                execute(PathBuf::from("/proc/self/exe"), &task_dirs).map_err(failed)?
            }
            _ => return Err(Error::NotInitialised),
        };
        if !greeted {
            supervisor::hello(&socket, owner_pid, owner.map(AsFd::as_fd)).map_err(failed)?;
        }
        rustix::io::ioctl_fionbio(&socket, true).map_err(|errno| failed(errno.into()))?;
        let socket = Arc::new(async_fd(socket, Interest::READABLE).map_err(failed)?);
        let (publish, told) = watch::channel(Told::default());
        let listener = tokio::spawn(listen(Arc::clone(&socket), publish));
        let pidfd = PidFd::open(pid).ok().flatten().map(PidFd::into_owned_fd);
        Ok(Self {
            socket,
            told,
            listener,
            next: AtomicU32::new(1),
            pid,
            pidfd,
            child,
            bound_here: owner_pid == own,
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Orders a supervisor on the other end of `task`; returns its number.
    pub(crate) async fn spawn(&self, task: OwnedFd) -> Result<u32> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let datagram = ToGuard::Spawn { number }.encode();
        // The usual case does not wait.
        let sent = match send(self.socket.get_ref(), &datagram, Some(task.as_fd())) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.send_later(&datagram, &task).await
            }
            other => other,
        };
        sent.map_err(|source| Error::KeeperGone {
            what: format!("the guard (pid {}) of the session is gone: {source}", self.pid),
        })?;
        Ok(number)
    }

    /// The guard is behind. The line is registered for reading only, so that its writability wakes nobody; for the
    /// rare wait a second descriptor of the same socket is.
    async fn send_later(&self, datagram: &[u8], task: &OwnedFd) -> io::Result<()> {
        let own = rustix::io::fcntl_dupfd_cloexec(self.socket.get_ref(), 3)?;
        let writable = async_fd(own, Interest::WRITABLE)?;
        writable.async_io(Interest::WRITABLE, |socket| send(socket, datagram, Some(task.as_fd()))).await
    }

    /// Closes the session: the guard ends every task that is not kept. Waits until it says so, or has gone.
    pub(crate) async fn close(mut self, deadline: crate::clock::Deadline) -> bool {
        let _gone_already = send(self.socket.get_ref(), &ToGuard::Close.encode(), None);
        let pidfd = self.pidfd.take().and_then(|pidfd| async_fd(pidfd, Interest::READABLE).ok());
        let (child, pid) = (self.child.take(), self.pid);
        let mut told = self.told.clone();
        let kept = tokio::select! {
            told = told.wait_for(|told| told.settled.is_some() || told.closed) => told.ok().and_then(|told| told.settled),
            () = deadline.passed() => None,
        };
        self.listener.abort();
        let _stopped = (&mut self.listener).await;
        drop(self);
        let gone = async move {
            if let Some(pidfd) = pidfd
                && pidfd.readable().await.is_ok()
            {
                reap(child, pid);
            }
        };
        if kept.is_some_and(|kept| kept > 0) {
            // It lives on with them. When it goes and this program is still there, no zombie is to stay.
            tokio::spawn(gone);
        } else {
            tokio::select! {
                () = gone => {}
                () = deadline.passed() => return false,
            }
        }
        kept.is_some()
    }
}

impl Drop for GuardLine {
    fn drop(&mut self) {
        if self.bound_here {
            // Else the guard takes the end of the line for our death.
            let _closed_already = send(self.socket.get_ref(), &ToGuard::Close.encode(), None);
        }
        self.listener.abort();
    }
}

/// Takes the guard's exit status, so that no zombie stays in the host. A host that ignores SIGCHLD has none to take.
fn reap(child: Option<std::process::Child>, pid: i32) {
    if let Some(mut child) = child {
        let _already_taken = child.try_wait();
    } else if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _already_taken = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG);
    }
}

async fn listen(socket: Arc<AsyncFd<OwnedFd>>, publish: watch::Sender<Told>) {
    loop {
        let received = socket
            .async_io(Interest::READABLE, |socket| match receive(socket) {
                Received::Nothing => Err(io::ErrorKind::WouldBlock.into()),
                other => Ok(other),
            })
            .await;
        match received {
            Ok(Received::Datagram(bytes, DATAGRAM_BYTES, _)) => {
                publish.send_modify(|told| match FromGuard::decode(&bytes) {
                    Some(FromGuard::Failed { number, errno }) => drop(told.failed.insert(number, errno)),
                    Some(FromGuard::Crashed { number, status }) => drop(told.crashed.insert(number, status)),
                    Some(FromGuard::Settled { kept }) => told.settled = Some(kept),
                    None => {}
                });
            }
            _ => break publish.send_modify(|told| told.closed = true),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the library starts the guard")]
fn execute(
    binary: PathBuf,
    task_dirs: &[PathBuf],
) -> io::Result<(OwnedFd, i32, Option<std::process::Child>)> {
    let (host, guard) = supervisor::socket_pair()?;
    let child = std::process::Command::new(binary)
        .arg0(GUARD_ARGV[0])
        .arg(GUARD_ARGV[1])
        .args(task_dirs)
        .stdin(Stdio::from(guard))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pid = i32::try_from(child.id()).unwrap_or(0);
    Ok((host, pid, Some(child)))
}

/// Two links besides one a thread: `.`, `..` and the thread itself.
fn is_single_threaded() -> bool {
    rustix::fs::stat("/proc/self/task").is_ok_and(|stat| stat.st_nlink == 3)
}
