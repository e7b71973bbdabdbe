//! Common header of xoff's own protocols, link delay and hop control.
//!
//! ```text
//!  0  01 80 c2 00 00 0e  6   never forwarded by a bridge
//!  6  source             6
//! 12  88 b5              2   EtherType, IEEE local experimental
//! 14  protocol           2   1 link delay, 2 hop control
//! 16  kind               2   of the protocol's frames
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::ethernet::{self, ETHER_TYPE_EXPERIMENTAL, LinkAddresses};

/// Destination address of every frame of these protocols.
pub const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];

/// The header's length in bytes.
pub const LEN: usize = 18;
const _: () = assert!(size_of::<Header>() == LEN);
const _: () = assert!(size_of::<Selector>() == SELECTOR_LEN);

/// Length of the header after the Ethernet header.
pub const SELECTOR_LEN: usize = LEN - ethernet::LEN;

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    ethernet: ethernet::Header,
    selector: Selector,
}

/// Protocol and kind of a frame.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Selector {
    protocol: [u8; 2],
    kind: [u8; 2],
}

impl Selector {
    /// Returns the number of the protocol.
    #[inline(always)]
    pub const fn protocol(&self) -> u16 {
        u16::from_be_bytes(self.protocol)
    }

    /// Returns the kind of frame within the protocol.
    #[inline(always)]
    pub const fn kind(&self) -> u16 {
        u16::from_be_bytes(self.kind)
    }
}

impl Header {
    /// Creates a header with the source address `source`.
    #[inline(always)]
    pub const fn new(source: [u8; 6], protocol: u16, kind: u16) -> Self {
        let addresses = LinkAddresses { source, destination: DESTINATION };
        let selector = Selector { protocol: protocol.to_be_bytes(), kind: kind.to_be_bytes() };
        Self { ethernet: ethernet::Header::new(addresses, ETHER_TYPE_EXPERIMENTAL), selector }
    }

    /// Returns the sender's MAC address.
    #[inline(always)]
    pub const fn source(&self) -> [u8; 6] {
        self.ethernet.addresses().source
    }

    /// Returns the kind of frame within the protocol.
    #[inline(always)]
    pub const fn kind(&self) -> u16 {
        self.selector.kind()
    }

    /// Checks EtherType, destination and protocol.
    #[inline(always)]
    pub fn check(&self, protocol: u16) -> Result<(), ParseError> {
        let destination = self.ethernet.addresses().destination;
        if self.ethernet.ether_type() != ETHER_TYPE_EXPERIMENTAL {
            Err(ParseError::EtherType(self.ethernet.ether_type()))
        } else if destination != DESTINATION {
            Err(ParseError::ExperimentalDestination(destination))
        } else if self.selector.protocol() != protocol {
            Err(ParseError::ExperimentalProtocol(self.selector.protocol()))
        } else {
            Ok(())
        }
    }

    /// Returns the header at the start of `frame` and the bytes after it. `check` validates the header.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(frame, Layer::Experimental)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} protocol {} kind {}", self.ethernet, self.selector.protocol(), self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; LEN] =
        [0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0x02, 0, 0, 0, 0x03, 0x88, 0xb5, 0, 2, 0, 4];

    #[test]
    fn bytes_to_header_and_back() {
        let (header, _) = Header::parse(&BYTES).unwrap();
        header.check(2).unwrap();
        let text = "02:02:00:00:00:03 > 01:80:c2:00:00:0e type 0x88b5 protocol 2 kind 4";
        assert_eq!(header.to_string(), text);
        let mut buffer = [0; LEN];
        Header::new(header.source(), 2, header.kind()).emit(&mut buffer).unwrap();
        assert_eq!(buffer, BYTES);
        Header::parse(&BYTES[..LEN - 1]).unwrap_err();
    }

    #[test]
    fn another_frame_is_named() {
        let error = |at: usize| {
            let mut bytes = BYTES;
            bytes[at] ^= 1;
            Header::parse(&bytes).unwrap().0.check(2).unwrap_err()
        };
        assert_eq!(error(5), ParseError::ExperimentalDestination([0x01, 0x80, 0xc2, 0, 0, 0x0f]));
        assert_eq!(error(13), ParseError::EtherType(0x88b4));
        assert_eq!(error(15), ParseError::ExperimentalProtocol(3));
    }
}
