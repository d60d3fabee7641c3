//! Ending a task from outside its supervisor, also when its keepers are stopped or gone.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use supervisor::wire::{FromSupervisor, KillAnswer, KillOrder, Proof, ToSupervisor};
use supervisor::{ProcRef, Record, StoppedBy, signal_name};

use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::link::{Line, Link, View};
use crate::outcome::{KillReport, Survivor};
use crate::ports::Listening;
use crate::recover;
use crate::registry::{self, Registry, Standing};
use crate::request::GRACE_DEFAULT;

/// A supervisor that has not taken the order by then is taken for stopped or broken.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);
/// A keeper that has not taken it by then may be stopped, and hears nothing until it is woken.
const WAKE_AFTER: Duration = Duration::from_millis(10);
/// The supervisor answers at the latest so long after the grace; the rest is for the way.
const ANSWER_WITHIN: Duration = Duration::from_millis(6500);

/// Of so many members, those nearest to the leader, the ports are looked up before a kill: a server is among them, and
/// a look at thousands would take longer than their end.
const PORTS_OF_MEMBERS_MAX: usize = 64;

/// A living guard has swept and told by then.
const GUARD_WITHIN: Duration = Duration::from_secs(3);
/// Its word is a file; it is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How to end a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a kill does nothing until a task performs it"]
pub struct Kill {
    signal: i32,
    grace: Duration,
    force: bool,
    by: StoppedBy,
    ports: Ports,
}

/// Whether the report of a kill names the ports that are free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ports {
    Unasked,
    Told,
}

impl Kill {
    /// SIGTERM, a grace of 5 s, then SIGKILL.
    pub fn terminate() -> Self {
        Self::with_signal(15)
    }

    /// SIGINT, a grace of 5 s, then SIGKILL.
    pub fn interrupt() -> Self {
        Self::with_signal(2)
    }

    /// SIGKILL at once.
    pub fn now() -> Self {
        Self::with_signal(9).grace(Duration::ZERO)
    }

    /// This signal first.
    pub fn with_signal(signal: i32) -> Self {
        Self { signal, grace: GRACE_DEFAULT, force: true, by: StoppedBy::User, ports: Ports::Unasked }
    }

    /// Time between the first signal and SIGKILL.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// No SIGKILL: what does not heed the signal lives on.
    pub fn no_force(mut self) -> Self {
        self.force = false;
        self
    }

    /// The report names the ports that are free again. To look for them takes longer than a small tree takes to end.
    pub fn telling_freed_ports(mut self) -> Self {
        self.ports = Ports::Told;
        self
    }

    /// The end is recorded as a cancel of the call.
    pub fn as_cancel(mut self) -> Self {
        self.by = StoppedBy::Cancel;
        self
    }

    pub(crate) fn by_session_end(mut self) -> Self {
        self.by = StoppedBy::Session;
        self
    }

    pub(crate) fn order(&self) -> KillOrder {
        KillOrder {
            signal: self.signal,
            grace_ms: u64::try_from(self.grace.as_millis()).unwrap_or(u64::MAX),
            force: self.force,
            by: self.by,
        }
    }
}

pub(crate) async fn perform(
    registry: &Registry,
    id: &str,
    line: Option<&Line>,
    kill: &Kill,
) -> Result<KillReport> {
    let line = line.filter(|line| kill.ports == Ports::Unasked && runs(&line.view.borrow()));
    let (asked, listened) = if let Some(line) = line {
        // Who has the task's connection knows that it runs, and needs no record.
        (ask(over_line(line, kill), || keepers(registry, id), kill.grace).await, Listening::default())
    } else {
        let found = registry.exact(id).ok_or_else(|| Error::UnknownTask { id: id.to_owned() })?;
        let record = found.record.map_err(|source| Error::Record { id: id.to_owned(), source })?;
        match registry::standing(&record, registry::own_origin().as_ref()) {
            Standing::Final => return Ok(already_ended(&record)),
            Standing::Foreign => {
                return Ok(refused(id, "the task belongs to another machine or PID namespace"));
            }
            Standing::Kept | Standing::Orphaned | Standing::EarlierBoot => {}
        }
        let listened = match kill.ports {
            Ports::Told => crate::ports::of_all(&registry::nearest_members(&record, PORTS_OF_MEMBERS_MAX)),
            Ports::Unasked => Listening::default(),
        };
        let order = over_own_connection(&found.dir, kill);
        (ask(order, || Some([record.guard, record.supervisor]), kill.grace).await, listened)
    };
    match asked {
        Asked::Answered(answer) => Ok(report(id, kill, &answer, &listened)),
        Asked::Deaf => by_force(registry, id, kill, &listened).await,
        // It ended, or moved to the state directory, while we came.
        Asked::Ended => match registry.exact(id) {
            Some(found) => match found.record {
                Ok(record) if record.is_final() => Ok(already_ended(&record)),
                _ => by_force(registry, id, kill, &listened).await,
            },
            None => Err(Error::UnknownTask { id: id.to_owned() }),
        },
    }
}

