//! Pure functions on text that shells and filters apply: escapes and decoders.

/// Which program's escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `$'…'`
    AnsiC,
    /// `echo -e` and `printf '%b'`: octal needs a leading zero, `\c` ends the text.
    Echo,
    /// `printf '%b'`: as `echo -e`, and octal needs no zero.
    Bytes,
    /// The format of `printf`.
    Printf,
}

/// Replaces backslash escapes.
pub(crate) fn unescape(text: &str, escapes: Escapes) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let Some(kind) = chars.next() else {
            out.push(b'\\');
            break;
        };
        let mut digits = |radix: u32, max: usize| {
            let mut value = None;
            for _ in 0..max {
                let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
                value = Some(value.unwrap_or(0_u32).wrapping_mul(radix).wrapping_add(digit));
                chars.next();
            }
            value
        };
        match kind {
            'a' => out.push(7),
            'b' => out.push(8),
            'e' | 'E' => out.push(27),
            'f' => out.push(12),
            'n' => out.push(b'\n'),
            'r' => out.push(b'\r'),
            't' => out.push(b'\t'),
            'v' => out.push(11),
            '\\' => out.push(b'\\'),
            '\'' | '"' | '?' if !matches!(escapes, Escapes::Echo) => push(&mut out, kind),
            'c' if matches!(escapes, Escapes::Echo | Escapes::Bytes) => break,
            'c' if escapes == Escapes::AnsiC => {
                chars.next();
            }
            'x' => match digits(16, 2) {
                Some(value) => out.push(u8::try_from(value).unwrap_or(b'?')),
                None => out.extend(b"\\x"),
            },
            'u' | 'U' => {
                let value = digits(16, if kind == 'u' { 4 } else { 8 });
                push(&mut out, value.and_then(char::from_u32).unwrap_or('?'));
            }
            '0' if matches!(escapes, Escapes::Echo | Escapes::Bytes) => {
                out.push(low_byte(digits(8, 3).unwrap_or(0)));
            }
            '0'..='7' if escapes != Escapes::Echo => {
                let mut value = kind.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    value = digits(8, 1).map_or(value, |digit| value * 8 + digit);
                }
                out.push(low_byte(value));
            }
            other => {
                out.push(b'\\');
                push(&mut out, other);
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn low_byte(value: u32) -> u8 {
    u8::try_from(value & 0xff).unwrap_or(b'?')
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// What `printf` prints.
pub(crate) fn printf(args: &[String]) -> String {
    let args =
        if args.first().is_some_and(|arg| arg == "--") { args.get(1..).unwrap_or_default() } else { args };
    let Some(format) = args.first() else { return String::new() };
    let format = crate::mark::deactivate(format);
    let mut rest = args.get(1..).unwrap_or_default().iter();
    let mut out = String::new();
    for _ in 0..64 {
        let before = rest.len();
        out.push_str(&print_once(&format, &mut rest));
        if rest.len() == 0 || rest.len() == before {
            break;
        }
    }
    out
}

fn print_once(format: &str, rest: &mut std::slice::Iter<'_, String>) -> String {
    let (mut out, mut literal) = (String::new(), String::new());
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                literal.push(c);
                literal.extend(chars.next());
            }
            '%' => {
                out.push_str(&unescape(&std::mem::take(&mut literal), Escapes::Printf));
                while chars.next_if(|c| "-+ #0123456789.*".contains(*c)).is_some() {}
                let kind = chars.next().unwrap_or('%');
                let next =
                    if kind == '%' { None } else { rest.next().map(|arg| crate::mark::deactivate(arg)) };
                match (kind, next) {
                    ('%', _) => out.push('%'),
                    ('b', Some(arg)) => out.push_str(&unescape(&arg, Escapes::Bytes)),
                    ('c', Some(arg)) => out.extend(arg.chars().next()),
                    ('x', Some(arg)) => out.push_str(&arg.parse::<i64>().map_or(arg, |n| format!("{n:x}"))),
                    (_, Some(arg)) => out.push_str(&arg),
                    (_, None) => {}
                }
            }
            c => literal.push(c),
        }
    }
    out.push_str(&unescape(&literal, Escapes::Printf));
    out
}

/// Each line backwards.
pub(crate) fn reversed(text: &str) -> String {
    text.lines().map(|line| line.chars().rev().chain(['\n']).collect::<String>()).collect()
}

/// Decodes base64, or nothing if the text is not that.
pub(crate) fn base64(text: &str) -> Option<String> {
    let (mut bits, mut count, mut out) = (0_u32, 0_u32, Vec::new());
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(low_byte(bits >> count));
        }
    }
    (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned())
}

/// Decodes hexadecimal bytes.
pub(crate) fn hex(text: &str) -> Option<String> {
    let digits = text.chars().filter(|c| !c.is_whitespace() && *c != ':').map(|c| c.to_digit(16));
    let digits: Vec<u32> = digits.collect::<Option<_>>()?;
    let byte = |pair: &[u32]| low_byte(pair.iter().fold(0, |value, digit| value * 16 + digit));
    let bytes: Vec<u8> = digits.chunks_exact(2).map(byte).collect();
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// What `tr` makes of a text.
pub(crate) fn translate(args: &[String], text: &str) -> String {
    let is_flag = |arg: &&String| arg.starts_with('-') && arg.len() > 1;
    let flags: String = args.iter().filter(is_flag).map(String::as_str).collect();
    let mut sets = args.iter().filter(|arg| !is_flag(arg)).map(|arg| tr_set(&crate::mark::deactivate(arg)));
    let Some(from) = sets.next() else { return text.to_owned() };
    let complement = flags.contains(['c', 'C']);
    if flags.contains('d') {
        return text.chars().filter(|c| from.contains(c) == complement).collect();
    }
    let Some(to) = sets.next().filter(|to| !to.is_empty()) else { return text.to_owned() };
    let change = |c: char| match from.iter().rposition(|x| *x == c) {
        Some(at) if !complement => to.get(at).or(to.last()).copied().unwrap_or(c),
        None if complement => to.last().copied().unwrap_or(c),
        _ => c,
    };
    text.chars().map(change).collect()
}

fn tr_set(text: &str) -> Vec<char> {
    match text {
        "[:lower:]" => return ('a'..='z').collect(),
        "[:upper:]" => return ('A'..='Z').collect(),
        "[:digit:]" => return ('0'..='9').collect(),
        _ => {}
    }
    let chars: Vec<char> = unescape(text, Escapes::Printf).chars().collect();
    let (mut set, mut i) = (Vec::new(), 0);
    while let Some(c) = chars.get(i) {
        match (chars.get(i + 1), chars.get(i + 2)) {
            (Some('-'), Some(end)) if u32::from(*end).abs_diff(u32::from(*c)) < 512 => {
                set.extend(*c..=*end);
                i += 3;
            }
            _ => {
                set.push(*c);
                i += 1;
            }
        }
    }
    set
}

/// `word` as one shell word; marks stay what they are.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:=@%+".contains(c) || crate::mark::is_mark(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
