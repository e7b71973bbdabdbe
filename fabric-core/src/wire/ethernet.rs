//! Ethernet II header (IEEE 802.3-2022, 3.1.1 and 3.2.6), without preamble and FCS.
//!
//! ```text
//!  0  destination  6
//!  6  source       6
//! 12  EtherType    2
//! ```

use core::fmt;
use core::mem::offset_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute};

use super::error::{EmitError, Layer, ParseError};

/// EtherType of IPv4.
pub const ETHER_TYPE_IPV4: u16 = 0x0800;
/// EtherType of MAC control: PAUSE and PFC.
pub const ETHER_TYPE_MAC_CONTROL: u16 = 0x8808;
/// EtherType of xoff's own protocols: local experimental EtherType 1 (IEEE 802-2014, 9.2.3).
pub const ETHER_TYPE_EXPERIMENTAL: u16 = 0x88b5;
/// Min length of a frame without FCS: 64 bytes on the wire minus 4.
pub const MINIMUM_FRAME_LENGTH: usize = 60;

/// The header's length in bytes.
pub const LEN: usize = 14;
/// Offset of the EtherType, and length of the two addresses.
pub const ETHER_TYPE_AT: usize = offset_of!(Header, ether_type);
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    destination: [u8; 6],
    source: [u8; 6],
    ether_type: [u8; 2],
}

/// MAC addresses of the two ends of a link, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkAddresses {
    /// The sender's MAC address.
    pub source: [u8; 6],
    /// The next hop's MAC address.
    pub destination: [u8; 6],
}

impl LinkAddresses {
    /// Returns the addresses in wire order, the first bytes of a frame.
    #[inline(always)]
    pub fn to_bytes(self) -> [u8; ETHER_TYPE_AT] {
        transmute!([self.destination, self.source])
    }
}

impl Header {
    /// Creates a header with these addresses.
    #[inline(always)]
    pub const fn new(addresses: LinkAddresses, ether_type: u16) -> Self {
        Self {
            destination: addresses.destination,
            source: addresses.source,
            ether_type: ether_type.to_be_bytes(),
        }
    }

    /// Source and destination address.
    #[inline(always)]
    pub const fn addresses(&self) -> LinkAddresses {
        LinkAddresses { source: self.source, destination: self.destination }
    }

    /// Rewrites both addresses, as a router does for the next link.
    #[inline(always)]
    pub const fn set_addresses(&mut self, addresses: LinkAddresses) {
        self.source = addresses.source;
        self.destination = addresses.destination;
    }

    /// EtherType.
    #[inline(always)]
    pub const fn ether_type(&self) -> u16 {
        u16::from_be_bytes(self.ether_type)
    }

    /// Returns the header at the start of `frame` and the bytes after it.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(frame, Layer::Ethernet)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (Address(self.source), Address(self.destination));
        write!(f, "{source} > {destination} type {:#06x}", self.ether_type())
    }
}

/// A MAC address that displays as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub [u8; 6]);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|byte| write!(f, ":{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; LEN] = [0x02, 0x02, 0, 0, 0, 0x03, 0x02, 0x01, 0, 0, 0x01, 0xff, 0x08, 0x00];

    #[test]
    fn bytes_to_header_and_back() {
        let (header, rest) = Header::parse(&BYTES).unwrap();
        assert!(rest.is_empty());
        assert_eq!(header.ether_type(), ETHER_TYPE_IPV4);
        assert_eq!(header.to_string(), "02:01:00:00:01:ff > 02:02:00:00:00:03 type 0x0800");
        let mut buffer = [0; LEN];
        Header::new(header.addresses(), ETHER_TYPE_IPV4).emit(&mut buffer).unwrap();
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn a_router_rewrites_both_addresses_and_nothing_else() {
        let mut header = *Header::parse(&BYTES).unwrap().0;
        let addresses = LinkAddresses { source: [1; 6], destination: [3; 6] };
        header.set_addresses(addresses);
        assert_eq!(addresses.to_bytes(), header.as_bytes()[..ETHER_TYPE_AT]);
        assert_eq!(header, Header::new(addresses, ETHER_TYPE_IPV4));
        assert_eq!(header.addresses(), addresses);
    }

    #[test]
    fn a_cut_header_and_a_short_buffer_are_errors() {
        let cut = ParseError::Truncated { layer: Layer::Ethernet, needed: LEN, available: 13 };
        assert_eq!(Header::parse(&BYTES[..13]).unwrap_err(), cut);
        let header = Header::new(LinkAddresses::default(), ETHER_TYPE_IPV4);
        let short = EmitError::BufferTooSmall { needed: LEN, available: 13 };
        assert_eq!(header.emit(&mut [0; 13]).unwrap_err(), short);
    }
}
