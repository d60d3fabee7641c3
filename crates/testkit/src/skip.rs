//! Skips that are seen: one line each, which `cargo xtask test` collects.

use std::io::Write as _;

/// Record that the running test does not run here, and why. The line goes past the capture of the test harness.
pub fn skip(needs: &str) {
    let thread = std::thread::current();
    let line = format!("\nSKIP {}: needs {needs}\n", thread.name().unwrap_or("a test"));
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).ok();
}

/// Skip, if the machine does not have this capability. Returns true when the test must end.
pub fn lacks(needs: &str, present: bool) -> bool {
    if !present {
        skip(needs);
    }
    !present
}

/// Skip, if one of these programs is not on the path. Returns true when the test must end.
#[expect(clippy::disallowed_methods, reason = "the tests' own environment")]
pub fn lacks_program(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let missing = names.iter().find(|name| !std::env::split_paths(&path).any(|dir| runs(&dir.join(name))));
    missing.is_some_and(|name| lacks(name, false))
}

/// Whether we may execute it; a directory of another user's home may not be ours to look into.
fn runs(path: &std::path::Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Skip what takes seconds, in a quick run. Returns true when the test must end.
#[expect(clippy::disallowed_methods, reason = "the tests' own environment")]
pub fn slow() -> bool {
    lacks("the full run: `cargo xtask test`", std::env::var_os("KENNEL_TEST_QUICK").is_none())
}
