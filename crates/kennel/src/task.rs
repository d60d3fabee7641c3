//! A handle on a task, whoever started it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use supervisor::wire::{Report, ToSupervisor};
use supervisor::{End, Record};
use tokio::sync::watch;

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::feed::{EventStream, Feed, Pace, Scope};
use crate::guard::Told;
use crate::kill::{self, Kill};
use crate::link::{Line, View};
use crate::outcome::{
    Boundary, Clamped, ClampedValue, KillReport, Notice, Outcome, Proof, Protection, Status, Survivor,
    TaskInfo, TaskOutput, VerdictSummary,
};
use crate::read::{self, Read, Start, Watcher};
use crate::registry::{self, Registry};
use crate::session::SessionTerms;

/// How long a read waits when nothing else is said.
const READ_WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// How long the guard may take to settle the account of a crashed supervisor.
const CRASH_WAIT: Duration = Duration::from_secs(6);

/// A handle on a task. Dropping it does not end the task, unless it is the last one of a foreground call.
#[derive(Debug, Clone)]
pub struct Task {
    id: String,
    line: Option<Line>,
    max_output: usize,
    clamps: Vec<Notice>,
    terms: Option<Arc<SessionTerms>>,
    guard: Option<(watch::Receiver<Told>, u32)>,
    registry: Registry,
}

/// What a session knows of a task that it has just ordered.
pub(crate) struct Born {
    pub(crate) id: String,
    pub(crate) max_output: usize,
    pub(crate) clamps: Vec<Notice>,
    pub(crate) guard: (watch::Receiver<Told>, u32),
}

/// What is known of a task's end.
enum Fate {
    /// Its supervisor told.
    Told(Arc<Report>, View),
    /// Its record says so.
    Recorded(Box<Record>, PathBuf),
}

impl Task {
    pub(crate) fn of_session(born: Born, line: Line, terms: Arc<SessionTerms>) -> Self {
        let Born { id, max_output, clamps, guard } = born;
        let registry = Registry::new(terms.places.clone());
        Self { id, line: Some(line), max_output, clamps, terms: Some(terms), guard: Some(guard), registry }
    }

    pub(crate) fn found(id: String, line: Option<Line>, registry: Registry) -> Self {
        let max_output = crate::request::MAX_OUTPUT_DEFAULT;
        Self { id, line, max_output, clamps: Vec::new(), terms: None, guard: None, registry }
    }