fn runs(view: &View) -> bool {
    view.started.is_some() && view.ended.is_none() && !view.closed
}

fn keepers(registry: &Registry, id: &str) -> Option<[ProcRef; 2]> {
    let record = registry.exact(id)?.record.ok()?;
    Some([record.guard, record.supervisor])
}

enum Asked {
    Answered(KillAnswer),
    /// The connection could not be made or ended without an answer.
    Ended,
    /// There is a supervisor and it does not react.
    Deaf,
}

/// Waits until the supervisor has taken the order, waking keepers that may be stopped, then for its answer.
async fn ask<Answer: Future<Output = Option<KillAnswer>>>(
    order: impl Future<Output = Option<Answer>>,
    keepers: impl FnOnce() -> Option<[ProcRef; 2]>,
    grace: Duration,
) -> Asked {
    let mut order = std::pin::pin!(order);
    let mut keepers = Some(keepers);
    let deadline = Deadline::after(TAKEN_WITHIN);
    let answer = loop {
        tokio::select! {
            taken = &mut order => match taken { Some(answer) => break answer, None => return Asked::Ended },
            () = Deadline::after(WAKE_AFTER).passed(), if keepers.is_some() => {
                let keepers = keepers.take().and_then(|keepers| keepers());
                keepers.into_iter().flatten().for_each(|keeper| supervisor::wake(keeper.into()));
            }
            () = deadline.passed() => return Asked::Deaf,
        }
    };
    let deadline = Deadline::after(grace + ANSWER_WITHIN);
    tokio::select! {
        answer = answer => answer.map_or(Asked::Ended, Asked::Answered),
        () = deadline.passed() => Asked::Deaf,
    }
}

/// The order over the connection that the task's session has.
async fn over_line(line: &Line, kill: &Kill) -> Option<impl Future<Output = Option<KillAnswer>>> {
    let before = line.view.borrow().kills.clone();
    line.order(ToSupervisor::Kill(kill.order())).await.ok()?;
    let view = line.until(|view| view.kills.taken > before.taken).await;
    (view.kills.taken > before.taken).then_some(async move {
        let view = line.until(|view| view.kills.answered > before.answered).await;
        let answer = view.kills.answer.filter(|_| view.kills.answered > before.answered);
        answer.map(Arc::unwrap_or_clone)
    })
}

/// The order through the task's door.
async fn over_own_connection(dir: &Path, kill: &Kill) -> Option<impl Future<Output = Option<KillAnswer>>> {
    let mut link = Link::connect_patiently(dir).await.ok()?;
    link.send(&ToSupervisor::Kill(kill.order())).await.ok()?;
    while !matches!(link.receive().await.ok()??, FromSupervisor::KillTaken) {}
    Some(async move {
        loop {
            if let FromSupervisor::Killed(answer) = link.receive().await.ok()?? {
                return Some(answer);
            }
        }
    })
}

