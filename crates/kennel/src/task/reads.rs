//! Reading a task's output: once, until something matches, or as it comes.

use std::path::PathBuf;
use std::time::Duration;

use supervisor::wire::ToSupervisor;

use super::Task;
use super::outcome::ends;
use crate::clock::{Deadline, unix_ms};
use crate::error::{Error, Result};
use crate::feed::{EventStream, Feed, Pace, Scope};
use crate::link::View;
use crate::outcome::{Status, TaskOutput};
use crate::read::{self, Chunk, Read, Start, Until};
use crate::source::Source;
use crate::text::Ending;
use crate::watch::{Look, Watcher};

/// How long a read waits when nothing else is said.
pub(super) const READ_WAIT_DEFAULT: Duration = Duration::from_secs(30);

impl Task {
    /// Reads output without changing anything.
    ///
    /// # Errors
    /// [`Error::Pattern`], [`Error::UnknownTask`], [`Error::Io`].
    ///
    /// # Cancel safety
    /// Can be dropped at any time.
    pub async fn read(&self, read: Read) -> Result<TaskOutput> {
        let filter = read.filter.as_deref().map(read::pattern).transpose()?;
        let offset = self.offset_of(&read)?;
        let matched = self.wait_for(&read, offset).await?;
        // Before the text: what is written after this look is not missed, it is read next time.
        let info = self.info()?;
        let ending = if info.status == Status::Running { Ending::Open } else { Ending::Closed };
        let (rendered, next_offset) = read::render(&self.dir()?, offset, &read, filter, (ending, &self.id))?;
        Ok(TaskOutput {
            task_id: self.id.clone(),
            status: info.status,
            text: rendered.text,
            next_offset,
            matched,
            truncated: rendered.truncated,
            end: info.end,
            exit_code: info.exit_code,
            background_pids: info.background_pids,
            waiting_for_input: self.waiting_for_input().await,
        })
    }

    /// The offset at which this read begins: the asked one, or the end of what was written if that is beyond it.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn offset_of(&self, read: &Read) -> Result<u64> {
        let failed = Error::io("find where to begin");
        let mut source = Source::of(&self.dir()?)?;
        match read.start {
            // Nothing can be read beyond the end, and reading on from there would never see what is written later.
            Start::Offset(offset) => Ok(offset.min(source.header()?.total)),
            Start::Tail(lines) => source.reader().tail_offset(lines, read.stream).map_err(failed),
            Start::Since(time) => {
                let age_ms = unix_ms().saturating_sub(self.record()?.started_unix_ms);
                let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                source.reader().since_offset(age_ms.saturating_sub(time_ms)).map_err(failed)
            }
        }
    }

    /// The bytes that are kept at and after `offset`, up to a page, and where to read on; the same offset again means
    /// that there is no more now.
    ///
    /// # Errors
    /// As [`Task::read`].
    pub fn chunks(&self, offset: u64) -> Result<(Vec<Chunk>, u64)> {
        read::chunks(&self.dir()?, offset)
    }

    /// Waits for what the read wants; says whether its pattern matched, if it has one.
    async fn wait_for(&self, read: &Read, offset: u64) -> Result<Option<bool>> {
        let pattern = match &read.until {
            Until::Now => return Ok(None),
            Until::Match(pattern) => Some(read::pattern(pattern)?),
            Until::Growth | Until::End => None,
        };
        let is_asked = pattern.is_some();
        let watcher = (read.until != Until::End).then(|| Watcher::new(pattern, offset, read.stream));
        let deadline = Deadline::after(read.wait.unwrap_or(READ_WAIT_DEFAULT));
        let found = tokio::select! {
            found = self.watch(watcher) => found?,
            () = deadline.passed() => false,
        };
        Ok(is_asked.then_some(found))
    }

    /// Watches until the watcher finds what it looks for, or the leader has ended; says which.
    async fn watch(&self, mut watcher: Option<Watcher>) -> Result<bool> {
        let mut changes = match &self.line {
            Some(line) => {
                let _closed = line.order(ToSupervisor::Attach { lossless: false }).await;
                Some(line.view.clone())
            }
            None => None,
        };
        // Whoever comes later was not told of an end that came before.
        let ended_before = self.standing().await.is_some_and(|(report, _)| report.end.is_some());
        loop {
            let over = ended_before || changes.as_mut().is_none_or(|view| is_over(&view.borrow_and_update()));
            let look = watcher.as_mut().map_or(Ok(Look::Dry), |watcher| watcher.look(|| self.dir()))?;
            match (look, &mut changes) {
                (Look::Found, _) => return Ok(true),
                (Look::Dry, _) if over => return Ok(false),
                // Others have their turn, the deadline among them.
                (Look::More, _) | (_, None) => tokio::task::yield_now().await,
                (Look::Dry, Some(changes)) => match changes.changed().await {
                    Ok(()) => {}
                    Err(_the_actor_went_with_its_runtime) => return Ok(false),
                },
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

pub(super) fn is_over(view: &View) -> bool {
    view.closed || view.ended.is_some() || view.report.as_ref().is_some_and(|report| ends(report))
}
