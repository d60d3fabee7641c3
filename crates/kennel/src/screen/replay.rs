//! Output of a terminal back into a screen, page by page, at the sizes that the terminal had.

use std::num::NonZeroU16;
use std::path::PathBuf;

use supervisor::wire::{SizeSince, TerminalSize};

use super::look::Cursor;
use super::prologue;
use crate::error::Result;
use crate::keys::Modes;
use crate::source::{Following, Source};

/// So much of the newest output is replayed whole; of what is older only the modes.
const REPLAY_BYTES_MAX: u64 = 4 << 20;

/// A screen and how far it has come.
pub(crate) struct Replay {
    parser: vt100::Parser<Title>,
    sizes: Vec<SizeSince>,
    source: Following,
    offset: u64,
    /// Everything from here on is replayed whole.
    whole_from: Option<u64>,
    complete: bool,
}

#[derive(Debug, Default)]
struct Title(Option<String>);

impl vt100::Callbacks for Title {
    fn set_window_title(&mut self, _screen: &mut vt100::Screen, title: &[u8]) {
        self.0 = Some(String::from_utf8_lossy(title).into_owned());
    }
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Replay").field("offset", &self.offset).finish_non_exhaustive()
    }
}

fn positive(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

impl Replay {
    pub(crate) fn new(sizes: Vec<SizeSince>) -> Self {
        let first = sizes.first().map_or(crate::request::TERMINAL_SIZE_DEFAULT, |since| since.size);
        let (rows, cols) = (positive(first.rows), positive(first.cols));
        let parser = vt100::Parser::new_with_callbacks(rows, cols, 0, Title::default());
        Self { parser, sizes, source: Following::default(), offset: 0, whole_from: None, complete: true }
    }

    /// The terminal's sizes as they are known now; a size that begins at an offset which was read already counts at
    /// once.
    pub(crate) fn set_sizes(&mut self, sizes: Vec<SizeSince>) {
        self.sizes = sizes;
    }

    /// Reads what is new of the task's output; `find` says where the task is now.
    pub(crate) fn catch_up(&mut self, find: impl Fn() -> Result<PathBuf>) -> Result<()> {
        // No further than now: a program that draws faster than we read would never let us go.
        let end = Source::of(&find()?)?.header()?.total;
        let whole_from = *self.whole_from.get_or_insert(end.saturating_sub(REPLAY_BYTES_MAX));
        while self.offset < end {
            let page = self.source.page(self.offset, &find)?;
            if page.next == self.offset {
                break;
            }
            if page.gap_bytes > 0 {
                self.complete = false;
            }
            for chunk in page.chunks {
                let old = usize::try_from(whole_from.saturating_sub(chunk.offset)).unwrap_or(usize::MAX);
                let (old, new) = chunk.bytes.split_at_checked(old).unwrap_or((&chunk.bytes, &[]));
                self.skim(old);
                self.feed(chunk.offset + old.len() as u64, new);
            }
            self.offset = page.next;
        }
        self.apply_size(self.offset);
        Ok(())
    }

    fn skim(&mut self, bytes: &[u8]) {
        self.complete &= bytes.is_empty();
        let parser = &mut self.parser;
        prologue::modes(bytes, |sequence| parser.process(sequence));
    }

    /// Bytes at an offset, cut where the terminal's size changed.
    fn feed(&mut self, mut offset: u64, mut bytes: &[u8]) {
        if !self.complete && prologue::last_clear(bytes).is_some() {
            self.complete = true;
        }
        while !bytes.is_empty() {
            self.apply_size(offset);
            let next = self.sizes.iter().map(|since| since.offset).find(|at| *at > offset);
            let length =
                next.map_or(bytes.len(), |next| usize::try_from(next - offset).unwrap_or(usize::MAX));
            let (piece, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
            self.parser.process(piece);
            offset += piece.len() as u64;
            bytes = rest;
        }
    }

    fn apply_size(&mut self, offset: u64) {
        let due = self.sizes.iter().rev().find(|since| since.offset <= offset).map(|since| since.size);
        if let Some(TerminalSize { cols, rows }) = due
            && self.parser.screen().size() != (positive(rows), positive(cols))
        {
            self.parser.set_size(positive(rows), positive(cols));
        }
    }

    pub(crate) fn modes(&self) -> Modes {
        let screen = self.parser.screen();
        Modes { application_cursor: screen.application_cursor(), bracketed_paste: screen.bracketed_paste() }
    }

    pub(crate) fn text(&self) -> String {
        let screen = self.parser.screen();
        let (_, cols) = screen.size();
        let mut text = String::new();
        for row in screen.rows(0, cols.get()) {
            text.push_str(row.trim_end());
            text.push('\n');
        }
        let end = text.trim_end_matches('\n').len();
        text.truncate(end);
        text
    }

    pub(crate) fn size(&self) -> TerminalSize {
        let (rows, cols) = self.parser.screen().size();
        TerminalSize { cols: cols.get(), rows: rows.get() }
    }

    pub(crate) fn cursor(&self) -> Cursor {
        let screen = self.parser.screen();
        let (row, col) = screen.cursor_position();
        Cursor { row, col, visible: !screen.hide_cursor() }
    }

    pub(crate) fn alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    pub(crate) fn title(&self) -> Option<String> {
        self.parser.callbacks().0.clone()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(offset: u64, cols: u16, rows: u16) -> SizeSince {
        SizeSince { offset, size: TerminalSize { cols, rows } }
    }

    fn replay(sizes: Vec<SizeSince>, bytes: &[u8]) -> Replay {
        let mut replay = Replay::new(sizes);
        replay.feed(0, bytes);
        replay.apply_size(bytes.len() as u64);
        replay
    }

    #[test]
    fn a_screen_is_what_its_bytes_make() {
        let screen = replay(vec![size(0, 10, 3)], b"\x1b[2J\x1b[2;3Hab\x1b]2;title\x07\x1b[?2004h\x1b[?1h");
        assert_eq!(screen.text(), "\n  ab");
        assert_eq!(screen.cursor(), Cursor { row: 1, col: 4, visible: true });
        assert_eq!(screen.title().as_deref(), Some("title"));
        assert_eq!(screen.modes(), Modes { application_cursor: true, bracketed_paste: true });
    }

    #[test]
    fn output_is_shown_at_the_size_of_its_time() {
        // Eight characters wrap at five columns and not at ten.
        let screen = replay(vec![size(0, 5, 4), size(8, 10, 4)], b"abcdefgh\r\nabcdefgh");
        assert_eq!(screen.text(), "abcde\nfgh\nabcdefgh");
        assert_eq!(screen.size(), TerminalSize { cols: 10, rows: 4 });
    }

    proptest! {
        #[test]
        fn no_output_and_no_size_breaks_it(
            pieces in proptest::collection::vec((any::<Vec<u8>>(), 1u16..30, 1u16..10), 1..8),
        ) {
            let (mut bytes, mut sizes) = (Vec::new(), Vec::new());
            for (piece, cols, rows) in pieces {
                sizes.push(size(bytes.len() as u64, cols, rows));
                bytes.extend(piece);
            }
            let screen = replay(sizes, &bytes);
            prop_assert!(screen.text().lines().count() <= usize::from(screen.size().rows));
        }

        #[test]
        fn sequences_do_not_break_it(
            pieces in proptest::collection::vec("(\x1b\\[[?0-9;]{0,6}[@-~]|\x1b[78MDEc=>]|[a-z\r\n\t\u{7}\u{8}]|中|é|e\u{301})", 1..80),
            cols in 1u16..12, rows in 1u16..6, cols_then in 1u16..12, rows_then in 1u16..6,
        ) {
            let bytes = pieces.concat().into_bytes();
            let half = bytes.len() as u64 / 2;
            let screen = replay(vec![size(0, cols, rows), size(half, cols_then, rows_then)], &bytes);
            prop_assert!(screen.cursor().row < rows_then);
        }
    }
}
