//! Ids of tasks and sessions.

use std::fmt;

use rustix::rand::GetRandomFlags;

use crate::error::{Error, Result};

/// Crockford's base32 in lower case: no letter that reads like a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const RANDOM_CHARACTERS: usize = 26;

/// A task's id: `bash-` and 26 random characters, 130 bits from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(String);

impl TaskId {
    pub(crate) fn random() -> Result<Self> {
        Ok(Self(format!("bash-{}", random_text(RANDOM_CHARACTERS)?)))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id or the beginning of one, as a person gives it.
    ///
    /// # Errors
    /// [`Error::MalformedId`] for what cannot be one: `../x`, an empty text.
    pub fn parse(text: &str) -> Result<Self> {
        check_name(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Accepts `[A-Za-z0-9._-]{1,64}` that is no directory name of its own.
pub(crate) fn check_name(text: &str) -> Result<()> {
    let fits = (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        && !text.starts_with('.');
    if fits { Ok(()) } else { Err(Error::MalformedId { id: text.to_owned() }) }
}

/// Random characters straight from the kernel: user-space random state would be copied by fork.
pub(crate) fn random_text(characters: usize) -> Result<String> {
    let mut bytes = vec![0; characters];
    fill_random(&mut bytes)?;
    Ok(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
}

pub(crate) fn random_u64() -> Result<u64> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// `getrandom(2)` itself: no descriptor, no file, and no state that a fork would copy.
fn fill_random(bytes: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let count =
            rustix::io::retry_on_intr(|| rustix::rand::getrandom(&mut *rest, GetRandomFlags::empty()));
        filled += count.map_err(|errno| Error::Io { doing: "get random bytes", source: errno.into() })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_directory_are_refused() {
        for bad in ["", "../x", "a/b", ".", "..", "a b", "a\0", &"x".repeat(65)] {
            assert!(TaskId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(TaskId::parse(TaskId::random().unwrap().as_str()).is_ok());
    }
}
