//! `/proc/PID/limits`, see `proc_pid_limits(5)`.

use super::{fields, number};

/// One resource limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Soft limit in the unit of the row; `None` is unlimited.
    pub soft: Option<u64>,
    /// Hard limit in the unit of the row; `None` is unlimited.
    pub hard: Option<u64>,
}

/// The row of this name, for example `Max open files`. `None` if there is no such row or it cannot be read.
pub fn parse_limit(text: &[u8], name: &str) -> Option<Limit> {
    let row = text.split(|&b| b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(name.as_bytes())?;
        rest.first().is_some_and(u8::is_ascii_whitespace).then_some(rest)
    })?;
    let mut values = fields(row);
    let soft = Value::parse(values.next()?)?;
    let hard = Value::parse(values.next()?)?;
    Some(Limit { soft: soft.number(), hard: hard.number() })
}

/// The hard limit of `Max realtime timeout` in microseconds; `None` if it is unlimited or there is no such row.
pub fn parse_rttime_hard(text: &[u8]) -> Option<u64> {
    parse_limit(text, "Max realtime timeout")?.hard
}

enum Value {
    Unlimited,
    Number(u64),
}

impl Value {
    fn parse(text: &[u8]) -> Option<Self> {
        if text == b"unlimited" { Some(Self::Unlimited) } else { number(text).map(Self::Number) }
    }

    fn number(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Number(number) => Some(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            20000                1048576              files     
Max nice priority         0                    0                    
Max realtime timeout      unlimited            2305843009213693999  us        
";

    #[test]
    fn rows_are_found_by_their_whole_name() {
        assert_eq!(
            parse_limit(TEXT, "Max open files"),
            Some(Limit { soft: Some(20000), hard: Some(1_048_576) })
        );
        assert_eq!(parse_limit(TEXT, "Max cpu time"), Some(Limit { soft: None, hard: None }));
        assert_eq!(parse_limit(TEXT, "Max nice priority"), Some(Limit { soft: Some(0), hard: Some(0) }));
        assert_eq!(parse_limit(TEXT, "Max open"), None);
        assert_eq!(parse_limit(TEXT, "Max locks"), None);
        assert_eq!(parse_rttime_hard(TEXT), Some(2_305_843_009_213_693_999));
    }

    #[test]
    fn odd_text_is_none() {
        assert_eq!(parse_rttime_hard(b""), None);
        assert_eq!(parse_rttime_hard(b"Max realtime timeout"), None);
        assert_eq!(parse_rttime_hard(b"Max realtime timeout 1"), None);
        assert_eq!(parse_rttime_hard(b"Max realtime timeout 1 x us"), None);
        assert_eq!(parse_rttime_hard(b"Max realtime timeout unlimited unlimited us\n"), None);
    }
}
