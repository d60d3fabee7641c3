//! Sessions of the server: made when they are first named, bounded in number, ended with proof.
//!
//! A session belongs to a tenant: the stdio server itself, or the bearer of one token. Tenants do not see each other.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kennel::{Kennel, Session, Status, Task, TaskInfo};
use rmcp::model::RequestStateCodec;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, watch};

use super::answer::Refusal;
use crate::config;

/// Sessions that one server holds open: each is a process of its own, its guard.
const SESSIONS_MAX: usize = 64;
/// Characters that a bearer's name leaves of an id.
const NAME_BESIDE_TENANT_MAX: usize = 46;
/// Positions and questions that are remembered.
const REMEMBERED_MAX: usize = 1024;
/// Descriptors that are left to everything that is not a call.
const FDS_RESERVED: u64 = 128;

/// What a server is told at its start.
#[derive(Debug, Clone, Default)]
pub(crate) struct EngineOptions {
    /// Where sessions begin.
    pub(crate) root: Option<PathBuf>,
    /// Ask before a task is killed that is older than this.
    pub(crate) confirm_kill_after: Option<Duration>,
}

/// Whose sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tenant {
    /// The client on the standard streams: sees all tasks of the user, as a terminal does.
    Local,
    /// The bearer of a token, by a name derived from it: sees what was started with that token.
    Bearer(String),
}

impl Tenant {
    /// The session's id as the disk knows it.
    fn whole_id(&self, id: &str) -> String {
        match self {
            Self::Local => id.to_owned(),
            Self::Bearer(name) => format!("{name}.{}", short(id)),
        }
    }

    /// The session's id as this tenant knows it; `None`: another's.
    pub(crate) fn own_id<'id>(&self, whole: &'id str) -> Option<&'id str> {
        match self {
            Self::Local => Some(whole),
            Self::Bearer(name) => whole.strip_prefix(name.as_str())?.strip_prefix('.'),
        }
    }

    /// For binding a question to who was asked.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Bearer(name) => name,
        }
    }
}

/// A name of 64 characters beside a tenant's in the 64 of an id: the end of a long one becomes a digest.
fn short(name: &str) -> String {
    if name.len() <= NAME_BESIDE_TENANT_MAX {
        return name.to_owned();
    }
    let digest = Sha256::digest(name);
    let digest = digest.first_chunk::<8>().map_or(0, |part| u64::from_be_bytes(*part));
    let head: String = name.chars().take(NAME_BESIDE_TENANT_MAX - 17).collect();
    format!("{head}.{digest:016x}")
}

/// The library with what outlives a connection.
#[derive(Debug)]
pub(crate) struct Engine {
    options: EngineOptions,
    kennel: OnceCell<Kennel>,
    sessions: Mutex<Sessions>,
    positions: Mutex<VecDeque<(String, u64)>>,
    questions: Mutex<HashSet<String>>,
    codec: RequestStateCodec,
    calls: Arc<Semaphore>,
    calls_max: usize,
    closing: watch::Sender<bool>,
}

type Slot = Arc<OnceCell<Session>>;

#[derive(Debug, Default)]
struct Sessions {
    /// By tenant and name; the one without a name is the default.
    open: HashMap<(String, String), Slot>,
    /// Names in the order of their last use.
    used: Vec<(String, String)>,
}

impl Engine {
    pub(crate) fn new(options: EngineOptions) -> anyhow::Result<Self> {
        let key = random_bytes::<32>()?;
        let calls_max = calls_max();
        Ok(Self {
            options,
            kennel: OnceCell::new(),
            sessions: Mutex::default(),
            positions: Mutex::default(),
            questions: Mutex::default(),
            codec: RequestStateCodec::try_new(key)?,
            calls: Arc::new(Semaphore::new(calls_max)),
            calls_max,
            closing: watch::Sender::new(false),
        })
    }

    pub(crate) fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Calls that may be under way at once; also what a server has descriptors for in connections.
    pub(crate) fn calls_max(&self) -> usize {
        self.calls_max
    }

    pub(crate) fn codec(&self) -> &RequestStateCodec {
        &self.codec
    }

    /// The library's entry. Not at the start of the server: a client that only lists tools needs no state directory.
    pub(crate) async fn kennel(&self) -> Result<&Kennel, Refusal> {
        Ok(self.kennel.get_or_try_init(|| Kennel::builder().build()).await?)
    }

    /// A place among the calls that may hold descriptors at once.
    pub(crate) async fn admit(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let closed = || Refusal::own("closing", "the server is ending");
        if *self.closing.borrow() {
            return Err(closed());
        }
        Arc::clone(&self.calls).acquire_owned().await.map_err(|_closed| closed())
    }

