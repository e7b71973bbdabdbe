//! Numbers for readers. A number is written in full; where it cannot be, as of means and ratios, it is rounded half up.

use results::{Number, count};

use super::change::Change;

/// Header of the cells of a [`Change`].
pub const CHANGE: [&str; 4] = ["A", "B", "B - A", "% of A"];
/// Text for a missing number.
pub const NONE: &str = "-";

/// Writes a number with separators of thousands.
pub fn grouped(number: Number) -> String {
    let text = Number(number.0.abs()).to_string();
    let (whole, places) = text.split_once('.').map_or((&*text, None), |(it, of)| (it, Some(of)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let sign = if number.0 < 0 { "-" } else { "" };
    places.map_or_else(|| format!("{sign}{whole}"), |places| format!("{sign}{whole}.{places}"))
}

/// Writes a difference: with its sign, unless it is zero.
pub fn difference(number: Number) -> String {
    let sign = if number.0 > 0 { "+" } else { "" };
    format!("{sign}{}", grouped(number))
}

/// Writes a difference that is a part of one as a percentage, with its sign and without the unit.
pub fn percent(part: Number) -> String {
    difference(Number(part.0 * 100))
}

/// Writes an instant or its difference, exactly.
pub fn instant(ns: i64) -> String {
    grouped(Number(i128::from(ns) * Number::ONE.0))
}

/// Writes the cells of a number of both sides.
pub fn cells(change: &Change) -> [String; 4] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    [
        or_none(change.a.map(grouped)),
        or_none(change.b.map(grouped)),
        or_none(change.b_minus_a.map(difference)),
        or_none(change.of_a.map(percent)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_signs_and_thousands() {
        let of = |millionths| Number(millionths);
        assert_eq!(grouped(of(-1_234_567_500_000)), "-1,234,567.5");
        assert_eq!(difference(of(1_234_000_000)), "+1,234");
        assert_eq!(difference(of(-500_000)), "-0.5");
        assert_eq!((difference(of(0)), percent(of(-12_345))), ("0".into(), "-1.2345".into()));
        assert_eq!(instant(-36_637), "-36,637");
    }
}
