//! Slowdown of a flow: its completion time over its ideal completion time.

use serde::{Deserialize, Serialize};
use std::fmt;
use units::Nanos;

use super::column::ColumnType;
use super::row::{Decimal, Field, Value};

/// Flow completion time over ideal completion time, in ten-thousandths, rounded half up.
///
/// A value below one is not hidden: it would mean that the ideal is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "f64", from = "f64")]
pub struct Slowdown(pub u64);

impl Slowdown {
    const ONE: u128 = 10_000;

    /// `fct / ideal`. An ideal of zero counts as one nanosecond.
    pub fn new(fct: Nanos, ideal: Nanos) -> Self {
        let ideal = u128::from(ideal.0.max(1));
        let twice = u128::from(fct.0) * Self::ONE * 2 + ideal;
        Self(u64::try_from(twice / (ideal * 2)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:04}", self.0 / 10_000, self.0 % 10_000)
    }
}

impl Value for Slowdown {
    const KIND: ColumnType = ColumnType::Decimal;

    fn field(&self) -> Field<'_> {
        Field::Decimal(Decimal::new(self.0, 4))
    }
}

impl From<Slowdown> for f64 {
    fn from(slowdown: Slowdown) -> Self {
        slowdown.0 as f64 / 10_000.0
    }
}

impl From<f64> for Slowdown {
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "a slowdown in a file that is negative or beyond all measure saturates"
    )]
    fn from(ratio: f64) -> Self {
        Self((ratio * 10_000.0).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_decimals_rounded_half_up() {
        for (fct, ideal, expected) in [
            (100, 100, "1.0000"),
            (1, 3, "0.3333"),
            (2, 3, "0.6667"),
            (10_000, 3, "3333.3333"),
            (5, 100_000, "0.0001"),
            (4, 100_000, "0.0000"),
            (123_456, 81_920, "1.5070"),
            (7, 0, "7.0000"),
        ] {
            assert_eq!(Slowdown::new(Nanos(fct), Nanos(ideal)).to_string(), expected);
        }
    }

    #[test]
    fn json_shows_at_most_four_decimals_and_reads_back() {
        for raw in [0, 1, 9_999, 10_000, 12_345, 33_333_333, 123_456_789_012] {
            let json = serde_json::to_string(&Slowdown(raw)).unwrap();
            assert!(json.split_once('.').unwrap().1.len() <= 4, "{json}");
            assert_eq!(serde_json::from_str::<Slowdown>(&json).unwrap(), Slowdown(raw));
        }
    }
}
