//! MAC control header (IEEE 802.3-2022, clause 31), common to PAUSE and PFC.
//!
//! ```text
//!  0  01 80 c2 00 00 01  6   never forwarded by a bridge
//!  6  source             6
//! 12  88 08              2   EtherType
//! 14  opcode             2
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::ethernet::{self, ETHER_TYPE_MAC_CONTROL, LinkAddresses};

/// Destination address of every PAUSE and PFC frame.
pub const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// Opcode of the global PAUSE (annex 31B).
pub const OPCODE_PAUSE: u16 = 0x0001;
/// Opcode of priority-based flow control (annex 31D).
pub const OPCODE_PFC: u16 = 0x0101;

/// The header's length in bytes.
pub const LEN: usize = 16;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    ethernet: ethernet::Header,
    opcode: [u8; 2],
}

impl Header {
    /// Creates a header with the source address `source`.
    #[inline(always)]
    pub const fn new(source: [u8; 6], opcode: u16) -> Self {
        let addresses = LinkAddresses { source, destination: DESTINATION };
        Self {
            ethernet: ethernet::Header::new(addresses, ETHER_TYPE_MAC_CONTROL),
            opcode: opcode.to_be_bytes(),
        }
    }

    /// Returns the sender's MAC address.
    #[inline(always)]
    pub const fn source(&self) -> [u8; 6] {
        self.ethernet.addresses().source
    }

    /// Opcode.
    #[inline(always)]
    pub const fn opcode(&self) -> u16 {
        u16::from_be_bytes(self.opcode)
    }

    /// Checks EtherType, destination and opcode.
    #[inline(always)]
    pub fn check(&self, opcode: u16) -> Result<(), ParseError> {
        let destination = self.ethernet.addresses().destination;
        if self.ethernet.ether_type() != ETHER_TYPE_MAC_CONTROL {
            Err(ParseError::EtherType(self.ethernet.ether_type()))
        } else if destination != DESTINATION {
            Err(ParseError::MacControlDestination(destination))
        } else if self.opcode() != opcode {
            Err(ParseError::MacControlOpcode(self.opcode()))
        } else {
            Ok(())
        }
    }

    /// Returns the header at the start of `frame` and the bytes after it. `check` validates the header.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(frame, Layer::MacControl)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} opcode {:#06x}", self.ethernet, self.opcode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; LEN] =
        [0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0x02, 0, 0, 0, 0x03, 0x88, 0x08, 0x01, 0x01];

    #[test]
    fn bytes_to_header_and_back() {
        let (header, _) = Header::parse(&BYTES).unwrap();
        header.check(OPCODE_PFC).unwrap();
        let text = "02:02:00:00:00:03 > 01:80:c2:00:00:01 type 0x8808 opcode 0x0101";
        assert_eq!(header.to_string(), text);
        let mut buffer = [0; LEN];
        Header::new(header.source(), OPCODE_PFC).emit(&mut buffer).unwrap();
        assert_eq!(buffer, BYTES);
        Header::parse(&BYTES[..LEN - 1]).unwrap_err();
    }

    #[test]
    fn another_frame_is_named() {
        let error = |at: usize| {
            let mut bytes = BYTES;
            bytes[at] ^= 2;
            Header::parse(&bytes).unwrap().0.check(OPCODE_PFC).unwrap_err()
        };
        assert_eq!(error(5), ParseError::MacControlDestination([0x01, 0x80, 0xc2, 0, 0, 0x03]));
        assert_eq!(error(13), ParseError::EtherType(0x880a));
        assert_eq!(error(15), ParseError::MacControlOpcode(0x0103));
    }
}
