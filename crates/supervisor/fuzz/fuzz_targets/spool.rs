//! Any bytes as index, log and ring of a spool: the first two say how long the index and the log are.
#![no_main]

use rustix::fs::{Mode, OFlags, open};
use supervisor::spool::fuzz::{FILES, exercise};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [index, log, rest @ ..] = input else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (index, rest) = rest.split_at(rest.len().min(usize::from(*index) * 2));
    let (log, ring) = rest.split_at(rest.len().min(usize::from(*log) * 2));
    for (name, bytes) in FILES.iter().zip([index, log, ring]) {
        std::fs::write(dir.path().join(name), bytes).expect("a file");
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    exercise(&open(dir.path(), flags, Mode::empty()).expect("the directory"));
});
