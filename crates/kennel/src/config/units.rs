//! Durations and sizes as people write them, on the command line and in files.

use std::time::Duration;

const MAX_SECONDS: f64 = 365.0 * 86_400.0 * 100.0;

/// `500ms`, `30s`, `1.5m`, `2h`, `1d`; a bare number is seconds; `0` is none.
///
/// # Errors
/// What is wrong, and how to write it.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(format!("{text:?} is not a duration: write 500ms, 30s, 10m, 2h or 1d")),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match digits.parse::<f64>() {
        Ok(number) if plain && number * scale <= MAX_SECONDS => Ok(Duration::from_secs_f64(number * scale)),
        Ok(_) if plain => Err(format!("{text:?} is longer than 100 years")),
        _ => Err(format!("{text:?} is not a duration: write 500ms, 30s, 10m, 2h or 1d")),
    }
}

/// `65536`, `64K`, `64M`, `1G` (powers of 1024).
///
/// # Errors
/// What is wrong, and how to write it.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let refused = || format!("{text:?} is not a size: write 65536, 64K, 64M or 1G");
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(refused()),
    };
    let number: u64 = digits.parse().map_err(|_| refused())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(refused)
}

/// As [`parse`] reads it, in the largest unit that leaves no fraction.
pub fn show(duration: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let ms = duration.as_millis();
    match UNITS.iter().find(|(scale, _)| ms > 0 && ms.is_multiple_of(*scale)) {
        Some((scale, unit)) => format!("{}{unit}", ms / scale),
        None if ms == 0 => "0".to_owned(),
        None => format!("{ms}ms"),
    }
}

/// As [`parse_size`] reads it, in the largest unit that leaves no fraction.
pub fn show_size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "G"), (20, "M"), (10, "K")];
    match UNITS.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text, ms| assert_eq!(parse(text).ok(), Some(Duration::from_millis(ms)), "{text}");
        check("500ms", 500);
        check("30s", 30_000);
        check("1.5m", 90_000);
        check("2", 2000);
        check("0", 0);
        for bad in ["", "s", "-1s", "1x", "1e9s", "nan", "99999999999h", "1.2.3s"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["500ms", "30s", "2m", "36h", "1d", "0"] {
            assert_eq!(parse(text).map(show).as_deref(), Ok(text));
        }
        for text in ["65537", "64K", "3M", "1G"] {
            assert_eq!(parse_size(text).map(show_size).as_deref(), Ok(text));
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64K").ok(), Some(65_536));
        assert_eq!(parse_size("1g").ok(), Some(1 << 30));
        for bad in ["", "0", "-1", "1T", "99999999999999999999"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
