//! The result of a task: from its supervisor's word, else from its record.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use supervisor::wire::{Report, ToSupervisor};
use supervisor::{End, Record};

use super::{Task, refused};
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::link::View;
use crate::outcome::{
    Boundary, Clamped, ClampedValue, Enforced, Notice, Outcome, Proof, Protection, Status, Survivor,
    VerdictSummary,
};
use crate::ports::Listening;
use crate::read;
use crate::registry;
use crate::session::{Door, Persist, SessionTerms};
use crate::text::Ending;

/// How long the guard may take to settle the account of a crashed supervisor.
const CRASH_WAIT: Duration = Duration::from_secs(6);

/// What is known of a task's end.
pub(super) enum Fate {
    /// Its supervisor told.
    Told(Arc<Report>, View),
    /// Its record says so.
    Recorded(Box<Record>, PathBuf),
}

impl Task {
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
        self.over().await;
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
    pub(super) async fn standing(&self) -> Option<(Arc<Report>, View)> {
        let line = self.line.as_ref()?;
        let asked = line.view.borrow().statuses;
        let _closed = line.order(ToSupervisor::Status).await;
        let view = line.until(|view| view.statuses > asked || view.ended.is_some()).await;
        let report = view.ended.clone().or_else(|| view.status.clone().filter(|_| view.statuses > asked))?;
        Some((report, view))
    }

    pub(super) async fn fate(&self) -> Result<Fate> {
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
                let (session_id, cwd) = self.session_and_cwd(&report);
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
        let told = || [self.launch_notices.clone(), view.notices.clone()].concat();
        if self.terms.is_some() {
            told()
        } else {
            self.record().map_or_else(|_gone| told(), |record| record.notices)
        }
    }

    /// The session, and where its next call starts. The end of a foreground call moves the session, once.
    fn session_and_cwd(&self, report: &Report) -> (String, String) {
        let text = |cwd: &supervisor::ByteStr| cwd.to_text();
        let Some(terms) = &self.terms else {
            return match self.record() {
                Ok(record) => {
                    let cwd = report.cwd.as_ref().unwrap_or(&record.cwd).to_text();
                    (record.session_id, cwd)
                }
                Err(_removed_meanwhile) => (String::new(), report.cwd.as_ref().map(text).unwrap_or_default()),
            };
        };
        let moves = self.bonds.moves_session.swap(false, Ordering::Relaxed);
        if let Some(cwd) = report.cwd.as_ref().filter(|_| moves && report.end.is_some()) {
            terms.whereabouts.moved(cwd.as_path().to_owned());
        }
        let cwd = match (&report.cwd, terms.whereabouts.persist(), terms.door) {
            // It has no next call: where the command itself ended is all there is to say.
            (Some(cwd), Persist::None, Door::Wrapper) => cwd.to_text(),
            _ => terms.whereabouts.next().to_string_lossy().into_owned(),
        };
        (terms.session_id.clone(), cwd)
    }

    fn assemble(&self, report: &Report, known: Known) -> Result<Outcome> {
        let dir = report.dir.as_path();
        let ending = if report.end.is_some() { Ending::Closed } else { Ending::Open };
        let (out, err) = read::render_streams(dir, self.max_output, ending, &self.id)?;
        let survivors = survivors(&report.members);
        let background =
            report.end.is_some().then(|| survivors.iter().map(|survivor| survivor.pid).collect());
        let truncated = out.truncated || err.truncated;
        let whose = (self.id.as_str(), known.session_id.as_str());
        let refused = refused::notice(&err.text, &report.protections, whose, &self.registry);
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
            protections: protections(report, &known.notices),
            usage: report.usage,
            invalid_utf8: out.invalid + err.invalid,
            verdict: VerdictSummary::of_notices(&known.notices),
            notices: news(known.notices, report).into_iter().chain(refused).collect(),
            error: None,
        })
    }
}

struct Known {
    session_id: String,
    cwd: String,
    notices: Vec<Notice>,
    boundary: Boundary,
}

/// What is told elsewhere in the outcome is no news, and neither is a wait for input that is over.
fn news(notices: Vec<Notice>, report: &Report) -> Vec<Notice> {
    let waits = report.input.is_none_or(|input| input.waiting == Some(true));
    let last_wait = notices.iter().rposition(|notice| matches!(notice, Notice::WaitingForInput { .. }));
    let is_news = |(at, notice): &(usize, Notice)| match notice {
        Notice::Scrubbed { .. } => false,
        Notice::WaitingForInput { .. } => waits && Some(*at) == last_wait,
        _ => true,
    };
    notices.into_iter().enumerate().filter(is_news).map(|(_, notice)| notice).collect()
}

/// Whether a report is one of an end, or of a task that went to the background.
pub(super) fn ends(report: &Report) -> bool {
    report.end.is_some() || report.durable && report.exit_code.is_none() && report.proof.is_none()
}

/// Live members with the ports on which they listen.
pub(crate) fn survivors(members: &[supervisor::wire::MemberInfo]) -> Vec<Survivor> {
    let pids: Vec<i32> = members.iter().map(|member| member.pid).collect();
    let mut listened = crate::ports::by_process(&pids);
    members
        .iter()
        .map(|member| {
            let Listening { ports, sockets } = listened.remove(&member.pid).unwrap_or_default();
            let (command, held) = (member.command.clone(), member.held.clone());
            Survivor { pid: member.pid, command, ports, sockets, held }
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

fn protections(report: &Report, notices: &[Notice]) -> Vec<Protection> {
    let protection = |name: &str, enforced| Protection {
        name: name.to_owned(),
        asked: "yes".to_owned(),
        enforced,
        why: None,
        names: Vec::new(),
    };
    let told = notices.iter().filter_map(|notice| match notice {
        Notice::Weaker { name, why } => {
            Some(Protection { why: Some(why.clone()), ..protection(name, Enforced::Partly) })
        }
        Notice::Scrubbed { names } => {
            Some(Protection { names: names.clone(), ..protection("scrub_env", Enforced::Fully) })
        }
        _ => None,
    });
    report.protections.iter().cloned().chain(told).collect()
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
        input: None,
        protections: record.protections.clone(),
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
            cwd: terms.whereabouts.next().to_string_lossy().into_owned(),
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
