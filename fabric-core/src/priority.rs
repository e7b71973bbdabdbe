//! Priorities of IEEE 802.1Q, which are also the classes of PFC.

use crate::map_abi::PRIORITIES;

/// Priority of a packet, or class of a PFC frame, 0 to 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// Creates priority `number`.
    ///
    /// # Panics
    /// If `number` is above 7.
    pub const fn new(number: u8) -> Self {
        assert!((number as usize) < PRIORITIES, "priorities are 0 to 7");
        Self(number)
    }

    /// Returns the priority in the low three bits of a word from a header or table.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits as u8 & 7)
    }

    /// Returns the number, 0 to 7.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the index in an array of eight. The mask shows the bound to Linux's verifier.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize & 7
    }

    /// Returns the priority's bit in a class-enable vector.
    #[inline(always)]
    pub const fn bit(self) -> u8 {
        1 << self.index()
    }

    /// True if the class-enable vector names the priority.
    #[inline(always)]
    pub const fn is_in(self, classes: u8) -> bool {
        classes >> self.index() & 1 != 0
    }
}

impl core::fmt::Display for Priority {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns all priorities, lowest first.
pub fn all() -> impl Iterator<Item = Priority> {
    (0..PRIORITIES as u8).map(Priority)
}

/// Returns the priorities of a set such as PFC's class-enable vector, lowest first.
#[inline]
pub fn in_mask(mut mask: u8) -> impl Iterator<Item = Priority> {
    core::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lowest = Priority::from_bits(mask.trailing_zeros());
        mask &= mask - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_priority() {
        assert!(in_mask(0).next().is_none());
        assert!(in_mask(0b1000_1001).eq([0, 3, 7].map(Priority::new)));
        assert!(in_mask(u8::MAX).eq(all()));
        assert!(all().map(Priority::bit).eq((0..8).map(|bit| 1 << bit)));
    }

    #[test]
    fn a_word_has_its_priority_in_the_low_bits() {
        assert_eq!(Priority::from_bits(0xffff_fffd), Priority::new(5));
        assert!(Priority::new(5).is_in(1 << 5) && !Priority::new(5).is_in(!(1 << 5)));
    }

    #[test]
    #[should_panic(expected = "priorities are 0 to 7")]
    fn there_is_no_priority_8() {
        Priority::new(8);
    }
}
