//! The MCP server: five tools over the library, for `kennel mcp` (stdio) and `kennel serve` (HTTP).
//!
//! Wire names, texts and shapes live here; what a command is and how it ends is the library's. A session is an explicit
//! id, never the connection: connections come and go, in both eras of the protocol.

mod answer;
mod arguments;
mod bash;
mod catalog;
mod consent;
mod engine;
mod input;
mod install;
mod kill;
mod lines;
mod list;
mod output;
mod profile;
mod progress;
mod prompt;
mod schema;
mod server;
mod stdio;
mod text;
mod words;

pub(crate) use engine::{Engine, EngineOptions, Tenant, random_bytes};
pub(crate) use install::change;
pub(crate) use profile::Profile;
pub(crate) use server::Server;
pub(crate) use stdio::mcp;
