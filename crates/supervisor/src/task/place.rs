//! Where a task lives: its directory on tmpfs or in the state directory, its control socket, and the move between.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, statvfs, unlinkat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

use crate::bytes::ByteStr;
use crate::record::{self, Record, Written};
use crate::spool::LOG_FILE;
use crate::total::keep_within;
use crate::wire::Launch;

/// The control socket's name in the task's directory.
pub const SOCKET_FILE: &str = "control.sock";
/// Finished tasks take no more of the memory file system: it is memory.
const VOLATILE_TOTAL_BYTES: u64 = 128 << 20;

/// A task's directory.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory of task directories.
    parent: PathBuf,
    id: String,
    /// The task's own directory.
    pub(super) dir: Rc<OwnedFd>,
    /// It lies in the state directory.
    pub(super) durable: bool,
    /// Accepts control connections.
    pub(super) listener: Option<OwnedFd>,
    /// A file for the next record, made while there was time.
    blank: Option<OwnedFd>,
    /// What was written there.
    hurried: Option<Written>,
}

impl Place {
    /// Makes the task's directory: on tmpfs where that is wanted and possible, else in the state directory.
    pub(super) fn make(launch: &Launch) -> io::Result<Self> {
        let durable = launch.durable_dir.as_path();
        if let Some(volatile) = launch.volatile_dir.as_ref().filter(|_| !launch.durable)
            && (volatile.as_path() == durable || has_room(volatile.as_path()))
            && let Ok(place) = Self::in_directory(volatile.as_path(), &launch.id)
        {
            let durable = volatile.as_path() == durable;
            return Ok(Self { durable, ..place });
        }
        Ok(Self { durable: true, ..Self::in_directory(durable, &launch.id)? })
    }

    fn in_directory(parent: &Path, id: &str) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = open(parent, flags, Mode::empty())?;
        mkdirat(&above, id, Mode::RWXU)?;
        let dir = openat(&above, id, flags | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self {
            parent: parent.to_owned(),
            id: id.to_owned(),
            dir: Rc::new(dir),
            durable: false,
            listener: None,
            blank: None,
            hurried: None,
        })
    }

    /// Replaces the record.
    ///
    /// # Errors
    /// As [`Record::write`].
    pub(super) fn save(&mut self, record: &Record) -> io::Result<()> {
        match self.blank.take().map(|blank| record.write_hurried(self.dir.as_fd(), blank)) {
            Some(Ok(written)) => {
                self.hurried = Some(written);
                Ok(())
            }
            // A full disk has room for it in the old one only.
            Some(Err(_)) | None => record.write(&self.dir),
        }
    }

    /// On a disk a new file takes longer to make than to write: time that the dying leave us, and an answer does not.
    pub(super) fn prepare_to_save(&mut self) {
        if self.durable && self.blank.is_none() {
            self.blank = record::new_file(self.dir.as_fd()).ok();
        }
    }

    /// Path of the directory.
    pub(super) fn path(&self) -> PathBuf {
        self.parent.join(&self.id)
    }

    /// Path of the directory, for the wire.
    pub(super) fn wire_path(&self) -> ByteStr {
        ByteStr::from(&self.path())
    }

    /// Opens the control socket. `sun_path` holds 108 bytes, so it is bound by its bare name from inside the directory.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        let socket = socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        rustix::process::fchdir(&self.dir)?;
        let bound = bind(&socket, &SocketAddrUnix::new(SOCKET_FILE)?);
        // The keeper rests in the root directory: it must not keep a mount busy.
        rustix::process::chdir("/")?;
        bound?;
        listen(&socket, 64)?;
        self.listener = Some(socket);
        Ok(())
    }

    /// A new directory of the same task under `parent`.
    pub(super) fn elsewhere(&self, parent: &Path) -> io::Result<Self> {
        let mut place = Self::in_directory(parent, &self.id)?;
        place.durable = true;
        place.listen()?;
        Ok(place)
    }

    /// Removes the oldest of what has ended here, if all of it is too much.
    pub(super) fn keep_within(&self, total_bytes: u64) {
        let bytes = if self.durable { total_bytes } else { total_bytes.min(VOLATILE_TOTAL_BYTES) };
        keep_within(&self.parent, bytes);
    }

    /// Removes what another directory now holds; the FIFO of the end report and the directory stay.
    pub(super) fn forget_contents(&self) {
        for name in ["record.json", LOG_FILE, "output.idx", SOCKET_FILE] {
            let _absent = unlinkat(&self.dir, name, AtFlags::empty());
        }
    }

    /// Removes the directory with everything of ours in it.
    pub(super) fn remove(&self) {
        remove_task_dir(&self.parent, &self.id);
    }
}

/// Whether a quarter of the memory file system is free: others need it too.
fn has_room(directory: &Path) -> bool {
    statvfs(directory).is_ok_and(|file_system| file_system.f_bavail >= file_system.f_blocks / 4)
}

/// Removes a task's directory: the files that tasks make, and nothing else.
///
/// Returns whether the directory is gone.
pub fn remove_task_dir(parent: &Path, id: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let Ok(above) = open(parent, flags & !OFlags::NOFOLLOW, Mode::empty()) else { return false };
    match openat(&above, id, flags, Mode::empty()) {
        Ok(dir) => {
            for name in [
                "record.json",
                "record.json.new",
                LOG_FILE,
                "output.idx",
                "output.ring",
                SOCKET_FILE,
                FIFO_FILE,
                ENV_FILE,
                COMMAND_FILE,
            ] {
                let _absent = unlinkat(dir.as_fd(), name, AtFlags::empty());
            }
        }
        Err(Errno::NOENT) => return true,
        Err(_) => return false,
    }
    unlinkat(&above, id, AtFlags::REMOVEDIR).is_ok()
}

/// FIFO of the end report.
pub(super) const FIFO_FILE: &str = "end.fifo";
/// The shell's start-up file that sets the end report's trap.
pub(super) const ENV_FILE: &str = "end.sh";
/// A command line that is too long for one argument.
pub(super) const COMMAND_FILE: &str = "command.sh";

impl Place {
    /// Removes what only a living task needs, and what a hurried record has left.
    pub(super) fn retire(&mut self) {
        if let Some(hurried) = self.hurried.take() {
            hurried.settle(self.dir.as_fd());
        }
        if self.listener.is_some() {
            let _absent = unlinkat(&self.dir, SOCKET_FILE, AtFlags::empty());
        }
    }

    /// Removes what a shell needed for its end report, or for a long command.
    pub(super) fn retire_shell_files(&self) {
        for name in [FIFO_FILE, ENV_FILE, COMMAND_FILE] {
            let _absent = unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}
