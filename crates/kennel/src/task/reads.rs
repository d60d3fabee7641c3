//! Reading a task's output: once, until something matches, or as it comes.

use std::path::PathBuf;
use std::time::Duration;

use supervisor::wire::ToSupervisor;

use super::Task;
use super::outcome::ends;
use crate::clock::Deadline;
use crate::error::{Error, Result};
use crate::feed::{EventStream, Feed, Pace, Scope};
use crate::outcome::TaskOutput;
use crate::read::{self, Read, Start, Watcher};

/// How long a read waits when nothing else is said.
const READ_WAIT_DEFAULT: Duration = Duration::from_secs(30);

impl Task {
    /// Reads output without changing anything.
    ///
    /// # Errors
    /// [`Error::Pattern`], [`Error::UnknownTask`], [`Error::Io`].
    ///
    /// # Cancel safety
    /// Can be dropped at any time.
    pub async fn read(&self, read: Read) -> Result<TaskOutput> {
        let offset = match read.start {
            Start::Offset(offset) => offset,
            Start::Tail(lines) => self.tail_offset(lines, read.stream)?,
        };
        let matched = self.wait_for(&read, offset).await?;
        let rendered = read::render(&self.dir()?, offset, read.stream, read.max_chars)?;
        let info = self.info()?;
        Ok(TaskOutput {
            task_id: self.id.clone(),
            status: info.status,
            text: rendered.text,
            next_offset: rendered.next,
            matched,
            truncated: rendered.truncated,
            end: info.end,
            exit_code: info.exit_code,
            background_pids: info.background_pids,
        })
    }

    /// The offset from which the last `lines` lines, of one stream or of both, are kept.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn tail_offset(&self, lines: u64, stream: Option<read::Stream>) -> Result<u64> {
        read::tail_offset(&self.dir()?, lines, stream)
    }

    /// The bytes that are kept at and after `offset`, up to a page, and where to read on; the same offset again means
    /// that there is no more now.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn chunks(&self, offset: u64) -> Result<(Vec<read::Chunk>, u64)> {
        let page =
            read::reader(&self.dir()?)?.read(offset, 256 << 10).map_err(Error::io("read the output"))?;
        Ok((page.chunks, page.next))
    }

    async fn wait_for(&self, read: &Read, offset: u64) -> Result<Option<bool>> {
        let mut watcher = match &read.until {
            Some(pattern) => Some(Watcher::new(pattern, offset, read.stream)?),
            None => None,
        };
        let Some(line) = self.line.as_ref().filter(|_| watcher.is_some() || read.until_end) else {
            return watcher.as_mut().map(|watcher| watcher.matched(&self.dir()?)).transpose();
        };
        let _closed = line.order(ToSupervisor::Attach { lossless: false }).await;
        let deadline = Deadline::after(read.wait.unwrap_or(READ_WAIT_DEFAULT));
        let mut changes = line.view.clone();
        loop {
            let over = {
                let view = changes.borrow_and_update();
                view.closed || view.ended.is_some() || view.report.as_ref().is_some_and(|report| ends(report))
            };
            if let Some(watcher) = &mut watcher
                && watcher.matched(&self.dir()?)?
            {
                return Ok(Some(true));
            }
            if over {
                return Ok(read.until.as_ref().map(|_| false));
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return Ok(read.until.as_ref().map(|_| false)) },
                () = deadline.passed() => return Ok(read.until.as_ref().map(|_| false)),
            }
        }
    }

    /// Everything that happens to the task, from now on or from the start, as events with sequence numbers. A slow
    /// reader never blocks the command; what the spool gives up meanwhile is reported as a gap.
    pub fn events(&self) -> EventStream {
        EventStream::of(self.clone())
    }

    /// Output and news as they come, as bytes. With [`Pace::Lossless`] the command waits for the reader as it would
    /// for a pipe.
    pub async fn feed(&self, pace: Pace, scope: Scope) -> Feed {
        self.feed_from(0, pace, scope).await
    }

    /// The same from an offset.
    pub async fn feed_from(&self, offset: u64, pace: Pace, scope: Scope) -> Feed {
        if let Some(line) = &self.line {
            let _closed = line.order(ToSupervisor::Attach { lossless: pace == Pace::Lossless }).await;
        }
        Feed::new(self.clone(), self.line.clone(), offset, pace, scope)
    }

    pub(crate) fn dir_for_feed(&self) -> Result<PathBuf> {
        self.dir()
    }
}
