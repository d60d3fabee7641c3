//! The MCP server as clients meet it, in both eras of the protocol. The official clients run in `tests/acceptance/clients`.

pub(crate) mod client;
mod consent;
mod ends;
mod http;
mod install;
mod resume;
mod tools;
