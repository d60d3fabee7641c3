//! Configuration at the door: its files and variables, `kennel config`, `kennel trust`.

mod place;
mod sources;
mod trust;
mod verb;

pub(crate) use place::{absolute, here, home, inside_task};
pub(crate) use sources::{hook_failure, load};
pub(crate) use trust::trust;
pub(crate) use verb::config;
