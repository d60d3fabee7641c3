//! Strings that are filled in, and functions that are given to others to call.

use super::lexer::Token;
use super::{SPAN_MAX, Scan, is_sink};
use crate::mark::RUN;

/// Functions that call the one they are given.
const MAPPERS: &[&str] =
    &["map", "array_map", "array_walk", "call_user_func", "call_user_func_array", "starmap", "partial"];

impl Scan<'_> {
    /// The text at `at` with its values filled in, and how many tokens behind it that took.
    pub(super) fn formatted(&self, text: &str, at: usize, to: usize) -> (String, usize) {
        let interpolates = at.checked_sub(1).and_then(|i| self.tokens.get(i));
        if matches!(interpolates, Some(Token::Name(name)) if matches!(name.as_str(), "f" | "rf" | "fr")) {
            return (self.filled_by_name(text), 0);
        }
        let (values, used) = match (self.tokens.get(at + 1), self.tokens.get(at + 2), self.tokens.get(at + 3))
        {
            (Some(Token::Mark('%')), Some(Token::Mark('(' | '[')), _) => {
                let close = self.closing(at + 2).min(to);
                (self.split(at + 3, close), close - at)
            }
            (Some(Token::Mark('%')), Some(_), _) => (vec![self.resolve(at + 2, at + 3)], 2),
            (Some(Token::Mark('.')), Some(Token::Name(name)), Some(Token::Mark('('))) if name == "format" => {
                let close = self.closing(at + 3).min(to);
                (self.split(at + 4, close), close - at)
            }
            _ => return (text.to_owned(), 0),
        };
        (fill(text, &values), used)
    }

    /// The bracket that closes the one at `open`, or as far as is looked.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_u32;
        for (i, token) in self.tokens.iter().enumerate().skip(open).take(SPAN_MAX) {
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return i;
            }
        }
        open
    }

    /// `f"… {name}"`
    fn filled_by_name(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else { break };
            let value = self.constants.iter().rev().find(|(known, _)| known == name.trim());
            match value {
                Some((_, value)) => out.push_str(value),
                None => out.push(RUN),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    /// The sink that a call hands to a function that calls it for each of a list.
    pub(super) fn mapped(&self, at: usize, last: &str) -> Option<String> {
        if !MAPPERS.contains(&last) || !matches!(self.tokens.get(at + 1), Some(Token::Mark('('))) {
            return None;
        }
        let name = match self.tokens.get(at + 2)? {
            Token::Name(name) | Token::Text(name) => name.rsplit(['.', ':']).next().unwrap_or(name),
            _ => return None,
        };
        (is_sink(name) && matches!(self.tokens.get(at + 3), Some(Token::Mark(',')))).then(|| name.to_owned())
    }
}

/// Puts values in the places of `%s` and `{}`.
fn fill(text: &str, values: &[String]) -> String {
    let (mut out, mut next) = (String::new(), 0);
    let mut chars = text.chars().peekable();
    let mut value = |out: &mut String, at: Option<usize>| {
        let at = at.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
        match values.get(at) {
            Some(value) => out.push_str(value),
            None => out.push(RUN),
        }
    };
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some('%')) => out.extend(chars.next()),
            ('%', Some('s' | 'd' | 'r' | 'i')) => {
                chars.next();
                value(&mut out, None);
            }
            ('{', Some(_)) => {
                let inner: String = chars.by_ref().take_while(|c| *c != '}').collect();
                value(&mut out, inner.split([':', '!']).next().and_then(|number| number.parse().ok()));
            }
            _ => out.push(c),
        }
    }
    out
}
