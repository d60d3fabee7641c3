//! Configuration: what each layer says, what is in force, and where each value is from.
//!
//! Pure: layers come in as text, a [`Config`] or an error goes out. Finding and reading the files is the front end's part.
//! A layer that cannot be understood is an error, never the values without it; one that is not trusted (a repository's
//! `kennel.toml`, a variable inside a task) may only tighten.
//!
//! **To add a key**: one entry in `settings.rs`. Its type is one of `value.rs`; its [`Order`] says which way is tighter.

mod error;
mod layer;
mod merge;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
pub mod units;
mod value;

pub use error::ConfigError;
pub use layer::{Layer, Origin, hook_failure};
pub use merge::Config;
pub use schema::config_schema;
pub use settings::{Entry, Settings};
pub use value::{
    Age, CONTAINER_RESERVED, CountLimit, HookFailure, Limit, List, Network, OnAsk, Order, Sandbox, Setting,
    Size, SizeLimit,
};
