//! Output and news of a task as they come.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream as FutureStream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use supervisor::spool::{Chunk, Stream};
use supervisor::wire::{Report, Started, ToSupervisor};
use tokio::sync::mpsc;

use crate::clock::unix_ms;
use crate::error::{Error, Result};
use crate::link::{Line, View};
use crate::outcome::{Boundary, End, Notice, Outcome, Protection, Survivor};
use crate::source::Following;
use crate::task::Task;
use crate::text::Decoder;

/// Who waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The command never waits; a reader that is too slow finds a gap.
    Free,
    /// The spool drops nothing that this reader has not taken: the command waits for it, as for a pipe.
    Lossless,
}

/// When a feed is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// At the command's end (its leader's).
    Leader,
    /// When nothing of the task is left.
    Tree,
}

/// One piece of news.
#[derive(Debug, Clone)]
pub enum News {
    /// The command runs.
    Started(Started),
    /// Bytes of one stream.
    Chunk(Chunk),
    /// Bytes that are no longer kept.
    Gap {
        /// How many.
        bytes: u64,
        /// Offset at which the output goes on.
        next: u64,
    },
    /// Something to know.
    Notice(Notice),
    /// The command has ended, or the task went to the background; the last piece.
    Ended(Arc<Report>),
    /// The connection to the supervisor ended without a last word; the last piece.
    Lost,
}

/// News of a task, pulled one by one.
#[derive(Debug)]
pub struct Feed {
    task: Task,
    source: Following,
    line: Option<Line>,
    offset: u64,
    acked: u64,
    pace: Pace,
    scope: Scope,
    ready: VecDeque<News>,
    started_told: bool,
    notices_told: usize,
    over: bool,
}

impl Feed {
    pub(crate) fn new(task: Task, line: Option<Line>, offset: u64, pace: Pace, scope: Scope) -> Self {
        Self {
            task,
            source: Following::default(),
            line,
            offset,
            acked: 0,
            pace,
            scope,
            ready: VecDeque::new(),
            started_told: false,
            notices_told: 0,
            over: false,
        }
    }

    /// The next piece; `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be read.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Result<Option<News>> {
        loop {
            if let Some(news) = self.ready.pop_front() {
                return Ok(Some(news));
            }
            if self.over {
                return Ok(None);
            }
            self.acknowledge().await;
            self.gather().await?;
        }
    }

    /// What was handed out before has been taken.
    async fn acknowledge(&mut self) {
        if self.pace == Pace::Lossless
            && self.offset > self.acked
            && let Some(line) = &self.line
        {
            self.acked = self.offset;
            let _closed = line.order(ToSupervisor::Ack { offset: self.offset }).await;
        }
    }

    async fn gather(&mut self) -> Result<()> {
        let Some(line) = self.line.clone() else {
            if !self.read_page()? {
                self.finish(None);
            }
            return Ok(());
        };
        let mut changes = line.view.clone();
        let view = changes.borrow_and_update().clone();
        self.tell_news(&view);
        let last = match self.scope {
            Scope::Leader => view.ended.clone().or_else(|| view.report.clone()),
            Scope::Tree => view.ended.clone(),
        };
        let end = if view.refused.is_some() || view.closed {
            Some(u64::MAX)
        } else {
            last.as_ref().map(|_| view.total)
        };
        if (self.offset < view.total || end.is_some()) && self.read_page()? {
            return Ok(());
        }
        if end.is_some() {
            self.finish(last);
        } else if self.ready.is_empty() && changes.changed().await.is_err() {
            self.finish(None);
        }
        Ok(())
    }

    fn tell_news(&mut self, view: &View) {
        if let Some(started) = view.started.as_ref().filter(|_| !self.started_told) {
            self.started_told = true;
            self.ready.push_back(News::Started(started.clone()));
            // Decided before it started; what the supervisor sees comes after.
            self.ready.extend(self.task.launch_notices().iter().cloned().map(News::Notice));
        }
        for notice in view.notices.iter().skip(self.notices_told) {
            self.ready.push_back(News::Notice(notice.clone()));
        }
        self.notices_told = view.notices.len();
    }

    fn read_page(&mut self) -> Result<bool> {
        let task = &self.task;
        let page = match self.source.page(self.offset, || task.dir_for_feed()) {
            Ok(page) => page,
            // Refused before it had a directory.
            Err(Error::UnknownTask { .. }) => return Ok(false),
            Err(other) => return Err(other),
        };
        if page.gap_bytes > 0 {
            let next = page.chunks.first().map_or(page.next, |chunk| chunk.offset);
            self.ready.push_back(News::Gap { bytes: page.gap_bytes, next });
        }
        let progressed = page.next > self.offset;
        self.offset = page.next;
        self.ready.extend(page.chunks.into_iter().map(News::Chunk));
        Ok(progressed)
    }

    fn finish(&mut self, last: Option<Arc<Report>>) {
        self.over = true;
        self.ready.push_back(last.map_or(News::Lost, News::Ended));
    }
}

