//! The `kennel` binary as people and programs meet it. Each test's first line says the symptom that it stands against;
//! `row N` is a row of `tests/acceptance/cases/REAL-TOOLS.md`.

mod agents;
mod background;
mod bad_input;
mod boundary;
mod check;
mod common;
mod config;
mod crash;
mod docs;
mod ends;
mod faults;
mod hostile;
mod install;
mod mcp;
mod output;
mod pty;
mod races;
mod real_tools;
mod registry;
mod same_as_bash;
mod shapes;
mod stdin;
mod terminal;
mod trees;
mod verdict;
mod wrapper;
