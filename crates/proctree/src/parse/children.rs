//! `/proc/PID/task/TID/children`: pids parted by spaces, see `proc_pid_task_children(5)`.

/// Parses the text in pieces of any size, so that a small buffer serves a file of any length.
#[derive(Debug, Default)]
pub struct Pids {
    partial: Option<i32>,
}

impl Pids {
    /// Takes the next piece and hands each pid that is complete to `found`.
    pub fn feed(&mut self, piece: &[u8], found: &mut dyn FnMut(i32)) {
        for &byte in piece {
            if byte.is_ascii_digit() {
                let digit = i32::from(byte - b'0');
                // Not a pid of any kernel once it overflows; 0 is no pid and is dropped below.
                let value = self.partial.unwrap_or(0);
                self.partial = Some(value.checked_mul(10).and_then(|v| v.checked_add(digit)).unwrap_or(0));
            } else {
                self.finish(found);
            }
        }
    }

    /// Takes the end of the text.
    pub fn finish(&mut self, found: &mut dyn FnMut(i32)) {
        if let Some(pid) = self.partial.take().filter(|&pid| pid > 0) {
            found(pid);
        }
    }
}

/// All pids of a whole text.
pub fn parse_children(text: &[u8]) -> Vec<i32> {
    let mut pids = Vec::new();
    let mut parser = Pids::default();
    parser.feed(text, &mut |pid| pids.push(pid));
    parser.finish(&mut |pid| pids.push(pid));
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_same_pids() {
        let text = b"1 22 333 4194304 ";
        for size in 1..=text.len() {
            let mut pids = Vec::new();
            let mut parser = Pids::default();
            for piece in text.chunks(size) {
                parser.feed(piece, &mut |pid| pids.push(pid));
            }
            parser.finish(&mut |pid| pids.push(pid));
            assert_eq!(pids, [1, 22, 333, 4_194_304], "pieces of {size}");
        }
    }

    #[test]
    fn odd_text_gives_no_pid() {
        assert_eq!(parse_children(b""), [0; 0]);
        assert_eq!(parse_children(b" \n-x"), [0; 0]);
        assert_eq!(parse_children(b"0 00"), [0; 0]);
        assert_eq!(parse_children(b"5"), [5]);
    }
}
