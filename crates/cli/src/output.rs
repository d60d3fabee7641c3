//! `kennel output`: reading without changing anything.

use kennel::{Chunk, Error, Kennel, Look, MAX_OUTPUT_DEFAULT, News, Pace, Read, Scope, Status, Stream, Task};
use regex::Regex;

use crate::args::{OutputOptions, StreamArg};
use crate::fault::Fault;
use crate::render;
use crate::sink::Sink;
use crate::tasks::registry;

/// Reads.
pub(crate) async fn output(options: OutputOptions) -> Result<u8, Fault> {
    let kennel: Kennel = registry().await?;
    let task = kennel.task(&options.id).await.map_err(|error| Fault::not_done(&error))?;
    if options.follow || options.raw {
        return copy(&task, &options).await;
    }
    if options.screen {
        return screen(&task, &options).await;
    }
    let mut read = start(&options).max_chars(options.max_output.unwrap_or(MAX_OUTPUT_DEFAULT));
    if let Some(pattern) = &options.grep {
        read = read.filter(pattern);
    }
    if let Some(pattern) = &options.until {
        read = read.until(pattern).wait(options.timeout);
    }
    let page = task.read(read).await.map_err(|error| Fault::not_done(&error))?;
    if options.json {
        render::json(&page);
    } else {
        render::answer(&page.text);
    }
    found(&options, page.matched, page.status)
}

async fn screen(task: &Task, options: &OutputOptions) -> Result<u8, Fault> {
    let look = match &options.until {
        Some(pattern) => Look::now().until(pattern).wait(options.timeout),
        None => Look::now(),
    };
    let screen = task.screen(look).await.map_err(|error| Fault::not_done(&error))?;
    if options.json {
        render::json(&screen);
    } else {
        render::answer(&format!("{}\n", screen.text));
    }
    found(options, screen.matched, screen.status)
}

/// The exit status of a wait: 124 when its time is over, 1 when the task ended first.
fn found(options: &OutputOptions, matched: Option<bool>, status: Status) -> Result<u8, Fault> {
    let pattern = options.until.as_deref().unwrap_or_default();
    match (matched, status) {
        (Some(false), Status::Running) => {
            render::note(&format!("nothing matched {pattern:?} in time"));
            Ok(124)
        }
        (Some(false), _) => Err(Fault::undone(
            format!("the task ended, and nothing matched {pattern:?}"),
            "kennel output shows all",
        )),
        _ => Ok(0),
    }
}

/// Where the reading begins, and of which stream.
fn start(options: &OutputOptions) -> Read {
    let read = match (options.tail, options.since) {
        (Some(lines), _) => Read::tail(lines),
        (None, Some(time)) => Read::since(time),
        (None, None) => Read::from(options.from.unwrap_or(0)),
    };
    match options.stream {
        Some(stream) => read.stream(stream.into()),
        None => read,
    }
}

fn pattern(text: &str) -> Result<Regex, Fault> {
    Regex::new(text).map_err(|error| {
        Fault::not_done(&Error::Pattern { pattern: text.to_owned(), why: error.to_string() })
    })
}

/// The bytes as they are, to the end of what is kept or, with `--follow`, to the end of the task.
async fn copy(task: &Task, options: &OutputOptions) -> Result<u8, Fault> {
    let done = |error: Error| Fault::not_done(&error);
    let filter = options.grep.as_deref().map(pattern).transpose()?;
    let from = task.offset_of(&start(options)).map_err(done)?;
    let mut out = Copier { sink: Sink::new(rustix::stdio::stdout()), filter, line: Vec::new() };
    let wanted = options.stream.map(Stream::from);
    if !options.follow {
        let mut at = from;
        loop {
            let (chunks, next) = task.chunks(at).map_err(done)?;
            if next == at {
                break;
            }
            at = next;
            if !out.take(&chunks, wanted).await {
                return Ok(0);
            }
        }
        out.finish().await;
        return Ok(0);
    }
    let mut feed = task.feed_from(from, Pace::Free, Scope::Tree).await;
    while let Some(news) = feed.next().await.map_err(done)? {
        match news {
            News::Chunk(ref chunk) if !out.take(std::slice::from_ref(chunk), wanted).await => return Ok(0),
            News::Gap { bytes, .. } => render::note(&format!("{bytes} bytes are no longer kept")),
            _ => {}
        }
    }
    out.finish().await;
    Ok(0)
}

struct Copier {
    sink: Sink,
    filter: Option<Regex>,
    line: Vec<u8>,
}

impl Copier {
    /// Writes chunks; false when the reader has gone.
    async fn take(&mut self, chunks: &[Chunk], wanted: Option<Stream>) -> bool {
        for chunk in chunks.iter().filter(|chunk| wanted.is_none_or(|wanted| chunk.stream == wanted)) {
            if !self.write(&chunk.bytes).await {
                return false;
            }
        }
        true
    }

    async fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(filter) = &self.filter else { return self.sink.write_all(bytes).await.is_ok() };
        let mut kept = Vec::new();
        for byte in bytes {
            self.line.push(*byte);
            if *byte == b'\n' {
                if filter.is_match(&String::from_utf8_lossy(&self.line)) {
                    kept.append(&mut self.line);
                }
                self.line.clear();
            }
        }
        self.sink.write_all(&kept).await.is_ok()
    }

    async fn finish(&mut self) {
        let rest = std::mem::take(&mut self.line);
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !rest.is_empty() && filter.is_match(&String::from_utf8_lossy(&rest)))
        {
            let _reader_gone = self.sink.write_all(&rest).await;
        }
    }
}

impl From<StreamArg> for Stream {
    fn from(stream: StreamArg) -> Self {
        match stream {
            StreamArg::Stdout => Self::Stdout,
            StreamArg::Stderr => Self::Stderr,
        }
    }
}
