//! Input for a task.

use std::time::Duration;

use super::Task;
use crate::error::{Error, Result};
use crate::input::{Input, InputPort, InputReport};
use crate::keys::Modes;
use crate::outcome::InputKind;
use crate::request::TerminalSize;

impl Task {
    /// Gives the task input: text, keys, the end. It must have been started with a pipe or a terminal.
    ///
    /// Comes back when the task's pipe or terminal has taken all of it, which for much of it is at the pace of the
    /// reader.
    ///
    /// # Errors
    /// [`Error::Input`] with what was written when not all could be: no reader, no input, or not read in time;
    /// [`Error::TaskEnded`], [`Error::UnknownTask`], [`Error::BadRequest`] for what is not a key.
    ///
    /// # Cancel safety
    /// A dropped future leaves it open how much was written.
    pub async fn send(&self, input: Input) -> Result<InputReport> {
        let mut port = self.input_port().await?;
        let modes = match self.record()?.input {
            Some(InputKind::Terminal) if input.needs_modes() => Some(self.terminal_modes()?),
            Some(InputKind::Terminal) => Some(Modes::default()),
            _ => None,
        };
        let bytes = input.bytes(modes, &self.id)?;
        port.send(&bytes, input.ends(), input.patience()).await
    }

    /// Gives the task's terminal another size; the foreground is told by SIGWINCH.
    ///
    /// # Errors
    /// As [`Task::send`].
    pub async fn resize(&self, size: TerminalSize) -> Result<()> {
        self.input_port().await?.resize(size).await
    }

    /// A connection for input that goes on.
    ///
    /// # Errors
    /// As [`Task::send`].
    pub async fn input_port(&self) -> Result<InputPort> {
        self.started().await?;
        if self.record()?.is_final() {
            return Err(Error::TaskEnded { id: self.id.clone() });
        }
        InputPort::open(&self.id, &self.dir()?).await
    }

    /// Feeds a newborn task its input. Holds no handle on it: a call that is dropped is cancelled all the same.
    pub(crate) fn feed_input(&self, bytes: Vec<u8>) {
        // A task of a session has a line from birth.
        let Some(line) = &self.line else { return };
        let (id, mut view) = (self.id.clone(), line.view.clone());
        tokio::spawn(async move {
            let known = view.wait_for(|view| view.started.is_some() || view.ended.is_some() || view.closed);
            let dir = match known.await {
                Ok(view) if view.started.is_some() => view.dir.clone(),
                _ => return,
            };
            if let Ok(mut port) = InputPort::open(&id, &dir).await {
                // A command that does not read to the end of its input is its own affair, as in `echo | true`.
                let _not_all_of_it = port.send(&bytes, true, Duration::MAX).await;
            }
        });
    }
}
