//! The guard: one per session. Makes supervisors, ends with the host, sweeps what a crashed supervisor leaves.
//!
//! Single-threaded and small. Supervisors are copies of it made without exec and without an exit signal, so that a
//! plain `waitpid` sees adopted orphans only, and its ECHILD is the proof for a crashed supervisor's task while other
//! supervisors live on.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

use confine::OomScore;
use proctree::{PidFd, ProcId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, setpgid, setsid};

use crate::clock;
use crate::datagram::{FromGuard, Received, ToGuard, receive, send};
use crate::keeper::{GUARD_NAME, above_stdio, become_keeper, close_all_but, null_stdio};
use crate::lost;
use crate::record::{Origin, ProcRef};
use crate::sweep::Sweep;
use crate::sys::{self, ExitSignal, Fork, SharedWords, Wait, WaitFor};
use crate::task::{self, Birth, word};
use crate::wire::PROTOCOL;

/// Supervisors of one session at the same time; descriptors run out before.
const SUPERVISORS_MAX: usize = 8191;
/// The guard's own word, after those of its supervisors.
pub(crate) const GUARD_SLOT: usize = SUPERVISORS_MAX;
/// A supervisor that has not acknowledged the owner's death by then is killed, and its tree swept.
const ACKNOWLEDGE_MS: u64 = 1000;
/// Pause between looks at the words of supervisors while a session is being closed; for [`ACKNOWLEDGE_MS`] at most.
const LOOK_PAUSE_MS: u64 = 2;

/// How the guard stands to the caller's terminal and descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// A session of its own: no terminal, nothing passed on.
    Detached,
    /// In the caller's session with a group of its own; the command gets the caller's descriptors. For one task.
    Wrapper,
}

/// Whether a supervisor is made before it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spares {
    /// For the first task only.
    First,
    /// One at any time.
    Always,
}

/// What a guard is started with.
#[derive(Debug)]
pub struct GuardOptions {
    /// See [`Stance`].
    pub stance: Stance,
    /// See [`Spares`].
    pub spares: Spares,
    /// Descriptors above 2 that the command inherits. With [`Stance::Wrapper`] only.
    pub passed: Vec<RawFd>,
    /// Directories in which the tasks of the session may be, for the records of crashed supervisors.
    pub task_dirs: Vec<std::path::PathBuf>,
}

/// A supervisor, or the spare that waits to become one.
#[derive(Debug)]
struct Child {
    /// The host's number, once it has a request.
    number: Option<u32>,
    pid: i32,
    pidfd: Option<OwnedFd>,
    slot: usize,
    /// Where its request goes, until it has one.
    orders: Option<OwnedFd>,
}

#[derive(Debug)]
struct Guard {
    socket: Option<OwnedFd>,
    /// The host has closed the session and waits for the word that nothing lives but what is kept.
    farewell: Option<OwnedFd>,
    options: GuardOptions,
    owner: Option<OwnedFd>,
    owner_ref: Option<ProcRef>,
    /// The owner is not the host at the other end of the socket.
    bound_elsewhere: bool,
    lifeline_read: OwnedFd,
    lifeline_write: Option<OwnedFd>,
    words: SharedWords,
    origin: Origin,
    own: ProcRef,
    hangup_ignored: bool,
    oom_score: Option<OomScore>,
    children: Vec<Child>,
    free_slots: Vec<usize>,
    /// Crashed supervisors whose orphans are being swept.
    crashed: Vec<(u32, i32, i32)>,
    sweep: Option<Sweep>,
    acknowledge_by: Option<u64>,
    signals: OwnedFd,
}

/// Copies the calling process, which must be single-threaded, into a guard; returns the host's end of its socket and
/// the guard's pid.
///
/// # Errors
/// Those of `socketpair(2)` and `clone3(2)`.
pub fn fork_guard(options: GuardOptions) -> io::Result<(OwnedFd, i32)> {
    let (host, guard) = socket_pair()?;
    match sys::fork(ExitSignal::Child)? {
        Fork::Parent { pid, .. } => Ok((host, pid)),
        Fork::Child => {
            let mut keep = vec![0, 1, 2, guard.as_raw_fd()];
            keep.extend(&options.passed);
            close_all_but(&mut keep);
            main(guard, options)
        }
    }
}

