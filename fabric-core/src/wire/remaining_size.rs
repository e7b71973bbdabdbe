//! Bytes that a flow has left to send, carried by its packets in the identification of the IPv4 header.
//!
//! A packet with DF set needs no identification, and receivers ignore it (RFC 6864, Section 4.1).
//! So packets need no extra bytes, and the checksum and the ICRC cover the field as usual.

/// Number of bytes, encoded in 16 bits: exact up to 4095, from there on too low by less than
/// 1/2048. A larger size never has a lower code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemainingSize(u16);

/// Bits after the leading one that a code keeps.
const KEPT: u32 = 11;

impl RemainingSize {
    /// Unknown size: the code in packets of hosts that do not schedule by size.
    pub const UNKNOWN: Self = Self(0);
    /// Largest size with a separate code, 4 TiB; larger sizes use this code.
    pub const MAX: u64 = ((1 << (KEPT + 1)) - 1) << 30;

    /// Returns the code of a flow with this many bytes left, including the packet's own.
    #[inline]
    pub const fn from_bytes(bytes: u64) -> Self {
        let bytes = if bytes < Self::MAX { bytes } else { Self::MAX };
        if bytes < 1 << (KEPT + 1) {
            return Self(bytes as u16);
        }
        let shift = bytes.ilog2() - KEPT;
        Self(((shift << KEPT) + (bytes >> shift) as u32) as u16)
    }

    /// Returns the min number of bytes with this code.
    pub const fn bytes(self) -> u64 {
        let code = self.0 as u32;
        if code < 1 << (KEPT + 1) {
            return code as u64;
        }
        let shift = (code >> KEPT) - 1;
        ((code - (shift << KEPT)) as u64) << shift
    }

    /// Decodes the header's field.
    #[inline(always)]
    pub const fn from_wire(identification: u16) -> Self {
        Self(identification)
    }

    /// Encodes the header's field.
    #[inline(always)]
    pub const fn to_wire(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_code_is_that_of_its_bytes() {
        for code in 0..=u16::MAX {
            let size = RemainingSize::from_wire(code);
            assert_eq!(RemainingSize::from_bytes(size.bytes()), size, "{code}");
        }
        assert_eq!(RemainingSize::from_bytes(u64::MAX).to_wire(), u16::MAX);
        assert_eq!(RemainingSize::from_wire(u16::MAX).bytes(), RemainingSize::MAX);
        assert_eq!(
            [4095, 4096, 4097, 4098].map(RemainingSize::from_bytes).map(RemainingSize::to_wire),
            [4095, 4096, 4096, 4097]
        );
    }

    proptest! {
        #[test]
        fn codes_are_in_the_order_of_sizes_and_nearly_exact(one in any::<u64>(), other in any::<u64>(), shift in 0..64u32) {
            let (one, other) = (one >> shift, other >> shift);
            prop_assert_eq!(RemainingSize::from_bytes(one) <= RemainingSize::from_bytes(other) || one > other, true);
            let bytes = RemainingSize::from_bytes(one).bytes();
            let one = one.min(RemainingSize::MAX);
            prop_assert!(bytes <= one && one - bytes <= one / 2048);
        }
    }
}
