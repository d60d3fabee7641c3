//! Limits that somebody asked for: held by the kernel where it can hold them for the task, else by looking.
//!
//! A task without such limits is never looked at. CPU time is looked at when it could be used up at the earliest; the
//! others every [`PAUSE_MIN_MS`] while use grows, backing off to [`PAUSE_MAX_MS`] at rest. What is used between two looks
//! can pass the limit by as much as the machine gives in that time.

use confine::Limits;
use confine::cgroup::Leaf;
use confine::controllers::{Held, Wanted};

use proctree::Member;

use super::Task;
use crate::clock;
use crate::end::{Crossed, WaitStatus};
use crate::lifecycle::{Input, State};
use crate::sys;
use crate::wire::{Enforced, LimitsSpec, Notice, Protection};

const PAUSE_MIN_MS: u64 = 50;
const PAUSE_MAX_MS: u64 = 250;
/// A task does not use up CPU time in less than this, and the kernel counts in ticks of it.
const CPU_LOOK_MS: u64 = 10;
/// `statm` is exact but for what the kernel has not added up yet: from here on memory is looked at exactly.
const EXACT_FROM_EIGHTHS: u64 = 7;

/// What a task may use, and who holds it to that.
#[derive(Debug, Default)]
pub(super) struct Watch {
    spec: LimitsSpec,
    held: Held,
    pause_ms: u64,
    /// What was used at the last look, as a sum that grows when anything does.
    before: u64,
}

/// Use at one look.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    cpu_ms: u64,
    tasks: u64,
    memory_bytes: u64,
}

impl Watch {
    /// Sets what the task's cgroup can hold.
    pub(super) fn set_up(spec: LimitsSpec, leaf: Option<&Leaf>) -> Self {
        let wanted =
            Wanted { memory_bytes: spec.memory_bytes, pids: spec.pids, cpu_percent: spec.cpu_share_percent };
        let held = leaf.filter(|_| wanted != Wanted::default()).map(|leaf| leaf.limit(&wanted));
        Self { spec, held: held.unwrap_or_default(), pause_ms: PAUSE_MIN_MS, before: 0 }
    }

    /// What every process of the task is limited to. The last resort for CPU time comes a second after our own look;
    /// of files and descriptors one more is possible, so that reaching the limit and crossing it can be told apart.
    pub(super) fn of_each_process(&self) -> Limits {
        Limits {
            cpu_seconds: self.spec.cpu_time_ms.map(|ms| ms.div_ceil(1000).saturating_add(1)),
            file_bytes: self.spec.file_size_bytes.map(|bytes| bytes.saturating_add(1)),
            open_files: self.spec.open_files.map(|count| count.saturating_add(1)),
            no_core: self.spec.no_core,
        }
    }

    /// Each limit that was asked for, and how it is held.
    pub(super) fn protections(&self) -> Vec<Protection> {
        let LimitsSpec {
            memory_bytes,
            pids,
            cpu_time_ms,
            cpu_share_percent,
            file_size_bytes,
            open_files,
            ..
        } = self.spec;
        let looked = format!("by looking at the tree every {PAUSE_MIN_MS} to {PAUSE_MAX_MS} ms");
        let no_controller = |held: bool, name: &str| {
            (!held).then(|| {
                (Enforced::Partly, format!("no cgroup v2 {name} controller was handed to us: {looked}"))
            })
        };
        let cpu = (
            Enforced::Partly,
            "by looking at the tree; the kernel holds each process to a second more".to_owned(),
        );
        let share = (Enforced::No, "no cgroup v2 cpu controller was handed to us".to_owned());
        let rows = [
            ("memory_limit", memory_bytes, "bytes", no_controller(self.held.memory, "memory")),
            ("pids_limit", pids, "processes and threads", no_controller(self.held.pids, "pids")),
            ("cpu_time_limit", cpu_time_ms, "ms", Some(cpu)),
            (
                "cpu_share",
                cpu_share_percent.map(u64::from),
                "% of one CPU",
                (!self.held.cpu).then_some(share),
            ),
            ("file_size_limit", file_size_bytes, "bytes", None),
            ("open_files_limit", open_files, "descriptors a process", None),
        ];
        let asked = rows.into_iter().filter_map(|(name, asked, unit, less)| Some((name, asked?, unit, less)));
        asked
            .map(|(name, asked, unit, less)| {
                let (enforced, why) = less.map_or((Enforced::Fully, None), |(level, why)| (level, Some(why)));
                let asked = format!("{asked} {unit}");
                Protection { name: name.to_owned(), asked, enforced, why, names: Vec::new() }
            })
            .collect()
    }

