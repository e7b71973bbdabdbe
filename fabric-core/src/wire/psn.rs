//! Packet sequence numbers: 24 bits, compared modulo 2^24 (InfiniBand Architecture 1.4, 9.7.2).

use core::fmt;

/// A packet sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    const MASK: u32 = 0x00ff_ffff;
    const HALF: u32 = 0x0080_0000;

    /// Creates a PSN from the number modulo 2^24.
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MASK)
    }

    /// Returns the number, below 2^24.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Returns the next PSN.
    #[must_use]
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// Returns the PSN `count` further on.
    #[must_use]
    pub const fn add(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Returns the distance from `earlier` to `self`, modulo 2^24.
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0) & Self::MASK
    }

    /// True if `self` is before `other` by less than half the number space.
    pub const fn is_before(self, other: Self) -> bool {
        let distance = other.distance_from(self);
        distance != 0 && distance < Self::HALF
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Psn::new(0x00ff_ffff);
        assert_eq!(last.next(), Psn::new(0));
        assert!(last.is_before(Psn::new(0)));
        assert!(!Psn::new(0).is_before(last));
        assert!(!last.is_before(last));
        assert_eq!(Psn::new(5).distance_from(last), 6);
    }

    #[test]
    fn half_the_space_apart_is_not_before() {
        assert!(!Psn::new(0).is_before(Psn::new(0x0080_0000)));
        assert!(Psn::new(0).is_before(Psn::new(0x007f_ffff)));
    }
}
