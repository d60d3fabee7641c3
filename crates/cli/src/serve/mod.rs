//! `kennel serve`: MCP over streamable HTTP, on this machine only, for the bearers of tokens.

pub(crate) mod stack;
mod token;
mod verb;

pub(crate) use verb::serve;
