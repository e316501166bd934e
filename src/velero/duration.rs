//! Durations as Go writes and reads them: `4h0m0s`, `10m`, `1h30m5.5s`.
//!
//! Velero's durations (`spec.operationTimeout`, `--fs-backup-timeout`) go through Go's
//! `time.ParseDuration`, and so do the `--threshold` and `--timeout` of this tool, so that a value means
//! the same in both.

use jiff::SignedDuration;

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Reads a duration by the rules of Go's `time.ParseDuration`: an optional sign, then numbers with a unit
/// of `ns`, `us`, `µs`, `ms`, `s`, `m` or `h`, each possibly with a fraction, or a bare `0`.
///
/// Returns `None` for everything that Go refuses (no unit, an empty text, blanks, days) and for what
/// exceeds about 292 years, Go's own range.
///
/// ```
/// use velero_slots::velero::parse_go_duration;
/// assert_eq!(parse_go_duration("4h0m0s").map(|d| d.as_secs()), Some(4 * 3600));
/// assert_eq!(parse_go_duration("10"), None);
/// ```
#[must_use]
pub fn parse_go_duration(text: &str) -> Option<SignedDuration> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (unit, after) = unit(after)?;
        nanos = nanos
            .checked_add(whole_part(whole)?.checked_mul(unit)?)?
            .checked_add(fraction_of(fraction, unit))?;
        rest = after;
    }
    // Go keeps nanoseconds in an int64 and reports an overflow as an error.
    let nanos = i64::try_from(sign * nanos).ok()?;
    Some(SignedDuration::from_nanos(nanos))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn whole_part(digits: &str) -> Option<i128> {
    if digits.is_empty() {
        return Some(0);
    }
    // More than 19 digits are beyond Go's range in every unit.
    digits.parse::<u64>().ok().map(i128::from)
}

/// Digits beyond the nanosecond are cut.
fn fraction_of(digits: &str, unit: i128) -> i128 {
    let mut value = 0;
    // A power of ten that never exceeds the digits that can still matter for an hour in nanoseconds.
    let mut divisor: i128 = 1;
    for digit in digits.bytes().take(18) {
        value = value * 10 + i128::from(digit - b'0');
        divisor *= 10;
    }
    value * unit / divisor
}

fn unit(text: &str) -> Option<(i128, &str)> {
    // `ms` before `m`: the longest name first.
    [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", NANOS_PER_SECOND),
        ("m", 60 * NANOS_PER_SECOND),
        ("h", 3_600 * NANOS_PER_SECOND),
    ]
    .into_iter()
    .find_map(|(name, nanos)| Some((nanos, text.strip_prefix(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(text: &str) -> Option<f64> {
        parse_go_duration(text).map(|duration| duration.as_secs_f64())
    }

    #[test]
    fn durations_that_velero_writes_are_read() {
        for (text, expected) in [
            ("4h0m0s", 14400.0),
            ("10m0s", 600.0),
            ("10m", 600.0),
            ("1h30m5.5s", 5405.5),
            ("0s", 0.0),
            ("0", 0.0),
            ("-0", 0.0),
            ("-1.5h", -5400.0),
            ("+5s", 5.0),
            ("90s", 90.0),
            (".5s", 0.5),
            ("5.s", 5.0),
            ("1m1m", 120.0),
            ("100ms", 0.1),
            ("1h1us", 3_600.000_001),
            ("3\u{b5}s", 0.000_003),
            ("7\u{3bc}s", 0.000_007),
            ("1.00000000000000000000000000000000000009s", 1.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in [
            "",
            "-",
            "+",
            "10",
            "1d",
            "1h ",
            " 1h",
            "h",
            ".s",
            "1hh",
            "--1s",
            "1e3s",
            "4h30",
            "1:30",
            "9999999999h",
            "99999999999999999999s",
        ] {
            assert_eq!(parse_go_duration(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn hours_minutes_and_seconds_add_up(h in 0_i64..100_000, m in 0_i64..60, s in 0_i64..60) {
            let text = format!("{h}h{m}m{s}s");
            prop_assert_eq!(
                parse_go_duration(&text).map(|duration| duration.as_secs()),
                Some(h * 3600 + m * 60 + s)
            );
        }

        #[test]
        fn a_text_without_a_digit_is_never_a_duration(text in "[^0-9]{0,40}") {
            prop_assert_eq!(parse_go_duration(&text), None);
        }
    }
}
