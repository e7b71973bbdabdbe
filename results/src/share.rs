//! Parts of a whole in tables.

use super::column::ColumnType;
use super::row::{Decimal, Field, Value};

/// A part of a whole, with six decimals, rounded down; 0 of nothing.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The part.
    pub part: u128,
    /// The whole.
    pub whole: u128,
}

impl Value for Share {
    const KIND: ColumnType = ColumnType::Decimal;

    fn field(&self) -> Field<'_> {
        let millionths = self.part.saturating_mul(1_000_000) / self.whole.max(1);
        Field::Decimal(Decimal::new(i128::try_from(millionths).unwrap_or(i128::MAX), 6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_decimals_rounded_down() {
        for (part, whole, millionths) in
            [(2, 3, 666_666), (3, 3, 1_000_000), (7, 2, 3_500_000), (0, 0, 0)]
        {
            let expected = Field::Decimal(Decimal::new(millionths, 6));
            assert_eq!(Share { part, whole }.field(), expected);
        }
    }
}
