//! From bytes to text for people and models: decode, fold, shorten, cut. Every step takes its input in pieces of any size
//! and holds a bounded part of it.

mod cut;
mod decode;
mod fold;
pub(crate) mod fuzz;
mod kind;
mod model;
mod segment;
mod shorten;

pub(crate) use decode::Decoder;
pub(crate) use fold::Fold;
pub(crate) use model::{Ending, ModelText, Rendered};
pub(crate) use segment::Segment;