    /// Whether there is anything to look at.
    fn looks(&self) -> bool {
        let LimitsSpec { memory_bytes, pids, cpu_time_ms, file_size_bytes, open_files, .. } = self.spec;
        [memory_bytes, pids, cpu_time_ms, file_size_bytes, open_files].iter().any(Option::is_some)
    }

    /// The first limit that the tree has crossed.
    fn look(&mut self, members: &[Member], leaf: Option<&Leaf>) -> Option<Crossed> {
        let used = self.used(members);
        let over = |limit, used: u64, max: Option<u64>| {
            max.filter(|max| used > *max).map(|max| Crossed { limit, used, max })
        };
        let crossed = self
            .met(leaf)
            .or_else(|| over("pids", used.tasks, self.spec.pids.filter(|_| !self.held.pids)))
            .or_else(|| {
                over("memory", used.memory_bytes, self.spec.memory_bytes.filter(|_| !self.held.memory))
            })
            .or_else(|| over("cpu_time", used.cpu_ms, self.spec.cpu_time_ms))
            .or_else(|| {
                self.spec.open_files.and_then(|max| over("open_files", most_open(members), Some(max)))
            })
            .or_else(|| self.full_file(members));
        let now = used.tasks + (used.memory_bytes >> 20);
        let grows = now > self.before + (self.before >> 4);
        self.pause_ms = if grows { PAUSE_MIN_MS } else { (self.pause_ms * 2).min(PAUSE_MAX_MS) };
        self.before = now;
        if self.spec == self.only_cpu() {
            self.pause_ms = u64::MAX;
        }
        if let Some(max) = self.spec.cpu_time_ms {
            let earliest = max.saturating_sub(used.cpu_ms) / processors();
            self.pause_ms = self.pause_ms.min(earliest.max(CPU_LOOK_MS));
        }
        crossed
    }

    fn only_cpu(&self) -> LimitsSpec {
        let LimitsSpec { cpu_time_ms, cpu_share_percent, no_core, .. } = self.spec;
        LimitsSpec { cpu_time_ms, cpu_share_percent, no_core, ..LimitsSpec::default() }
    }

    /// Parents come before their children, and who was reaped by us before both: nobody's time is counted twice.
    fn used(&self, members: &[Member]) -> Used {
        let reaped = sys::reaped_usage();
        let mut used = Used::default();
        let mut ticks = 0;
        let count = self.spec.pids.is_some() || self.spec.cpu_time_ms.is_some();
        for member in members.iter().filter(|_| count) {
            let Ok(Some(stat)) = proctree::read_stat(member.pid) else { continue };
            ticks += stat.utime_ticks + stat.stime_ticks + stat.child_time_ticks;
            if !matches!(stat.state, b'Z' | b'X') {
                used.tasks += u64::try_from(stat.num_threads).unwrap_or(1);
            }
        }
        used.cpu_ms =
            reaped.user_ms + reaped.system_ms + ticks * 1000 / rustix::param::clock_ticks_per_second();
        if let Some(max) = self.spec.memory_bytes.filter(|_| !self.held.memory) {
            used.memory_bytes = memory(members, max);
        }
        used
    }

