//! The last look at text that does not parse: does any of its simple commands, taken alone, have to be denied?

use crate::eval::Checker;
use crate::eval::env::Env;
use crate::parse::{Origin, parse};
use crate::verdict::Decision;

/// Pieces that are tried.
const PIECES_MAX: usize = 64;

/// Reports `parse.danger` if a piece of `text` between separators would be denied.
pub(crate) fn raw(checker: &mut Checker<'_>, text: &str) {
    if is_bomb(text) {
        return checker.report("proc.bomb", "");
    }
    let pieces = pieces(text);
    for piece in pieces.iter().take(PIECES_MAX) {
        let Ok(script) = parse(piece, Origin::Computed(checker.span), checker.depth) else { continue };
        let mut env = Env::new(&checker.ctx.cwd);
        let worst = checker.probe(|checker| {
            checker.script(&mut env, &script, None);
        });
        if worst == Decision::Deny {
            checker.report("parse.danger", piece);
            return;
        }
    }
}

/// A bomb in the usual spelling, which bash refuses without its blanks and other shells run.
fn is_bomb(text: &str) -> bool {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((name, body)) = squeezed.split_once("(){") else { return false };
    let name = name.rsplit([';', '&', '|', '(', '\'', '"']).next().unwrap_or_default();
    !name.is_empty() && body.starts_with(&format!("{name}|{name}&"))
}

/// The text between unquoted separators.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            (None, b';' | b'|' | b'&' | b'\n' | b'(' | b')' | b'{' | b'}' | b'`') => {
                pieces.push(text.get(start..at).unwrap_or_default().trim());
                start = at + 1;
            }
            _ => {}
        }
        if pieces.len() >= PIECES_MAX {
            return pieces;
        }
    }
    pieces.push(text.get(start..).unwrap_or_default().trim());
    pieces.retain(|piece| !piece.is_empty() && *piece != text.trim());
    pieces
}
