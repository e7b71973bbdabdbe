//! UDP header (RFC 768).
//!
//! ```text
//!  0  source port       2
//!  2  destination port  2
//!  4  length            2   header and payload
//!  6  checksum          2   0 = none: RoCEv2 relies on the ICRC
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};

/// The header's length in bytes.
pub const LEN: usize = 8;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    source_port: [u8; 2],
    destination_port: [u8; 2],
    length: [u8; 2],
    checksum: [u8; 2],
}

impl Header {
    /// A header without checksum; `length` counts header and payload.
    #[inline(always)]
    pub const fn new(source_port: u16, destination_port: u16, length: u16) -> Self {
        Self {
            source_port: source_port.to_be_bytes(),
            destination_port: destination_port.to_be_bytes(),
            length: length.to_be_bytes(),
            checksum: [0; 2],
        }
    }

    /// Source port: with RoCEv2 the entropy of a flow.
    #[inline(always)]
    pub const fn source_port(&self) -> u16 {
        u16::from_be_bytes(self.source_port)
    }

    /// Destination port.
    #[inline(always)]
    pub const fn destination_port(&self) -> u16 {
        u16::from_be_bytes(self.destination_port)
    }

    /// Header and payload together, in bytes.
    #[inline(always)]
    pub const fn length(&self) -> u16 {
        u16::from_be_bytes(self.length)
    }

    /// The checksum field; 0 means that there is no checksum.
    #[inline(always)]
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes(self.checksum)
    }

    /// Returns the header at the start of `datagram` and the bytes after it.
    #[inline(always)]
    pub fn parse(datagram: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(datagram, Layer::Udp)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (self.source_port(), self.destination_port());
        write!(f, "udp {source} > {destination} length {}", self.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_to_header_and_back() {
        let bytes: [u8; LEN] = [0xc0, 0x00, 0x12, 0xb7, 0x00, 0x30, 0x00, 0x00];
        let (header, _) = Header::parse(&bytes).unwrap();
        assert_eq!(header.to_string(), "udp 49152 > 4791 length 48");
        assert_eq!(header.checksum(), 0);
        let mut buffer = [0xff; LEN];
        Header::new(49152, 4791, 48).emit(&mut buffer).unwrap();
        assert_eq!(buffer, bytes);
        Header::parse(&bytes[..7]).unwrap_err();
    }
}