/// The guard of a process that was executed for it: its socket is descriptor 0.
pub fn executed_guard(task_dirs: Vec<std::path::PathBuf>) -> ! {
    let socket = above_stdio(sys::adopt_fd(0)).and_then(|socket| null_stdio().map(|()| socket));
    let Ok(socket) = socket else { sys::exit_now(70) };
    close_all_but(&mut [0, 1, 2, socket.as_raw_fd()]);
    main(
        socket,
        GuardOptions { stance: Stance::Detached, spares: Spares::Always, passed: Vec::new(), task_dirs },
    )
}

/// A connected pair of sockets that keep datagrams whole.
///
/// # Errors
/// Those of `socketpair(2)`.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

fn main(socket: OwnedFd, options: GuardOptions) -> ! {
    let status = match Guard::new(socket, options) {
        Ok(mut guard) => {
            guard.live();
            0
        }
        // The host sees its end of the socket close.
        Err(_error) => 70,
    };
    sys::exit_now(status)
}

impl Guard {
    fn new(socket: OwnedFd, options: GuardOptions) -> io::Result<Self> {
        let hangup_ignored = confine::hangup_is_ignored();
        let oom_score = OomScore::lower_to_keeper();
        become_keeper(GUARD_NAME)?;
        match options.stance {
            Stance::Detached => {
                let _is_leader_already = setsid();
                null_stdio()?;
                rustix::process::chdir("/")?;
            }
            Stance::Wrapper => setpgid(None, None)?,
        }
        let (lifeline_read, lifeline_write) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self {
            socket: Some(socket),
            farewell: None,
            owner: None,
            owner_ref: None,
            bound_elsewhere: false,
            lifeline_read,
            lifeline_write: Some(lifeline_write),
            words: SharedWords::new(SUPERVISORS_MAX + 1)?,
            origin: proctree::host_id()?.into(),
            own: task::own_ref(),
            hangup_ignored,
            oom_score,
            children: Vec::new(),
            free_slots: Vec::new(),
            crashed: Vec::new(),
            sweep: None,
            acknowledge_by: None,
            signals: sys::child_signal_fd()?,
            options,
        })
    }

    /// Until the host is gone and nothing is left.
    fn live(&mut self) {
        while self.socket.is_some() || !self.children.is_empty() || self.sweep.is_some() {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let ready = self.wait();
        if ready.orphan {
            let mut info = [0; 512];
            while rustix::io::read(&self.signals, &mut info).is_ok_and(|count| count > 0) {}
        }
        if ready.owner {
            self.owner_gone();
        }
        if ready.socket {
            self.hear();
        }
        for pid in ready.ended {
            self.supervisor_ended(pid);
        }
        if self.sweep.is_some() {
            self.sweep_orphans();
        } else if ready.orphan {
            while let Wait::Changed(_) = sys::wait_any(WaitFor::Orphans) {}
        }
        self.enforce_acknowledgement();
        self.say_settled();
    }

    fn wait(&self) -> Ready {
        let mut polled = Vec::with_capacity(self.children.len() + 3);
        polled.push(PollFd::new(&self.signals, PollFlags::IN));
        polled.extend(self.owner.as_ref().map(|owner| PollFd::new(owner, PollFlags::IN)));
        polled.extend(self.socket.as_ref().map(|socket| PollFd::new(socket, PollFlags::IN)));
        let fixed = polled.len();
        polled.extend(
            self.children.iter().filter_map(|child| Some(PollFd::new(child.pidfd.as_ref()?, PollFlags::IN))),
        );
        // The words of kept tasks wake nobody; for as long as somebody waits for them they are looked at.
        let look = self.farewell.as_ref().and(self.acknowledge_by);
        let look = look.map(|by| by.min(clock::monotonic_ms() + LOOK_PAUSE_MS));
        let deadline =
            [self.sweep.as_ref().map(Sweep::due_ms), self.acknowledge_by, look].into_iter().flatten().min();
        let timeout = deadline.map(|at| {
            let left = at.saturating_sub(clock::monotonic_ms());
            Timespec {
                tv_sec: i64::try_from(left / 1000).unwrap_or(0),
                tv_nsec: i64::try_from(left % 1000).unwrap_or(0) * 1_000_000,
            }
        });
        let _interrupted_is_a_turn = poll(&mut polled, timeout.as_ref());
        let fired = |at: usize| polled.get(at).is_some_and(|entry| !entry.revents().is_empty());
        let owner_at = self.owner.is_some().then_some(1);
        let socket_at = self.socket.is_some().then_some(1 + usize::from(self.owner.is_some()));
        Ready {
            orphan: fired(0),
            owner: owner_at.is_some_and(fired),
            socket: socket_at.is_some_and(fired),
            ended: (fixed..)
                .zip(self.children.iter().filter(|child| child.pidfd.is_some()))
                .filter(|(at, _)| fired(*at))
                .map(|(_, child)| child.pid)
                .collect(),
        }
    }

    fn hear(&mut self) {
        loop {
            let Some(socket) = &self.socket else { return };
            match receive(socket) {
                Received::Nothing => return,
                Received::Closed => return self.host_gone(),
                Received::Datagram(bytes, length, fd) => {
                    match ToGuard::decode(bytes.get(..length).unwrap_or_default()) {
                        Some(ToGuard::Hello { protocol: PROTOCOL, owner_pid }) => {
                            self.bound_elsewhere = fd.is_some() && self.host_pid() != Some(owner_pid);
                            self.owner = fd;
                            self.owner_ref = proctree::proc_id(owner_pid).map(ProcRef::from);
                            let _made_when_needed_then = self.make_spare();
                        }
                        Some(ToGuard::Spawn { number }) => self.spawn(number, fd),
                        Some(ToGuard::Close) => {
                            self.farewell = self.socket.take();
                            return self.owner_gone();
                        }
                        _ => return self.owner_gone(),
                    }
                }
            }
        }
    }

    /// Hands the request to the spare supervisor, or to one made now.
    fn spawn(&mut self, number: u32, host: Option<OwnedFd>) {
        let failed = |errno| FromGuard::Failed { number, errno };
        if let Err(error) = self.make_spare() {
            return self.tell(failed(error.raw_os_error().unwrap_or(libc::EAGAIN)));
        }
        let (Some(host), Some(spare)) = (host, self.children.iter_mut().find(|child| child.orders.is_some()))
        else {
            return self.tell(failed(libc::EBADF));
        };
        let handed =
            spare.orders.take().is_some_and(|orders| send(&orders, &[1], Some(host.as_fd())).is_ok());
        if !handed {
            // It died in this instant; `supervisor_ended` clears it away.
            return self.tell(failed(libc::EAGAIN));
        }
        spare.number = Some(number);
        if self.options.spares == Spares::Always {
            // The next call finds it ready: fork and set-up are off its way.
            let _made_when_needed_then = self.make_spare();
        }
    }

    /// Makes sure that a supervisor waits for a request.
    fn make_spare(&mut self) -> io::Result<()> {
        if self.children.iter().any(|child| child.orders.is_some()) {
            return Ok(());
        }
        let slot = self.free_slots.pop().unwrap_or(self.children.len());
        let word = self.words.word(slot).filter(|_| slot < GUARD_SLOT).ok_or(io::ErrorKind::WouldBlock)?;
        word.store(word::IDLE, Ordering::Release);
        let (orders, ears) = socket_pair()?;
        match sys::fork(ExitSignal::None)? {
            Fork::Child => task::main(Birth {
                orders: Some(ears),
                lifeline: self.lifeline_read.as_raw_fd(),
                owner: self.owner.as_ref().map(AsRawFd::as_raw_fd),
                owner_ref: self.owner_ref,
                passed: &self.options.passed,
                words: &self.words,
                slot,
                origin: &self.origin,
                guard: self.own,
                hangup_ignored: self.hangup_ignored,
                oom_score: self.oom_score,
                own: self.own,
            }),
            Fork::Parent { pid, pidfd } => {
                let pidfd = pidfd.or_else(|| Some(PidFd::open(pid).ok()??.into_owned_fd()));
                self.children.push(Child { number: None, pid, pidfd, slot, orders: Some(orders) });
                if self.options.stance == Stance::Wrapper {
                    self.let_go_of_the_callers_descriptors();
                }
                Ok(())
            }
        }
    }

    /// The one command of a wrapper has them now; a copy here would keep somebody's pipe open.
    fn let_go_of_the_callers_descriptors(&mut self) {
        let _kept_as_they_are = null_stdio();
        self.options.passed.drain(..).for_each(sys::close);
        let _stays = rustix::process::chdir("/");
    }

    /// Who made the socket pair.
    fn host_pid(&self) -> Option<i32> {
        let peer = rustix::net::sockopt::socket_peercred(self.socket.as_ref()?).ok()?;
        Some(peer.pid.as_raw_nonzero().get())
    }

    fn tell(&self, message: FromGuard) {
        if let Some(socket) = &self.socket {
            let _the_host_is_gone_or_behind = send(socket, &message.encode(), None);
        }
    }

    /// The host has closed its line, or died. Where the session is bound to another process, that one's life counts.
    fn host_gone(&mut self) {
        if !self.bound_elsewhere {
            return self.owner_gone();
        }
        self.socket = None;
        // Nobody will ask for the spare any more; it ends when its line closes.
        self.children.iter_mut().for_each(|child| drop(child.orders.take()));
    }

    /// Host dead, session closed, or a broken line: all the same. Closing the lifeline tells every supervisor; a
    /// stopped one is woken, and one that stays deaf is killed after a second.
    fn owner_gone(&mut self) {
        self.socket = None;
        self.owner = None;
        if let Some(lifeline) = self.lifeline_write.take() {
            // Who finds the lifeline closed without this word knows that the guard was killed.
            if let Some(word) = self.words.word(GUARD_SLOT) {
                let how = if self.farewell.is_some() { word::CLOSED } else { word::ACTING };
                word.store(how, Ordering::Release);
            }
            drop(lifeline);
            self.acknowledge_by = Some(clock::monotonic_ms() + ACKNOWLEDGE_MS);
        }
        for child in &self.children {
            sys::signal_own_child(child.pid, libc::SIGCONT);
        }
    }

    /// Answers a host that has closed the session, once nothing lives but what is kept.
    fn say_settled(&mut self) {
        let is_kept = |child: &&Child| {
            self.words.word(child.slot).is_some_and(|word| word.load(Ordering::Acquire) == word::KEPT)
        };
        let tasks = self.children.iter().filter(|child| child.number.is_some());
        let kept = tasks.clone().filter(is_kept).count();
        if self.farewell.is_some() && self.sweep.is_none() && kept == tasks.count() {
            let answer = FromGuard::Settled { kept: u32::try_from(kept).unwrap_or(u32::MAX) };
            if let Some(socket) = self.farewell.take() {
                let _the_host_is_gone = send(&socket, &answer.encode(), None);
            }
        }
    }

    fn enforce_acknowledgement(&mut self) {
        if self.acknowledge_by.take_if(|at| *at <= clock::monotonic_ms()).is_none() {
            return;
        }
        for child in &self.children {
            let deaf =
                self.words.word(child.slot).is_none_or(|word| word.load(Ordering::Acquire) == word::IDLE);
            if deaf {
                sys::signal_own_child(child.pid, libc::SIGKILL);
            }
        }
    }

    fn supervisor_ended(&mut self, pid: i32) {
        let Some(status) = sys::wait_for(pid) else { return };
        let Some(at) = self.children.iter().position(|child| child.pid == pid) else { return };
        let child = self.children.swap_remove(at);
        self.free_slots.push(child.slot);
        let clean = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        if let Some(number) = child.number.filter(|_| !clean) {
            self.crashed.push((number, pid, status));
            self.sweep.get_or_insert_with(|| Sweep::begin(None));
        }
    }

    /// Kills and reaps orphans until there is none, then settles the accounts of the crashed.
    fn sweep_orphans(&mut self) {
        let keepers: Vec<i32> = self.children.iter().map(|child| child.pid).collect();
        let Some(sweep) = &mut self.sweep else { return };
        if sweep.due_ms() <= clock::monotonic_ms() {
            sweep.pass(&keepers);
        }
        loop {
            match sys::wait_any(WaitFor::Orphans) {
                Wait::Changed(waited) => sweep.reaped(waited.pid),
                Wait::Nothing => return,
                Wait::NoChild => break,
            }
        }
        self.sweep = None;
        for (number, pid, status) in std::mem::take(&mut self.crashed) {
            lost::mark(
                &self.options.task_dirs,
                pid,
                "its supervisor was killed; what it left has been ended",
            );
            self.tell(FromGuard::Crashed { number, status });
        }
    }
}

struct Ready {
    orphan: bool,
    owner: bool,
    socket: bool,
    ended: Vec<i32>,
}

/// Sends SIGCONT to a keeper by identity: a stopped one hears nothing.
pub fn wake(keeper: ProcId) {
    let _gone = proctree::signal_checked(keeper, Signal::CONT);
}

/// Sends the first datagram of the host: its protocol, its pid, its pidfd.
///
/// # Errors
/// Those of `sendmsg(2)`.
pub fn hello(
    socket: impl AsFd,
    owner_pid: i32,
    owner: Option<std::os::fd::BorrowedFd<'_>>,
) -> io::Result<()> {
    send(socket, &ToGuard::Hello { protocol: PROTOCOL, owner_pid }.encode(), owner)
}
