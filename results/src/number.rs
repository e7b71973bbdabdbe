//! Exact numbers: their sums, means and percentiles are equal on every machine.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::column::ColumnType;
use super::row::{Decimal, Field, Value};

/// A number in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub i128);

const ONE: i128 = 1_000_000;

impl Number {
    /// The number one.
    pub const ONE: Self = Self(ONE);

    /// Converts tenths of a per cent to a fraction of 1.
    pub const fn per_mille(value: i32) -> Self {
        Self(value as i128 * (ONE / 1000))
    }

    /// Converts a whole number.
    pub const fn whole(value: i32) -> Self {
        Self(value as i128 * ONE)
    }

    /// Returns `part / whole`, rounded half up. `whole` is above zero.
    pub const fn ratio(part: i128, whole: i128) -> Self {
        Self((2 * part * ONE + whole).div_euclid(2 * whole))
    }

    /// Converts a number or a truth value (1 or 0) of a summary; finer places are rounded half away from zero.
    #[expect(clippy::cast_possible_truncation, reason = "a float beyond all measure saturates")]
    pub fn from_json(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::Bool(truth) => Some(Self(i128::from(*truth) * ONE)),
            serde_json::Value::Number(number) => {
                let exact = number.as_i128().map(|whole| Self(whole * ONE));
                exact.or_else(|| Some(Self((number.as_f64()? * ONE as f64).round() as i128)))
            }
            _ => None,
        }
    }

    /// Returns `sum / count`, rounded half up. `count` is above zero.
    pub fn mean(sum: Self, count: usize) -> Self {
        let count = count as i128;
        Self((2 * sum.0 + count).div_euclid(2 * count))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i128::from(value) * ONE)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0 / ONE) {
            Ok(whole) if self.0 % ONE == 0 => serializer.serialize_i64(whole),
            _ => serializer.serialize_f64(Decimal::new(self.0, 6).nearest()),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        Self::from_json(&number.into()).ok_or_else(|| D::Error::custom("a number is expected"))
    }
}

impl Value for Number {
    const KIND: ColumnType = ColumnType::Decimal;

    fn field(&self) -> Field<'_> {
        Field::Decimal(Decimal::new(self.0, 6).trimmed())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.abs() / ONE, self.0.abs() % ONE);
        let text = format!("{sign}{whole}.{rest:06}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_truths_are_read_exactly() {
        for (json, expected) in [
            ("0", Some("0")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("1.2345", Some("1.2345")),
            ("7.0", Some("7")),
            ("-0.5", Some("-0.5")),
            ("0.1234567", Some("0.123457")),
            ("true", Some("1")),
            ("false", Some("0")),
            ("null", None),
            ("\"9\"", None),
        ] {
            let value = serde_json::from_str(json).unwrap();
            let read = Number::from_json(&value).map(|number| number.to_string());
            assert_eq!(read.as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn json_has_no_places_that_a_number_lacks() {
        for (number, json) in [(5_000_000, "5"), (-1_500_000, "-1.5"), (333_333, "0.333333")] {
            assert_eq!(serde_json::to_string(&Number(number)).unwrap(), json);
        }
        assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
    }

    #[test]
    fn means_are_rounded_half_up() {
        let mean = |sum, count| Number::mean(Number(sum), count).0;
        assert_eq!((mean(10, 4), mean(11, 4), mean(-10, 4), mean(9, 3)), (3, 3, -2, 3));
    }

    #[test]
    fn ratios_are_rounded_half_up_to_a_millionth() {
        let ratio = |part, whole| Number::ratio(part, whole).to_string();
        assert_eq!(ratio(1, 3), "0.333333");
        assert_eq!(ratio(2, 3), "0.666667");
        assert_eq!(ratio(-2, 3), "-0.666667");
        assert_eq!((ratio(1, 2_000_000), ratio(-1, 2_000_000)), ("0.000001".into(), "0".into()));
        assert_eq!((ratio(7, 2), ratio(5, 1)), ("3.5".into(), "5".into()));
    }

    #[test]
    fn tenths_of_a_per_cent_and_whole_numbers_are_parts_and_multiples_of_one() {
        assert_eq!(Number::per_mille(1000), Number::ONE);
        assert_eq!(Number::per_mille(15).to_string(), "0.015");
        assert_eq!(Number::whole(1), Number::ONE);
        assert_eq!(Number::whole(-12).to_string(), "-12");
    }
}