    /// The task's whole id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn line(&self) -> &Line {
        // Only called for tasks of a session, which have a line from birth.
        self.line.as_ref().expect("a task of a session has a line")
    }

    /// The leader's pid, once the command runs.
    ///
    /// # Errors
    /// As [`Task::started`].
    pub async fn pid(&self) -> Result<i32> {
        self.started().await?;
        let told = self
            .line
            .as_ref()
            .and_then(|line| line.view.borrow().started.as_ref().map(|started| started.pid));
        Ok(match told {
            Some(pid) => pid,
            None => self.record()?.leader.map_or(0, |leader| leader.pid),
        })
    }

    /// Waits until the command's program runs.
    ///
    /// # Errors
    /// [`Error::NotStarted`] when it could not; [`Error::KeeperGone`].
    pub async fn started(&self) -> Result<()> {
        let Some(line) = &self.line else { return Ok(()) };
        if self.guard.is_none() {
            return Ok(());
        }
        let view =
            line.until(|view| view.started.is_some() || view.ended.is_some() || view.refused.is_some()).await;
        if let Some(why) = view.refused {
            return Err(Error::NotStarted { why, exit_code: 125 });
        }
        match view.ended.as_deref() {
            Some(Report { end: Some(End::NotStarted { why }), exit_code, .. }) => {
                Err(Error::NotStarted { why: why.clone(), exit_code: exit_code.unwrap_or(125) })
            }
            None if view.started.is_none() => self.fate().await.map(drop),
            _ => Ok(()),
        }
    }

    /// Waits for the command's end (its leader's) and gives the result.
    ///
    /// # Errors
    /// [`Error::NotStarted`] is part of the outcome here; [`Error::KeeperGone`] and errors of reading the output are not.
    ///
    /// # Cancel safety
    /// Can be dropped and called again.
    pub async fn outcome(&self) -> Result<Outcome> {
        let fate = self.fate().await?;
        self.outcome_of(fate)
    }

    /// Waits until nothing of the task is left, and gives the result.
    ///
    /// # Errors
    /// As [`Task::outcome`].
    pub async fn tree_outcome(&self) -> Result<Outcome> {
        if let Some(line) = &self.line {
            line.until(|view| view.ended.is_some()).await;
        }
        self.outcome().await
    }

    /// The result as it stands now: of a running task, without an end.
    ///
    /// # Errors
    /// As [`Task::outcome`].
    pub async fn outcome_now(&self) -> Result<Outcome> {
        match self.standing().await {
            Some((report, view)) => self.outcome_of(Fate::Told(report, view)),
            None => self.outcome().await,
        }
    }

    /// How the task stands by its supervisor's word; `None` where there is none to ask.
    async fn standing(&self) -> Option<(Arc<Report>, View)> {
        let line = self.line.as_ref()?;
        let asked = line.view.borrow().statuses;
        let _closed = line.order(ToSupervisor::Status).await;
        let view = line.until(|view| view.statuses > asked || view.ended.is_some()).await;
        let report = view.ended.clone().or_else(|| view.status.clone().filter(|_| view.statuses > asked))?;
        Some((report, view))
    }

    async fn fate(&self) -> Result<Fate> {
        // Whoever comes later was not told of an end that came before.
        if self.guard.is_none()
            && let Some((report, view)) = self.standing().await
            && report.end.is_some()
        {
            return Ok(Fate::Told(report, view));
        }
        if let Some(line) = &self.line {
            let view = line
                .until(|view| {
                    view.report.as_ref().is_some_and(|report| ends(report))
                        || view.ended.is_some()
                        || view.refused.is_some()
                })
                .await;
            if let Some(why) = view.refused.clone() {
                return Err(Error::NotStarted { why, exit_code: 125 });
            }
            if let Some(report) =
                view.ended.clone().or_else(|| view.report.clone().filter(|report| ends(report)))
            {
                return Ok(Fate::Told(report, view));
            }
        }
        self.fate_without_line().await
    }

    /// The supervisor went without a last word: what the guard knows, then what the disk knows.
    async fn fate_without_line(&self) -> Result<Fate> {
        if let Some((told, number)) = &self.guard {
            let mut told = told.clone();
            let known = told.wait_for(|told| {
                told.closed || told.crashed.contains_key(number) || told.failed.contains_key(number)
            });
            let failed = tokio::select! {
                told = known => told.ok().and_then(|told| told.failed.get(number).copied()),
                () = Deadline::after(CRASH_WAIT).passed() => None,
            };
            if let Some(errno) = failed {
                let why = std::io::Error::from_raw_os_error(errno);
                return Err(Error::KeeperGone { what: format!("no supervisor could be made: {why}") });
            }
        }
        let found =
            self.registry.exact(&self.id).ok_or_else(|| Error::UnknownTask { id: self.id.clone() })?;
        registry::describe(&found, registry::own_origin().as_ref());
        let record = registry::read_record(&found.dir)
            .map_err(|source| Error::Record { id: self.id.clone(), source })?;
        if record.end.is_none() {
            return Err(Error::KeeperGone {
                what: format!("the supervisor of {} is gone or does not answer", self.id),
            });
        }
        Ok(Fate::Recorded(Box::new(record), found.dir))
    }

    fn outcome_of(&self, fate: Fate) -> Result<Outcome> {
        match fate {
            Fate::Told(report, view) => {
                let (session_id, cwd) =
                    self.session_and_cwd(report.cwd.as_ref().map(supervisor::ByteStr::to_text));
                let notices = self.notices(&view);
                let boundary = view.started.as_ref().map_or(Boundary::Subreaper, |started| started.boundary);
                self.assemble(&report, Known { session_id, cwd, notices, boundary })
            }
            Fate::Recorded(record, dir) => {
                let report = report_of(&record, &dir);
                let cwd = record.cwd_after.as_ref().unwrap_or(&record.cwd).to_text();
                let (session_id, notices, boundary) = (record.session_id, record.notices, record.boundary);
                self.assemble(&report, Known { session_id, cwd, notices, boundary })
            }
        }
    }

    /// Those of the door and those of the supervisor. The handle of a task that another session started knows the former
    /// from the record, which has them all.
    fn notices(&self, view: &View) -> Vec<Notice> {
        let told = || [self.clamps.clone(), view.notices.clone()].concat();
        if self.terms.is_some() {
            told()
        } else {
            self.record().map_or_else(|_gone| told(), |record| record.notices)
        }
    }

    fn session_and_cwd(&self, told: Option<String>) -> (String, String) {
        match (&self.terms, told) {
            (Some(terms), Some(cwd)) => (terms.session_id.clone(), cwd),
            (Some(terms), None) => (terms.session_id.clone(), terms.cwd.to_string_lossy().into_owned()),
            (None, told) => match self.record() {
                Ok(record) => (record.session_id.clone(), told.unwrap_or_else(|| record.cwd.to_text())),
                Err(_removed_meanwhile) => (String::new(), told.unwrap_or_default()),
            },
        }
    }

    fn assemble(&self, report: &Report, known: Known) -> Result<Outcome> {
        let dir = report.dir.as_path();
        let hint = format!("kennel output {} reads on", self.id);
        let (out, err) = read::render_streams(dir, self.max_output, &hint)?;
        let survivors = survivors(&report.members);
        let background =
            report.end.is_some().then(|| survivors.iter().map(|survivor| survivor.pid).collect());
        let truncated = out.truncated || err.truncated;
        Ok(Outcome {
            status: Status::of(report.end.as_ref()),
            success: report.end.as_ref().is_none_or(|end| *end == End::Exited { code: 0 }),
            stdout: out.text,
            stderr: err.text,
            exit_code: report.exit_code,
            duration_ms: report.duration_ms,
            truncated,
            stdout_bytes: report.stdout_bytes,
            stderr_bytes: report.stderr_bytes,
            dropped_bytes: report.dropped_bytes,
            task_id: self.id.clone(),
            session_id: known.session_id,
            output_file: (truncated || report.durable)
                .then(|| dir.join("output.log").to_string_lossy().into_owned()),
            end: report.end.clone(),
            pipestatus: report.pipestatus.clone(),
            cwd: known.cwd,
            clamped: clamped(&known.notices),
            background_pids: background,
            survivors: if report.end.is_some() { survivors } else { Vec::new() },
            boundary: known.boundary,
            proof: report.proof,
            protections: protections(&known.notices),
            usage: report.usage,
            invalid_utf8: out.invalid + err.invalid,
            verdict: VerdictSummary::of_notices(&known.notices),
            notices: known.notices,
            error: None,
        })
    }

    fn record(&self) -> Result<Record> {
        let found =
            self.registry.exact(&self.id).ok_or_else(|| Error::UnknownTask { id: self.id.clone() })?;
        found.record.map_err(|source| Error::Record { id: self.id.clone(), source })
    }

    /// Where the task's files are now.
    fn dir(&self) -> Result<PathBuf> {
        if let Some(line) = &self.line {
            let dir = line.view.borrow().dir.clone();
            if dir.join(supervisor::RECORD_FILE).exists() {
                return Ok(dir);
            }
        }
        self.registry
            .exact(&self.id)
            .map(|found| found.dir)
            .ok_or_else(|| Error::UnknownTask { id: self.id.clone() })
    }

    /// The task as a list shows it.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Record`].
    pub fn info(&self) -> Result<TaskInfo> {
        let found =
            self.registry.exact(&self.id).ok_or_else(|| Error::UnknownTask { id: self.id.clone() })?;
        let here = registry::own_origin();
        registry::describe(&found, here.as_ref()).ok_or_else(|| match found.record {
            Err(source) => Error::Record { id: self.id.clone(), source },
            Ok(_) => Error::UnknownTask { id: self.id.clone() },
        })
    }

    /// Reads output without changing anything.
    ///
    /// # Errors
    /// [`Error::Pattern`], [`Error::UnknownTask`], [`Error::Io`].
    ///
    /// # Cancel safety
    /// Can be dropped at any time.
    pub async fn read(&self, read: Read) -> Result<TaskOutput> {
        let offset = match read.start {
            Start::Offset(offset) => offset,
            Start::Tail(lines) => self.tail_offset(lines, read.stream)?,
        };
        let matched = self.wait_for(&read, offset).await?;
        let rendered = read::render(&self.dir()?, offset, read.stream, read.max_chars)?;
        let info = self.info()?;
        Ok(TaskOutput {
            task_id: self.id.clone(),
            status: info.status,
            text: rendered.text,
            next_offset: rendered.next,
            matched,
            truncated: rendered.truncated,
            end: info.end,
            exit_code: info.exit_code,
            background_pids: info.background_pids,
        })
    }

    /// The offset from which the last `lines` lines, of one stream or of both, are kept.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn tail_offset(&self, lines: u64, stream: Option<read::Stream>) -> Result<u64> {
        read::tail_offset(&self.dir()?, lines, stream)
    }

    /// The bytes that are kept at and after `offset`, up to a page, and where to read on; the same offset again means
    /// that there is no more now.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn chunks(&self, offset: u64) -> Result<(Vec<read::Chunk>, u64)> {
        let page =
            read::reader(&self.dir()?)?.read(offset, 256 << 10).map_err(Error::io("read the output"))?;
        Ok((page.chunks, page.next))
    }

    async fn wait_for(&self, read: &Read, offset: u64) -> Result<Option<bool>> {
        let mut watcher = match &read.until {
            Some(pattern) => Some(Watcher::new(pattern, offset, read.stream)?),
            None => None,
        };
        let Some(line) = self.line.as_ref().filter(|_| watcher.is_some() || read.until_end) else {
            return watcher.as_mut().map(|watcher| watcher.matched(&self.dir()?)).transpose();
        };
        let _closed = line.order(ToSupervisor::Attach { lossless: false }).await;
        let deadline = Deadline::after(read.wait.unwrap_or(READ_WAIT_DEFAULT));
        let mut changes = line.view.clone();
        loop {
            let over = {
                let view = changes.borrow_and_update();
                view.closed || view.ended.is_some() || view.report.as_ref().is_some_and(|report| ends(report))
            };
            if let Some(watcher) = &mut watcher
                && watcher.matched(&self.dir()?)?
            {
                return Ok(Some(true));
            }
            if over {
                return Ok(read.until.as_ref().map(|_| false));
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(read.until.as_ref().map(|_| false)) },
                () = deadline.passed() => return Ok(read.until.as_ref().map(|_| false)),
            }
        }
    }

    /// Everything that happens to the task, from now on or from the start, as events with sequence numbers. A slow
    /// reader never blocks the command; what the spool gives up meanwhile is reported as a gap.
    pub fn events(&self) -> EventStream {
        EventStream::of(self.clone())
    }

    /// Output and news as they come, as bytes. With [`Pace::Lossless`] the command waits for the reader as it would
    /// for a pipe.
    pub async fn feed(&self, pace: Pace, scope: Scope) -> Feed {
        self.feed_from(0, pace, scope).await
    }

    /// The same from an offset.
    pub async fn feed_from(&self, offset: u64, pace: Pace, scope: Scope) -> Feed {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Attach { lossless: pace == Pace::Lossless }).await;
        }
        Feed::new(self.clone(), self.line.clone(), offset, pace, scope)
    }

    pub(crate) fn dir_for_feed(&self) -> Result<PathBuf> {
        self.dir()
    }

    /// Ends the task: signal, grace, SIGKILL, the whole tree, proof.
    ///
    /// The call has a deadline of its own: the grace and about 5 s. What cannot be killed is in the report, by pid and
    /// reason, with `success: false`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::Record`].
    ///
    /// # Cancel safety
    /// A dropped future leaves the order in force.
    pub async fn kill(&self, kill: Kill) -> Result<KillReport> {
        kill::perform(&self.registry, &self.id, &kill).await
    }

    /// The task goes on without its owner.
    ///
    /// # Errors
    /// [`Error::KeeperGone`] when there is no supervisor to tell.
    pub async fn keep(&self) -> Result<()> {
        self.tell(ToSupervisor::Keep).await
    }

    /// A foreground call becomes a background task without losing a byte.
    ///
    /// # Errors
    /// As [`Task::keep`].
    pub async fn background(&self) -> Result<()> {
        self.tell(ToSupervisor::Background).await
    }

    async fn tell(&self, message: ToSupervisor) -> Result<()> {
        let gone = || Error::KeeperGone { what: format!("the supervisor of {} has gone", self.id) };
        let line = self.line.as_ref().ok_or_else(gone)?;
        let moves = line.view.borrow().moves;
        line.order(message).await.map_err(|()| gone())?;
        let view = line.until(|view| view.moves > moves || view.ended.is_some()).await;
        if view.moves > moves || view.ended.is_some() { Ok(()) } else { Err(gone()) }
    }

    /// SIGSTOP to the whole tree; its timeout clock stops with the leader.
    pub async fn pause(&self) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Pause).await;
        }
    }

    /// SIGCONT to the whole tree.
    pub async fn resume(&self) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Resume).await;
        }
    }

    /// Orders the end without waiting for it: a cancel.
    pub async fn cancel(&self, kill: &Kill) {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Kill(kill.order())).await;
        }
    }
}

