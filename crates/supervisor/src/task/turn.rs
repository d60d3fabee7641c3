//! One turn of the loop: wait, turn events into inputs, step the table, perform its actions.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::clients::{self, Role};
use super::{Task, confinement, token, word};
use crate::clock;
use crate::end::{End, StoppedBy, WaitStatus};
use crate::guard::GUARD_SLOT;
use crate::lifecycle::{self, Action, Farewell, Force, Input, OnOwnerExit, State, Stop};
use crate::spool::Stream;
use crate::sweep::Sweep;
use crate::sys::{self, Wait, WaitFor};
use crate::wire::{FromSupervisor, KillOrder, Notice, ToSupervisor};

/// A foreground call that runs longer gets its leader into the record and a control socket.
const RECORD_AFTER_MS: u64 = 50;
/// Children that are collected in one turn.
const REAPED_MAX: u32 = 256;

impl Task<'_> {
    /// Puts everything into the epoll set, once.
    pub(super) fn register(&mut self) {
        let add = |epoll: &OwnedFd, fd: BorrowedFd<'_>, number, flags| {
            // A set that cannot take a descriptor has no memory left; the timers below still bound everything.
            let _out_of_memory = epoll::add(epoll, fd, epoll::EventData::new_u64(number), flags);
        };
        let readable = epoll::EventFlags::IN;
        add(&self.epoll, self.signals.as_fd(), token::SIGNALS, readable);
        add(&self.epoll, sys::borrow(self.birth.lifeline), token::LIFELINE, epoll::EventFlags::empty());
        if let Some(owner) = self.birth.owner {
            add(&self.epoll, sys::borrow(owner), token::OWNER, readable);
        }
        if let Some(pipe) = &self.exec_error {
            add(&self.epoll, pipe.as_fd(), token::EXEC_ERROR, readable);
        }
        if let Some(line) = self.bounds.line() {
            add(&self.epoll, line.as_fd(), token::REAPER, readable);
        }
        for (number, socket) in self.clients.sockets() {
            add(&self.epoll, socket.as_fd(), token::CLIENT + number, readable);
        }
        if self.launch.durable {
            let _counted_when_bytes_come = self.spool.create_log();
        }
        if self.launch.durable || self.input.kind().is_some() {
            self.open_the_door();
        }
        if !self.launch.durable {
            // Most foreground calls are over before anybody could look for them.
            self.timers.record = Some(clock::monotonic_ms() + RECORD_AFTER_MS);
        }
        self.watch_pipes();
        self.hear_what_came_with_the_launch();
        if self.birth.owner.is_none() && self.launch.on_owner_exit == OnOwnerExit::Keep {
            self.disown();
        }
    }

    /// RACE(orders-with-launch): frames that came in one read with the launch lie in our buffer, and the socket does not
    /// become readable for them again; closed by obeying them before the first wait.
    fn hear_what_came_with_the_launch(&mut self) {
        let numbers: Vec<u64> = self.clients.sockets().map(|(number, _)| number).collect();
        let mut inputs = Vec::new();
        for number in numbers {
            for message in self.clients.hear(number) {
                self.obey(number, message, &mut inputs);
            }
        }
        for input in inputs {
            self.feed(input);
        }
    }

    pub(super) fn register_listener(&mut self) {
        if let Some(listener) = &self.place.listener {
            let event = epoll::EventData::new_u64(token::LISTENER);
            let _unreachable_then = epoll::add(&self.epoll, listener, event, epoll::EventFlags::IN);
        }
    }

    pub(super) fn turn(&mut self) {
        let mut inputs = Vec::new();
        let mut space = [MaybeUninit::<epoll::Event>::uninit(); 32];
        let ready = self.wait(&mut space);
        for (number, flags) in ready {
            self.event(number, flags, &mut inputs);
        }
        self.timers_due(&mut inputs);
        self.observe(&mut inputs);
        for input in inputs {
            self.feed(input);
        }
        self.clients.tell_growth(self.spool.header().total);
        self.watch_pipes();
        self.forget_broken();
        self.watch_backlogs();
    }

    fn wait(&self, space: &mut [MaybeUninit<epoll::Event>]) -> Vec<(u64, epoll::EventFlags)> {
        let timeout = self.timers.next().map(|at| {
            let left = at.saturating_sub(clock::monotonic_ms());
            Timespec {
                tv_sec: i64::try_from(left / 1000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(left % 1000).unwrap_or(0) * 1_000_000,
            }
        });
        match epoll::wait(&self.epoll, &mut *space, timeout.as_ref()) {
            Ok((events, _)) => events.iter().map(|event| (event.data.u64(), event.flags)).collect(),
            Err(_interrupted) => Vec::new(),
        }
    }

    fn event(&mut self, number: u64, flags: epoll::EventFlags, inputs: &mut Vec<Input>) {
        match number {
            token::SIGNALS => {
                let mut info = [0; 128 * 4];
                while rustix::io::read(&self.signals, &mut info).is_ok_and(|count| count > 0) {}
                self.reap();
            }
            token::LIFELINE | token::OWNER if self.terms.on_owner_exit == OnOwnerExit::Keep => self.disown(),
            token::LIFELINE | token::OWNER => {
                let farewell = self.farewell(number);
                self.ignore_lifeline();
                // An owner that has closed its session may die while the grace runs.
                if farewell != Farewell::Closed {
                    self.ignore_owner();
                }
                self.acknowledge(word::ACTING);
                inputs.push(Input::OwnerGone(farewell));
            }
            token::LISTENER => self.accept(),
            token::STDOUT => self.drain_ready(Stream::Stdout),
            token::STDERR => self.drain_ready(Stream::Stderr),
            token::EXEC_ERROR => self.exec_result(inputs),
            token::REAPER => self.reaper_answered(),
            token::INPUT => self.pump_input(),
            client => self.client(client - token::CLIENT, flags, inputs),
        }
    }

    /// The lifeline closes when the session is closed, when the owner dies and when the guard dies.
    ///
    /// RACE(farewell): a dying process closes its descriptors before anybody can see that it dies; closed by taking every
    /// end for a death that the guard has not called something else before.
    fn farewell(&self, number: u64) -> Farewell {
        let said = self.birth.words.word(GUARD_SLOT).map(|word| word.load(Ordering::Acquire));
        match said {
            _ if number == token::OWNER => Farewell::Died,
            Some(word::CLOSED) => Farewell::Closed,
            Some(word::IDLE) => Farewell::GuardDied,
            _ => Farewell::Died,
        }
    }

    fn accept(&mut self) {
        let Some(socket) = self.place.listener.as_ref().and_then(clients::accept) else { return };
        if self.clients.is_full() {
            // Closed at once: a crowd at the door must not use up the descriptors that the task needs.
            return;
        }
        let number = self.clients.add_visitor(socket);
        if let Some(socket) = self.clients.socket(number) {
            let event = epoll::EventData::new_u64(token::CLIENT + number);
            let _dropped_on_error = epoll::add(&self.epoll, socket, event, epoll::EventFlags::IN);
        }
    }

    fn client(&mut self, number: u64, flags: epoll::EventFlags, inputs: &mut Vec<Input>) {
        if flags.contains(epoll::EventFlags::OUT) {
            self.clients.flush_one(number);
        }
        for message in self.clients.hear(number) {
            self.obey(number, message, inputs);
        }
    }

    fn obey(&mut self, number: u64, message: ToSupervisor, inputs: &mut Vec<Input>) {
        match message {
            ToSupervisor::Launch(_) => {
                let why = "the task has been launched already".to_owned();
                self.clients.tell_one(number, &FromSupervisor::Refused { why });
            }
            ToSupervisor::Attach { lossless } => {
                if let Some(client) = self.clients.get_mut(number) {
                    client.attached = true;
                    client.acked = lossless.then_some(0);
                }
                self.look_for_ports_later();
            }
            ToSupervisor::Ack { offset } => {
                if let Some(acked) = self.clients.get_mut(number).and_then(|client| client.acked.as_mut()) {
                    *acked = offset.max(*acked);
                }
            }
            ToSupervisor::Kill(order) => {
                self.clients.tell_one(number, &FromSupervisor::KillTaken);
                self.add_kill_waiter(number);
                inputs.push(Input::Stop(order.into()));
            }
            ToSupervisor::Keep => {
                self.disown();
                self.go_background(number);
            }
            ToSupervisor::Background => self.go_background(number),
            order @ (ToSupervisor::Status | ToSupervisor::Record) => {
                if matches!(order, ToSupervisor::Record) {
                    self.complete_record();
                }
                let report = self.report();
                self.clients.tell_one(number, &FromSupervisor::Status(Box::new(report)));
            }
            ToSupervisor::Pause => self.signal_tree(libc::SIGSTOP),
            ToSupervisor::Resume => self.signal_tree(libc::SIGCONT),
            ToSupervisor::Input(order) => self.take_input(number, order),
            ToSupervisor::DropInput => self.drop_input(number),
            ToSupervisor::Resize(size) => self.resize(number, size),
        }
    }

    /// From here on the task outlives the connection that asked for it, and others may have been told its path.
    fn go_background(&mut self, number: u64) {
        self.launch.cancel_on_disconnect = false;
        self.record.background = true;
        self.make_durable();
        let dir = self.place.wire_path();
        self.clients.tell_one(number, &FromSupervisor::Moved { dir });
    }

    /// Not bound to the owner any more.
    pub(super) fn disown(&mut self) {
        self.terms.on_owner_exit = OnOwnerExit::Keep;
        self.ignore_owner();
        self.acknowledge(word::KEPT);
        self.record.owner = None;
        self.refresh_record();
        let _the_next_write_says_so = self.place.save(&self.record);
    }

    fn ignore_lifeline(&mut self) {
        let _not_in_the_set = epoll::delete(&self.epoll, sys::borrow(self.birth.lifeline));
    }

    fn ignore_owner(&mut self) {
        self.ignore_lifeline();
        if let Some(owner) = self.birth.owner {
            let _not_in_the_set = epoll::delete(&self.epoll, sys::borrow(owner));
        }
    }

    fn acknowledge(&self, value: u32) {
        if let Some(word) = self.birth.words.word(self.birth.slot) {
            word.store(value, Ordering::Release);
        }
    }

    /// What the child says before its exec: what binds it, why it failed, or nothing more (the exec succeeded).
    fn exec_result(&mut self, inputs: &mut Vec<Input>) {
        while let Some(pipe) = &self.exec_error {
            let mut bytes = [0; confine::Failure::WIRE_BYTES];
            match rustix::io::read(pipe, &mut bytes) {
                Err(Errno::INTR | Errno::AGAIN) => return,
                Ok(confine::Failure::WIRE_BYTES) => match confine::Facts::from_wire(bytes) {
                    Some(facts) => {
                        self.record.protections.extend(self.binding.protections(&facts));
                        self.binding.confinement = None;
                        continue;
                    }
                    None => self.exec_failure = confine::Failure::from_wire(bytes),
                },
                _ => inputs.push(Input::Started),
            }
            self.exec_error = None;
        }
    }

    /// Collects children that changed state.
    ///
    /// RACE(reap-flood): processes that fork and end by themselves come faster than we collect, and neither a kill pass nor
    /// a timer would ever have its turn; closed by coming back for the rest.
    pub(super) fn reap(&mut self) {
        self.timers.reap = Some(0);
        for _ in 0..REAPED_MAX {
            match sys::wait_any(WaitFor::Everything) {
                Wait::Changed(waited) => {
                    if waited.pid == self.leader {
                        self.leader_changed(waited.status);
                    }
                    if let Some(sweep) = self.sweep.as_mut().filter(|_| waited.has_ended()) {
                        sweep.reaped(waited.pid);
                    }
                }
                Wait::Nothing => {
                    self.timers.reap = None;
                    break;
                }
                Wait::NoChild => {
                    // Seen in the middle of an action, it is to be told in a turn of its own: no signal is left to wake us.
                    self.timers.reap = (!self.empty).then_some(0);
                    if !self.empty {
                        self.empty = true;
                        self.note_owed();
                    }
                    break;
                }
            }
        }
        self.timers.sweep = self.sweep.as_ref().filter(|_| !self.empty).map(Sweep::due_ms);
    }

    /// It says one thing, once; afterwards its line is closed for good.
    fn reaper_answered(&mut self) {
        if let Some(line) = self.bounds.line() {
            let _not_in_the_set = epoll::delete(&self.epoll, line);
        }
        self.bounds.reaper_answered();
    }

    fn leader_changed(&mut self, raw: i32) {
        let now = clock::monotonic_ms();
        if libc::WIFSTOPPED(raw) {
            // The clock of the timeout stops with the task.
            if let Some(at) = self.timers.timeout.take() {
                self.timers.timeout_paused = Some(at.saturating_sub(now));
            }
        } else if libc::WIFCONTINUED(raw) {
            self.resume_timeout(now);
        } else if let Some(status) = WaitStatus::from_raw(raw) {
            self.leader_status = Some(status);
            self.leader_ended_ms = Some(now);
            self.timers.timeout = None;
            self.timers.timeout_paused = None;
            self.bounds.leader_gone();
            self.note_owed();
        }
    }

    fn resume_timeout(&mut self, now: u64) {
        if let Some(left) = self.timers.timeout_paused.take() {
            self.timers.timeout = Some(now + left);
        }
    }

    fn timers_due(&mut self, inputs: &mut Vec<Input>) {
        let now = clock::monotonic_ms();
        let due = |slot: &mut Option<u64>| slot.take_if(|at| *at <= now).is_some();
        if due(&mut self.timers.timeout) {
            inputs.push(Input::TimedOut);
        }
        if due(&mut self.timers.grace) {
            inputs.push(Input::GraceOver);
        }
        if due(&mut self.timers.settle) {
            inputs.push(Input::Settled);
        }
        if due(&mut self.timers.record) {
            self.complete_record();
            self.open_the_door();
        }
        if due(&mut self.timers.reap) {
            self.reap();
        }
        if due(&mut self.timers.sweep) {
            self.sweep_pass();
        }
        if due(&mut self.timers.limits) {
            self.check_limits(inputs);
        }
        if due(&mut self.timers.sweep_overdue) {
            inputs.push(Input::SweepOverdue);
        }
        if due(&mut self.timers.silence) {
            self.silence();
        }
        if due(&mut self.timers.ports) {
            self.look_for_ports();
        }
        if due(&mut self.timers.quiet) {
            self.quiet_look();
        }
    }

    /// What is true now and was not told yet.
    fn observe(&mut self, inputs: &mut Vec<Input>) {
        if self.leader_status.is_some() && self.exec_error.is_some() {
            self.exec_result(inputs);
        }
        self.shorten_settling();
        if let Some(crossed) = self.crossed.take() {
            self.cross(crossed, inputs);
        }
        let Some(status) = self.leader_status else { return };
        if !self.settle_debts() || !(self.empty || self.bounds.knows_survivors()) {
            return;
        }
        if !self.leader_told {
            self.leader_told = true;
            if let Some(failure) = self.exec_failure {
                inputs.push(Input::NotStarted(self.describe_failure(failure)));
            } else {
                self.check_limits_at_end(status, inputs);
                inputs.push(Input::LeaderEnded { status, alone: self.empty });
            }
        } else if self.empty && !matches!(self.state, State::Ended { .. }) {
            inputs.push(Input::Empty);
        }
    }

    /// One input through the table.
    fn feed(&mut self, input: Input) {
        if matches!(input, Input::TimedOut | Input::Stop(_)) {
            self.look_for_reader();
        }
        let state = std::mem::replace(&mut self.state, State::Starting);
        let (next, actions) = lifecycle::step(state, input, self.terms);
        self.state = next;
        for action in actions {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::AnnounceStart => self.announce_start(),
            Action::DisarmTimeout => {
                self.timers.timeout = None;
                self.timers.timeout_paused = None;
            }
            Action::AnnounceBackground => {
                self.launch.cancel_on_disconnect = false;
                self.record.background = true;
                self.make_durable();
                self.notice(Notice::Backgrounded);
                let report = self.report();
                self.clients.tell(Role::Host, &FromSupervisor::Report(Box::new(report)));
            }
            Action::Settle => self.begin_settling(),
            Action::Report => {
                self.launch.cancel_on_disconnect = false;
                self.record.background = true;
                self.make_durable();
                let report = self.report();
                self.save_report(&report);
                self.clients.tell_all(&FromSupervisor::Report(Box::new(report)));
            }
            Action::Disown => self.disown(),
            Action::SignalTree(signal) => {
                self.signal_tree_ladder(signal);
                if signal == libc::SIGTERM {
                    self.hang_up_the_deaf();
                }
            }
            Action::ArmGrace(grace_ms) => {
                // A later order can shorten the grace of an earlier one, never lengthen it.
                let until = clock::monotonic_ms().saturating_add(grace_ms);
                self.timers.grace = Some(self.timers.grace.map_or(until, |before| before.min(until)));
            }
            Action::Sweep => self.begin_sweep(),
            Action::AnswerStuck => self.answer_stuck(),
            Action::Finish => self.finish(),
        }
    }

    fn announce_start(&mut self) {
        self.something_happened();
        if let Some(timeout_ms) = self.launch.timeout_ms {
            self.timers.timeout = Some(clock::monotonic_ms() + timeout_ms);
        }
        self.watch_limits();
        if self.launch.durable {
            self.complete_record();
        }
        self.look_for_reader_later();
        let started = self.started();
        self.clients.tell(Role::Host, &FromSupervisor::Started(started));
        // What the set-up has found out; the door knows its own notices.
        for notice in self.record.notices.iter().skip(self.launch.notices.len()) {
            self.clients.tell(Role::Host, &FromSupervisor::Notice(notice.clone()));
        }
    }

    /// The control socket: for a task that may be looked for, at once; for a foreground call when it is not over soon.
    /// Who comes before finds the record, and waits (the library's `kill`).
    fn open_the_door(&mut self) {
        if self.place.listener.is_none() && self.place.listen().is_ok() {
            self.register_listener();
        }
    }

    pub(super) fn complete_record(&mut self) {
        self.refresh_record();
        let _told_by_the_last_record = self.place.save(&self.record);
    }

    fn forget_broken(&mut self) {
        self.drop_input_of_gone();
        if self.clients.drop_broken().contains(&Role::Host) && self.launch.cancel_on_disconnect {
            self.launch.cancel_on_disconnect = false;
            let grace_ms = self.terms.grace_ms;
            self.feed(Input::Stop(Stop {
                by: StoppedBy::Cancel,
                signal: libc::SIGTERM,
                grace_ms,
                force: Force::Kill,
            }));
        }
    }

    fn watch_backlogs(&mut self) {
        for (number, socket) in self.clients.sockets() {
            let mut flags = epoll::EventFlags::IN;
            if self.clients.has_backlog(number) {
                flags |= epoll::EventFlags::OUT;
            }
            let _told_when_it_breaks =
                epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(token::CLIENT + number), flags);
        }
    }

    fn finish(&mut self) {
        self.record.ended_unix_ms = Some(clock::unix_ms());
        let report = self.report();
        self.bounds.take_down();
        self.spool.give_back();
        self.save_report(&report);
        self.answer_empty(&report);
        self.clients.tell_all(&FromSupervisor::Ended(Box::new(report)));
        self.finished = true;
    }

    fn describe_failure(&self, failure: confine::Failure) -> String {
        let errno = std::io::Error::from_raw_os_error(failure.errno);
        let what = match failure.stage {
            confine::Stage::WorkingDirectory => format!("enter the directory {}", self.launch.cwd.to_text()),
            confine::Stage::Exec => format!("execute {}", self.program_name()),
            confine::Stage::Required => return confinement::refusal(&self.record.protections),
            confine::Stage::FileView => "make the sandbox's view of the files".to_owned(),
            other => format!("prepare the process ({other:?})"),
        };
        format!("{what}: {errno}")
    }

    /// The end of a task that could not start, as an exit code: 127 not found, 126 not executable, 125 our part.
    pub(super) fn not_started_code(&self) -> i32 {
        match self.exec_failure {
            Some(confine::Failure { stage: confine::Stage::Exec, errno }) if self.is_argv() => match errno {
                libc::ENOENT | libc::ENOTDIR => 127,
                _ => 126,
            },
            Some(confine::Failure { stage: confine::Stage::Exec, errno: libc::E2BIG }) => 126,
            _ => 125,
        }
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        match self.state.end()? {
            End::NotStarted { .. } => Some(self.not_started_code()),
            end => Some(end.exit_code(self.leader_status)),
        }
    }
}

impl From<KillOrder> for Stop {
    fn from(order: KillOrder) -> Self {
        let force = if order.force { Force::Kill } else { Force::Never };
        Self { by: order.by, signal: order.signal, grace_ms: order.grace_ms, force }
    }
}
