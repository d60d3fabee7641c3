//! All tasks on disk, as they truly stand, without a daemon: many processes read and write side by side.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use proctree::{Liveness, ProcId, liveness};
use rustix::fs::{Mode, OFlags, open};
use supervisor::{Origin, Record, TempDir, keep_within, remove_task_dir};

use crate::clock::{rfc3339, unix_ms};
use crate::error::{Error, Result};
use crate::id::check_name;
use crate::mend::ask_for_record;
use crate::outcome::{Status, TaskInfo};
use crate::places::Places;
use crate::recover::recover;

/// The seed's retention of finished tasks.
pub const RETENTION_DEFAULT: Duration = Duration::from_secs(3600);
/// What keepers have noted is kept for so long.
const LOG_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// A directory without a record may be one in the making; an old one is a torso.
const TORSO_AGE: Duration = Duration::from_secs(3600);

/// What a collection did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Collected {
    /// Tasks whose keepers were found dead; what was left of them has been ended.
    pub recovered: Vec<String>,
    /// Finished tasks that were removed.
    pub removed: Vec<String>,
    /// Tasks whose record cannot be read; left alone, with the reason.
    pub unreadable: Vec<String>,
}

/// A task's directory with its record.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) dir: PathBuf,
    pub(crate) record: io::Result<Record>,
}

/// How a record stands to the processes of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The tree was found empty.
    Final,
    /// A keeper lives.
    Kept,
    /// Both keepers are dead and the record is not final.
    Orphaned,
    /// Of another machine or PID namespace: not ours to judge.
    Foreign,
    /// Of an earlier boot of this machine: everything of it is dead.
    EarlierBoot,
}

#[derive(Debug, Clone)]
pub(crate) struct Registry {
    places: Places,
}

impl Registry {
    pub(crate) fn new(places: Places) -> Self {
        Self { places }
    }

    /// Every task directory that has a record, or a damaged one.
    pub(crate) fn scan(&self) -> Vec<Found> {
        self.scan_where(|_dir| true)
    }

    fn scan_where(&self, counts: impl Fn(&Path) -> bool) -> Vec<Found> {
        let entries = self.entries().into_iter();
        entries
            .filter(|(parent, id)| counts(&parent.join(id)))
            .filter_map(|(parent, id)| Self::load(&parent, id))
            .collect()
    }

    /// Everything that may be a task: its directory's parent and its id.
    pub(crate) fn entries(&self) -> Vec<(PathBuf, String)> {
        let mut all = Vec::new();
        for parent in self.places.task_dirs() {
            for entry in fs::read_dir(&parent).into_iter().flatten().flatten() {
                let Ok(id) = entry.file_name().into_string() else { continue };
                if check_name(&id).is_ok() {
                    all.push((parent.clone(), id));
                }
            }
        }
        all
    }

    pub(crate) fn load(parent: &Path, id: String) -> Option<Found> {
        let dir = parent.join(&id);
        let record = read_record(&dir).or_else(|error| {
            // While its supervisor lives the task can be seen and ended, whatever became of the file.
            ask_for_record(&dir).map_err(|_nobody_answers| error).and_then(|()| read_record(&dir))
        });
        match record {
            // In the making, or just moved or removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            record => Some(Found { id, dir, record }),
        }
    }

    /// The one task whose id begins with `prefix`.
    pub(crate) fn find(&self, prefix: &str) -> Result<Found> {
        self.find_among(prefix, |_| true)
    }

    /// The same among the tasks of which `counts` is true: of the others not even the ids are told.
    pub(crate) fn find_among(&self, prefix: &str, counts: impl Fn(&Found) -> bool) -> Result<Found> {
        check_name(prefix)?;
        if let Some(found) = self.exact(prefix).filter(&counts) {
            return Ok(found);
        }
        let mut matches: Vec<Found> = Vec::new();
        for parent in self.places.task_dirs() {
            for entry in fs::read_dir(&parent).into_iter().flatten().flatten() {
                let Ok(id) = entry.file_name().into_string() else { continue };
                if id.starts_with(prefix) && matches.iter().all(|found| found.id != id) {
                    matches.extend(Self::load(&parent, id).filter(&counts));
                }
            }
        }
        match matches.len() {
            0 => Err(Error::UnknownTask { id: prefix.to_owned() }),
            1 => matches.pop().ok_or_else(|| Error::UnknownTask { id: prefix.to_owned() }),
            _ => Err(Error::AmbiguousTask {
                id: prefix.to_owned(),
                matches: matches.into_iter().map(|found| found.id).collect(),
            }),
        }
    }

    /// A task that moves from tmpfs to disk is for an instant in both directories and never in none.
    pub(crate) fn exact(&self, id: &str) -> Option<Found> {
        let look =
            || self.places.task_dirs().into_iter().find_map(|parent| Self::load(&parent, id.to_owned()));
        look().or_else(look)
    }