    /// What the kernel has counted for the task's cgroup.
    fn met(&self, leaf: Option<&Leaf>) -> Option<Crossed> {
        let Held { memory, pids, .. } = self.held;
        let met = leaf.filter(|_| memory || pids)?.met();
        let reached = |limit, max: u64| Crossed { limit, used: max, max };
        let killed = self.spec.memory_bytes.filter(|_| memory && met.oom_kills > 0);
        let refused = self.spec.pids.filter(|_| pids && met.forks_refused > 0);
        killed.map(|max| reached("memory", max)).or_else(|| refused.map(|max| reached("pids", max)))
    }

    fn full_file(&self, members: &[Member]) -> Option<Crossed> {
        let max = self.spec.file_size_bytes?;
        let used = max.saturating_add(1);
        members.iter().any(|member| proctree::has_written_to(member.pid, used)).then_some(Crossed {
            limit: "file_size",
            used,
            max,
        })
    }

    /// The limit of which the leader's end speaks, by its signal or as a shell reports that of its last command.
    fn of_end(&self, status: WaitStatus, leaf: Option<&Leaf>) -> Option<Crossed> {
        let signal = match status {
            WaitStatus::Signaled { signal, .. } => signal,
            WaitStatus::Exited(code) => code - 128,
        };
        let one_more = |limit, max: u64| Crossed { limit, used: max.saturating_add(1), max };
        match signal {
            libc::SIGXFSZ => self.spec.file_size_bytes.map(|max| one_more("file_size", max)),
            libc::SIGXCPU => self.spec.cpu_time_ms.map(|max| Crossed {
                limit: "cpu_time",
                used: self.used(&[]).cpu_ms.max(max),
                max,
            }),
            _ => self.met(leaf),
        }
    }
}

/// Memory of the tree in bytes. What processes share counts once: exactly where it matters and the kernel lets us see.
fn memory(members: &[Member], max: u64) -> u64 {
    let rough: u64 =
        members.iter().filter_map(|it| proctree::memory(it.pid)).map(|it| it.resident_bytes).sum();
    if rough < max / 8 * EXACT_FROM_EIGHTHS {
        return rough;
    }
    let exact =
        |pid| proctree::proportional_bytes(pid).or_else(|| Some(proctree::memory(pid)?.private_bytes));
    members.iter().filter_map(|it| exact(it.pid)).sum()
}

/// Descriptors of the member that has most of them.
fn most_open(members: &[Member]) -> u64 {
    members.iter().filter_map(|it| proctree::open_files(it.pid).ok()).max().unwrap_or(0)
}

fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
}

impl Task<'_> {
    /// The first look at a task that has limits.
    pub(super) fn watch_limits(&mut self) {
        if self.limits.looks() {
            self.timers.limits = Some(clock::monotonic_ms() + CPU_LOOK_MS);
        }
    }

    pub(super) fn check_limits(&mut self, inputs: &mut Vec<Input>) {
        if matches!(self.state, State::Ending { .. } | State::Ended { .. }) {
            return;
        }
        let members = self.members();
        self.members_peak = self.members_peak.max(members.len() as u64);
        match self.limits.look(&members, self.bounds.leaf()) {
            Some(crossed) => self.cross(crossed, inputs),
            None => self.timers.limits = Some(clock::monotonic_ms().saturating_add(self.limits.pause_ms)),
        }
    }

    /// The kernel ended the leader for a limit.
    pub(super) fn check_limits_at_end(&mut self, status: WaitStatus, inputs: &mut Vec<Input>) {
        let ending = matches!(self.state, State::Ending { .. });
        if let Some(crossed) = self.limits.of_end(status, self.bounds.leaf()).filter(|_| !ending) {
            self.cross(crossed, inputs);
        }
    }

    pub(super) fn cross(&mut self, crossed: Crossed, inputs: &mut Vec<Input>) {
        let Crossed { limit, used, max } = crossed;
        self.notice(Notice::LimitCrossed { limit: limit.to_owned(), used, max });
        inputs.push(Input::Limit(crossed));
    }
}
