//! Numbers for people.

/// Formats a number with a prefix, such as 1.5k or 20M, and three significant digits.
pub fn short(value: f64) -> String {
    // A number that would round up to the next prefix gets this prefix.
    let (scale, prefix) = match value.abs() {
        999.5e9.. => (1e12, "T"),
        999.5e6.. => (1e9, "G"),
        999.5e3.. => (1e6, "M"),
        999.5.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let decimals = match scaled.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        0.001.. => 3,
        0.0 => 0,
        _ => return format!("{value:.1e}"),
    };
    let text = format!("{scaled:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_digits() {
        let texts =
            [0.0, 0.0004, 0.25, 1.0, 999.0, 1500.0, 999_999.0, 20e6, 1.234e9, -4096.0].map(short);
        assert_eq!(
            texts,
            ["0", "4.0e-4", "0.25", "1", "999", "1.5k", "1M", "20M", "1.23G", "-4.1k"]
        );
    }
}
