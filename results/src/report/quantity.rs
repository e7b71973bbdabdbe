//! Numbers as a person reads them: units, at most three decimals, thousands apart.

use units::{Bytes, Nanos};

use super::super::slowdown::Slowdown;

/// `12,345,678`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 flow`, `2 flows`, `2 switches`.
pub fn counted(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number))
}

/// `999 B`, `12.345 kB`, `1.5 MB`.
pub fn bytes(Bytes(bytes): Bytes) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB"])
}

/// `999 ns`, `12.345 us`, `1.5 ms`.
pub fn span(Nanos(nanos): Nanos) -> String {
    scaled(nanos, &["ns", "us", "ms", "s"])
}

/// Microseconds in at most nine characters: `12.345`, from a tenth of a second on without decimals, rounded half up.
pub fn micros(Nanos(nanos): Nanos) -> String {
    if nanos < 100_000_000 {
        format!("{}.{:03}", nanos / 1000, nanos % 1000)
    } else {
        half_up(nanos, 1000).to_string()
    }
}

/// A slowdown in at most eight characters: `8.1347`, from a thousand on without decimals, rounded half up.
pub fn ratio(slowdown: Slowdown) -> String {
    if slowdown.0 < 10_000_000 {
        slowdown.to_string()
    } else {
        half_up(slowdown.0, 10_000).to_string()
    }
}

/// A quotient, rounded half up.
const fn half_up(number: u64, divisor: u64) -> u64 {
    number / divisor + (number % divisor * 2 >= divisor) as u64
}

/// In the largest unit that leaves a whole part, rounded half up to three decimals.
fn scaled(number: u64, units: &[&str]) -> String {
    let mut thousandths = u128::from(number) * 1000;
    let (mut unit, mut divisor) = (0, 1);
    while thousandths >= 1_000_000 && unit + 1 < units.len() {
        // Round once, from the number itself: dividing the rounded would round twice.
        unit += 1;
        divisor *= 1000;
        thousandths = (u128::from(number) * 1000 + divisor / 2) / divisor;
    }
    let (whole, part) = (thousandths / 1000, thousandths % 1000);
    let decimals = format!("{part:03}");
    match decimals.trim_end_matches('0') {
        "" => format!("{whole} {}", units[unit]),
        decimals => format!("{whole}.{decimals} {}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_size() {
        for (number, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1 kB"),
            (12_345, "12.345 kB"),
            (999_999, "999.999 kB"),
            (1_048_576, "1.049 MB"),
            (1_500_000, "1.5 MB"),
            (999_999_499, "999.999 MB"),
            (999_999_500, "1 GB"),
            (u64::MAX, "18446744.074 TB"),
        ] {
            assert_eq!(bytes(Bytes(number)), expected);
        }
        assert_eq!(span(Nanos(812_345)), "812.345 us");
    }

    #[test]
    fn microseconds_and_thousands() {
        assert_eq!(micros(Nanos(20_000_001)), "20000.001");
        assert_eq!(micros(Nanos(123_456_789_012)), "123456789");
        assert_eq!(span(Nanos(123_456_789_512)), "123.457 s");
        assert_eq!(ratio(Slowdown(9_999_999)), "999.9999");
        assert_eq!(ratio(Slowdown(10_000_000)), "1000");
        assert_eq!(count(0), "0");
        assert_eq!(count(123), "123");
        assert_eq!(count(1_234_567), "1,234,567");
        for (number, noun, expected) in [
            (1, "flow", "1 flow"),
            (2, "flow", "2 flows"),
            (1, "switch", "1 switch"),
            (0, "switch", "0 switches"),
        ] {
            assert_eq!(counted(number, noun), expected);
        }
    }

    #[test]
    fn decimals_end_where_numbers_become_long() {
        assert_eq!(micros(Nanos(0)), "0.000");
        assert_eq!(micros(Nanos(99_999_999)), "99999.999");
        assert_eq!(micros(Nanos(100_000_000)), "100000");
        assert_eq!([100_000_499, 100_000_500].map(|it| micros(Nanos(it))), ["100000", "100001"]);
        assert_eq!([10_004_999, 10_005_000].map(|it| ratio(Slowdown(it))), ["1000", "1001"]);
        assert_eq!([span(Nanos(999)), span(Nanos(1000))], ["999 ns", "1 us"]);
        assert_eq!(span(Nanos(12_345_678_900_000)), "12345.679 s");
        assert_eq!([count(1000), count(12_345), count(123_456)], ["1,000", "12,345", "123,456"]);
    }
}
