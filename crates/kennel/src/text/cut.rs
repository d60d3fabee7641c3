//! Head and tail of a text of unknown length, in bounded memory, with the middle counted.
//!
//! A text that fits is not touched. One that does not is cut at line edges where that loses little, else at characters;
//! lines that are very long are shortened first, so that one of them does not take the place of all others. The marks
//! count within the limit.

use std::collections::VecDeque;

use super::segment::Segment;
use super::shorten::Shortener;

/// Room that is kept for the mark between head and tail: the longest one has so many characters.
const MARK_CHARS: usize = 220;
/// A line edge so near is preferred to a cut within the line.
const EDGE_CHARS: usize = 400;

/// What a cut came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) text: String,
    /// Something that is kept, or was once, is not in the text.
    pub(crate) truncated: bool,
}

/// Keeps head and tail of what is pushed.
#[derive(Debug)]
pub(crate) struct HeadTail {
    chars_max: usize,
    whole: Vec<Segment>,
    whole_chars: usize,
    over: Option<Over>,
}

/// The limit is passed.
#[derive(Debug)]
struct Over {
    shortener: Shortener,
    head: String,
    head_room: usize,
    /// Where the cut begins, once the head is full.
    cut_at: Option<u64>,
    tail: VecDeque<Segment>,
    tail_chars: usize,
    tail_max: usize,
    bytes: u64,
    lines: u64,
}

impl HeadTail {
    /// At most `chars_max` characters in the end.
    pub(crate) fn new(chars_max: usize) -> Self {
        Self { chars_max, whole: Vec::new(), whole_chars: 0, over: None }
    }

    /// The next piece of the text.
    pub(crate) fn push(&mut self, segment: Segment) {
        if let Some(over) = &mut self.over {
            return over.push(segment);
        }
        self.whole_chars += segment.chars;
        self.whole.push(segment);
        if self.whole_chars > self.chars_max {
            // A text that is one single line is not shortened to a short one.
            let one_line = !self.whole.iter().any(Segment::ends_line);
            let mut over = Over::new(self.chars_max, one_line);
            self.whole.drain(..).for_each(|segment| over.push(segment));
            self.over = Some(over);
        }
    }

    /// The text. `gone` bytes of it are no longer kept; `id` names the task in the mark.
    pub(crate) fn finish(self, gone: u64, id: &str) -> Cut {
        let Some(over) = self.over else {
            return Cut { text: whole(self.whole, gone), truncated: gone > 0 };
        };
        Cut { text: over.finish(self.chars_max, gone, id), truncated: true }
    }
}

impl Over {
    fn new(chars_max: usize, one_line: bool) -> Self {
        let room = chars_max - MARK_CHARS.min(chars_max / 2);
        Self {
            shortener: Shortener::new(chars_max, one_line),
            head: String::new(),
            head_room: room / 2,
            cut_at: None,
            tail: VecDeque::new(),
            tail_chars: 0,
            tail_max: room - room / 2,
            bytes: 0,
            lines: 0,
        }
    }

    fn push(&mut self, segment: Segment) {
        for segment in self.shortener.push(segment) {
            self.place(segment);
        }
    }

    fn place(&mut self, segment: Segment) {
        if self.cut_at.is_some() {
            return self.keep_last(segment);
        }
        if segment.chars <= self.head_room {
            self.head_room -= segment.chars;
            return self.head.push_str(&segment.text);
        }
        let at_edge = self.head.is_empty() || self.head.ends_with('\n');
        let (last, rest) = segment.split(if at_edge && self.head_room <= EDGE_CHARS.min(self.tail_max / 4) {
            0
        } else {
            self.head_room
        });
        self.head.push_str(&last.text);
        self.cut_at = Some(rest.offset);
        self.keep_last(rest);
    }

