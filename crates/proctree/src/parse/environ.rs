//! `/proc/PID/environ`: `NAME=value` entries, each ended by NUL, see `proc_pid_environ(5)`.

/// Finds one variable in text that comes in pieces; keeps nothing but the value.
#[derive(Debug)]
pub struct Finder<'a> {
    name: &'a [u8],
    at: At,
    value: Vec<u8>,
}

/// Where in an entry the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// This many bytes of the name have matched.
    Name(usize),
    /// In an entry of another name.
    Other,
    Value,
    Done,
}

impl<'a> Finder<'a> {
    /// Looks for the first entry of this name. An empty name is never found.
    pub fn new(name: &'a [u8]) -> Self {
        Self { name, at: At::Name(0), value: Vec::new() }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.at = match self.at {
                At::Done => return,
                At::Value if byte == 0 => At::Done,
                At::Value => {
                    self.value.push(byte);
                    At::Value
                }
                At::Name(_) | At::Other if byte == 0 => At::Name(0),
                At::Name(n) if n > 0 && n == self.name.len() && byte == b'=' => At::Value,
                At::Name(n) if self.name.get(n) == Some(&byte) => At::Name(n + 1),
                At::Name(_) | At::Other => At::Other,
            };
        }
    }

    /// True once the entry has been read to its end: more text changes nothing.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// The value, if the entry was there. The end of the text ends an entry too.
    pub fn finish(self) -> Option<Vec<u8>> {
        matches!(self.at, At::Value | At::Done).then_some(self.value)
    }
}

/// The first value of `name` in a whole text.
pub fn find(text: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut finder = Finder::new(name);
    finder.feed(text);
    finder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: Option<&[u8]>) {
        for size in 1..=text.len().max(1) {
            let mut finder = Finder::new(b"KEY");
            text.chunks(size).for_each(|piece| finder.feed(piece));
            assert_eq!(finder.finish().as_deref(), expected, "pieces of {size}");
        }
    }

    #[test]
    fn only_the_whole_name_at_the_start_of_an_entry_counts() {
        check(b"A=1\0KEY=v\0B=2\0", Some(b"v"));
        check(b"KEY=v", Some(b"v"));
        check(b"KEY=\0", Some(b""));
        check(b"KEY=a=b\0", Some(b"a=b"));
        check(b"KEY=1\0KEY=2\0", Some(b"1"));
        check(b"XKEY=1\0KEYS=2\0KE=3\0KEY\0A=KEY=4\0", None);
        check(b"KKEY=1\0", None);
        check(b"", None);
        check(b"\0\0\0KEY=x\0", Some(b"x"));
    }

    #[test]
    fn an_empty_name_is_never_found() {
        assert_eq!(find(b"=x\0", b""), None);
    }
}
