//! Priorities of 802.1p, which are the classes of PFC.

use core::ops::Range;

use crate::map_abi::PRIORITIES;

/// Every priority, lowest first.
pub const fn all() -> Range<u8> {
    0..PRIORITIES as u8
}

/// The priorities of a mask such as PFC's class-enable vector, lowest first; bits beyond are ignored.
pub fn of_mask(mask: impl Into<u32>) -> impl Iterator<Item = u8> {
    let mask = mask.into();
    all().filter(move |priority| mask >> priority & 1 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_priority() {
        assert!(of_mask(0u8).next().is_none());
        assert!(of_mask(0b1000_1001u8).eq([0, 3, 7]));
        assert!(of_mask(u32::MAX).eq(all()));
    }
}
