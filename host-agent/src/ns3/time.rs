//! Times as the simulators compute them. HPCC's and `ConWeave`'s: a double in some unit, then a fixed-point number with 64
//! fractional bits, then nanoseconds; both steps round down. ns3-datacenter's: a quotient of whole numbers.

use units::{BitsPerSecond, Nanos};

const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Time at a rate of zero, ns.
const LONGEST: u128 = 1_000_000_000_000_000_000;
/// 2^64.
const FIXED_ONE: f64 = 18_446_744_073_709_551_616.0;

/// Returns `amount` of a unit of `unit` nanoseconds. `amount` is not negative.
pub fn nanos(amount: f64, unit: u64) -> Nanos {
    let whole = amount.floor();
    let fraction = ((amount - whole) * FIXED_ONE) as u128;
    Nanos(whole as u64 * unit + ((fraction * u128::from(unit)) >> 64) as u64)
}

/// Returns the time of `bytes` at a rate. A time that is a whole number of nanoseconds comes out one short, unless it is a
/// multiple of 5^9 ns: the fixed-point number lies below it.
///
/// A rate of zero gives the longest time.
#[inline]
pub fn transmission(bytes: u64, rate: BitsPerSecond) -> Nanos {
    let seconds = (bytes * 8) as f64 / rate.0 as f64;
    if seconds < 1.0 {
        // Most times: no whole seconds.
        let fraction = (seconds * FIXED_ONE) as u64;
        return Nanos(((u128::from(fraction) * u128::from(NANOS_PER_SECOND)) >> 64) as u64);
    }
    nanos(seconds.min(1e9), NANOS_PER_SECOND)
}

/// Arithmetic of the times of frames and of the gaps between paced packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Doubles that are cut, as [`transmission`] has them.
    #[default]
    TruncatedDoubles,
    /// Whole numbers: rounded down to a nanosecond.
    WholeNumbers,
}

impl Arithmetic {
    /// Returns the time of `bytes` at a rate, which may be zero nanoseconds.
    ///
    /// A rate of zero gives the longest time.
    #[inline]
    pub fn transmission(self, bytes: u64, rate: BitsPerSecond) -> Nanos {
        match self {
            Self::TruncatedDoubles => transmission(bytes, rate),
            Self::WholeNumbers => {
                let bits = u128::from(bytes) * 8 * u128::from(NANOS_PER_SECOND);
                let nanos = bits.checked_div(rate.0.into()).unwrap_or(LONGEST);
                Nanos(nanos.min(LONGEST) as u64)
            }
        }
    }
}

/// Returns the bytes that a rate sends in `nanos`, as ns3-datacenter computes them.
pub(super) fn product(rate: u64, nanos: u64) -> u64 {
    cut(rate.wrapping_mul(nanos) as f64 * 1e-9 / 8.0)
}

/// Returns a rate cut to whole bits per second.
pub(super) fn cut(rate: f64) -> u64 {
    rate as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: u64 = 1_000_000_000;

    #[test]
    fn whole_nanoseconds_come_out_one_short_and_other_times_are_rounded_down() {
        for (bytes, gigabits, expected) in [
            (60, 40, 11),
            (1000, 100, 79),
            (1090, 10, 871),
            (1090, 40, 217),
            (500, 100, 39),
            (60, 10, 47),
            (1048, 100, 83),
            (1048, 25, 335),
            (88, 100, 7),
            // A multiple of 5^9 ns.
            (1_953_125, 8, 1_953_125),
        ] {
            let rate = BitsPerSecond(gigabits * GIGABIT);
            assert_eq!(
                transmission(bytes, rate),
                Nanos(expected),
                "{bytes} B at {gigabits} Gbit/s"
            );
        }
        assert_eq!(transmission(3, BitsPerSecond(8)), Nanos(3_000_000_000));
        assert_eq!(transmission(1, BitsPerSecond(0)), Nanos(1_000_000_000_000_000_000));
    }

    /// 43 B take 0.86 ns at 400 Gbit/s.
    #[test]
    fn whole_numbers_are_rounded_down_once() {
        for (bytes, gigabits, expected) in
            [(60, 40, 12), (1000, 100, 80), (1090, 25, 348), (1048, 100, 83), (43, 400, 0)]
        {
            let rate = BitsPerSecond(gigabits * GIGABIT);
            let of = |arithmetic: Arithmetic| arithmetic.transmission(bytes, rate);
            assert_eq!(of(Arithmetic::WholeNumbers), Nanos(expected), "{bytes} B, {gigabits}");
            assert_eq!(of(Arithmetic::TruncatedDoubles), transmission(bytes, rate));
        }
        let never = Arithmetic::WholeNumbers.transmission(1, BitsPerSecond(0));
        assert_eq!(never, Nanos(1_000_000_000_000_000_000));
    }

    /// 25 Gbit/s for 6960 ns are 21,750 B. 10^-9 as a double is above it: no product comes out one short.
    #[test]
    fn a_rate_for_a_time_is_cut_to_bytes() {
        assert_eq!(product(25 * GIGABIT, 6960), 21_750);
        assert_eq!(product(25 * GIGABIT + 1, 6960), 21_750);
        assert_eq!(product(999, 8), 0);
    }

    #[test]
    fn amounts_of_a_unit_are_rounded_down_twice() {
        const MICRO: u64 = 1000;
        const MILLI: u64 = 1_000_000;
        for (amount, unit, expected) in [
            (0.6, MICRO, 599),
            (1.1, MICRO, 1100),
            (1.0, MICRO, 1000),
            (0.0012, MILLI, 1199),
            (0.009, MILLI, 8999),
            (0.001, MILLI, 1000),
            (0.000_001, NANOS_PER_SECOND, 999),
            (2.000_000_003, NANOS_PER_SECOND, 2_000_000_002),
            (2.000_001, NANOS_PER_SECOND, 2_000_001_000),
            (600.0, 1, 600),
        ] {
            assert_eq!(nanos(amount, unit), Nanos(expected), "{amount}");
        }
    }
}
