//! RFC 3339 times, as CloudEvents and JSON carry them, to milliseconds since the epoch.

/// Milliseconds since the epoch, or nothing where the text is no RFC 3339 time.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() < 20 || !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, separator)| bytes[at] != separator) {
        return None;
    }
    let (year, month, day) = (digits(&bytes[0..4])?, digits(&bytes[5..7])?, digits(&bytes[8..10])?);
    let (hour, minute, second) = (digits(&bytes[11..13])?, digits(&bytes[14..16])?, digits(&bytes[17..19])?);
    // A leap second is written as second 60 and taken as the first moment of the next minute.
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in(year, month)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut rest = &bytes[19..];
    let mut millis = 0;
    if rest[0] == b'.' {
        let count = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        for position in 0..3 {
            let digit = if position < count { i64::from(rest[1 + position] - b'0') } else { 0 };
            millis = millis * 10 + digit;
        }
        rest = &rest[1 + count..];
    }
    let offset_minutes = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), hours @ .., b':', m1, m2] if hours.len() == 2 => {
            let (hours, minutes) = (digits(hours)?, digits(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        _ => return None,
    };
    let seconds =
        days_from_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset_minutes * 60;
    Some(seconds * 1000 + millis)
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap(year)),
        _ => 31,
    }
}

fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leap_days = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let whole_years = before * 365 + leap_days;
    const EPOCH: i64 = 1969 * 365 + 1969 / 4 - 1969 / 100 + 1969 / 400;
    whole_years - EPOCH + (1..month).map(|m| days_in(year, m)).sum::<i64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::parse_rfc3339;

    #[test]
    fn known_times() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:30:45.678Z", 951_827_445_678),
            ("2026-11-16T05:00:00.5+01:00", 1_794_801_600_500),
            ("1969-12-31T23:59:59.999Z", -1),
            ("0000-02-29T00:00:00Z", -62_162_121_600_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ] {
            assert_eq!(parse_rfc3339(text), Some(millis), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "2026-11-16",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-16T05:00:00",
            "2026-11-16T05:00:00.Z",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
