//! Sessions that outlive a process: what they were opened with, and where they are.
//!
//! `sessions/NAME.json` is written once and never changed; `NAME.cwd` is replaced whole when a call moves the session;
//! closing begins with the rename of the former to `NAME.closing`. Each step is one atomic operation, so that no lock is
//! held that a stopped process could hold for ever.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use supervisor::{ByteStr, OnOwnerExit, Origin, ProcRef, Survivors};

use super::Persist;
use crate::environ::{ScrubEnv, Variables};
use crate::error::{Error, Result};
use crate::id::{check_name, random_text};
use crate::places::Places;

/// Version of the file that is written.
const SESSION_VERSION: u32 = 1;
/// No file of ours is longer.
const SESSION_BYTES_MAX: u64 = 8 << 20;

/// What a session was opened with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SessionFile {
    pub(crate) version: u32,
    pub(crate) id: String,
    pub(crate) root: ByteStr,
    pub(crate) env: Vec<(ByteStr, ByteStr)>,
    #[serde(default)]
    pub(crate) env_pass: Vec<String>,
    #[serde(default)]
    pub(crate) scrub_env: bool,
    pub(crate) persist: Persist,
    /// The process to whose life the session is bound.
    pub(crate) owner: Option<ProcRef>,
    /// What its pid means.
    pub(crate) origin: Option<Origin>,
    pub(crate) on_owner_exit: OnOwnerExit,
    pub(crate) survivors: Survivors,
    pub(crate) opened_unix_ms: u64,
}

impl SessionFile {
    pub(crate) fn new(id: &str, root: &Path, persist: Persist) -> Self {
        Self {
            version: SESSION_VERSION,
            id: id.to_owned(),
            root: ByteStr::from(root),
            env: Vec::new(),
            env_pass: Vec::new(),
            scrub_env: false,
            persist,
            owner: None,
            origin: None,
            on_owner_exit: OnOwnerExit::default(),
            survivors: Survivors::default(),
            opened_unix_ms: crate::clock::unix_ms(),
        }
    }

    pub(crate) fn set_overlay(&mut self, overlay: &Variables) {
        self.env = overlay.iter().map(|(name, value)| (ByteStr::from(name), ByteStr::from(value))).collect();
    }

    pub(crate) fn overlay(&self) -> Variables {
        let text = |bytes: &ByteStr| OsStr::from_bytes(&bytes.0).to_owned();
        self.env.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    pub(crate) fn scrub(&self) -> Option<ScrubEnv> {
        self.scrub_env.then_some(ScrubEnv::On)
    }

    /// Whether the process to which it is bound has gone.
    pub(crate) fn owner_is_gone(&self) -> bool {
        let here = crate::registry::own_origin();
        self.owner.is_some_and(|owner| self.origin != here || !crate::registry::is_alive(owner.into()))
    }
}

/// The place of one session on disk.
#[derive(Debug, Clone)]
pub(crate) struct Saved {
    dir: PathBuf,
    id: String,
}

impl Saved {
    /// The place of the session `id`, whether there is one or not.
    pub(crate) fn of(places: &Places, id: &str) -> Result<Self> {
        check_name(id)?;
        Ok(Self { dir: directory(places), id: id.to_owned() })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn file(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{}.{what}", self.id))
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        let id = self.id.clone();
        move |source| Error::SessionFile { id, doing, source }
    }

    /// What it was opened with; `None` when there is no such session.
    pub(crate) fn load(&self) -> Result<Option<SessionFile>> {
        for what in ["json", "closing"] {
            match read(&self.file(what)) {
                Ok(_) if what == "closing" => return Err(self.is_closing()),
                Ok(file) => return Ok(Some(file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.failed("read")(error)),
            }
        }
        Ok(None)
    }

    fn is_closing(&self) -> Error {
        Error::BadRequest {
            what: format!("the session {} is being closed", self.id),
            hint: format!("kennel session close {} ends it for good; then open it again", self.id),
        }
    }

    /// Makes it; false when somebody else has made it meanwhile.
    pub(crate) fn create(&self, file: &SessionFile) -> Result<bool> {
        let make = || -> io::Result<bool> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let new = self.write_new(&serde_json::to_vec_pretty(file)?)?;
            let linked = fs::hard_link(&new, self.file("json"));
            fs::remove_file(&new)?;
            match linked {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                other => other.map(|()| true),
            }
        };
        if self.file("closing").exists() {
            return Err(self.is_closing());
        }
        make().map_err(self.failed("write"))
    }

    /// Where its calls have left it.
    pub(crate) fn cwd(&self) -> Option<PathBuf> {
        let bytes = fs::read(self.file("cwd")).ok()?;
        bytes.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(&bytes)))
    }

    /// A call has left it there.
    pub(crate) fn moved(&self, to: &Path) -> io::Result<()> {
        if !self.file("json").exists() {
            // Closed meanwhile: what it was is not to come back.
            return Ok(());
        }
        let new = self.write_new(to.as_os_str().as_bytes())?;
        fs::rename(new, self.file("cwd"))?;
        if !self.exists() {
            // RACE(moved-while-removed): closed since the look above; a later session of this name starts afresh.
            let _removed_already = fs::remove_file(self.file("cwd"));
        }
        Ok(())
    }

    /// From here on no task is started in it.
    pub(crate) fn begin_closing(&self) -> Result<()> {
        match fs::rename(self.file("json"), self.file("closing")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(self.failed("close")),
        }
    }

    /// Somebody has begun to close it.
    pub(crate) fn is_being_closed(&self) -> bool {
        self.file("closing").exists()
    }

    /// Whether it is there, open or being closed.
    pub(crate) fn exists(&self) -> bool {
        self.file("json").exists() || self.file("closing").exists()
    }

    pub(crate) fn remove(&self) {
        for what in ["cwd", "closing", "json"] {
            let _absent = fs::remove_file(self.file(what));
        }
    }

    fn write_new(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let random = random_text(8).map_err(io::Error::other)?;
        let path = self.dir.join(format!(".{}.{random}", self.id));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        match file.write_all(bytes) {
            Ok(()) => Ok(path),
            Err(error) => {
                let _best_effort = fs::remove_file(&path);
                Err(error)
            }
        }
    }
}

/// Every saved session, by id; those that cannot be read with the reason.
pub(crate) fn all(places: &Places) -> Vec<(Saved, io::Result<SessionFile>)> {
    let mut found: Vec<(Saved, io::Result<SessionFile>)> = Vec::new();
    for entry in fs::read_dir(directory(places)).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(id) = name.strip_suffix(".json").or_else(|| name.strip_suffix(".closing")) else { continue };
        if let Ok(saved) = Saved::of(places, id) {
            found.push((saved, read(&entry.path())));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    found
}

fn directory(places: &Places) -> PathBuf {
    places.root().join("sessions")
}

fn read(path: &Path) -> io::Result<SessionFile> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if fs::metadata(path)?.len() > SESSION_BYTES_MAX {
        return Err(invalid("the file is too long to be ours".to_owned()));
    }
    let file: SessionFile =
        serde_json::from_slice(&fs::read(path)?).map_err(|error| invalid(error.to_string()))?;
    if file.version > SESSION_VERSION {
        return Err(invalid(format!("version {} is newer than {SESSION_VERSION}", file.version)));
    }
    Ok(file)
}
