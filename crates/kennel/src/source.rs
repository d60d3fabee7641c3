//! The spool of a task that may move from tmpfs to disk while it is read.

use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use supervisor::spool::{Header, Page, Reader};

use crate::error::{Error, Result};

/// Bytes a page; larger ones give nothing.
pub(crate) const PAGE_BYTES: usize = 64 << 10;

/// A reader that is kept open.
#[derive(Debug)]
pub(crate) struct Source {
    reader: Reader,
}

fn failed(error: std::io::Error) -> Error {
    Error::io("read the output")(error)
}

impl Source {
    /// The spool in this directory.
    pub(crate) fn of(dir: &Path) -> Result<Self> {
        fault::point("moved-under-us");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = open(dir, flags, Mode::empty())
            .map_err(|errno| Error::io("open the task's directory")(errno.into()))?;
        Ok(Self { reader: Reader::new(dir) })
    }

    pub(crate) fn header(&mut self) -> Result<Header> {
        self.reader.header().map_err(failed)
    }

    pub(crate) fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// A page from `offset` on.
    pub(crate) fn page(&mut self, offset: u64, bytes_max: usize) -> Result<Page> {
        self.reader.read(offset, bytes_max).map_err(failed)
    }

    /// The next page, nothing of which lies at or behind `end`; `None` when there is no more.
    pub(crate) fn page_before(&mut self, offset: u64, end: u64) -> Result<Option<Page>> {
        let room = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX).min(PAGE_BYTES);
        if room == 0 {
            return Ok(None);
        }
        let mut page = self.page(offset, room)?;
        page.cut_at(end);
        // What was given up behind `end` is the next reader's affair.
        page.gap_bytes = page.gap_bytes.min(page.next.saturating_sub(offset));
        Ok((page.next > offset).then_some(page))
    }
}

/// A source that follows the task's move: `find` says where the task is now.
#[derive(Debug, Default)]
pub(crate) struct Following {
    source: Option<Source>,
}

impl Following {
    /// A page from `offset` on, wherever it is by now; an empty one where there is no more yet.
    pub(crate) fn page(&mut self, offset: u64, find: impl Fn() -> Result<PathBuf>) -> Result<Page> {
        // RACE(moved-under-us): the directory may go between the look for it and the open. The next look finds the
        // other, which was whole before the first one went.
        for last_try in [false, true] {
            let source = match self.source.take() {
                Some(source) => Ok(source),
                None => find().and_then(|dir| Source::of(&dir)),
            };
            let mut source = match source {
                Err(Error::Io { .. }) if !last_try => continue,
                other => other?,
            };
            let page = source.page(offset, PAGE_BYTES)?;
            if !source.reader.is_stale() {
                self.source = Some(source);
                return Ok(page);
            }
            if page.next > offset || last_try {
                return Ok(page);
            }
        }
        Ok(Page { next: offset, ..Page::default() })
    }
}
