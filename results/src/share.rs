//! Parts of a whole in tables.

use std::fmt;

/// A part of a whole, with six decimals, rounded down; 0 of nothing.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The part.
    pub part: u128,
    /// The whole.
    pub whole: u128,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = self.part.saturating_mul(1_000_000) / self.whole.max(1);
        write!(f, "{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_decimals_rounded_down() {
        let share = |part, whole| Share { part, whole }.to_string();
        assert_eq!(share(2, 3), "0.666666");
        assert_eq!(share(3, 3), "1.000000");
        assert_eq!(share(7, 2), "3.500000");
        assert_eq!(share(0, 0), "0.000000");
    }
}
