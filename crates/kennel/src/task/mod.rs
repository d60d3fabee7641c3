//! A handle on a task, whoever started it.

mod handle;
mod input;
mod outcome;
mod reads;
mod refused;
mod screen;

pub use handle::Task;
pub(crate) use handle::{Bonds, Born};
pub(crate) use outcome::survivors;
