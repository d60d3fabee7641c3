//! The library on a system that it does not run on: the way in is there and says so.

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Commands are run on Linux only.
    #[error("run commands on {system}: Kennel does not support it yet")]
    Unsupported {
        /// The name of this system.
        system: &'static str,
    },
}

/// The result of an operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Never made on this system.
#[derive(Debug)]
pub enum Kennel {}

impl Kennel {
    /// Settings of a [`Kennel`].
    pub fn builder() -> Builder {
        Builder {}
    }
}

/// Settings of a [`Kennel`].
#[derive(Debug)]
#[must_use = "a builder builds nothing until it is asked to"]
pub struct Builder {}

impl Builder {
    /// Says that this system is not supported.
    ///
    /// # Errors
    /// Always [`Error::Unsupported`].
    #[expect(clippy::unused_async, reason = "the same call on every system")]
    pub async fn build(self) -> Result<Kennel> {
        Err(Error::Unsupported { system: std::env::consts::OS })
    }
}

/// Does nothing: on this system no program is ever started to be a guard.
pub fn init() {}

pub use policy;
