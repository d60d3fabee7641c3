//! What passed, what failed, what was skipped and for want of what.

use std::fmt;

/// The counts of a run. Steps of the check (formatting, lints, residue) count as one each.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failures: Vec<String>,
    skips: Vec<String>,
}

impl Tally {
    /// A check held.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// So many checks held.
    pub(crate) fn pass_many(&mut self, count: usize) {
        self.passed += count;
    }

    /// A check did not hold.
    pub(crate) fn fail(&mut self, name: impl Into<String>) {
        self.failures.push(name.into());
    }

    /// A check could not be made: `name: needs something`.
    pub(crate) fn skip(&mut self, line: impl Into<String>) {
        self.skips.push(line.into());
    }

    /// Add what another run counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failures.extend_from_slice(&other.failures);
        self.skips.extend_from_slice(&other.skips);
    }

    /// How many failed.
    pub(crate) fn failed(&self) -> usize {
        self.failures.len()
    }

    /// Name what failed and what was skipped.
    pub(crate) fn report(&self) {
        println!();
        for line in &self.skips {
            println!("SKIP {line}");
        }
        for line in &self.failures {
            println!("FAIL {line}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed(), self.skips.len())
    }
}

/// Reads the lines of one test binary.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    passed: usize,
    skips: Vec<String>,
    failures: Vec<String>,
    ended: bool,
}

impl Reader {
    /// One line of output.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some((_, skip)) = line.split_once("SKIP ")
            && skip.contains(": needs ")
        {
            self.skips.push(skip.to_owned());
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            self.ended = true;
            self.passed += count_before(result, " passed");
            let ignored = count_before(result, " ignored");
            self.skips
                .extend((0..ignored).map(|_| "a test marked ignored: needs to be asked for".to_owned()));
        }
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failures.push(name.to_owned());
        }
    }

    /// The binary has ended, well or not.
    pub(crate) fn end(self, binary: &str, success: bool, tally: &mut Tally) {
        tally.pass_many(self.passed.saturating_sub(self.skips.len()));
        if !self.ended && success {
            tally.pass();
        }
        for skip in self.skips {
            tally.skip(format!("{binary} {skip}"));
        }
        if !success && self.failures.is_empty() {
            tally.fail(format!("{binary}: ended badly"));
        }
        for failure in self.failures {
            tally.fail(format!("{binary} {failure}"));
        }
    }
}

/// The number before `word` in `1 passed; 2 failed`.
fn count_before(text: &str, word: &str) -> usize {
    let before = text.split_once(word).map_or("", |(before, _)| before);
    before.rsplit([' ', ';']).next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_not_passes_and_failures_are_named() {
        let mut reader = Reader::default();
        let lines = [
            "test a ... ok",
            "test b ... SKIP b: needs tmux",
            "test c ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        ];
        for line in lines {
            reader.line(line);
        }
        let mut tally = Tally::default();
        reader.end("e2e", false, &mut tally);
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 1 skipped");
        assert_eq!(tally.failures, ["e2e c"]);
        assert_eq!(tally.skips, ["e2e b: needs tmux"]);
    }

    #[test]
    fn a_binary_that_dies_without_a_word_is_a_failure() {
        let mut tally = Tally::default();
        Reader::default().end("host", false, &mut tally);
        Reader::default().end("plain", true, &mut tally);
        assert_eq!(tally.to_string(), "1 passed, 1 failed, 0 skipped");
    }
}
