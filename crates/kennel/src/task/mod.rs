//! A handle on a task, whoever started it.

mod handle;
mod input;
mod outcome;
mod reads;

pub(crate) use handle::Born;
pub use handle::Task;
pub(crate) use outcome::survivors;
