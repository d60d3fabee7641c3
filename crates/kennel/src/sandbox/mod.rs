//! The sandbox from the caller's side: what can be asked, and which places that means on this machine.

mod choice;
mod layout;
mod places;

pub use choice::{Network, SandboxChoice, SandboxMode};
pub(crate) use layout::{Around, confine_spec};
