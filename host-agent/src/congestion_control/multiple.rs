//! Numbers around 1 in fixed point: utilisation, power, gradients.

use units::{BitsPerSecond, Bytes, Nanos};

/// A number from 0 to 4096 with 20 fractional bits: 1 is 2^20. Sums stop at the largest; quotients round down, by
/// less than 2^-20. A word, because every ACK computes some of them for every hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Multiple(u64);

impl Multiple {
    const BITS: u32 = 20;
    const MAX_SIZE: u64 = 1 << 32;
    /// 0.
    pub const ZERO: Self = Self(0);
    /// 1.
    pub const ONE: Self = Self(1 << Self::BITS);
    /// 1/2.
    pub const HALF: Self = Self(1 << (Self::BITS - 1));

    /// `millionths` / 1,000,000.
    pub const fn from_millionths(millionths: u32) -> Self {
        Self(((millionths as u64) << Self::BITS) / 1_000_000)
    }

    /// `numerator / denominator`; a denominator of 0 gives the largest.
    #[inline]
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        let quotient = match numerator.checked_mul(1 << Self::BITS) {
            Some(scaled) => scaled.checked_div(denominator),
            None => (u128::from(numerator) << Self::BITS)
                .checked_div(denominator.into())
                .and_then(|quotient| quotient.try_into().ok()),
        };
        Self(quotient.map_or(Self::MAX_SIZE, |quotient| quotient.min(Self::MAX_SIZE)))
    }

    /// Ratio of `bytes` to the bytes that a link of `rate` carries in `span`. Rates are rounded down to whole Mbit/s.
    #[inline]
    pub fn for_link(bytes: Bytes, rate: BitsPerSecond, span: Nanos) -> Self {
        const MEGABIT: u64 = 1_000_000;
        // Bits x 1000 / (ns x Mbit/s), and less than 2^31 bytes.
        Self::ratio(bytes.0.min(1 << 30) * 8000, (rate.0 / MEGABIT).saturating_mul(span.0))
    }

    /// The sum.
    #[must_use]
    #[inline]
    pub fn plus(self, other: Self) -> Self {
        Self((self.0 + other.0).min(Self::MAX_SIZE))
    }

    /// The difference, or 0.
    #[must_use]
    #[inline]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product, rounded down.
    #[must_use]
    #[inline]
    pub fn times(self, other: Self) -> Self {
        let product = (u128::from(self.0) * u128::from(other.0)) >> Self::BITS;
        Self(u64::try_from(product).map_or(Self::MAX_SIZE, |product| product.min(Self::MAX_SIZE)))
    }

    /// This times `value`, rounded down; saturates.
    #[inline]
    pub fn scale(self, value: u64) -> u64 {
        let product = (u128::from(value) * u128::from(self.0)) >> Self::BITS;
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// In millionths, rounded down.
    #[inline]
    pub fn millionths(self) -> i64 {
        self.scale(1_000_000).cast_signed()
    }

    /// `value` divided by this, rounded down; saturates.
    #[inline]
    pub fn divides(self, value: u64) -> u64 {
        match value.checked_mul(1 << Self::BITS) {
            Some(scaled) => scaled.checked_div(self.0).unwrap_or(u64::MAX),
            None => (u128::from(value) << Self::BITS)
                .checked_div(self.0.into())
                .and_then(|quotient| quotient.try_into().ok())
                .unwrap_or(u64::MAX),
        }
    }

    /// The mean of this and `newer` over `whole`, of which `newer` held for `part`, at most all of it.
    #[must_use]
    #[inline]
    pub fn averaged(self, newer: Self, part: Nanos, whole: Nanos) -> Self {
        let part = part.0.min(whole.0);
        if whole.0 == 0 {
            return newer;
        }
        // Two seconds: no product leaves a word.
        if whole.0 < 1 << 31 {
            return Self((self.0 * (whole.0 - part) + newer.0 * part) / whole.0);
        }
        let weigh = |number: u64, span: u64| u128::from(number) * u128::from(span);
        let mean = (weigh(self.0, whole.0 - part) + weigh(newer.0, part)) / u128::from(whole.0);
        Self(u64::try_from(mean).unwrap_or(Self::MAX_SIZE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos(1_000_000_000);

    #[test]
    fn ratios_products_and_quotients_are_those_of_numbers() {
        let [three_halves, quarter] = [Multiple::ratio(3, 2), Multiple::ratio(1, 4)];
        assert_eq!(three_halves.plus(Multiple::HALF), Multiple::ratio(2, 1));
        assert_eq!(three_halves.minus(Multiple::ONE), Multiple::HALF);
        assert_eq!(quarter.minus(three_halves), Multiple::ZERO);
        assert_eq!(three_halves.times(quarter), Multiple::ratio(3, 8));
        assert_eq!([three_halves.scale(1000), three_halves.divides(1000)], [1500, 666]);
        assert_eq!(Multiple::from_millionths(250_000), quarter);
        assert_eq!(Multiple::ratio(1, 0), Multiple::ratio(u64::MAX, 1), "the largest");
        assert_eq!(Multiple::ratio(1 << 62, 1 << 63), Multiple::HALF);
        assert_eq!([Multiple::ZERO.divides(7), Multiple::HALF.divides(u64::MAX)], [u64::MAX; 2]);
        assert_eq!(three_halves.scale(u64::MAX), u64::MAX);
        assert_eq!(
            [three_halves, Multiple::ratio(1, 0)].map(Multiple::millionths),
            [1_500_000, 4_096_000_000]
        );
        assert_eq!(Multiple::HALF.divides(1 << 60), 1 << 61, "beyond a word on the way");
    }

    #[test]
    fn bytes_are_a_part_of_what_a_link_carries() {
        let rate = BitsPerSecond(100_000_000_000);
        assert_eq!(Multiple::for_link(Bytes(12_500), rate, Nanos(1000)), Multiple::ONE);
        assert_eq!(Multiple::for_link(Bytes(3125), rate, Nanos(1000)), Multiple::ratio(1, 4));
        let least = Multiple::for_link(Bytes(0), rate, SECOND);
        assert_eq!(
            (least, Multiple::for_link(Bytes(1), rate, Nanos(0))),
            (Multiple::ZERO, Multiple(1 << 32))
        );
        // The largest values of a stamp: 134 MB in 17 ms at 800 Gbit/s.
        let most = Multiple::for_link(
            Bytes((1 << 27) - 1),
            BitsPerSecond(800_000_000_000),
            Nanos(1 << 24),
        );
        assert_eq!(most, Multiple(83_886), "0.08");
    }

    #[test]
    fn an_average_is_weighted_by_time() {
        let (old, new) = (Multiple::ONE, Multiple::ratio(2, 1));
        let average = |part| old.averaged(new, Nanos(part), Nanos(4000));
        assert_eq!(average(0), old);
        assert_eq!(average(1000), Multiple::ratio(5, 4));
        assert_eq!([average(4000), average(9000)], [new; 2]);
        assert_eq!(old.averaged(new, Nanos(1), Nanos(0)), new);
        assert_eq!(old.averaged(new, Nanos(1 << 50), Nanos(1 << 51)), Multiple::ratio(3, 2));
    }
}