    fn keep_last(&mut self, segment: Segment) {
        self.tail_chars += segment.chars;
        self.tail.push_back(segment);
        while let Some(first) = self.tail.front()
            && self.tail_chars - first.chars >= self.tail_max
        {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        if let Some(first) = self.tail.pop_front() {
            self.tail_chars -= first.chars;
            self.count(&first);
        }
    }

    fn count(&mut self, cut: &Segment) {
        self.bytes += cut.raw;
        self.lines += u64::from(cut.ends_line());
    }

    fn finish(mut self, chars_max: usize, gone: u64, id: &str) -> String {
        for segment in self.shortener.finish() {
            self.place(segment);
        }
        self.trim_tail();
        let mut text = self.head;
        if self.bytes + gone > 0 {
            let used = text.chars().count() + self.tail_chars;
            let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let mark = mark((self.bytes, self.lines), gone, self.cut_at.map(|at| (at, id)));
            let mark = format!("{lead}{mark}\n");
            text.extend(mark.chars().take(chars_max.saturating_sub(used)));
        }
        text.extend(self.tail.into_iter().map(|segment| segment.text));
        text
    }

    /// The tail begins at a line, or where its limit is.
    fn trim_tail(&mut self) {
        let Some(excess) = self.tail_chars.checked_sub(self.tail_max) else { return };
        let Some(first) = self.tail.pop_front() else { return };
        self.tail_chars -= first.chars;
        let small = EDGE_CHARS.min(self.tail_max / 4);
        let whole_line = first.ends_line() && first.chars - excess <= small;
        let (cut, kept) = first.split(if whole_line { usize::MAX } else { excess });
        self.count(&cut);
        if kept.chars > 0 {
            self.tail_chars += kept.chars;
            self.tail.push_front(kept);
        }
    }
}

/// A text that fits, with a line where something is missing.
fn whole(mut segments: Vec<Segment>, gone: u64) -> String {
    if gone > 0 && !segments.iter().any(Segment::is_gap) {
        segments.push(Segment::gap(0));
    }
    let (mut text, mut gone) = (String::new(), gone);
    for segment in segments {
        text.push_str(&segment.text);
        if segment.is_gap() && gone > 0 {
            let lead = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text.extend([lead, &format!("[… {gone} bytes are no longer kept …]\n")]);
            gone = 0;
        }
    }
    text
}

fn mark((bytes, lines): (u64, u64), gone: u64, from: Option<(u64, &str)>) -> String {
    let gone = if gone == 0 { String::new() } else { format!("; {gone} bytes are no longer kept") };
    let from = from.map_or_else(String::new, |(at, id)| format!("; read on from offset {at} of {id}"));
    format!("[… {bytes} bytes and {lines} lines cut{gone}{from} …]")
}

#[cfg(test)]
mod tests {
    use super::super::segment::SEGMENT_BYTES;
    use super::*;
    use proptest::prelude::*;

    /// As the fold gives it: line by line, long ones in parts.
    fn cut_gone(text: &str, max: usize, gone: u64) -> Cut {
        let mut buffer = HeadTail::new(max);
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let mut rest = Segment::new(line.to_owned(), offset, line.len() as u64);
            offset += line.len() as u64;
            while rest.chars > 0 {
                let (part, more) = rest.split(SEGMENT_BYTES / 4);
                buffer.push(part);
                rest = more;
            }
        }
        buffer.finish(gone, "bash-x")
    }

    fn cut(text: &str, max: usize) -> Cut {
        cut_gone(text, max, 0)
    }

    #[test]
    fn a_text_that_fits_is_not_touched() {
        let long_line = "x".repeat(20_000);
        for text in ["", "hello", "a\nb\n\n", &long_line] {
            assert_eq!(cut(text, 30_000), Cut { text: text.to_owned(), truncated: false });
        }
        assert_eq!(cut("12345", 5).text, "12345");
    }

    #[test]
    fn characters_stay_whole_and_the_limit_counts_the_mark() {
        let it = cut(&"€".repeat(40_000), 30_000);
        assert!(it.truncated && it.text.starts_with('€') && it.text.ends_with('€'));
        let chars = it.text.chars().count();
        assert!((29_000..=30_000).contains(&chars), "{chars}");
        assert!(!it.text.contains('\u{fffd}'));
    }

    #[test]
    fn the_mark_tells_exactly_what_is_missing_and_where_to_read_on() {
        let text = (0..20_000).fold(String::new(), |text, line| text + &line.to_string() + "\n");
        let it = cut(&text, 30_000);
        assert!(it.text.starts_with("0\n1\n") && it.text.ends_with("19999\n"));
        let (head, rest) = it.text.split_once("[… ").expect("a mark");
        let (mark, tail) = rest.split_once(" …]\n").expect("its end");
        assert!(head.ends_with('\n') && text.starts_with(head) && text.ends_with(tail));
        assert!(
            tail.lines().next().is_some_and(|line| text.contains(&format!("\n{line}\n"))),
            "a whole line"
        );
        let missing = text.get(head.len()..text.len() - tail.len()).unwrap();
        let expected = format!(
            "{} bytes and {} lines cut; read on from offset {} of bash-x",
            missing.len(),
            missing.lines().count(),
            head.len()
        );
        assert_eq!(mark, expected);
    }

    #[test]
    fn a_long_line_does_not_take_the_place_of_the_others() {
        let text = format!("first\n{}\nlast\n", "x".repeat(100_000));
        let it = cut(&text, 30_000);
        assert!(
            it.truncated && it.text.starts_with("first\nxx") && it.text.ends_with("xx\nlast\n"),
            "{}",
            it.text.len()
        );
        assert!(it.text.contains("[… 98001 characters …]") && it.text.len() < 3_000, "{}", it.text.len());
    }

    #[test]
    fn what_is_no_longer_kept_is_said() {
        assert_eq!(
            cut_gone("a\n", 30_000, 7),
            Cut { text: "a\n[… 7 bytes are no longer kept …]\n".into(), truncated: true }
        );
        assert!(
            cut_gone(&"a\n".repeat(1000), 900, 7).text.contains("cut; 7 bytes are no longer kept; read on")
        );
    }

    proptest! {
        #[test]
        fn the_limit_holds(text in "(\\PC{0,40}\n?){0,30}", max in 0usize..600) {
            let it = cut(&text, max);
            let chars = text.chars().count();
            prop_assert!(it.text.chars().count() <= max);
            prop_assert_eq!(it.truncated, chars > max);
            if chars <= max {
                prop_assert_eq!(it.text, text);
            }
        }
    }
}
