//! Units as types: time, bytes and rates that cannot be mixed up.
//!
//! Every other crate may use this one, eBPF included. It has no rounding rule of a scheme. Its only texts are `Display`
//! and, with the feature `serde`, quantities in files.
#![cfg_attr(not(any(test, feature = "serde")), no_std)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "eBPF has no room for a check that cannot fail; each cast is next to its bound"
)]

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in emulated time since the run's start, or a span of it, in picoseconds.
///
/// One byte takes 80 ps at 100 Gbit/s, so the engine counts picoseconds: departures stay on line rate
/// for ever and a flow's completion time can be written as a closed form. 2^64 ps are 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// The run's start, or no time at all.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// From nanoseconds, the unit of every map and every result.
    pub const fn from_nanos(nanos: Nanos) -> Self {
        Self(nanos.0 * 1000)
    }

    /// Whole nanoseconds, rounded down, as on the clock that eBPF reads.
    pub const fn to_nanos(self) -> Nanos {
        Nanos(self.0 / 1000)
    }

    /// Whole nanoseconds, rounded up: results report spans so, because no span may seem shorter than it was.
    pub const fn to_nanos_ceil(self) -> Nanos {
        Nanos(self.0.div_ceil(1000))
    }

    /// The span since `earlier`, or zero.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Picos {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Picos {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}ns", self.0 / 1000, self.0 % 1000)
    }
}

/// Emulated nanoseconds, an instant or a span: the unit of maps and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

impl BitsPerSecond {
    /// Duration of `bytes` at this rate, rounded up to a picosecond; saturates.
    ///
    /// # Panics
    /// On a rate of zero, which no parsed scenario has.
    #[inline]
    pub const fn serialise(self, bytes: u64) -> Picos {
        const PICOS_PER_SECOND_TIMES_BITS: u64 = 8_000_000_000_000;
        if let Some(bits) = bytes.checked_mul(PICOS_PER_SECOND_TIMES_BITS) {
            return Picos(bits.div_ceil(self.0));
        }
        // More than 2 MB at once: a flow's ideal time, not a frame.
        let bits = bytes as u128 * PICOS_PER_SECOND_TIMES_BITS as u128;
        Picos(saturated(bits.div_ceil(self.0 as u128)))
    }

    /// The bytes that pass in `span` at this rate, rounded up; saturates.
    pub const fn bytes_in(self, span: Picos) -> Bytes {
        const PICOS_PER_SECOND_TIMES_BITS: u128 = 8_000_000_000_000;
        let bits = self.0 as u128 * span.0 as u128;
        Bytes(saturated(bits.div_ceil(PICOS_PER_SECOND_TIMES_BITS)))
    }
}

/// Rule for the time of frames on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTime {
    /// Bytes on the wire beyond a frame: preamble, FCS and inter-frame gap.
    pub overhead: u64,
    /// True to round times down to whole nanoseconds, min 1 ns.
    pub whole_nanos: bool,
}

impl FrameTime {
    /// Bytes on the wire of a frame of `length` bytes.
    #[inline]
    pub const fn on_the_wire(self, length: u64) -> u64 {
        length + self.overhead
    }

    /// Time of a frame of `length` bytes at a rate.
    ///
    /// # Panics
    /// On a rate of zero.
    #[inline]
    pub const fn serialise(self, rate: BitsPerSecond, length: u64) -> Picos {
        self.rounded(rate.serialise(self.on_the_wire(length)))
    }

    /// A rate that no sequence of frames of at least `shortest` bytes exceeds: where times are cut, `rate` by
    /// (k + 1) / k, k being the nanoseconds of the shortest frame; saturates.
    ///
    /// # Panics
    /// On a rate of zero.
    pub const fn fastest(self, rate: BitsPerSecond, shortest: u64) -> BitsPerSecond {
        if !self.whole_nanos {
            return rate;
        }
        let nanos = (self.serialise(rate, shortest).0 / 1000) as u128;
        BitsPerSecond(saturated((rate.0 as u128 * (nanos + 1)).div_ceil(nanos)))
    }

    /// An exact time as it counts.
    #[inline]
    pub const fn rounded(self, exact: Picos) -> Picos {
        match self.whole_nanos {
            false => exact,
            true if exact.0 < 1000 => Picos(1000),
            true => Picos(exact.0 - exact.0 % 1000),
        }
    }
}

/// `number`, or the largest that fits.
const fn saturated(number: u128) -> u64 {
    if number > u64::MAX as u128 { u64::MAX } else { number as u64 }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bps", self.0)
    }
}

// Line numbers of the code above are part of the eBPF object, so that modules stand below it.
#[cfg(feature = "serde")]
pub mod checked;
#[cfg(feature = "serde")]
pub mod printable;
#[cfg(feature = "serde")]
pub mod quantity;
#[cfg(feature = "serde")]
pub mod ratio;
#[cfg(feature = "serde")]
pub mod refusal;
#[cfg(feature = "serde")]
pub mod schema;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_eighty_picoseconds_at_100g() {
        let rate = BitsPerSecond(100_000_000_000);
        assert_eq!(rate.serialise(1), Picos(80));
        assert_eq!(rate.serialise(1_000_000_000), Picos(80_000_000_000));
        assert_eq!(rate.bytes_in(Picos(1_000_000)), Bytes(12_500));
        assert_eq!(BitsPerSecond(1000).serialise(1 << 50), Picos(u64::MAX));
    }

    #[test]
    fn a_frame_takes_its_time_or_whole_nanoseconds_of_it() {
        let rate = BitsPerSecond(100_000_000_000);
        let exact = FrameTime { overhead: 24, whole_nanos: false };
        let whole = FrameTime { overhead: 0, whole_nanos: true };
        assert_eq!((exact.on_the_wire(1024), exact.serialise(rate, 1024)), (1048, Picos(83_840)));
        assert_eq!(whole.serialise(rate, 1048), Picos(83_000));
        assert_eq!(whole.serialise(rate, 1050), Picos(84_000));
        assert_eq!(whole.serialise(rate, 1), Picos(1000), "one at least");
    }

    #[test]
    fn an_odd_rate_rounds_up_by_less_than_a_picosecond() {
        assert_eq!(BitsPerSecond(3_000_000_000).serialise(1), Picos(2667));
    }

    #[test]
    fn nanoseconds_round_down_for_clocks_and_up_for_spans() {
        assert_eq!(Picos(1999).to_nanos(), Nanos(1));
        assert_eq!(Picos(1001).to_nanos_ceil(), Nanos(2));
    }

    #[test]
    fn spans_add_up_and_none_is_negative() {
        let (mut early, late) = (Picos(1200), Picos(2000));
        assert_eq!((late + early, late - early), (Picos(3200), Picos(800)));
        assert_eq!((late.since(early), early.since(late)), (Picos(800), Picos::ZERO));
        early += late;
        assert_eq!((early, Picos::from_nanos(Nanos(3))), (Picos(3200), Picos(3000)));
    }

    #[test]
    fn a_number_has_its_unit() {
        let texts = [Picos(12_034).to_string(), Nanos(5).to_string(), Bytes(6).to_string()];
        assert_eq!(texts, ["12.034ns", "5ns", "6B"]);
        assert_eq!(BitsPerSecond(7).to_string(), "7bps");
    }
}