struct Known {
    session_id: String,
    cwd: String,
    notices: Vec<Notice>,
    boundary: Boundary,
}

/// Whether a report is one of an end, or of a task that went to the background.
fn ends(report: &Report) -> bool {
    report.end.is_some() || report.durable && report.exit_code.is_none() && report.proof.is_none()
}

/// Live members with the ports on which they listen.
pub(crate) fn survivors(members: &[supervisor::wire::MemberInfo]) -> Vec<Survivor> {
    let pids: Vec<i32> = members.iter().map(|member| member.pid).collect();
    let mut ports = crate::ports::by_process(&pids);
    members
        .iter()
        .map(|member| Survivor {
            pid: member.pid,
            command: member.command.clone(),
            ports: ports.remove(&member.pid).unwrap_or_default(),
            held: member.held.clone(),
        })
        .collect()
}

fn clamped(notices: &[Notice]) -> Option<Clamped> {
    notices.iter().find_map(|notice| match notice {
        Notice::Clamped { name, asked, used } if name == "timeout_ms" => {
            Some(Clamped { timeout_ms: Some(ClampedValue { asked: *asked, used: *used }) })
        }
        _ => None,
    })
}

fn protections(notices: &[Notice]) -> Vec<Protection> {
    notices
        .iter()
        .filter_map(|notice| match notice {
            Notice::Weaker { name, why } => Some(Protection {
                name: name.clone(),
                asked: "yes".to_owned(),
                enforced: crate::outcome::Enforced::Partly,
                why: Some(why.clone()),
            }),
            _ => None,
        })
        .collect()
}