/// The supervisor does not answer: SIGKILL to it, which hands its tree to the guard, then our own sweep by tag.
async fn by_force(registry: &Registry, id: &str, kill: &Kill, listened: &Listening) -> Result<KillReport> {
    let found = registry.exact(id).ok_or_else(|| Error::UnknownTask { id: id.to_owned() })?;
    let record = found.record.map_err(|source| Error::Record { id: id.to_owned(), source })?;
    let began = crate::clock::unix_ms();
    let supervisor_id = record.supervisor.into();
    let _gone = proctree::signal_checked(supervisor_id, Signal::KILL);
    supervisor::wake(record.guard.into());
    // The guard sweeps what its supervisor left, and its ECHILD is the better proof.
    let settled = settled_by_guard(registry, id).await;
    let swept = match &settled {
        Some(_) => None,
        None => tokio::task::spawn_blocking({
            let record = record.clone();
            move || recover::sweep(&record)
        })
        .await
        .ok(),
    };
    if let (None, Some(found)) = (&settled, registry.exact(id)) {
        registry::describe(&found, registry::own_origin().as_ref());
    }
    let record = registry.exact(id).and_then(|found| found.record.ok()).unwrap_or(record);
    let proof = record.proof.or(swept.as_ref().map(|swept| swept.proof)).unwrap_or(Proof::BestEffort);
    let survivors: Vec<Survivor> = swept
        .map(|swept| swept.left)
        .unwrap_or_default()
        .into_iter()
        .map(|pid| Survivor {
            pid,
            command: String::new(),
            ports: Vec::new(),
            sockets: Vec::new(),
            held: Some("still listed after SIGKILL".into()),
        })
        .collect();
    let left: Vec<i32> = survivors.iter().map(|survivor| survivor.pid).collect();
    let freed = listened.without(&crate::ports::of_all(&left));
    Ok(KillReport {
        success: survivors.is_empty(),
        shell_id: id.to_owned(),
        signal_sent: signal_name(kill.signal),
        force_killed: true,
        exit_code: record.exit_code,
        error: Some("its supervisor did not answer and was killed".to_owned()),
        survivors,
        freed_ports: freed.ports,
        freed_sockets: freed.sockets,
        waited_ms: crate::clock::unix_ms().saturating_sub(began),
        proof: Some(proof),
    })
}

/// Waits for the last record that a living guard writes about a crashed supervisor's task.
async fn settled_by_guard(registry: &Registry, id: &str) -> Option<Record> {
    let settled = async {
        loop {
            let record = registry.exact(id)?.record.ok()?;
            if record.is_final() {
                return Some(record);
            }
            if !registry::is_alive(record.guard.into()) {
                return None;
            }
            Deadline::after(LOOK_EVERY).passed().await;
        }
    };
    let deadline = Deadline::after(GUARD_WITHIN);
    tokio::select! {
        settled = settled => settled,
        () = deadline.passed() => None,
    }
}

fn report(id: &str, kill: &Kill, answer: &KillAnswer, listened: &Listening) -> KillReport {
    let survivors = crate::task::survivors(&answer.members);
    let kept = Listening {
        ports: survivors.iter().flat_map(|survivor| survivor.ports.clone()).collect(),
        sockets: survivors.iter().flat_map(|survivor| survivor.sockets.clone()).collect(),
    };
    let freed = listened.without(&kept);
    KillReport {
        success: answer.empty,
        shell_id: id.to_owned(),
        signal_sent: signal_name(kill.signal),
        force_killed: answer.forced,
        exit_code: answer.exit_code,
        error: (!answer.empty).then(|| "not everything could be ended".to_owned()),
        survivors,
        freed_ports: freed.ports,
        freed_sockets: freed.sockets,
        waited_ms: answer.waited_ms,
        proof: answer.proof,
    }
}

fn already_ended(record: &Record) -> KillReport {
    KillReport {
        success: true,
        shell_id: record.id.clone(),
        signal_sent: "none".to_owned(),
        force_killed: false,
        exit_code: record.exit_code,
        error: None,
        survivors: Vec::new(),
        freed_ports: Vec::new(),
        freed_sockets: Vec::new(),
        waited_ms: 0,
        proof: record.proof,
    }
}

fn refused(id: &str, why: &str) -> KillReport {
    KillReport {
        success: false,
        shell_id: id.to_owned(),
        signal_sent: "none".to_owned(),
        force_killed: false,
        exit_code: None,
        error: Some(why.to_owned()),
        survivors: Vec::new(),
        freed_ports: Vec::new(),
        freed_sockets: Vec::new(),
        waited_ms: 0,
        proof: None,
    }
}
