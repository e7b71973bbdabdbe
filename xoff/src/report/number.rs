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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_digits() {
        let texts = [0.0, 0.25, 1.0, 999.0, 1500.0, 20e6, 1.234e9, -4096.0].map(short);
        assert_eq!(texts, ["0", "0.25", "1", "999", "1.5k", "20M", "1.23G", "-4.1k"]);
    }
}
