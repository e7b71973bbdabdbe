//! A number from 0 to 1 in fixed point.

use units::checked::Weight;

/// A number from 0 to 1 with 32 fractional bits: 1 is 2^32. Products round down, by less than
/// 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(u64);

impl Fraction {
    const BITS: u32 = 32;
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(1 << Self::BITS);

    /// `numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// Unless `numerator <= denominator` and `denominator` is positive.
    pub const fn from_ratio(numerator: u32, denominator: u32) -> Self {
        assert!(numerator <= denominator, "a fraction is at most 1");
        Self(((numerator as u64) << Self::BITS) / denominator as u64)
    }

    /// A weight of a file, rounded down.
    pub const fn from_weight(weight: Weight) -> Self {
        let ratio = weight.get();
        Self::from_ratio(ratio.numerator, ratio.denominator)
    }

    /// 1 minus this.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }

    /// The sum, at most 1.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(Self::ONE.0))
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self(other.scale(self.0))
    }

    /// This to the power of `exponent`, by squaring.
    #[must_use]
    pub fn power(self, mut exponent: u64) -> Self {
        let mut square = self;
        let mut result = Self::ONE;
        while exponent != 0 {
            if exponent & 1 == 1 {
                result = result.times(square);
            }
            square = square.times(square);
            exponent >>= 1;
        }
        result
    }

    /// This part of `value`, rounded down.
    pub fn scale(self, value: u64) -> u64 {
        let part = (u128::from(value) * u128::from(self.0)) >> Self::BITS;
        part.try_into().expect("a fraction is at most one")
    }

    /// In millionths, rounded down.
    pub fn millionths(self) -> i64 {
        self.scale(1_000_000).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_neutral_and_halves_are_exact() {
        let half = Fraction::from_ratio(1, 2);
        assert_eq!(Fraction::ONE.times(Fraction::ONE), Fraction::ONE);
        assert_eq!(half.times(half), Fraction::from_ratio(1, 4));
        assert_eq!(half.scale(100_000_000_000), 50_000_000_000);
        assert_eq!(half.complement(), half);
        assert_eq!(half.plus(half).plus(half), Fraction::ONE);
        let eighth = |count| Fraction::from_ratio(count, 8);
        assert_eq!(eighth(3).plus(eighth(2)), eighth(5));
        assert_eq!(eighth(3).complement(), eighth(5));
        assert_eq!(eighth(4).times(eighth(6)), eighth(3));
        assert_eq!([eighth(3).scale(1600), eighth(3).scale(7)], [600, 2], "rounded down");
        assert_eq!([Fraction::ONE.scale(u64::MAX), Fraction::ZERO.scale(u64::MAX)], [u64::MAX, 0]);
        assert_eq!(
            [eighth(3).millionths(), Fraction::from_ratio(2, 3).millionths()],
            [375_000, 666_666]
        );
    }

    #[test]
    fn a_power_is_the_repeated_product_but_for_rounding() {
        let decay = Fraction::from_ratio(255, 256);
        let mut stepped = Fraction::ONE;
        for exponent in 0..2000 {
            let power = decay.power(exponent);
            assert!(power.0.abs_diff(stepped.0) < 300, "{exponent}: {power:?} {stepped:?}");
            stepped = stepped.times(decay);
        }
        assert_eq!(decay.power(u64::MAX), Fraction::ZERO);
    }
}
