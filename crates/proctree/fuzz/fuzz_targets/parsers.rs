//! All parsers on the same bytes: each is cheap, and a corpus for one seeds the others.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    for (_, target) in proctree::fuzz::TARGETS {
        target(text);
    }
});
