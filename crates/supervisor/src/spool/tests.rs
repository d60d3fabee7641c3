//! The spool against a model that keeps everything, through real pipes and files.

use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use proptest::prelude::*;
use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{Drained, Reader, Spool, Stream};

pub(super) struct Rig {
    pub(super) dir: tempfile::TempDir,
    pub(super) spool: Spool,
    pub(super) reader: Reader,
    pub(super) pipe: (OwnedFd, OwnedFd),
    /// Every byte that was ever written, with its stream.
    pub(super) model: Vec<(Stream, u8)>,
    clock_ms: u64,
}

pub(super) fn handle(dir: &std::path::Path) -> OwnedFd {
    open(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

impl Rig {
    pub(super) fn new(cap_bytes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(Rc::new(handle(dir.path())), "bash-test", cap_bytes);
        let reader = Reader::new(handle(dir.path()));
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        Self { spool, reader, pipe, model: Vec::new(), clock_ms: 0, dir }
    }

    /// Writes and drains; the bytes tell where they belong.
    pub(super) fn write(&mut self, stream: Stream, length: usize) {
        let start = self.model.len();
        let bytes: Vec<u8> = (start..start + length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let mut rest = bytes.as_slice();
        self.clock_ms += 7;
        while !rest.is_empty() {
            let written = rustix::io::write(&self.pipe.1, rest).unwrap();
            rest = &rest[written..];
            while let Drained::Some(_) =
                self.spool.drain(self.pipe.0.as_fd(), stream, self.clock_ms, u64::MAX).unwrap()
            {}
        }
        self.model.extend(bytes.iter().map(|byte| (stream, *byte)));
    }

    /// What a reader gets from `from` to the end, page by page.
    pub(super) fn read_all(&mut self, from: u64, page_bytes: usize) -> (Vec<(u64, Stream, u8)>, u64) {
        let (mut at, mut seen, mut gaps) = (from, Vec::new(), 0);
        loop {
            let page = self.reader.read(at, page_bytes).unwrap();
            if page.chunks.is_empty() && page.next == at {
                return (seen, gaps);
            }
            gaps += page.gap_bytes;
            at = page.next;
            for chunk in page.chunks {
                seen.extend(
                    (chunk.offset..).zip(&chunk.bytes).map(|(offset, byte)| (offset, chunk.stream, *byte)),
                );
            }
        }
    }

    /// Everything that is kept is what was written, at its offset; the rest is counted.
    pub(super) fn check(&mut self, from: u64, page_bytes: usize) {
        let header = *self.spool.header();
        assert_eq!(header.total, self.model.len() as u64);
        let (seen, gaps) = self.read_all(from, page_bytes);
        for (offset, stream, byte) in &seen {
            assert_eq!(
                (*stream, *byte),
                self.model[usize::try_from(*offset).unwrap()],
                "at {offset}: {header:?}"
            );
        }
        assert_eq!(seen.len() as u64 + gaps, header.total - from.min(header.total), "{header:?}");
        let kept = (0..header.total).filter(|offset| header.holds(*offset)).count() as u64;
        assert_eq!(kept + header.dropped_bytes(), header.total);
        let of = |wanted| self.model.iter().filter(|(stream, _)| *stream == wanted).count() as u64;
        assert_eq!((header.stdout_bytes, header.stderr_bytes), (of(Stream::Stdout), of(Stream::Stderr)));
    }
}

#[test]
fn a_reader_between_the_first_entry_and_the_first_header_finds_nothing_yet() {
    // Symptom: "the header of output.idx is damaged", of a task that has just begun to write.
    let mut rig = Rig::new(1 << 20);
    let mut index = vec![0; super::layout::HEADER_BYTES];
    index.extend([1; 16]);
    std::fs::write(rig.dir.path().join(super::layout::INDEX_FILE), index).unwrap();
    assert_eq!(rig.reader.header().unwrap().total, 0);
}

#[test]
fn an_empty_spool_is_an_empty_answer_and_makes_no_file() {
    let mut rig = Rig::new(1 << 20);
    assert_eq!(rig.spool.drain(rig.pipe.0.as_fd(), Stream::Stdout, 0, u64::MAX).unwrap(), Drained::Dry);
    assert_eq!(std::fs::read_dir(rig.dir.path()).unwrap().count(), 0);
    rig.check(0, 100);
}

#[test]
fn the_end_of_file_is_told() {
    let mut rig = Rig::new(1 << 20);
    rig.write(Stream::Stdout, 5);
    let (_, writer) = std::mem::replace(&mut rig.pipe, pipe_with(PipeFlags::CLOEXEC).unwrap());
    drop(writer);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    drop(writer);
    assert_eq!(rig.spool.drain(reader.as_fd(), Stream::Stdout, 1, u64::MAX).unwrap(), Drained::Eof);
}

#[test]
fn the_head_can_be_read_with_any_tool_and_names_the_way_to_the_rest() {
    let mut rig = Rig::new(8192);
    for _ in 0..10 {
        rig.write(Stream::Stdout, 3000);
    }
    rig.check(0, 1000);
    let log = std::fs::read(rig.dir.path().join(super::LOG_FILE)).unwrap();
    let head = usize::try_from(rig.spool.header().linear_end).unwrap();
    assert!(rig.model[..head].iter().map(|(_, byte)| *byte).eq(log[..head].iter().copied()));
    assert!(String::from_utf8_lossy(&log[head..]).contains("kennel output bash-test"));
    let disk: u64 = std::fs::read_dir(rig.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name() != "output.idx")
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert!(disk <= 8192 + 200, "{disk}");
}

#[test]
fn a_writer_that_alternates_streams_byte_by_byte_cannot_grow_the_index() {
    let mut rig = Rig::new(64 << 10);
    for at in 0..4000 {
        rig.write(if at % 2 == 0 { Stream::Stdout } else { Stream::Stderr }, 1);
    }
    rig.check(0, 777);
    let index = std::fs::metadata(rig.dir.path().join("output.idx")).unwrap().len();
    assert!(index <= 256 + 2 * 16 * rig.spool.header().index_capacity, "{index}");
}

#[test]
fn moving_keeps_everything_and_tells_old_readers() {
    let mut rig = Rig::new(1 << 20);
    rig.write(Stream::Stdout, 500);
    rig.write(Stream::Stderr, 500);
    let elsewhere = tempfile::tempdir().unwrap();
    rig.spool.move_to(Rc::new(handle(elsewhere.path()))).unwrap();
    assert!(rig.reader.header().unwrap().moved);
    rig.reader = Reader::new(handle(elsewhere.path()));
    rig.write(Stream::Stdout, 100);
    rig.check(0, 64);
}

#[test]
fn the_last_lines_are_found_across_head_and_ring() {
    let mut rig = Rig::new(4096);
    let mut text = Vec::new();
    for line in 0..500 {
        text.extend(format!("line {line}\n").bytes());
    }
    for piece in text.chunks(100) {
        rustix::io::write(&rig.pipe.1, piece).unwrap();
        while let Drained::Some(_) = rig.spool.drain(rig.pipe.0.as_fd(), Stream::Stdout, 0, u64::MAX).unwrap()
        {
        }
    }
    for (lines, expected) in [(1, "line 499\n"), (2, "line 498\nline 499\n"), (0, "")] {
        let from = rig.reader.tail_offset(lines, None).unwrap();
        let (seen, _) = rig.read_all(from, 4096);
        let tail: Vec<u8> = seen.into_iter().map(|(_, _, byte)| byte).collect();
        assert_eq!(String::from_utf8_lossy(&tail), expected, "{lines}");
    }
    // More lines than are kept: from the very beginning.
    assert_eq!(rig.reader.tail_offset(100_000, None).unwrap(), 0);
}

fn writes() -> impl Strategy<Value = Vec<(bool, usize)>> {
    prop::collection::vec((any::<bool>(), 0usize..3000), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_writes_give_back_head_and_newest_part(writes in writes(), cap in 4096u64..40_000, page in 1usize..5000, from in 0u64..60_000) {
        let mut rig = Rig::new(cap);
        for (err, length) in writes {
            rig.write(if err { Stream::Stderr } else { Stream::Stdout }, length);
        }
        rig.check(0, page);
        let from = from.min(rig.model.len() as u64);
        rig.check(from, page);
    }
}
