//! The HTTP stack under the protocol: connections, gate, limits. It knows nothing of tools, so that a server of fixtures
//! can stand on the very same.
//!
//! Order of the checks: host and origin (403), path, token (401), rate (429), body (408, 413), then the protocol. Each token
//! has a protocol service of its own: nothing of one bearer, not even a stream, can be reached by another.

mod connections;
mod gate;
mod limits;
mod sessions;

pub(crate) use connections::run;
pub(crate) use gate::{Digest, Door, Gate, digest};
