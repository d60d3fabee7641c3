//! What JSON-RPC answers to a text that is no message: an error, with the id wherever that can be read, so that nobody
//! waits for ever.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// Not JSON.
const PARSE_ERROR: i32 = -32700;
/// JSON, and no message.
pub(crate) const INVALID_REQUEST: i32 = -32600;

/// The answer to a text that could not be read as a message. `None` where the protocol gives none: to a notification, and
/// to an answer, so that two who do not understand each other do not go on for ever.
pub(crate) fn complaint(text: &[u8]) -> Option<Value> {
    let (code, why, value) = match serde_json::from_slice::<Value>(text) {
        Ok(value) => {
            (INVALID_REQUEST, "this is no request: an object with jsonrpc, id, method".to_owned(), value)
        }
        Err(error) => {
            // What makes it unreadable is mostly in a string, and the id beside it is not.
            let value = serde_json::from_str(&mended(text)).unwrap_or_default();
            (PARSE_ERROR, format!("this is not JSON: {error}"), value)
        }
    };
    let is_answer =
        value.get("method").is_none() && (value.get("result").is_some() || value.get("error").is_some());
    let is_notification =
        code == INVALID_REQUEST && value.get("id").is_none() && value.get("method").is_some();
    (!is_answer && !is_notification).then(|| refusal(code, &why, value.get("id")))
}

/// An error; the id is null where there is none that could be one.
pub(crate) fn refusal(code: i32, why: &str, id: Option<&Value>) -> Value {
    let id = id.filter(|id| id.is_string() || id.is_number());
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

/// The text with U+FFFD for bytes that are not UTF-8 and for escapes of half a surrogate pair.
fn mended(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        out.push('\\');
        rest = match unit(after) {
            Some(first @ 0xD800..=0xDFFF) => {
                let after = after.get(5..).unwrap_or_default();
                let second = after.strip_prefix('\\').and_then(unit);
                if let (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) = (first, second) {
                    let _infallible = write!(out, "u{first:04x}\\u{second:04x}");
                    after.get(6..).unwrap_or_default()
                } else {
                    out.push_str("ufffd");
                    after
                }
            }
            // The escaped character, so that an escaped backslash begins nothing.
            _ => match after.chars().next() {
                Some(escaped) => {
                    out.push(escaped);
                    after.get(escaped.len_utf8()..).unwrap_or_default()
                }
                None => after,
            },
        };
    }
    out + rest
}

/// The UTF-16 unit of `uXXXX`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_answered() {
        for (text, code, id) in [
            (&br#"{"id": 7, "params": "\ud83d"}"#[..], PARSE_ERROR, json!(7)),
            (br#"{"id": "a", "params": "\\\udc00 \ud83d\ude00"}"#, PARSE_ERROR, json!("a")),
            (b"{\"id\": 8, \"params\": \"\xff\"}", PARSE_ERROR, json!(8)),
            (b"{\"id\": 9, ", PARSE_ERROR, Value::Null),
            (b"hello", PARSE_ERROR, Value::Null),
            (b"[]", INVALID_REQUEST, Value::Null),
            (br#"{"id": 4}"#, INVALID_REQUEST, json!(4)),
            (br#"{"id": [1], "method": "ping"}"#, INVALID_REQUEST, Value::Null),
        ] {
            let answer = complaint(text).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
            assert!(answer.as_object().unwrap().contains_key("id"));
        }
    }

    #[test]
    fn answers_and_notifications_are_not_answered() {
        for text in [
            &br#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "\ud83d"}}"#[..],
            br#"{"id": 1, "result": 5}"#,
            br#"{"method": "notifications/odd", "params": 5}"#,
        ] {
            assert_eq!(complaint(text), None);
        }
        let own = complaint(b"x").unwrap().to_string();
        assert_eq!(complaint(own.as_bytes()), None);
    }
}
