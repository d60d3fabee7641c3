//! A session: an owner with a working directory, an environment and tasks.

mod builder;
mod handle;
mod login;
mod open;
mod quota;
mod saved;
mod store;
mod whereabouts;

pub use builder::{Door, SessionBuilder, TIMEOUT_DEFAULT, TIMEOUT_MAX_DEFAULT};
pub use handle::Session;
pub use saved::{SessionClosed, SessionInfo, SessionList, SessionState};
pub use whereabouts::Persist;

pub(crate) use builder::SessionTerms;
pub(crate) use whereabouts::{Whereabouts, check_directory};
