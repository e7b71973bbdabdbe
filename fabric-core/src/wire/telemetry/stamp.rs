//! The stamp of one switch.
//!
//! ```text
//!  0  rate            1   exponent << 4 | fraction: (16 + fraction) 2^exponent 3,906,250 bit/s
//!  1  time            3   nanoseconds, modulo 2^24
//!  4  transmitted   2.5   units of 128 B, modulo 2^20
//!  6  queue         1.5   exponent << 8 | fraction, in units of 16 B: fraction, if the exponent is 0,
//!                         otherwise (256 + fraction) 2^(exponent - 1)
//! ```

use core::fmt;

use units::{BitsPerSecond, Bytes, Nanos};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of a stamp in bytes.
pub const STAMP_LEN: usize = 8;
const _: () = assert!(size_of::<Stamp>() == STAMP_LEN);

const TIME_BITS: u32 = 24;
const TRANSMITTED_BITS: u32 = 20;
/// Unit of transmitted bytes in a stamp.
pub const TRANSMITTED_UNIT: u64 = 128;
const QUEUE_BITS: u32 = 12;
const QUEUE_FRACTION_BITS: u32 = 8;
/// Unit of queued bytes in a stamp; coarser for long queues.
pub const QUEUE_UNIT: u64 = 16;
const RATE_FRACTION_BITS: u32 = 4;
/// Unit of rates, 2^-8 Gbit/s: 25, 40, 50, 100, 200, 400 and 800 Gbit/s are five-bit integers times a power of two of
/// it.
const RATE_UNIT: u64 = 3_906_250;

/// Stamp of a switch about a port at the start of a packet's transmission there, on the wire.
///
/// Times and transmitted bytes wrap, so they are valid only [since](Self::since) an earlier stamp of this port.
#[derive(
    Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(transparent)]
pub struct Stamp([u8; STAMP_LEN]);

/// Content of a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The port's rate.
    pub rate: RateCode,
    /// Start of the transmission, by the switch's clock.
    pub at: Nanos,
    /// Bytes on the wire that the port has transmitted so far.
    pub transmitted: Bytes,
    /// Bytes of frames in the egress queue that the packet has left.
    pub queue: Bytes,
}

/// Change at a port between two stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Time, to a nanosecond; below 2^24 ns (16.8 ms).
    pub elapsed: Nanos,
    /// Bytes on the wire that the port transmitted, to 128 B; below 2^27 B (134 MB).
    pub transmitted: Bytes,
}

/// Encoding of a rate in stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateCode(u8);

impl RateCode {
    /// Returns the code nearest to a rate. Ethernet rates from 1 Gbit/s to 1.6 Tbit/s are exact, other rates between
    /// 62.5 Mbit/s and 3.968 Tbit/s accurate to 3.1 %, and rates outside are clamped to this range.
    pub fn nearest(rate: BitsPerSecond) -> Self {
        let mut best = Self(0);
        for code in 1..=u8::MAX {
            if Self(code).rate().0.abs_diff(rate.0) < best.rate().0.abs_diff(rate.0) {
                best = Self(code);
            }
        }
        best
    }

    /// Returns the rate of the code.
    #[inline]
    pub const fn rate(self) -> BitsPerSecond {
        let fraction = self.0 as u64 & ((1 << RATE_FRACTION_BITS) - 1);
        let significand = (1 << RATE_FRACTION_BITS) + fraction;
        BitsPerSecond((significand << (self.0 >> RATE_FRACTION_BITS)) * RATE_UNIT)
    }
}

impl Stamp {
    /// Creates a switch's stamp. Bytes are rounded down: transmitted bytes to 128 B, queued bytes
    /// by less than 1/256 or 16 B. Queues above 133.9 MB are clamped.
    #[inline]
    pub const fn new(measured: &Measured) -> Self {
        let Measured { rate, at, transmitted, queue } = measured;
        let time = at.0 & mask(TIME_BITS);
        let transmitted = (transmitted.0 / TRANSMITTED_UNIT) & mask(TRANSMITTED_BITS);
        let word = (rate.0 as u64) << 56
            | time << (TRANSMITTED_BITS + QUEUE_BITS)
            | transmitted << QUEUE_BITS
            | queue_code(*queue);
        Self(word.to_be_bytes())
    }

    /// The port's rate.
    #[inline]
    pub const fn rate(self) -> BitsPerSecond {
        let [rate, ..] = self.0;
        RateCode(rate).rate()
    }

