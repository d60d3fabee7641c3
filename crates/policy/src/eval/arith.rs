//! Integer arithmetic without variables, as far as offsets and counters need it.

/// The value of `text`, if it is made of integers, `+ - * / %` and brackets.
pub(super) fn integer(text: &str) -> Option<i64> {
    if text.len() > 256 {
        return None;
    }
    let mut input = Input { text: text.as_bytes(), pos: 0, depth: 0 };
    let value = input.sum()?;
    input.blanks();
    (input.pos == input.text.len()).then_some(value)
}

struct Input<'a> {
    text: &'a [u8],
    pos: usize,
    depth: u32,
}

impl Input<'_> {
    fn blanks(&mut self) {
        while self.text.get(self.pos).is_some_and(u8::is_ascii_whitespace) {
            self.pos += 1;
        }
    }

    fn operator(&mut self, wanted: &[u8]) -> Option<u8> {
        self.blanks();
        let found = self.text.get(self.pos).copied().filter(|byte| wanted.contains(byte))?;
        self.pos += 1;
        Some(found)
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(b"+-") {
            let other = self.product()?;
            value = if operator == b'+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.unary()?;
        while let Some(operator) = self.operator(b"*/%") {
            let other = self.unary()?;
            value = match operator {
                b'*' => value.checked_mul(other)?,
                b'/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let value = match self.operator(b"+-(") {
            Some(b'-') => self.unary()?.checked_neg()?,
            Some(b'+') => self.unary()?,
            Some(_) => {
                let value = self.sum()?;
                self.operator(b")")?;
                value
            }
            None => self.number()?,
        };
        self.depth -= 1;
        Some(value)
    }

    fn number(&mut self) -> Option<i64> {
        self.blanks();
        let start = self.pos;
        while self.text.get(self.pos).is_some_and(u8::is_ascii_alphanumeric) {
            self.pos += 1;
        }
        let text = std::str::from_utf8(self.text.get(start..self.pos)?).ok()?;
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None if text.len() > 1 && text.starts_with('0') => i64::from_str_radix(text, 8).ok(),
            None => text.parse().ok(),
        }
    }
}