fn report_of(record: &Record, dir: &std::path::Path) -> Report {
    Report {
        end: record.end.clone(),
        exit_code: record.exit_code,
        pipestatus: record.pipestatus.clone(),
        cwd: record.cwd_after.clone(),
        members: Vec::new(),
        proof: record.proof.or(Some(Proof::BestEffort)),
        stdout_bytes: record.stdout_bytes,
        stderr_bytes: record.stderr_bytes,
        dropped_bytes: record.dropped_bytes,
        duration_ms: record.duration_ms.unwrap_or_else(|| {
            record.ended_unix_ms.map_or(0, |ended| ended.saturating_sub(record.started_unix_ms))
        }),
        usage: record.usage,
        dir: supervisor::ByteStr::from(dir),
        durable: true,
    }
}

impl Outcome {
    /// The outcome of a request whose command could not be started.
    pub(crate) fn not_started(terms: &SessionTerms, why: &str, exit_code: i32) -> Self {
        Self {
            status: Status::Failed,
            success: false,
            stdout: String::new(),
            stderr: String::new(),
            exit_code: Some(exit_code),
            duration_ms: 0,
            truncated: false,
            stdout_bytes: 0,
            stderr_bytes: 0,
            dropped_bytes: 0,
            task_id: String::new(),
            session_id: terms.session_id.clone(),
            output_file: None,
            end: Some(End::NotStarted { why: why.to_owned() }),
            pipestatus: None,
            cwd: terms.cwd.to_string_lossy().into_owned(),
            clamped: None,
            background_pids: Some(Vec::new()),
            survivors: Vec::new(),
            boundary: Boundary::Subreaper,
            proof: None,
            protections: Vec::new(),
            usage: crate::outcome::Usage::default(),
            invalid_utf8: 0,
            notices: Vec::new(),
            verdict: None,
            error: None,
        }
    }
}
