//! From a builder to an open session, or to a saved one.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use proctree::PidFd;
use supervisor::ProcRef;

use super::quota::LastLook;
use super::store::{Saved, SessionFile};
use super::{Door, Persist, Session, SessionBuilder, SessionTerms, Whereabouts, check_directory, login};
use crate::environ::{self, ScrubEnv, Variables};
use crate::error::{Error, Result};
use crate::guard::{GuardLine, GuardStart};
use crate::id::{check_name, random_text};
use crate::outcome::Notice;
use crate::shell::Shell;

impl SessionBuilder {
    /// Opens the session: starts its guard.
    ///
    /// # Errors
    /// [`Error::BadRequest`] for a missing directory, shell or owner, [`Error::MalformedId`], [`Error::NotInitialised`],
    /// [`Error::Guard`].
    ///
    /// # Cancel safety
    /// A dropped future leaves no guard: it ends when its line closes.
    pub async fn open(mut self) -> Result<Session> {
        let session_id = self.take_id()?;
        let (whereabouts, bound) = self.find_itself(&session_id)?;
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let owner_pid = self.owner_pid.or(bound.map(|owner| owner.pid)).unwrap_or(own);
        let owner = owner_handle(owner_pid)?;
        let guard_is_fresh = matches!(self.guard, GuardStart::Fork(_));
        self.env.pass.extend(self.settings.env_pass.value.0.iter().cloned());
        self.env.login |= self.door == Door::Agent && self.settings.inherit_login_env.value;
        let mut notices = Vec::new();
        let mut base = self.env.base.take().unwrap_or_else(own_environment);
        if self.env.login {
            let read = login::environment(self.places.clone(), self.guard.clone(), base.clone()).await;
            match read {
                Ok(login) => base = login,
                Err(why) => notices.push(Notice::Weaker { name: "login_env".to_owned(), why }),
            }
        }
        let environment = self.env.apply(base, self.door);
        let shell = match &self.shell {
            Some(shell) => Some(Shell::named(shell, &environment.variables)?),
            None => Shell::bash(&environment.variables),
        };
        let guard = GuardLine::start(&self.guard, self.places.task_dirs(), owner.as_ref(), owner_pid)?;
        tracing::debug!(session = %session_id, guard = guard.pid(), "opened a session");
        let terms = SessionTerms {
            session_id,
            door: self.door,
            whereabouts,
            environment,
            notices,
            shell,
            settings: self.settings,
            survivors: self.survivors,
            on_owner_exit: self.on_owner_exit,
            places: self.places,
            owner_pid,
            check: self.check,
            last_look: LastLook::default(),
            guard_is_fresh,
            sandbox: self.sandbox,
            limits: self.limits,
        };
        Ok(Session::new(terms, guard))
    }

    /// Remembers the session without opening it; gives its id.
    ///
    /// # Errors
    /// As [`SessionBuilder::open`], and [`Error::BadRequest`] when a session of this name is open.
    pub fn save(mut self) -> Result<String> {
        let id = self.take_id()?;
        let saved = Saved::of(&self.places, &id)?;
        let file = self.to_file(&id)?;
        if !saved.create(&file)? {
            return Err(Error::BadRequest {
                what: format!("the session {id} is open already"),
                hint: format!("kennel session show {id}, or kennel session close {id}"),
            });
        }
        Ok(id)
    }

    fn take_id(&mut self) -> Result<String> {
        match self.id.take() {
            Some(id) => check_name(&id).map(|()| id),
            None => Ok(format!("s-{}", random_text(26)?)),
        }
    }

    /// Root and directory; those of a saved session as it left them, with the process to which it is bound.
    fn find_itself(&mut self, id: &str) -> Result<(Whereabouts, Option<ProcRef>)> {
        if !self.saved {
            let root = self.root().or_else(|error| self.gone_root().ok_or(error))?;
            let persist = self.persist.unwrap_or(match self.door {
                Door::Agent => Persist::Cwd,
                Door::Wrapper => Persist::None,
            });
            return Ok((Whereabouts::new(root.clone(), root, persist, None), None));
        }
        let saved = Saved::of(&self.places, id)?;
        let file = if let Some(file) = saved.load()? {
            file
        } else {
            let file = self.to_file(id)?;
            // Whoever was quicker has decided what it is.
            let ours = saved.create(&file)?;
            if ours { file } else { saved.load()?.unwrap_or(file) }
        };
        if file.owner_is_gone() {
            return Err(Error::BadRequest {
                what: format!("the session {id} was bound to a process that has ended"),
                hint: format!("kennel session close {id}, then open it again"),
            });
        }
        self.adopt(&file);
        let root = file.root.as_path().to_owned();
        let current = saved.cwd().unwrap_or_else(|| root.clone());
        Ok((Whereabouts::new(root, current, file.persist, Some(saved)), file.owner))
    }

    /// What the session was opened with holds; what this opening adds comes on top.
    fn adopt(&mut self, file: &SessionFile) {
        let added = std::mem::replace(&mut self.env.overlay, file.overlay());
        for (name, value) in &added {
            environ::set(&mut self.env.overlay, name, value);
        }
        self.env.pass.extend(file.env_pass.iter().cloned());
        self.env.scrub = self.env.scrub.or(file.scrub());
        self.survivors = file.survivors;
        self.on_owner_exit = file.on_owner_exit;
    }

    fn to_file(&self, id: &str) -> Result<SessionFile> {
        let persist = self.persist.unwrap_or(Persist::Cwd);
        let mut file = SessionFile::new(id, &self.root()?, persist);
        file.set_overlay(&self.env.overlay);
        file.env_pass.clone_from(&self.env.pass);
        file.scrub_env = self.env.scrub == Some(ScrubEnv::On);
        file.survivors = self.survivors;
        file.on_owner_exit = self.on_owner_exit;
        if let Some(pid) = self.owner_pid {
            owner_handle(pid)?;
            file.owner = proctree::proc_id(pid).map(ProcRef::from);
            file.origin = crate::registry::own_origin();
        }
        Ok(file)
    }

    fn root(&self) -> Result<PathBuf> {
        let here = || std::env::current_dir().map_err(Error::io("find the current directory"));
        let root = match &self.cwd {
            Some(cwd) if cwd.is_absolute() => cwd.clone(),
            Some(cwd) => here()?.join(cwd),
            None => here()?,
        };
        check_directory("the session's directory", &root)?;
        Ok(root)
    }

    /// The name of a current directory that was removed. Calls that name another one work; those that do not are refused.
    fn gone_root(&self) -> Option<PathBuf> {
        let gone = self.cwd.is_none() && std::env::current_dir().is_err();
        gone.then(|| std::fs::read_link("/proc/self/cwd").ok()).flatten()
    }
}

fn owner_handle(pid: i32) -> Result<Option<OwnedFd>> {
    match PidFd::open(pid) {
        Ok(Some(handle)) => Ok(Some(handle.into_owned_fd())),
        Ok(None) => Err(Error::BadRequest {
            what: format!("the owner, process {pid}, does not exist"),
            hint: "give the pid of a running process".to_owned(),
        }),
        // Without pidfds the lifeline alone speaks for the owner.
        Err(_unsupported) => Ok(None),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a session's commands inherit the program's environment by default"
)]
fn own_environment() -> Variables {
    std::env::vars_os().collect()
}
