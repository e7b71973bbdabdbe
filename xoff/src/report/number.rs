//! Numbers for people.

/// A number with a prefix, such as 1.5k or 20M, with three digits that count.
pub fn short(value: f64) -> String {
    let size = value.abs();
    let (scale, prefix) = match size {
        1e12.. => (1e12, "T"),
        1e9.. => (1e9, "G"),
        1e6.. => (1e6, "M"),
        1e3.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let decimals = match scaled.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.0 => 0,
        _ => 3,
    };
    let text = format!("{scaled:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{prefix}")
}

/// A time in nanoseconds as a number of seconds with a prefix, such as 1.5m or 20u; "s" is to follow.
pub fn short_time(nanoseconds: f64) -> String {
    let (scale, prefix) = match nanoseconds {
        1e9.. => (1e9, ""),
        1e6.. => (1e6, "m"),
        1e3.. => (1e3, "u"),
        _ => (1.0, "n"),
    };
    format!("{} {prefix}", short(nanoseconds / scale))
}

/// Digits in groups of three, such as 1,234,567.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, tail) = digits.split_at(first);
    let tail = tail.as_bytes().chunks(3).map(|three| String::from_utf8_lossy(three));
    tail.fold(head.to_owned(), |text, three| text + "," + &three)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_digits() {
        let texts = [0.0, 0.25, 1.0, 999.0, 1500.0, 20e6, 1.234e9, -4096.0].map(short);
        assert_eq!(texts, ["0", "0.25", "1", "999", "1.5k", "20M", "1.23G", "-4.1k"]);
    }

    #[test]
    fn groups() {
        let texts = [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
    }
}
