//! A record that was damaged or removed while the task's supervisor lives: the supervisor writes it again.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use supervisor::wire::{FromSupervisor, ToSupervisor, frame, take_frame};

use crate::link::ControlSocket;

/// A supervisor that is stopped must not hold up a list.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// Asks the supervisor of the task in `dir` for its record.
///
/// # Errors
/// None listens there, or it does not answer in time.
pub(crate) fn ask_for_record(dir: &Path) -> io::Result<()> {
    let socket = ControlSocket::of(dir)?;
    let mut stream = UnixStream::connect(socket.path())?;
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
