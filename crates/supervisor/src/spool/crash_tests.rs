//! A spool whose writer died at some byte, and what its next reader gets.

use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;

use super::layout::{Entry, HEADER_BYTES, INDEX_FILE, LOG_FILE, SLOT_BYTES};
use super::tests::{Rig, handle};
use super::{Bound, Reader, Stream, fuzz, repair};

/// Agrees so many times.
#[derive(Debug)]
struct Times(usize);

impl Bound for Times {
    fn fits(&mut self, _claimed_bytes: u64) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(bool, usize),
    Move,
}

/// Where the writer was when it died.
#[derive(Debug, Clone, Copy)]
enum Death {
    /// Between two writes.
    Quiet,
    /// Bytes stand in the log; neither entry nor header speak of them.
    Stored(usize),
    /// Their entry is there too.
    Indexed(usize),
    /// In the middle of a header.
    HeaderTorn(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (any::<bool>(), 0usize..2500).prop_map(|(err, bytes)| Step::Write(err, bytes));
    prop::collection::vec(prop_oneof![12 => write, 1 => Just(Step::Move)], 0..50)
}

fn deaths() -> impl Strategy<Value = Death> {
    prop_oneof![
        Just(Death::Quiet),
        (1usize..3000).prop_map(Death::Stored),
        (1usize..3000).prop_map(Death::Indexed),
        (0usize..SLOT_BYTES).prop_map(Death::HeaderTorn),
    ]
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    use std::os::unix::fs::FileExt;
    std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

/// Does to the files what the writer had done when it died; the bytes that must be found, with their streams.
fn die(rig: &mut Rig, dir: &Path, death: Death) {
    let header = *rig.spool.header();
    let linear = !header.sealed && header.linear_entries > 0;
    match death {
        Death::Stored(bytes) | Death::Indexed(bytes) if linear => {
            let start = rig.model.len();
            let tail: Vec<u8> = (start..start + bytes).map(|at| u8::try_from(at % 251).unwrap()).collect();
            overwrite(&dir.join(LOG_FILE), header.linear_end, &tail);
            let last = rig.model.last().map_or(Stream::Stdout, |(stream, _)| *stream);
            let other = if last == Stream::Stdout { Stream::Stderr } else { Stream::Stdout };
            let fits = header.linear_entries < header.index_capacity;
            let stream = if matches!(death, Death::Indexed(_)) && fits { other } else { last };
            if matches!(death, Death::Indexed(_)) && fits {
                let entry = Entry { offset: header.linear_end, time_ms: 1 << 30, stream };
                let position = header.entry_position(header.linear_entries, false);
                overwrite(&dir.join(INDEX_FILE), position, &entry.encode());
            }
            rig.model.extend(tail.iter().map(|byte| (stream, *byte)));
        }
        Death::HeaderTorn(at) if header.sequence > 1 => {
            // The next one, of which the first bytes are there.
            let position = SLOT_BYTES as u64 - header.position();
            let mut next = header;
            next.sequence += 1;
            next.total += 1;
            let torn: Vec<u8> = next.encode().iter().take(at).copied().collect();
            overwrite(&dir.join(INDEX_FILE), position, &torn);
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any writes, sizes, moves and limits, and then a death at any byte: head and newest part, with right counts.
    #[test]
    fn whatever_the_writer_died_of(
        steps in steps(), cap in 4096u64..60_000, free in 4096u64..20_000, times in 0usize..8, death in deaths(), page in 1usize..5000,
    ) {
        let mut rig = Rig::new(cap);
        rig.spool = super::Spool::new(Rc::new(handle(rig.dir.path())), "bash-test", cap).bounded(free, Box::new(Times(times)));
        let mut places = Vec::new();
        for step in steps {
            match step {
                Step::Write(err, bytes) => rig.write(if err { Stream::Stderr } else { Stream::Stdout }, bytes),
                Step::Move if !rig.spool.header().sealed => {
                    let next = tempfile::tempdir().unwrap();
                    rig.spool.move_to(Rc::new(handle(next.path()))).unwrap();
                    rig.reader = Reader::new(handle(next.path()));
                    places.push(next);
                }
                Step::Move => {}
            }
        }
        rig.check(0, page);
        let dir = places.last().unwrap_or(&rig.dir).path().to_owned();
        die(&mut rig, &dir, death);
        let repaired = repair(handle(&dir)).unwrap();
        prop_assert_eq!(repaired.claimed_bytes, 0);
        if rig.model.is_empty() {
            return Ok(());
        }
        rig.reader = Reader::new(handle(&dir));
        rig.spool.header = repaired;
        rig.check(0, page);
    }

    /// Files cut or changed anywhere: no panic, no endless read, and the log is still read to its end.
    #[test]
    fn damaged_files(
        writes in prop::collection::vec((any::<bool>(), 1usize..900), 1..40), cap in 4096u64..20_000,
        which in 0usize..3, cut in any::<prop::sample::Index>(), change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut rig = Rig::new(cap);
        for (err, bytes) in writes {
            rig.write(if err { Stream::Stderr } else { Stream::Stdout }, bytes);
        }
        let path = rig.dir.path().join(fuzz::FILES[which]);
        if let Ok(mut bytes) = std::fs::read(&path) {
            match change {
                Some((at, byte)) if !bytes.is_empty() => { let at = at.index(bytes.len()); bytes[at] = byte; }
                _ => bytes.truncate(cut.index(bytes.len() + 1)),
            }
            std::fs::write(&path, bytes).unwrap();
        }
        fuzz::exercise(&handle(rig.dir.path()));
    }

    /// Any bytes at all for an index.
    #[test]
    fn any_index(index in prop::collection::vec(any::<u8>(), 0..600), log in 0usize..5000) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(INDEX_FILE), index).unwrap();
        std::fs::write(dir.path().join(LOG_FILE), vec![b'x'; log]).unwrap();
        fuzz::exercise(&handle(dir.path()));
    }
}

#[test]
fn a_spool_without_any_whole_header_is_made_anew_from_its_log_and_entries() {
    let mut rig = Rig::new(1 << 20);
    for number in 0..20 {
        rig.write(if number % 3 == 0 { Stream::Stderr } else { Stream::Stdout }, 100);
    }
    overwrite(&rig.dir.path().join(INDEX_FILE), 0, &[0; HEADER_BYTES]);
    assert!(rig.reader.header().is_err());
    rig.spool.header = repair(handle(rig.dir.path())).unwrap();
    rig.check(0, 64);
}

#[test]
fn nothing_is_repaired_where_nothing_was_written() {
    let rig = Rig::new(1 << 20);
    assert_eq!(repair(handle(rig.dir.path())).unwrap().total, 0);
    assert_eq!(std::fs::read_dir(rig.dir.path()).unwrap().count(), 0);
}
