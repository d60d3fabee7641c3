//! Shortens lines that are very long, with a count.

use super::segment::Segment;

/// What is left of a long line at most, the mark not counted.
const LINE_CHARS_MAX: usize = 2000;

/// Passes segments on; of a line that is too long only its beginning and its end.
#[derive(Debug)]
pub(crate) struct Shortener {
    head_chars: usize,
    tail_chars: usize,
    /// The line that is passing: characters of it so far.
    seen: usize,
    /// Its newest part, which is shown only when the line ends.
    held: Vec<Segment>,
    skipped_chars: usize,
    skipped_raw: u64,
    /// The line that is passing is not shortened.
    exempt: bool,
}

impl Shortener {
    /// For a text of at most `chars_max` characters; the first line may be exempt.
    pub(crate) fn new(chars_max: usize, exempt: bool) -> Self {
        let line = (chars_max / 8).clamp(80, LINE_CHARS_MAX);
        Self {
            head_chars: line - line / 4,
            tail_chars: line / 4,
            seen: 0,
            held: Vec::new(),
            skipped_chars: 0,
            skipped_raw: 0,
            exempt,
        }
    }

    /// The next segment; gives those that are due.
    pub(crate) fn push(&mut self, segment: Segment) -> Vec<Segment> {
        let ends = segment.ends_line();
        self.seen += segment.chars;
        let before = self.seen - segment.chars;
        if self.exempt || self.seen <= self.head_chars {
            if ends {
                (self.exempt, self.seen) = (false, 0);
            }
            return vec![segment];
        }
        let mut due = Vec::new();
        let room = self.head_chars.saturating_sub(before);
        let (first, rest) = segment.split(room);
        if first.chars > 0 {
            due.push(first);
        }
        self.held.push(rest);
        self.forget();
        if ends {
            due.extend(self.finish());
        }
        due
    }

    /// Drops what is too much of the part that is held.
    fn forget(&mut self) {
        let mut held: usize = self.held.iter().map(|segment| segment.chars).sum();
        while held > self.tail_chars && !self.held.is_empty() {
            let first = self.held.remove(0);
            let excess = (held - self.tail_chars).min(first.chars);
            held -= excess;
            let (cut, kept) = first.split(excess);
            self.skipped_chars += cut.chars;
            self.skipped_raw += cut.raw;
            if kept.chars > 0 {
                self.held.insert(0, kept);
            }
        }
    }

    /// The end of the line, or of the text.
    pub(crate) fn finish(&mut self) -> Vec<Segment> {
        let mut due = Vec::new();
        let (skipped, raw) = (std::mem::take(&mut self.skipped_chars), std::mem::take(&mut self.skipped_raw));
        if skipped > 0 {
            let offset = self.held.first().map_or(0, |segment| segment.offset.saturating_sub(raw));
            due.push(Segment::new(format!("[… {skipped} characters …]"), offset, raw));
        }
        due.append(&mut self.held);
        self.seen = 0;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(lines: &[&str]) -> String {
        let mut shortener = Shortener::new(800, false);
        let mut text = String::new();
        for line in lines {
            for part in line.as_bytes().chunks(64) {
                let part = String::from_utf8_lossy(part).into_owned();
                let raw = part.len() as u64;
                text.extend(
                    shortener.push(Segment::new(part, 0, raw)).into_iter().map(|segment| segment.text),
                );
            }
        }
        text.extend(shortener.finish().into_iter().map(|segment| segment.text));
        text
    }

    #[test]
    fn only_a_long_line_is_shortened_and_the_rest_counted() {
        assert_eq!(shortened(&["short\n", "last"]), "short\nlast");
        let long = format!("{}{}\n", "a".repeat(500), "b".repeat(500));
        let text = shortened(&["one\n", &long, "two\n"]);
        let (head, tail) = ("a".repeat(75), "b".repeat(24));
        assert_eq!(text, format!("one\n{head}[… 901 characters …]{tail}\ntwo\n"));
        // Just long enough.
        let fits = format!("{}\n", "c".repeat(99));
        assert_eq!(shortened(&[&fits]), fits);
    }
}