    /// Ends what both keepers' deaths left, removes what has expired, and of the rest the oldest where all that has
    /// ended takes more than the total.
    pub(crate) fn collect(&self, retention: Duration, total_bytes: u64) -> Collected {
        let mut done = Collected::default();
        let here = own_origin();
        for found in self.scan() {
            let Found { id, dir, record } = found;
            match record {
                Err(error) => done.unreadable.push(format!("{id}: {error}")),
                Ok(record) => match standing(&record, here.as_ref()) {
                    Standing::Orphaned | Standing::EarlierBoot
                        if recover(&dir, &record, here.as_ref()).is_ok() =>
                    {
                        done.recovered.push(id);
                    }
                    // What a newer version has made is its own to remove.
                    Standing::Final
                        if record.version <= supervisor::RECORD_VERSION
                            && is_expired(&record, retention)
                            && dir.parent().is_some_and(|parent| remove_task_dir(parent, &id)) =>
                    {
                        done.removed.push(id);
                    }
                    _ => {}
                },
            }
        }
        for parent in self.places.task_dirs() {
            done.removed.extend(keep_within(&parent, total_bytes));
        }
        self.remove_torsos();
        TempDir::collect(&self.places.temp());
        self.remove_old_logs();
        done
    }

    /// What keepers have noted, oldest file first, the newest lines of each.
    pub(crate) fn keeper_log(&self) -> Vec<String> {
        const LINES_MAX: usize = 200;
        let mut lines = Vec::new();
        for path in self.logs() {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let skipped = text.lines().count().saturating_sub(LINES_MAX);
            lines.extend(text.lines().skip(skipped).map(|line| format!("{name}: {line}")));
        }
        lines
    }

    fn logs(&self) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(self.places.root.join(supervisor::LOG_DIRECTORY)).into_iter().flatten().flatten();
        let mut logs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        logs.sort();
        logs
    }

    fn remove_old_logs(&self) {
        let is_old = |path: &PathBuf| {
            let written = fs::metadata(path).and_then(|meta| meta.modified());
            written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LOG_AGE))
        };
        for path in self.logs().into_iter().filter(is_old) {
            let _removed_already = fs::remove_file(path);
        }
    }

    /// Task directories, finished ones included: cheap, and no less than the tasks that run.
    pub(crate) fn count(&self) -> usize {
        // Each directory in it is a link to it, except on file systems that count none (btrfs: always 1).
        let links = |dir: &PathBuf| fs::metadata(dir).map_or(0, |meta| meta.nlink());
        let listed = |dir: &PathBuf| fs::read_dir(dir).map_or(0, Iterator::count);
        let count = |dir: PathBuf| match links(&dir) {
            0 | 1 => listed(&dir),
            links => usize::try_from(links - 2).unwrap_or(usize::MAX),
        };
        self.places.task_dirs().into_iter().map(count).sum()
    }

    /// The sessions of the tasks that run here, one entry a task.
    pub(crate) fn running_sessions(&self) -> Vec<String> {
        let here = own_origin();
        // Who runs in the background has a socket; most that have ended are told by its absence alone.
        let listens = |dir: &Path| dir.join(supervisor::SOCKET_FILE).symlink_metadata().is_ok();
        let records = self.scan_where(listens).into_iter().filter_map(|found| found.record.ok());
        records
            .filter(|record| standing(record, here.as_ref()) == Standing::Kept)
            .map(|record| record.session_id)
            .collect()
    }

    fn remove_torsos(&self) {
        for parent in self.places.task_dirs() {
            for entry in fs::read_dir(&parent).into_iter().flatten().flatten() {
                let Ok(id) = entry.file_name().into_string() else { continue };
                let old = entry
                    .metadata()
                    .and_then(|meta| meta.modified())
                    .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > TORSO_AGE));
                let bare = !entry.path().join(supervisor::RECORD_FILE).exists();
                let moved =
                    self.places.task_dirs().iter().any(|other| *other != parent && other.join(&id).exists());
                if check_name(&id).is_ok() && old && bare && !moved {
                    remove_task_dir(&parent, &id);
                }
            }
        }
    }

    /// Whether nobody has collected for `every`; the stamp file carries the time between processes.
    pub(crate) fn collection_is_due(&self, every: Duration) -> bool {
        let stamp = fs::metadata(self.places.root.join("gc.stamp")).and_then(|meta| meta.modified());
        !stamp.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < every))
    }

    /// Collects at most once in `every`, whoever asks.
    pub(crate) fn collect_now_and_then(&self, retention: Duration, total_bytes: u64, every: Duration) {
        let stamp = self.places.root.join("gc.stamp");
        if self.collection_is_due(every) && fs::write(&stamp, b"").is_ok() {
            self.collect(retention, total_bytes);
        }
    }
}

pub(crate) fn read_record(dir: &Path) -> io::Result<Record> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Record::read(open(dir, flags, Mode::empty())?)
}

fn is_expired(record: &Record, retention: Duration) -> bool {
    let retention = u64::try_from(retention.as_millis()).unwrap_or(u64::MAX);
    record.ended_unix_ms.is_some_and(|ended| unix_ms().saturating_sub(ended) >= retention)
}