/// An event as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// From 1, without gaps.
    pub seq: u64,
    /// Milliseconds since the task began.
    pub time_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The command runs.
    Started {
        /// Task id.
        task_id: String,
        /// Leader.
        pid: i32,
        /// Where its output is kept.
        output_file: String,
        /// The boundary in force.
        boundary: Boundary,
        /// Protections that were asked for.
        protections: Vec<Protection>,
    },
    /// Output.
    Output {
        /// `stdout` or `stderr`.
        stream: StreamName,
        /// Offset of its first byte in the spool.
        offset: u64,
        /// Decoded text.
        text: String,
    },
    /// Something to know.
    Notice(NoticeBody),
    /// The command has ended.
    Exited {
        /// How.
        end: Option<End>,
    },
    /// Processes that outlived it.
    Survivors {
        /// They.
        survivors: Vec<Survivor>,
    },
    /// The last event.
    Done {
        /// The whole result.
        outcome: Box<Outcome>,
    },
    /// The last event of a task whose supervisor went without a last word, or of a stream that could not be read.
    Failed {
        /// Why.
        message: String,
    },
}

/// A notice, or a gap in what this reader could read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NoticeBody {
    /// Of the task.
    Task(Notice),
    /// Of this stream: read the spool from an offset.
    Gap(GapNotice),
}

/// Bytes that were dropped before this reader took them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GapNotice {
    /// Always `gap`.
    pub kind: String,
    /// How many.
    pub bytes: u64,
    /// Where the output goes on.
    pub next_offset: u64,
}

/// A stream's name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamName {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

impl From<Stream> for StreamName {
    fn from(stream: Stream) -> Self {
        match stream {
            Stream::Stdout => Self::Stdout,
            Stream::Stderr => Self::Stderr,
        }
    }
}

/// The events of a task; a [`futures_core::Stream`].
#[derive(Debug)]
pub struct EventStream {
    inbox: mpsc::Receiver<Event>,
}

/// Events that wait for a slow reader; the rest stays in the spool.
const EVENTS_MAX: usize = 64;

impl EventStream {
    pub(crate) fn of(task: Task) -> Self {
        let (outbox, inbox) = mpsc::channel(EVENTS_MAX);
        tokio::spawn(async move {
            let mut teller = Teller {
                outbox,
                seq: 0,
                began_ms: unix_ms(),
                decoders: [Decoder::default(), Decoder::default()],
            };
            let _reader_gone = teller.tell_all(task).await;
        });
        Self { inbox }
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Event> {
        self.inbox.recv().await
    }
}

impl FutureStream for EventStream {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        self.get_mut().inbox.poll_recv(context)
    }
}

struct Teller {
    outbox: mpsc::Sender<Event>,
    seq: u64,
    began_ms: u64,
    decoders: [Decoder; 2],
}

impl Teller {
    async fn tell(&mut self, body: EventBody) -> Result<(), ()> {
        self.seq += 1;
        let event = Event { seq: self.seq, time_ms: unix_ms().saturating_sub(self.began_ms), body };
        self.outbox.send(event).await.map_err(drop)
    }

    async fn tell_all(&mut self, task: Task) -> Result<(), ()> {
        let mut feed = task.feed(Pace::Free, Scope::Leader).await;
        loop {
            match feed.next().await {
                Ok(Some(News::Ended(report))) => return self.tell_end(&task, &report).await,
                Ok(Some(News::Lost) | None) => return self.tell_outcome(&task).await,
                Ok(Some(news)) => self.tell_news(&task, news).await?,
                Err(error) => return self.tell(EventBody::Failed { message: error.to_string() }).await,
            }
        }
    }

    async fn tell_news(&mut self, task: &Task, news: News) -> Result<(), ()> {
        let body = match news {
            News::Started(started) => EventBody::Started {
                task_id: task.id().to_owned(),
                pid: started.pid,
                output_file: started.dir.as_path().join("output.log").to_string_lossy().into_owned(),
                boundary: started.boundary,
                protections: started.protections,
            },
            News::Chunk(chunk) => {
                let [out, err] = &mut self.decoders;
                let decoder = if chunk.stream == Stream::Stdout { out } else { err };
                let text = decoder.feed(&chunk.bytes).into_owned();
                EventBody::Output { stream: chunk.stream.into(), offset: chunk.offset, text }
            }
            News::Gap { bytes, next } => {
                let kind = "gap".to_owned();
                EventBody::Notice(NoticeBody::Gap(GapNotice { kind, bytes, next_offset: next }))
            }
            News::Notice(notice) => EventBody::Notice(NoticeBody::Task(notice)),
            News::Ended(_) | News::Lost => return Ok(()),
        };
        self.tell(body).await
    }

    async fn tell_end(&mut self, task: &Task, report: &Report) -> Result<(), ()> {
        self.tell(EventBody::Exited { end: report.end.clone() }).await?;
        self.tell_outcome(task).await
    }

    async fn tell_outcome(&mut self, task: &Task) -> Result<(), ()> {
        match task.outcome().await {
            Ok(outcome) => {
                if !outcome.survivors.is_empty() {
                    self.tell(EventBody::Survivors { survivors: outcome.survivors.clone() }).await?;
                }
                self.tell(EventBody::Done { outcome: Box::new(outcome) }).await
            }
            Err(error) => self.tell(EventBody::Failed { message: error.to_string() }).await,
        }
    }
}
