//! The screen of a task's terminal.

use supervisor::wire::{InputRefusal, ToSupervisor};

use super::Task;
use super::reads::{READ_WAIT_DEFAULT, is_over};
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::keys::Modes;
use crate::screen::{Look, Replay, Screen};

impl Task {
    /// The screen of the task's terminal as text; it must have been started with [`crate::Request::pty`]. After the
    /// task's end it is the last one.
    ///
    /// # Errors
    /// [`Error::Input`] for a task without a terminal; [`Error::Pattern`], [`Error::UnknownTask`], [`Error::Io`].
    ///
    /// # Cancel safety
    /// Can be dropped at any time.
    pub async fn screen(&self, look: Look) -> Result<Screen> {
        let pattern = look.pattern()?;
        let mut replay = self.replay()?;
        let mut matched = None;
        if let Some(pattern) = pattern {
            let deadline = Deadline::after(look.wait.unwrap_or(READ_WAIT_DEFAULT));
            matched = Some(self.wait_for_screen(&mut replay, &pattern, deadline).await?);
        }
        let waiting_for_input = self.waiting_for_input().await;
        let info = self.info()?;
        let size = replay.size();
        Ok(Screen {
            task_id: self.id.clone(),
            status: info.status,
            text: replay.text(),
            cols: size.cols,
            rows: size.rows,
            cursor: replay.cursor(),
            alternate: replay.alternate(),
            application_cursor: replay.modes().application_cursor,
            bracketed_paste: replay.modes().bracketed_paste,
            title: replay.title(),
            complete: replay.is_complete(),
            next_offset: replay.offset(),
            matched,
            waiting_for_input,
            end: info.end,
            exit_code: info.exit_code,
        })
    }

    /// The screen as far as it has come.
    fn replay(&self) -> Result<Replay> {
        let sizes = self.record()?.sizes;
        if sizes.is_empty() {
            let why = InputRefusal::NoTerminal;
            return Err(Error::Input { id: self.id.clone(), why, written: 0 });
        }
        let mut replay = Replay::new(sizes);
        replay.catch_up(|| self.dir())?;
        Ok(replay)
    }

    async fn wait_for_screen(
        &self,
        replay: &mut Replay,
        pattern: &regex::Regex,
        deadline: Deadline,
    ) -> Result<bool> {
        let Some(line) = &self.line else { return Ok(pattern.is_match(&replay.text())) };
        let _closed = line.order(ToSupervisor::Attach { lossless: false }).await;
        let mut changes = line.view.clone();
        // Whoever comes later was not told of an end that came before.
        let ended_before = self.standing().await.is_some_and(|(report, _)| report.end.is_some());
        loop {
            let over = ended_before || is_over(&changes.borrow_and_update());
            replay.set_sizes(self.record()?.sizes);
            replay.catch_up(|| self.dir())?;
            if pattern.is_match(&replay.text()) {
                return Ok(true);
            }
            if over {
                return Ok(false);
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(false) },
                () = deadline.passed() => return Ok(false),
            }
        }
    }

    /// What the program on the terminal has asked for, on which the bytes of keys depend.
    pub(super) fn terminal_modes(&self) -> Result<Modes> {
        Ok(self.replay()?.modes())
    }

    /// Whether a member waits for the input that we give it, by the supervisor's view of the kernel.
    pub(super) async fn waiting_for_input(&self) -> Option<bool> {
        self.record().ok().filter(|record| record.input.is_some() && !record.is_final())?;
        self.standing().await?.0.input?.waiting
    }
}
