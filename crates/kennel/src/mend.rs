//! A record that was damaged or removed while the task's supervisor lives: the supervisor writes it again.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use supervisor::wire::{FromSupervisor, ToSupervisor, frame, take_frame};

/// A supervisor that is stopped must not hold up a list.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// Asks the supervisor of the task in `dir` for its record.
///
/// # Errors
/// None listens there, or it does not answer in time.
pub(crate) fn ask_for_record(dir: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let dir = open(dir, flags, Mode::empty())?;
    // `sun_path` holds 108 bytes.
    let socket = format!("/proc/self/fd/{}/{}", dir.as_fd().as_raw_fd(), supervisor::SOCKET_FILE);
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(&frame(&ToSupervisor::Record))?;
    let (mut buffer, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(message) = take_frame::<FromSupervisor>(&mut buffer).map_err(io::Error::other)? {
            if matches!(message, FromSupervisor::Status(_)) {
                return Ok(());
            }
        }
        match stream.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => buffer.extend_from_slice(bytes.get(..count).unwrap_or_default()),
        }
    }
}