    /// Comes back when the server ends.
    pub(crate) async fn closing(&self) {
        let mut closing = self.closing.subscribe();
        let _sender_gone = closing.wait_for(|closing| *closing).await;
    }

    /// The session of this name, made when there is none. `root` is asked only then.
    pub(crate) async fn session(
        &self,
        tenant: &Tenant,
        id: Option<&str>,
        root: impl Future<Output = Option<PathBuf>>,
    ) -> Result<SessionUse, Refusal> {
        let name = id.unwrap_or_default();
        if id.is_some() && !is_name(name) {
            return Err(Refusal::argument(
                "session_id",
                format!("`session_id` is {name:?}"),
                "`session_id` is 1 to 64 of A-Z a-z 0-9 . _ -".to_owned(),
            ));
        }
        // Lists tell a long name as it is on disk: both mean the same session.
        let name = if *tenant == Tenant::Local { name.to_owned() } else { short(name) };
        let key = (tenant.name().to_owned(), name);
        let slot = self.slot(&key).await?;
        let session = slot.get_or_try_init(|| Box::pin(self.open(tenant, id, root))).await?;
        self.know_default(&key, session, &slot);
        Ok(SessionUse { slot: Arc::clone(&slot) })
    }

    async fn open(
        &self,
        tenant: &Tenant,
        id: Option<&str>,
        root: impl Future<Output = Option<PathBuf>>,
    ) -> Result<Session, Refusal> {
        let kennel = self.kennel().await?;
        let root = match &self.options.root {
            Some(root) => Some(root.clone()),
            None => root.await,
        };
        let here = config::here();
        let root = root.map_or_else(|| here.clone(), |root| here.join(root));
        let config = config::load(&root).map_err(|fault| Refusal::of_fault("configuration", &fault))?;
        let mut builder = kennel.session().config(config).cwd(root);
        match (id, tenant) {
            (Some(id), _) => builder = builder.id(tenant.whole_id(id)),
            (None, Tenant::Bearer(_)) => builder = builder.id(tenant.whole_id("default")),
            (None, Tenant::Local) => {}
        }
        Ok(builder.open().await?)
    }

    /// The default session can be named too, by the id that results tell.
    fn know_default(&self, key: &(String, String), session: &Session, slot: &Slot) {
        if key.1.is_empty() {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let name = session.id().strip_prefix(&format!("{}.", key.0)).unwrap_or(session.id());
            sessions.open.insert((key.0.clone(), name.to_owned()), Arc::clone(slot));
        }
    }

    async fn slot(&self, key: &(String, String)) -> Result<Slot, Refusal> {
        loop {
            let idle = {
                let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
                sessions.used.retain(|used| used != key);
                sessions.used.push(key.clone());
                if let Some(slot) = sessions.open.get(key) {
                    return Ok(Arc::clone(slot));
                }
                if sessions.open.len() < SESSIONS_MAX {
                    let slot = Slot::default();
                    sessions.open.insert(key.clone(), Arc::clone(&slot));
                    return Ok(slot);
                }
                sessions.used.clone()
            };
            self.end_one_idle(&idle).await?;
        }
    }

    /// Makes room: ends the session that was not used for longest and in which nothing runs.
    async fn end_one_idle(&self, by_age: &[(String, String)]) -> Result<(), Refusal> {
        let busy: HashSet<String> = self
            .kennel()
            .await?
            .tasks()
            .into_iter()
            .filter(|task| task.status == Status::Running)
            .map(|task| task.session_id)
            .collect();
        let taken = {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = by_age.iter().find(|key| {
                !key.1.is_empty()
                    && sessions.open.get(*key).is_some_and(|slot| {
                        Arc::strong_count(slot) == 1
                            && slot.get().is_none_or(|session| !busy.contains(session.id()))
                    })
            });
            let idle = idle.cloned();
            idle.and_then(|key| {
                sessions.used.retain(|used| *used != key);
                sessions.open.remove(&key)
            })
        };
        let Some(slot) = taken else {
            return Err(Refusal::own(
                "too_many_sessions",
                format!("{SESSIONS_MAX} sessions are open and something runs in each"),
            )
            .with_hint("use a `session_id` that exists, or end tasks with KillShell"));
        };
        if let Some(session) = Arc::into_inner(slot).and_then(OnceCell::into_inner) {
            session.close().await;
        }
        Ok(())
    }

