//! A session: an owner with a working directory, an environment and tasks.

mod builder;
mod handle;

pub(crate) use builder::SessionTerms;
pub use builder::{Door, SessionBuilder, TIMEOUT_DEFAULT, TIMEOUT_MAX_DEFAULT};
pub use handle::Session;
