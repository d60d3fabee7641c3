//! Where state lives, and that nobody else can write there (INTERFACES, "Places").

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const TASKS: &str = "tasks";

/// The directories that hold task directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// The durable root.
    pub(crate) root: PathBuf,
    /// Lasts; on a disk.
    pub(crate) durable: PathBuf,
    /// Fast; on tmpfs; absent where there is none.
    pub(crate) volatile: Option<PathBuf>,
    /// The state directory is not the usual one, and why.
    pub(crate) fallback: Option<String>,
}

impl Places {
    /// Finds and makes the directories, as the environment of the process says.
    pub(crate) fn find(state_dir: Option<&Path>) -> Result<Self> {
        let uid = rustix::process::geteuid().as_raw();
        if let Some(root) =
            state_dir.map(Path::to_owned).or_else(|| variable("KENNEL_STATE_DIR").map(PathBuf::from))
        {
            let durable = make_private(&absolute(&root)?)?;
            return Ok(Self { volatile: Some(durable.clone()), root, durable, fallback: None });
        }
        let volatile = volatile_root(uid).and_then(|root| make_private(&root).ok());
        let usual = usual_root(uid);
        let (root, durable, fallback) = match usual.as_deref().map(make_private) {
            Some(Ok(durable)) => (usual.unwrap_or_default(), durable, None),
            other => {
                let root = PathBuf::from(format!("/tmp/kennel-{uid}"));
                let why = match other {
                    Some(Err(error)) => error.to_string(),
                    _ => "there is no home directory".to_owned(),
                };
                let durable = make_private(&root)?;
                (root.clone(), durable, Some(format!("state is kept in {}: {why}", root.display())))
            }
        };
        Ok(Self { root, durable, volatile, fallback })
    }

    /// All directories that can hold task directories, the durable one first.
    pub(crate) fn task_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.durable.clone()];
        dirs.extend(self.volatile.clone().filter(|volatile| *volatile != self.durable));
        dirs
    }

    /// Holds the private temp directories of sandboxed tasks.
    pub(crate) fn temp(&self) -> PathBuf {
        self.root.join("temp")
    }

    /// The root of durable state.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a library user's state must be found where the command line looks"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn usual_root(uid: u32) -> Option<PathBuf> {
    if let Some(state) = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()) {
        return Some(state.join("kennel"));
    }
    Some(home_dir().or_else(|| home_from_passwd(uid))?.join(".local/state/kennel"))
}

/// The home directory that the environment names, if it is an absolute path.
fn home_dir() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's home directory as `passwd(5)` has it, whatever the environment says; only the local file, which is what a
/// process without HOME can count on.
pub fn account_home() -> Option<PathBuf> {
    home_from_passwd(rustix::process::getuid().as_raw())
}

fn home_from_passwd(uid: u32) -> Option<PathBuf> {
    passwd_field(uid, 5).map(PathBuf::from)
}

/// The user's login shell as `passwd(5)` has it.
pub(crate) fn account_shell() -> Option<PathBuf> {
    passwd_field(rustix::process::getuid().as_raw(), 6).map(PathBuf::from).filter(|shell| shell.is_absolute())
}

fn passwd_field(uid: u32, at: usize) -> Option<String> {
    let text = fs::read_to_string("/etc/passwd").ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2)?.parse() == Ok(uid)).then(|| fields.get(at).copied().unwrap_or_default().to_owned())
    })
}

fn volatile_root(uid: u32) -> Option<PathBuf> {
    let runtime = PathBuf::from(format!("/run/user/{uid}"));
    let ours = fs::metadata(&runtime).is_ok_and(|meta| meta.is_dir() && meta.uid() == uid);
    if ours {
        return Some(runtime.join("kennel"));
    }
    Path::new("/dev/shm").is_dir().then(|| PathBuf::from(format!("/dev/shm/kennel-{uid}")))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io("resolve the state directory"))
}

/// Makes `root` and its `tasks`, and refuses what others can write.
fn make_private(root: &Path) -> Result<PathBuf> {
    let tasks = root.join(TASKS);
    let refused = |why: String| Error::StateDir { path: root.to_owned(), why };
    if !tasks.is_dir() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&tasks)
            .map_err(|error| refused(explain(&error)))?;
    }
    let uid = rustix::process::geteuid().as_raw();
    for path in [root, &tasks] {
        let meta = fs::symlink_metadata(path).map_err(|error| refused(explain(&error)))?;
        let meta = if path == root && meta.is_symlink() {
            fs::metadata(path).map_err(|e| refused(explain(&e)))?
        } else {
            meta
        };
        if !meta.is_dir() {
            return Err(refused(format!("{} is not a directory", path.display())));
        }
        if meta.uid() != uid {
            return Err(refused(format!("{} belongs to user {}", path.display(), meta.uid())));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(refused(format!(
                "others can write {} (mode {:o})",
                path.display(),
                meta.mode() & 0o7777
            )));
        }
    }
    rustix::fs::access(&tasks, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|errno| refused(explain(&errno.into())))?;
    Ok(tasks)
}

fn explain(error: &io::Error) -> String {
    error.to_string()
}