    /// Bytes of frames in the egress queue behind the packet.
    #[inline]
    pub const fn queue(self) -> Bytes {
        let code = self.word() & mask(QUEUE_BITS);
        let (exponent, fraction) = (code >> QUEUE_FRACTION_BITS, code & mask(QUEUE_FRACTION_BITS));
        let units = match exponent {
            0 => fraction,
            exponent => (1 << QUEUE_FRACTION_BITS | fraction) << (exponent - 1),
        };
        Bytes(units * QUEUE_UNIT)
    }

    /// Returns the change at the port since its stamp `earlier`. Correct only if `earlier` is less
    /// than a [horizon](Self::horizon) old.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> Interval {
        let elapsed = self.time().wrapping_sub(earlier.time()) & mask(TIME_BITS);
        let units = self.units().wrapping_sub(earlier.units()) & mask(TRANSMITTED_BITS);
        Interval { elapsed: Nanos(elapsed), transmitted: Bytes(units * TRANSMITTED_UNIT) }
    }

    /// Max time between two stamps of this port: 2^24 ns, or the time of 2^27 B at its rate, if
    /// less (10.7 ms at 100 Gbit/s, 2.68 ms at 400 Gbit/s).
    #[inline]
    pub const fn horizon(self) -> Nanos {
        let bits = 8 * (TRANSMITTED_UNIT << TRANSMITTED_BITS);
        let full = bits * 1_000_000_000 / self.rate().0;
        Nanos(if full < 1 << TIME_BITS { full } else { 1 << TIME_BITS })
    }

    /// Nanoseconds, modulo 2^24.
    const fn time(self) -> u64 {
        self.word() >> (TRANSMITTED_BITS + QUEUE_BITS) & mask(TIME_BITS)
    }

    /// Units transmitted, modulo 2^20.
    const fn units(self) -> u64 {
        self.word() >> QUEUE_BITS & mask(TRANSMITTED_BITS)
    }

    const fn word(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

/// Mask of the low `bits` bits.
const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

const fn queue_code(queue: Bytes) -> u64 {
    let units = queue.0 / QUEUE_UNIT;
    if units <= mask(QUEUE_FRACTION_BITS) {
        return units;
    }
    let shift = units.ilog2() - QUEUE_FRACTION_BITS;
    let exponent = shift as u64 + 1;
    if exponent >> (QUEUE_BITS - QUEUE_FRACTION_BITS) != 0 {
        return mask(QUEUE_BITS);
    }
    exponent << QUEUE_FRACTION_BITS | units >> shift & mask(QUEUE_FRACTION_BITS)
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, Bytes(queue)) = (self.rate().0, self.queue());
        let transmitted = self.units() * TRANSMITTED_UNIT;
        write!(f, "{rate} bit/s t={}ns sent {transmitted} queue {queue}", self.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIGABIT: u64 = 1_000_000_000;

    fn measured(at: u64, transmitted: u64, queue: u64) -> Measured {
        let rate = RateCode::nearest(BitsPerSecond(100 * GIGABIT));
        Measured { rate, at: Nanos(at), transmitted: Bytes(transmitted), queue: Bytes(queue) }
    }

    fn stamp(at: u64, transmitted: u64, queue: u64) -> Stamp {
        Stamp::new(&measured(at, transmitted, queue))
    }

    #[test]
    fn fields_lie_where_the_diagram_says() {
        let stamp = stamp(0x0012_3456, 0xabcde * 128 + 127, (256 + 0x5a) * 16 * 4 + 63);
        assert_eq!(stamp.as_bytes(), [0xa9, 0x12, 0x34, 0x56, 0xab, 0xcd, 0xe3, 0x5a]);
        let text = "100000000000 bit/s t=1193046ns sent 90074880 queue 22144";
        assert_eq!(stamp.to_string(), text);
        assert_eq!(stamp.rate(), BitsPerSecond(100 * GIGABIT));
        assert_eq!(stamp.queue(), Bytes((256 + 0x5a) * 16 * 4));
    }

    #[test]
    fn usual_rates_are_carried_exactly() {
        let quarters = [4, 10, 20, 40, 50, 100, 160, 200, 400, 800, 1600, 3200, 6400];
        let rates = quarters.map(|quarters| BitsPerSecond(quarters * GIGABIT / 4));
        assert_eq!(rates.map(|rate| RateCode::nearest(rate).rate()), rates);
        for gigabits in 1..=32 {
            let rate = BitsPerSecond(gigabits * GIGABIT);
            assert_eq!(RateCode::nearest(rate).rate(), rate);
        }
    }

    #[test]
    fn other_rates_are_carried_as_the_nearest() {
        let carried = |rate| RateCode::nearest(BitsPerSecond(rate)).rate().0;
        assert_eq!(carried(97 * GIGABIT), 96 * GIGABIT);
        assert_eq!(carried(1), 62_500_000);
        assert_eq!(carried(100_000_000), 101_562_500);
        assert_eq!(carried(u64::MAX), (31 << 15) * RATE_UNIT);
        assert_eq!((31 << 15) * RATE_UNIT, 3_968_000_000_000);
    }

    #[test]
    fn a_queue_is_rounded_down() {
        for (queue, carried) in [
            (0, 0),
            (15, 0),
            (16, 16),
            (4095, 4080),
            (4096, 4096),
            (8191, 8176),
            (8192, 8192),
            (8223, 8192),
            (8224, 8224),
            (1_000_000, 999_424),
            (133_955_584, 133_955_584),
            (u64::MAX, 133_955_584),
        ] {
            assert_eq!(stamp(0, 0, queue).queue(), Bytes(carried), "{queue}");
        }
    }

    #[test]
    fn differences_outlive_a_wrap() {
        let (time, bytes) = (1 << 24, 1 << 27);
        let earlier = stamp(time - 1, bytes - 128, 0);
        let later = stamp(time + 6, bytes + 1280, 0);
        let interval = Interval { elapsed: Nanos(7), transmitted: Bytes(1408) };
        assert_eq!(later.since(earlier), interval);
        let none = Interval { elapsed: Nanos(0), transmitted: Bytes(0) };
        assert_eq!(later.since(later), none);
        assert_eq!(later.horizon(), Nanos(10_737_418));
    }

    #[test]
    fn the_horizon_of_a_slow_port_is_that_of_its_clock() {
        let rate = RateCode::nearest(BitsPerSecond(10 * GIGABIT));
        let slow = Stamp::new(&Measured { rate, ..measured(0, 0, 0) });
        assert_eq!(slow.horizon(), Nanos(1 << 24));
    }

    proptest! {
        #[test]
        fn differences_are_those_of_what_was_measured(
            at: u32, elapsed in 0..1u64 << 24, sent: u32, more in 0..(1u64 << 27) - 128, queue: u64,
        ) {
            let (at, sent) = (u64::from(at), u64::from(sent));
            let (earlier, later) = (stamp(at, sent, 0), stamp(at + elapsed, sent + more, queue));
            let interval = later.since(earlier);
            prop_assert_eq!(interval.elapsed, Nanos(elapsed));
            prop_assert!(interval.transmitted.0.abs_diff(more) < 128);
        }

        #[test]
        fn a_queue_is_off_by_little(queue in 0..133_955_584u64, more in 0..10_000u64) {
            let carried = stamp(0, 0, queue).queue().0;
            prop_assert!(carried <= queue);
            prop_assert!(queue - carried < 16.max(queue / 256), "{carried}");
            prop_assert!(stamp(0, 0, queue + more).queue().0 >= carried);
        }

        #[test]
        fn a_rate_is_off_by_little(rate in 62_500_000..3_968_000_000_000u64) {
            let carried = RateCode::nearest(BitsPerSecond(rate)).rate().0;
            prop_assert!(carried.abs_diff(rate) * 33 <= rate, "{carried}");
        }

        #[test]
        fn any_bytes_are_a_stamp(bytes: [u8; STAMP_LEN], earlier: [u8; STAMP_LEN]) {
            let (stamp, earlier) = (Stamp(bytes), Stamp(earlier));
            let Interval { elapsed, transmitted } = stamp.since(earlier);
            prop_assert!(elapsed.0 < 1 << 24 && transmitted.0 < 1 << 27);
            let rate = RateCode::nearest(stamp.rate());
            let again = Stamp::new(&Measured {
                rate,
                at: Nanos(stamp.time()),
                transmitted: Bytes(stamp.units() * TRANSMITTED_UNIT),
                queue: stamp.queue(),
            });
            prop_assert_eq!(again, stamp);
        }
    }
}
