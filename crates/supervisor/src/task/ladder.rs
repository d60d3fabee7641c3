//! The ladder as it meets processes: signal the tree, sweep it, and say truthfully what is left. Reports too.

use proctree::{Member, Sent, descendants, signal_child_of};
use rustix::process::Signal;

use super::Task;
use super::clients::Role;
use super::held;
use crate::clock;
use crate::end::WaitStatus;
use crate::record::{ProcRef, Record};
use crate::sweep::Sweep;
use crate::sys;
use crate::wire::{
    CommandSpec, FromSupervisor, KillAnswer, MemberInfo, Notice, PlacementSpec, Report, Started,
};

/// Passes over the tree until nobody new is found; a tree that grows faster meets the sweep.
const SIGNAL_PASSES_MAX: u32 = 8;
/// The answer to a kill is due so long after the sweep began, empty or not.
const SWEEP_ANSWER_MS: u64 = 5000;

/// Somebody who waits for the outcome of a kill.
#[derive(Debug)]
pub(super) struct KillWaiter {
    client: u64,
    since_ms: u64,
}

impl Task<'_> {
    pub(super) fn add_kill_waiter(&mut self, client: u64) {
        self.kills.push(KillWaiter { client, since_ms: clock::monotonic_ms() });
    }

    /// Every member; the supervisor's own children first.
    pub(super) fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let _what_was_read_counts = descendants(own, &mut members);
        members.retain(|member| Some(member.pid) != self.bounds.reaper());
        members
    }

    /// Sends a signal to every member, and to those that were born meanwhile.
    ///
    /// RACE(parent-dies-first): if the signal ends a parent before its child's turn comes, the child is ours by then and
    /// its old parent is no longer its parent; closed by counting only delivered signals as met, and passing again.
    ///
    /// RACE(reap-signal): a member's parent reaps it after the list was read, and its pid goes to a stranger; closed by
    /// asking for the parent once more with a pidfd in hand. Our own children are not reaped meanwhile.
    pub(super) fn signal_tree(&self, signal: i32) {
        self.signal_those(signal, |_everyone| true);
    }

    fn signal_those(&self, signal: i32, wanted: impl Fn(i32) -> bool) {
        let Some(number) = Signal::from_named_raw(signal) else { return };
        let mut met = std::collections::HashSet::new();
        for _pass in 0..SIGNAL_PASSES_MAX {
            let mut news = false;
            let members = self.members();
            fault::point("parent-dies-first");
            fault::point("reap-signal");
            for member in members {
                if met.contains(&member.pid) || !wanted(member.pid) {
                    continue;
                }
                news = true;
                if member.depth == 1 {
                    sys::signal_own_child(member.pid, signal);
                } else if !matches!(
                    signal_child_of(member.pid, &[member.parent], number),
                    Ok(Sent::Delivered | Sent::NotPermitted)
                ) {
                    continue;
                }
                met.insert(member.pid);
            }
            if !news {
                return;
            }
        }
    }

    /// The first rung. A stopped member takes a signal only when it goes on.
    pub(super) fn signal_tree_ladder(&self, signal: i32) {
        self.signal_tree(signal);
        if ![libc::SIGKILL, libc::SIGSTOP, libc::SIGCONT].contains(&signal) {
            self.signal_tree(libc::SIGCONT);
        }
    }

    /// On a terminal, those that ignore SIGTERM are told as if it were closed: an interactive shell ends by SIGHUP only.
    /// Others are not, because SIGHUP would cut short what their handler of SIGTERM does.
    pub(super) fn hang_up_the_deaf(&self) {
        if self.input.terminal().is_some() {
            self.signal_those(libc::SIGHUP, |pid| {
                let ignored = proctree::read_status(pid).map_or(0, |it| it.ignored_signals);
                ignored & (1 << (libc::SIGTERM - 1)) != 0
            });
        }
    }

    pub(super) fn begin_sweep(&mut self) {
        let now = clock::monotonic_ms();
        self.timers.grace = None;
        self.timers.sweep_overdue = Some(now + SWEEP_ANSWER_MS);
        self.sweep = Some(Sweep::begin(self.own_group()));
        self.bounds.kill();
        self.sweep_forced = true;
        self.sweep_pass();
    }

    /// Kill and reap; the next pass comes when the sweep says so.
    pub(super) fn sweep_pass(&mut self) {
        if let Some(sweep) = &mut self.sweep {
            sweep.pass(&[]);
        }
        self.place.prepare_to_save();
        self.reap();
    }

    /// The leader, while it leads a group in which nobody else can be: the session is its own, or ours.
    fn own_group(&self) -> Option<i32> {
        let leads_group =
            self.launch.terminal.is_some() || matches!(self.launch.placement, PlacementSpec::OwnSession);
        (leads_group && self.leader_status.is_none()).then_some(self.leader)
    }

    /// Live members for a report. Zombies are dead; those that only a tracer keeps are too.
    fn living(&self) -> Vec<MemberInfo> {
        let mut living = Vec::new();
        for member in self.members() {
            let Ok(Some(stat)) = proctree::read_stat(member.pid) else {
                // hidepid: listed by the parent, not readable. Alive as far as anybody can say.
                living.push(MemberInfo {
                    pid: member.pid,
                    start_ticks: 0,
                    command: String::new(),
                    held: None,
                });
                continue;
            };
            if matches!(stat.state, b'Z' | b'X') && stat.num_threads <= 1 {
                continue;
            }
            let command = command_text(member.pid, &stat.comm);
            living.push(MemberInfo { pid: member.pid, start_ticks: stat.start_ticks, command, held: None });
        }
        living
    }

    /// Who is still there after SIGKILL, each with the reason. What only a tracer keeps is dead and listed too: as long
    /// as it is there, the tree is not proved empty.
    fn held(&self) -> Vec<MemberInfo> {
        let listed = self.members().into_iter().map(|member| {
            let stat = proctree::read_stat(member.pid).ok().flatten();
            let (state, start_ticks, comm) =
                stat.map_or((b'?', 0, Vec::new()), |stat| (stat.state, stat.start_ticks, stat.comm));
            let command = command_text(member.pid, &comm);
            let reason = held::reason(member.pid, state);
            MemberInfo { pid: member.pid, start_ticks, command, held: Some(reason) }
        });
        listed.collect()
    }

    pub(super) fn answer_stuck(&mut self) {
        let now = clock::monotonic_ms();
        let members = self.held();
        let held: Vec<String> = members
            .iter()
            .map(|member| format!("{} {}", member.pid, member.held.as_deref().unwrap_or_default()))
            .collect();
        self.log(&format!("could not be ended: {}", held.join(", ")));
        for waiter in std::mem::take(&mut self.kills) {
            let answer = KillAnswer {
                empty: false,
                proof: None,
                forced: self.sweep_forced,
                members: members.clone(),
                waited_ms: now - waiter.since_ms,
                exit_code: self.exit_code(),
            };
            self.clients.tell_one(waiter.client, &FromSupervisor::Killed(answer));
        }
        let mut report = self.report();
        report.members = members;
        self.save_report(&report);
        self.clients.tell(Role::Host, &FromSupervisor::Report(Box::new(report)));
    }

    pub(super) fn answer_empty(&mut self, report: &Report) {
        let now = clock::monotonic_ms();
        for waiter in std::mem::take(&mut self.kills) {
            let answer = KillAnswer {
                empty: true,
                proof: report.proof,
                forced: self.sweep_forced,
                members: Vec::new(),
                waited_ms: now - waiter.since_ms,
                exit_code: report.exit_code,
            };
            self.clients.tell_one(waiter.client, &FromSupervisor::Killed(answer));
        }
    }

    pub(super) fn started(&self) -> Started {
        Started {
            pid: self.leader,
            supervisor_pid: self.record.supervisor.pid,
            dir: self.place.wire_path(),
            boundary: self.record.boundary,
            tagged: self.launch.tag.is_some(),
            protections: self.record.protections.clone(),
        }
    }

    /// How the task stands.
    pub(super) fn report(&mut self) -> Report {
        let input = self.input_state();
        let members = if self.empty { Vec::new() } else { self.living() };
        self.members_peak = self.members_peak.max(members.len() as u64);
        let ended = self.leader_status.is_some();
        let told = if ended { self.end_report.as_ref().and_then(super::EndReport::read) } else { None };
        let (pipestatus, cwd) = match told {
            Some((statuses, cwd)) => (Some(statuses), Some(cwd)),
            None => (self.record.pipestatus.clone(), self.record.cwd_after.clone()),
        };
        if ended && cwd.is_none() && self.cwd_may_have_changed() {
            self.say_cwd_unknown();
        }
        let header = *self.spool.header();
        let usage = crate::wire::Usage { processes_peak: self.members_peak, ..sys::reaped_usage() };
        Report {
            end: self.state.end().cloned(),
            exit_code: self.exit_code(),
            pipestatus,
            cwd,
            members,
            proof: self.empty.then(|| self.bounds.proof()),
            stdout_bytes: header.stdout_bytes,
            stderr_bytes: header.stderr_bytes,
            dropped_bytes: header.dropped_bytes(),
            duration_ms: self.leader_ended_ms.unwrap_or_else(clock::monotonic_ms) - self.started_ms,
            usage,
            dir: self.place.wire_path(),
            durable: self.place.durable,
            input,
            protections: self.record.protections.clone(),
        }
    }

    fn cwd_may_have_changed(&self) -> bool {
        matches!(&self.launch.command, CommandSpec::Shell { wrapped, cwd_unknown, .. } if *wrapped || *cwd_unknown)
    }

    fn say_cwd_unknown(&mut self) {
        if !self.record.notices.contains(&Notice::CwdUnknown)
            && matches!(self.leader_status, Some(WaitStatus::Exited(_) | WaitStatus::Signaled { .. }))
        {
            self.notice(Notice::CwdUnknown);
        }
    }

    /// Puts what a report says into the record and writes it.
    pub(super) fn save_report(&mut self, report: &Report) {
        let record = &mut self.record;
        record.end.clone_from(&report.end);
        record.exit_code = report.exit_code;
        record.pipestatus.clone_from(&report.pipestatus);
        record.cwd_after.clone_from(&report.cwd);
        record.duration_ms = Some(report.duration_ms);
        record.proof = report.proof;
        record.usage = report.usage;
        self.refresh_record();
        if let Err(error) = self.place.save(&self.record) {
            self.log(&format!("its record could not be written: {error}"));
        }
    }

    /// Brings the counts of the record up to date.
    pub(super) fn refresh_record(&mut self) {
        let header = self.spool.header();
        let record: &mut Record = &mut self.record;
        record.stdout_bytes = header.stdout_bytes;
        record.stderr_bytes = header.stderr_bytes;
        record.dropped_bytes = header.dropped_bytes();
        if record.leader.is_none() {
            // Once it has been reaped its number may be another's: no start time, so that it stands for no process.
            let alive = self.leader_status.is_none().then(|| proctree::proc_id(self.leader)).flatten();
            let gone = ProcRef { pid: self.leader, start_ticks: 0 };
            record.leader = Some(alive.map_or(gone, ProcRef::from));
        }
    }

    pub(super) fn is_argv(&self) -> bool {
        matches!(self.launch.command, CommandSpec::Argv(_))
    }

    pub(super) fn program_name(&self) -> String {
        match &self.launch.command {
            CommandSpec::Argv(argv) => argv.first().map(crate::bytes::ByteStr::to_text).unwrap_or_default(),
            CommandSpec::Shell { shell, .. } => shell.to_text(),
        }
    }
}

/// A command line on one line, or the name in brackets.
fn command_text(pid: i32, comm: &[u8]) -> String {
    let line = proctree::cmdline(pid).filter(|line| !line.is_empty());
    line.map_or_else(
        || format!("[{}]", String::from_utf8_lossy(comm)),
        |line| {
            let words: Vec<_> = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0).collect();
            words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
        },
    )
}
