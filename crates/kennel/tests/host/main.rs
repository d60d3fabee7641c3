//! A program that uses the library, and what becomes of its tasks when it is killed.
//!
//! The tests need a process that they may kill and whose `/proc/self/exe` calls [`kennel::init`], so this has a main of its
//! own: `host tests [FILTER]` is the runner (the default), `host program …` the program under test.

mod api;
mod input;
mod program;
mod sessions;
mod tests;

fn main() -> std::process::ExitCode {
    kennel::init();
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == "program" => program::main(rest),
        Some((first, _)) if first == "--list" => std::process::ExitCode::SUCCESS,
        Some((filter, _)) => tests::main(filter.trim_start_matches('-')),
        None => tests::main(""),
    }
}
