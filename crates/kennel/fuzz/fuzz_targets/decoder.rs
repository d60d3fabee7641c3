//! Any bytes, in pieces of any size, as text for a model.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kennel::fuzz::decode(bytes));
