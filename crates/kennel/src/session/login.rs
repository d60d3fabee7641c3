//! What a login shell of the user has in its environment: for hosts that were started with a bare `PATH`.
//!
//! The shell runs as a task like any other, so a profile that hangs or leaves daemons is bounded and ended. Its answer
//! comes through a FIFO: it may hold secrets, which are never on disk.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use tokio::io::Interest;

use super::{Door, SessionBuilder};
use crate::check::PolicyChoice;
use crate::environ::{Variables, get, set};
use crate::error::{Error, Result};
use crate::guard::GuardStart;
use crate::id::random_text;
use crate::places::{Places, account_shell};
use crate::request::{Request, Survivors};

/// A profile that takes longer is not waited for.
const LOGIN_WITHIN: Duration = Duration::from_secs(10);
/// No environment that can be passed on is larger.
const ENVIRONMENT_BYTES_MAX: usize = 4 << 20;
/// What the shell itself, or we, put there.
const NOT_TAKEN: [&str; 5] = ["_", "SHLVL", "PWD", "OLDPWD", "KENNEL_TASK"];

/// `base` with what a login shell sets; the reason when there is nothing to be had.
pub(crate) async fn environment(
    places: Places,
    guard: GuardStart,
    base: Variables,
) -> std::result::Result<Variables, String> {
    let shell = get(&base, "SHELL").map(PathBuf::from).filter(|shell| shell.is_absolute());
    let shell = shell.or_else(account_shell).unwrap_or_else(|| "/bin/sh".into());
    let read = Box::pin(ask(&shell, places, guard, base.clone())).await;
    let text = read.map_err(|error| format!("ask {} for its environment: {error}", shell.display()))?;
    let mut merged = base;
    let entries = text.split(|byte| *byte == 0);
    for entry in entries {
        let Some(at) = entry.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) else { continue };
        let (name, value) = entry.split_at(at);
        let (name, value) = (OsString::from_vec(name.to_vec()), value.get(1..).unwrap_or_default());
        if !NOT_TAKEN.iter().any(|taken| name == *taken) {
            set(&mut merged, &name, &OsString::from_vec(value.to_vec()));
        }
    }
    Ok(merged)
}

async fn ask(shell: &Path, places: Places, guard: GuardStart, base: Variables) -> Result<Vec<u8>> {
    let fifo = Fifo::make(places.root())?;
    let session = SessionBuilder::new(places, guard).door(Door::Wrapper).policy(PolicyChoice::Off).env(base);
    let session = session.open().await?;
    let line = format!("exec env -0 >'{}'", fifo.path.to_string_lossy().replace('\'', r"'\''"));
    let request = Request::argv([shell.as_os_str(), "-l".as_ref(), "-c".as_ref(), line.as_ref()])
        .description("login environment")
        .timeout(LOGIN_WITHIN)
        .grace(Duration::ZERO)
        .survivors(Survivors::Kill);
    let mut text = Vec::new();
    let outcome = {
        let call = session.run(request);
        tokio::pin!(call);
        loop {
            tokio::select! {
                outcome = &mut call => break outcome,
                more = fifo.more() => text.extend(more?),
            }
            if text.len() > ENVIRONMENT_BYTES_MAX {
                return Err(failed("too much was written"));
            }
        }
    };
    text.extend(fifo.rest());
    session.close().await;
    let outcome = outcome?;
    // Closed by the last variable's NUL, or cut in the middle.
    if text.ends_with(b"\0") { Ok(text) } else { Err(failed(outcome.stderr.trim())) }
}

struct Fifo {
    path: PathBuf,
    fd: tokio::io::unix::AsyncFd<OwnedFd>,
}

impl Fifo {
    fn make(directory: &Path) -> Result<Self> {
        let failed = Error::io("make a FIFO for the login shell");
        let path = directory.join(format!("login.{}", random_text(8)?));
        let make = || -> std::io::Result<tokio::io::unix::AsyncFd<OwnedFd>> {
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            crate::sys::async_fd(open(&path, flags, Mode::empty())?, Interest::READABLE)
        };
        let fd = make().map_err(failed)?;
        Ok(Self { path, fd })
    }

    async fn more(&self) -> Result<Vec<u8>> {
        let read = |fd: &OwnedFd| {
            let mut buffer = vec![0; 16 << 10];
            let count = rustix::io::read(fd, &mut buffer)?;
            buffer.truncate(count);
            Ok(buffer)
        };
        self.fd.async_io(Interest::READABLE, read).await.map_err(Error::io("read from the login shell"))
    }

    /// What is there now: the writer has gone.
    fn rest(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = rustix::io::read(self.fd.get_ref(), &mut buffer) {
            text.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        text
    }
}

fn failed(why: &str) -> Error {
    let why = if why.is_empty() { "it did not answer" } else { why };
    Error::KeeperGone { what: why.to_owned() }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _absent = std::fs::remove_file(&self.path);
    }
}
