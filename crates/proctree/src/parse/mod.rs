//! Pure parsers of the kernel's text: bytes in, facts out, no I/O, no panic for any input.
//!
//! `/proc` text can be cut, can be longer than the documentation says, and holds bytes that other processes chose.

pub mod cgroup;
pub mod children;
pub mod connector;
pub mod environ;
pub mod limits;
pub mod lines;
pub mod net;
pub mod stat;
pub mod status;
pub mod usage;

/// An ASCII decimal number that fills `text` entirely.
pub(crate) fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Fields parted by spaces, tabs and line ends.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}