/// Where this process is; it stays there.
pub(crate) fn own_origin() -> Option<Origin> {
    static ORIGIN: OnceLock<Origin> = OnceLock::new();
    let known = ORIGIN.get().cloned();
    known.or_else(|| {
        let here = Origin::from(proctree::host_id().ok()?);
        Some(ORIGIN.get_or_init(|| here).clone())
    })
}

pub(crate) fn standing(record: &Record, here: Option<&Origin>) -> Standing {
    if record.is_final() {
        return Standing::Final;
    }
    match here {
        Some(here) if here.machine != record.origin.machine => Standing::Foreign,
        Some(here) if here.boot != record.origin.boot => Standing::EarlierBoot,
        Some(here) if here.pid_namespace != record.origin.pid_namespace => Standing::Foreign,
        None => Standing::Foreign,
        Some(_) if is_alive(record.supervisor.into()) || is_alive(record.guard.into()) => Standing::Kept,
        Some(_) => Standing::Orphaned,
    }
}

pub(crate) fn is_alive(id: ProcId) -> bool {
    id.start_ticks != 0 && liveness(id) == Liveness::Alive
}

/// A task for a list, told truthfully.
pub(crate) fn describe(found: &Found, here: Option<&Origin>) -> Option<TaskInfo> {
    let mut record = found.record.as_ref().ok()?.clone();
    fault::point("final-after-look");
    let mut stands = standing(&record, here);
    if matches!(stands, Standing::Orphaned | Standing::EarlierBoot) {
        record = recover(&found.dir, &record, here).unwrap_or(record);
        stands = standing(&record, here);
    }
    // Its keepers are gone and nothing could be written: lost all the same.
    let status = match stands {
        Standing::Final => Status::of(record.end.as_ref()),
        Standing::Kept | Standing::Foreign => Status::Running,
        Standing::Orphaned | Standing::EarlierBoot => Status::Lost,
    };
    let background_pids =
        if stands == Standing::Kept && record.end.is_some() { survivors_of(&record) } else { Vec::new() };
    let durable = found.dir.join("output.log");
    Some(TaskInfo {
        id: record.id.clone(),
        status,
        command: record.command.clone(),
        description: record.description.clone(),
        pid: record.leader.map(|leader| leader.pid),
        started_at: rfc3339(record.started_unix_ms),
        ended_at: record.ended_unix_ms.map(rfc3339),
        exit_code: record.exit_code,
        end: record.end.clone(),
        output_bytes: output_bytes(found, &record),
        output_file: Some(durable.to_string_lossy().into_owned()),
        cwd: record.cwd.to_text(),
        session_id: record.session_id.clone(),
        boundary: record.boundary,
        background_pids,
        ports: Vec::new(),
        sockets: Vec::new(),
        supervisor_pid: record.supervisor.pid,
        guard_pid: record.guard.pid,
        background: record.background,
        owner_pid: record.owner.map(|owner| owner.pid),
        input: record.input,
        waiting_for_input: None,
        origin: (stands == Standing::Foreign).then(|| {
            format!("{}/{}/{}", record.origin.machine, record.origin.boot, record.origin.pid_namespace)
        }),
    })
}

/// The record of a running task is as old as its last change; the spool's header is not.
fn output_bytes(found: &Found, record: &Record) -> u64 {
    let recorded = record.stdout_bytes + record.stderr_bytes;
    if record.is_final() {
        return recorded;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let header = open(&found.dir, flags, Mode::empty())
        .map_err(io::Error::from)
        .and_then(|dir| supervisor::spool::Reader::new(dir).header());
    header.map_or(recorded, |header| recorded.max(header.stdout_bytes + header.stderr_bytes))
}

/// Live members of a task whose supervisor lives: what descends from it.
pub(crate) fn survivors_of(record: &Record) -> Vec<i32> {
    if !is_alive(record.supervisor.into()) {
        return Vec::new();
    }
    let mut members = members_below(record.supervisor.pid);
    members.retain(|pid| record.reaper.is_none_or(|reaper| reaper.pid != *pid));
    members
}

/// Up to `max` live members of a task whose supervisor lives, parents before their children.
pub(crate) fn nearest_members(record: &Record, max: usize) -> Vec<i32> {
    let (mut nearest, mut children, mut next) = (Vec::new(), Vec::new(), 0);
    let mut parent = record.supervisor.pid;
    while is_alive(record.supervisor.into())
        && nearest.len() < max
        && proctree::children_of(parent, &mut children).is_ok()
    {
        nearest.extend(children.iter().take(max - nearest.len()));
        let Some(member) = nearest.get(next) else { break };
        (parent, next) = (*member, next + 1);
    }
    nearest
}

/// What descends from a process and is not a zombie.
pub(crate) fn members_below(pid: i32) -> Vec<i32> {
    let mut members = Vec::new();
    let _what_was_read_counts = proctree::descendants(pid, &mut members);
    let alive = |pid: i32| {
        proctree::read_stat(pid)
            .ok()
            .flatten()
            .is_some_and(|stat| !matches!(stat.state, b'Z' | b'X') || stat.num_threads > 1)
    };
    members.into_iter().map(|member| member.pid).filter(|pid| alive(*pid)).collect()
}