    /// A task of this tenant, by its id or the beginning of it. Another's task and none at all look the same.
    pub(crate) async fn task(&self, tenant: &Tenant, id: &str) -> Result<Task, Refusal> {
        let kennel = self.kennel().await?;
        if *tenant == Tenant::Local {
            return Ok(kennel.task(id).await?);
        }
        Ok(kennel.task_of(id, |session| tenant.own_id(session).is_some()).await?)
    }

    /// The tasks of this tenant, oldest first.
    pub(crate) async fn tasks(&self, tenant: &Tenant) -> Result<Vec<TaskInfo>, Refusal> {
        let kennel = self.kennel().await?;
        let tasks = kennel.tasks();
        let own = tasks.into_iter().filter_map(|mut task| {
            task.session_id = tenant.own_id(&task.session_id)?.to_owned();
            Some(task)
        });
        let mut own: Vec<TaskInfo> = own.collect();
        kennel.ask_who_waits(&mut own).await;
        Ok(own)
    }

    /// Where the last read of a task ended.
    pub(crate) fn position(&self, task: &str) -> u64 {
        let positions = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        positions.iter().find(|(id, _)| id == task).map_or(0, |(_, offset)| *offset)
    }

    pub(crate) fn set_position(&self, task: &str, offset: u64) {
        let mut positions = self.positions.lock().unwrap_or_else(PoisonError::into_inner);
        positions.retain(|(id, _)| id != task);
        positions.push_back((task.to_owned(), offset));
        if positions.len() > REMEMBERED_MAX {
            positions.pop_front();
        }
    }

    /// Notes a question that was put; `false`: too many are open.
    pub(crate) fn put_question(&self, nonce: &str) -> bool {
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        if questions.len() >= REMEMBERED_MAX {
            // Answers to old ones are asked for again.
            questions.clear();
        }
        questions.insert(nonce.to_owned())
    }

    /// Whether the question was put and not answered yet: an answer counts once.
    pub(crate) fn take_question(&self, nonce: &str) -> bool {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).remove(nonce)
    }

    /// Waits at most `patience` for calls to end by themselves, then tells them to, then ends all sessions. Everything
    /// that is not kept is dead when this comes back within `limit`.
    pub(crate) async fn close(&self, patience: Duration, limit: Duration) {
        let all = u32::try_from(self.calls_max).unwrap_or(u32::MAX);
        tokio::select! {
            _none_is_left = self.calls.acquire_many(all) => {}
            () = crate::clock::passed(Some(patience)) => {}
        }
        self.closing.send_replace(true);
        tokio::select! {
            _none_is_left = self.calls.acquire_many(all) => {}
            () = crate::clock::passed(Some(limit / 2)) => {}
        }
        let sessions = std::mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner));
        let ends = sessions.open.into_values().filter_map(|slot| {
            // The default session is in the table under two names; the last one to go is the session.
            Arc::into_inner(slot).and_then(OnceCell::into_inner)
        });
        let ends: Vec<_> = ends.map(|session| tokio::spawn(session.close_within(limit / 2))).collect();
        for end in ends {
            if !matches!(end.await, Ok(true)) {
                tracing::warn!("a session could not be proved empty; its guard goes on");
            }
        }
    }
}

/// A session while a call uses it.
#[derive(Debug)]
pub(crate) struct SessionUse {
    slot: Slot,
}

impl SessionUse {
    pub(crate) fn session(&self) -> Result<&Session, Refusal> {
        self.slot.get().ok_or_else(|| Refusal::own("session", "the session is not open"))
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

pub(crate) fn random_bytes<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    anyhow::ensure!(got == N, "failed to get random bytes");
    Ok(bytes)
}

/// Each call holds one descriptor, for a moment two or three, and over HTTP its connection another.
fn calls_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4096);
    usize::try_from((limit.saturating_sub(FDS_RESERVED) / 2).clamp(16, 4096)).unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_fits_beside_the_tenant_and_is_its_own() {
        let tenant = Tenant::Bearer(format!("t{:016x}", 7));
        let (one, other) = ("n".repeat(64), "n".repeat(63));
        for name in [one.as_str(), other.as_str(), "short"] {
            let whole = tenant.whole_id(name);
            assert!(whole.len() <= 64, "{whole}");
            let told = tenant.own_id(&whole).unwrap();
            assert_eq!(tenant.whole_id(told), whole, "the told name means the same");
        }
        assert_ne!(tenant.whole_id(&one), tenant.whole_id(&other));
        assert_eq!(tenant.own_id("t0000000000000008.x"), None);
    }
}
