//! Text in pieces, handed on line by line.

/// Longest line that is kept whole; the rest of a longer one is dropped.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Joins pieces to lines.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Takes the next piece and hands on each line that is complete, without its line end.
    pub fn feed(&mut self, piece: &[u8], line: &mut dyn FnMut(&[u8])) {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            if self.partial.is_empty() {
                line(head);
            } else {
                self.keep(head);
                line(&self.partial);
                self.partial.clear();
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.keep(rest);
    }

    /// Takes the end of the text.
    pub fn finish(&mut self, line: &mut dyn FnMut(&[u8])) {
        if !self.partial.is_empty() {
            line(&self.partial);
            self.partial.clear();
        }
    }

    fn keep(&mut self, text: &[u8]) {
        let room = LINE_BYTES_MAX.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(text.get(..room).unwrap_or(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_same_lines() {
        let text = b"a\n\nbcd\nlast";
        for size in 1..=text.len() {
            let mut found = Vec::new();
            let mut lines = Lines::default();
            for piece in text.chunks(size) {
                lines.feed(piece, &mut |line| found.push(line.to_vec()));
            }
            lines.finish(&mut |line| found.push(line.to_vec()));
            assert_eq!(found, [&b"a"[..], b"", b"bcd", b"last"], "pieces of {size}");
        }
    }
}
