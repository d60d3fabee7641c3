//! Brace expansion, on words whose other expansions are still to come.

use std::borrow::Cow;

use crate::ast::Part;
use crate::mark::RUN;

/// How many words one word may become; more are one unknown word.
const WORDS_MAX: usize = 256;

/// A piece of a word: a character that braces can be made of, or something opaque.
#[derive(Clone)]
enum Token<'a> {
    Char(char),
    Part(&'a Part),
}

/// The words that `parts` expands to.
pub(super) fn expand(parts: &[Part]) -> Vec<Cow<'_, [Part]>> {
    let braces = parts.iter().any(|part| matches!(part, Part::Bare(text) if text.contains('{')));
    if !braces {
        return vec![Cow::Borrowed(parts)];
    }
    let mut tokens = Vec::new();
    for part in parts {
        match part {
            Part::Bare(text) => tokens.extend(text.chars().map(Token::Char)),
            part => tokens.push(Token::Part(part)),
        }
    }
    let mut fuel = WORDS_MAX;
    match product(&tokens, &mut fuel, 0) {
        Some(words) => words.iter().map(|word| Cow::Owned(rebuild(word))).collect(),
        None => vec![Cow::Owned(vec![Part::Quoted(RUN.to_string())])],
    }
}

fn product<'a>(tokens: &[Token<'a>], fuel: &mut usize, depth: usize) -> Option<Vec<Vec<Token<'a>>>> {
    if depth > 16 {
        return None;
    }
    let Some((open, close, commas)) = first_group(tokens) else { return Some(vec![tokens.to_vec()]) };
    let before = tokens.get(..open)?;
    // Braces come first: of `$x{a,b}` bash makes `$xa` and `$xb`, other variables than the one that was read.
    if matches!(before.last(), Some(Token::Part(Part::Param(param))) if !param.braced) {
        return None;
    }
    let inside = tokens.get(open + 1..close)?;
    let mut middles = Vec::new();
    if commas.is_empty() {
        middles = sequence(inside, fuel)?;
    } else {
        let mut start = open + 1;
        for end in commas.iter().copied().chain([close]) {
            middles.extend(product(tokens.get(start..end)?, fuel, depth + 1)?);
            start = end + 1;
        }
    }
    let afters = product(tokens.get(close + 1..)?, fuel, depth + 1)?;
    let count = middles.len() * afters.len();
    if count > *fuel {
        return None;
    }
    *fuel -= count;
    let mut words = Vec::with_capacity(count);
    for middle in &middles {
        for after in &afters {
            words.push(before.iter().chain(middle).chain(after).cloned().collect());
        }
    }
    Some(words)
}

/// The first group that expands: its braces and the commas between them.
fn first_group(tokens: &[Token<'_>]) -> Option<(usize, usize, Vec<usize>)> {
    let mut opens: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut best: Option<(usize, usize, Vec<usize>)> = None;
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Char('{') => opens.push((i, Vec::new())),
            Token::Char(',') => {
                if let Some((_, commas)) = opens.last_mut() {
                    commas.push(i);
                }
            }
            Token::Char('}') => {
                let Some((open, commas)) = opens.pop() else { continue };
                let valid = !commas.is_empty() || is_sequence(tokens.get(open + 1..i).unwrap_or_default());
                if valid && best.as_ref().is_none_or(|(first, ..)| open < *first) {
                    best = Some((open, i, commas));
                }
                if opens.is_empty() && best.is_some() {
                    return best;
                }
            }
            _ => {}
        }
    }
    best
}

fn text(tokens: &[Token<'_>]) -> Option<String> {
    tokens
        .iter()
        .map(|token| match token {
            Token::Char(c) => Some(*c),
            Token::Part(_) => None,
        })
        .collect()
}

fn bounds(tokens: &[Token<'_>]) -> Option<(String, String, i64)> {
    let text = text(tokens)?;
    let mut parts = text.split("..");
    let (from, to) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let step = parts.next().map_or(Some(1), |step| step.parse::<i64>().ok())?;
    let number = |text: &str| text.parse::<i64>().is_ok();
    let letter = |text: &str| text.chars().count() == 1 && text.chars().all(|c| c.is_ascii_alphabetic());
    let valid = (number(&from) && number(&to)) || (letter(&from) && letter(&to));
    (valid && parts.next().is_none()).then_some((from, to, step))
}

fn is_sequence(tokens: &[Token<'_>]) -> bool {
    tokens.len() < 64 && bounds(tokens).is_some()
}

fn sequence<'a>(tokens: &[Token<'_>], fuel: &mut usize) -> Option<Vec<Vec<Token<'a>>>> {
    let (from, to, step) = bounds(tokens)?;
    let code = |text: &str| {
        text.parse::<i64>().ok().or_else(|| text.chars().next().map(|c| i64::from(u32::from(c))))
    };
    let letters = from.parse::<i64>().is_err();
    let (start, end) = (code(&from)?, code(&to)?);
    let step = step.checked_abs()?.max(1);
    if usize::try_from(start.abs_diff(end) / step.unsigned_abs()).ok()? >= *fuel {
        return None;
    }
    let mut words = Vec::new();
    let mut value = start;
    while (start <= end && value <= end) || (start > end && value >= end) {
        let text = match u32::try_from(value).ok().and_then(char::from_u32) {
            Some(c) if letters => c.to_string(),
            _ => value.to_string(),
        };
        words.push(text.chars().map(Token::Char).collect());
        value = if start <= end { value.checked_add(step)? } else { value.checked_sub(step)? };
    }
    Some(words)
}

fn rebuild(tokens: &[Token<'_>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for token in tokens {
        match (token, parts.last_mut()) {
            (Token::Char(c), Some(Part::Bare(text))) => text.push(*c),
            (Token::Char(c), _) => parts.push(Part::Bare(c.to_string())),
            (Token::Part(part), _) => parts.push((*part).clone()),
        }
    }
    parts
}
