//! Decimal numbers of text files, exact to 18 places, without floats.

/// The number one, as [`parse`] returns it.
pub const ONE: u128 = 1_000_000_000_000_000_000;

/// Parses a number such as `0.25`, `100` or `1e-05`, in 10^-18; further digits are dropped. Returns
/// `None` if the text is not such a number, is negative, or is 10^15 or more.
pub fn parse(text: &str) -> Option<u128> {
    let (number, exponent) = match text.find(['e', 'E']) {
        None => (text, 0),
        Some(place) => (&text[..place], text[place + 1..].parse::<i32>().ok()?),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    let mut count = digits();
    if count.next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Position of the first digit, in powers of ten above 10^-18.
    let mut place = exponent.checked_add(18)?.checked_add(i32::try_from(whole.len()).ok()?)?;
    let mut value = 0u128;
    for digit in digits().map(|digit| u128::from(digit - b'0')) {
        place -= 1;
        if digit > 0 && place >= 33 {
            return None;
        }
        if digit > 0 && place >= 0 {
            value += digit * 10u128.pow(place.unsigned_abs());
        }
    }
    Some(value)
}

/// Returns the shortest exact text.
pub fn display(value: u128) -> String {
    let text = format!("{}.{:018}", value / ONE, value % ONE);
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly() {
        let rows = [
            ("0", Some(0)),
            ("1", Some(ONE)),
            ("100.0", Some(100 * ONE)),
            ("0.0648826", Some(64_882_600_000_000_000)),
            ("1e-05", Some(10_000_000_000_000)),
            ("2.5E3", Some(2500 * ONE)),
            ("33.333333333333333333333", Some(33_333_333_333_333_333_333)),
            (".5", Some(ONE / 2)),
            ("5.", Some(5 * ONE)),
            ("999999999999999", Some(999_999_999_999_999 * ONE)),
            ("1e15", None),
            ("1e-99", Some(0)),
            ("0e999999999", Some(0)),
            ("1e2147483647", None),
            ("", None),
            (".", None),
            ("-1", None),
            ("1e", None),
            ("1,5", None),
            ("nan", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    #[test]
    fn text_is_the_shortest() {
        assert_eq!(display(ONE / 4), "0.25");
        assert_eq!(display(100 * ONE), "100");
        assert_eq!(display(0), "0");
    }
}
