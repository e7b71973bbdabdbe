//! IPv4 header without options (RFC 791, section 3.1), its checksum (RFC 1071 and 1624) and its ECN
//! field (RFC 3168).
//!
//! ```text
//!  0  version 4 | words 5   1      8  time to live      1
//!  1  DSCP << 2 | ECN       1      9  protocol          1
//!  2  total length          2     10  header checksum   2
//!  4  identification        2     12  source            4
//!  6  flags | offset        2     16  destination       4
//! ```

use core::fmt;
use core::mem::offset_of;
use core::net::Ipv4Addr;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_ref};

use super::error::{EmitError, Layer, ParseError};

/// Protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

const VERSION_AND_WORDS: u8 = 0x45;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3fff;

/// The bit of a DSCP by which senders label packets of incasts (BFC, Appendix A.7).
pub const INCAST_LABEL: u8 = 1;
/// The bit of a DSCP by which senders mark packets of a flow's first round trip (ABM, Addanki et al., SIGCOMM 2022,
/// whose simulator calls them unscheduled).
pub const FIRST_RTT: u8 = 2;

/// The header's length in bytes.
pub const LEN: usize = 20;
/// Offset of DSCP and ECN in the header.
pub const TYPE_OF_SERVICE_AT: usize = offset_of!(Header, type_of_service);
/// Offset of the time to live in the header; protocol and checksum follow.
pub const TIME_TO_LIVE_AT: usize = offset_of!(Header, time_to_live);
/// Offset of the protocol in the header.
pub const PROTOCOL_AT: usize = offset_of!(Header, protocol);
/// Offset of the checksum in the header.
pub const CHECKSUM_AT: usize = offset_of!(Header, checksum);
/// Offset of the destination address in the header.
pub const DESTINATION_AT: usize = offset_of!(Header, destination);
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    version_and_words: u8,
    type_of_service: u8,
    total_length: [u8; 2],
    identification: [u8; 2],
    flags_and_offset: [u8; 2],
    time_to_live: u8,
    protocol: u8,
    checksum: [u8; 2],
    source: [u8; 4],
    destination: [u8; 4],
}

/// ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0), what RoCE senders set.
    Capable0 = 2,
    /// Congestion experienced.
    CongestionExperienced = 3,
}

impl Ecn {
    /// From the two low bits of `type_of_service`; the DSCP above them is ignored.
    #[inline(always)]
    pub const fn from_wire(type_of_service: u8) -> Self {
        match type_of_service & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable1,
            2 => Self::Capable0,
            _ => Self::CongestionExperienced,
        }
    }
}

/// The DSCP and ECN fields as one byte; bits of `dscp` above its six are lost.
#[inline(always)]
pub const fn type_of_service(dscp: u8, ecn: Ecn) -> u8 {
    dscp << 2 | ecn as u8
}

/// The checksum of a header after one of its 16-bit words went from `old_word` to `new_word`
/// (RFC 1624, eqn. 3).
#[inline(always)]
pub const fn incremental_checksum(old_checksum: u16, old_word: u16, new_word: u16) -> u16 {
    !fold(!old_checksum as u32 + !old_word as u32 + new_word as u32)
}

/// The checksum after a router took one off the time to live. The protocol in the same word does not matter.
#[inline(always)]
pub const fn forwarded_checksum(checksum: u16, time_to_live: u8) -> u16 {
    let old = u16::from_be_bytes([time_to_live, 0]);
    incremental_checksum(checksum, old, old.wrapping_sub(1 << 8))
}

/// The checksum after DSCP and ECN changed. Version and length in the same word do not matter.
#[inline(always)]
pub const fn remarked_checksum(checksum: u16, old: u8, new: u8) -> u16 {
    incremental_checksum(checksum, old as u16, new as u16)
}

/// The ones' complement sum of up to 2^16 words.
#[inline(always)]
pub(super) const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once + (once >> 16)) as u16
}

/// The sum of all words of up to 2^16 bytes, the last one filled up with zeros (RFC 1071).
pub(super) fn sum_of_words(bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<2>();
    let words: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    words + tail.first().map_or(0, |&byte| u32::from(byte) << 8)
}

impl Header {
    /// A whole packet (DF set, identification 0) with its checksum.
    #[inline(always)]
    pub fn new(
        source: u32,
        destination: u32,
        type_of_service: u8,
        time_to_live: u8,
        protocol: u8,
        total_length: u16,
    ) -> Self {
        let mut header = Self {
            version_and_words: VERSION_AND_WORDS,
            type_of_service,
            total_length: total_length.to_be_bytes(),
            identification: [0; 2],
            flags_and_offset: DO_NOT_FRAGMENT.to_be_bytes(),
            time_to_live,
            protocol,
            checksum: [0; 2],
            source: source.to_be_bytes(),
            destination: destination.to_be_bytes(),
        };
        header.checksum = header.expected_checksum().to_be_bytes();
        header
    }

    /// Replaces the identification and updates the checksum.
    #[inline(always)]
    #[must_use]
    pub const fn with_identification(mut self, identification: u16) -> Self {
        let old = self.identification();
        self.checksum = incremental_checksum(self.checksum(), old, identification).to_be_bytes();
        self.identification = identification.to_be_bytes();
        self
    }

    /// Returns the identification, in which xoff's hosts send the rest of a flow's size (`remaining_size`).
    #[inline(always)]
    pub const fn identification(&self) -> u16 {
        u16::from_be_bytes(self.identification)
    }

    /// The DSCP and ECN fields as one byte.
    #[inline(always)]
    pub const fn type_of_service(&self) -> u8 {
        self.type_of_service
    }

    /// Differentiated services code point, 0 to 63.
    #[inline(always)]
    pub const fn dscp(&self) -> u8 {
        self.type_of_service >> 2
    }

    /// ECN field.
    #[inline(always)]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_wire(self.type_of_service)
    }

    /// Header and payload together, in bytes.
    #[inline(always)]
    pub const fn total_length(&self) -> u16 {
        u16::from_be_bytes(self.total_length)
    }

    /// True if the packet is a fragment of a larger one.
    #[inline(always)]
    pub const fn is_fragment(&self) -> bool {
        u16::from_be_bytes(self.flags_and_offset) & MORE_FRAGMENTS_AND_OFFSET != 0
    }

    /// True if the payload begins with a source and a destination port.
    #[inline(always)]
    pub const fn has_ports(&self) -> bool {
        matches!(self.protocol, PROTOCOL_TCP | PROTOCOL_UDP) && !self.is_fragment()
    }

    /// Time to live.
    #[inline(always)]
    pub const fn time_to_live(&self) -> u8 {
        self.time_to_live
    }

    /// Protocol of the payload.
    #[inline(always)]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Returns the header checksum field.
    #[inline(always)]
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes(self.checksum)
    }

    /// Source address.
    #[inline(always)]
    pub const fn source(&self) -> u32 {
        u32::from_be_bytes(self.source)
    }

    /// Destination address.
    #[inline(always)]
    pub const fn destination(&self) -> u32 {
        u32::from_be_bytes(self.destination)
    }

    /// Returns the checksum that matches the other fields.
    #[inline(always)]
    pub fn expected_checksum(&self) -> u16 {
        let own = u32::from(u16::from_ne_bytes(self.checksum));
        u16::from_be(!fold(self.sum() - own))
    }

    /// Checks the header checksum: all words, itself included, add up to ones (RFC 1071). Two checksums do that
    /// where 0 is expected, 0 and 0xffff.
    #[inline(always)]
    pub fn verify_checksum(&self) -> Result<(), ParseError> {
        if fold(self.sum()) == u16::MAX {
            return Ok(());
        }
        let (expected, found) = (self.expected_checksum(), self.checksum());
        Err(ParseError::IpChecksum { expected, found })
    }

    /// Returns the sum of all words in the machine's byte order, in which it also folds (RFC 1071, 2 (B)).
    #[inline(always)]
    fn sum(&self) -> u32 {
        let words: &[[u8; 2]; LEN / 2] = transmute_ref!(self);
        words.iter().map(|word| u32::from(u16::from_ne_bytes(*word))).sum()
    }

    /// Decrements the time to live and updates the checksum.
    ///
    /// Returns false and changes nothing if the time to live would become 0: a router drops the
    /// packet (RFC 1812, 5.3.1).
    #[inline(always)]
    pub const fn decrement_time_to_live(&mut self) -> bool {
        if self.time_to_live <= 1 {
            return false;
        }
        self.checksum = forwarded_checksum(self.checksum(), self.time_to_live).to_be_bytes();
        self.time_to_live -= 1;
        true
    }

    /// Replaces DSCP and ECN and updates the checksum.
    #[inline(always)]
    pub const fn set_type_of_service(&mut self, type_of_service: u8) {
        let old = self.type_of_service;
        self.checksum = remarked_checksum(self.checksum(), old, type_of_service).to_be_bytes();
        self.type_of_service = type_of_service;
    }

    /// Replaces ECN and updates the checksum.
    #[inline(always)]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.set_type_of_service(type_of_service(self.dscp(), ecn));
    }

    /// Returns the header at the start of `packet` and the bytes after it. `verify_checksum` checks
    /// the checksum.
    #[inline(always)]
    pub fn parse(packet: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        let (header, rest) = super::split::<Self>(packet, Layer::Ipv4)?;
        header.check(packet.len())?;
        Ok((header, rest))
    }

    /// Checks version and lengths, given the available bytes from the header on.
    #[inline(always)]
    pub fn check(&self, available: usize) -> Result<(), ParseError> {
        if self.version_and_words >> 4 != VERSION_AND_WORDS >> 4 {
            return Err(ParseError::IpVersion(self.version_and_words >> 4));
        }
        if self.version_and_words != VERSION_AND_WORDS {
            return Err(ParseError::IpHeaderLength(self.version_and_words & 0x0f));
        }
        let total = usize::from(self.total_length());
        if total < LEN || total > available {
            return Err(ParseError::IpTotalLength { total, available });
        }
        Ok(())
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (Ipv4Addr::from(self.source), Ipv4Addr::from(self.destination));
        write!(f, "{source} > {destination} protocol {} ", self.protocol)?;
        write!(f, "dscp {} ecn {} ", self.dscp(), self.type_of_service & 3)?;
        write!(f, "ttl {} length {}", self.time_to_live, self.total_length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From a packet that scapy 2.8.0 built.
    const BYTES: [u8; LEN] = [
        0x45, 0x62, 0x00, 0x44, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x24, 0x45, 0x0a, 0x00, 0x01,
        0x01, 0x0a, 0x00, 0x01, 0x02,
    ];

    fn packet() -> [u8; 68] {
        let mut packet = [0; 68];
        packet[..LEN].copy_from_slice(&BYTES);
        packet
    }

    #[test]
    fn bytes_to_header_and_back() {
        let packet = packet();
        let (header, rest) = Header::parse(&packet).unwrap();
        assert_eq!(rest.len(), 48);
        header.verify_checksum().unwrap();
        assert_eq!(
            header.to_string(),
            "10.0.1.1 > 10.0.1.2 protocol 17 dscp 24 ecn 2 ttl 64 length 68"
        );
        assert!(!header.is_fragment());
        let mut buffer = [0; LEN];
        let type_of_service = type_of_service(24, Ecn::Capable0);
        Header::new(header.source(), header.destination(), type_of_service, 64, PROTOCOL_UDP, 68)
            .emit(&mut buffer)
            .unwrap();
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn malformed_headers_are_named() {
        let error = |at: usize, value: u8| {
            let mut packet = packet();
            packet[at] = value;
            Header::parse(&packet).unwrap_err()
        };
        assert_eq!(error(0, 0x65), ParseError::IpVersion(6));
        assert_eq!(error(0, 0x46), ParseError::IpHeaderLength(6));
        assert_eq!(error(3, 69), ParseError::IpTotalLength { total: 69, available: 68 });
        assert_eq!(error(3, 19), ParseError::IpTotalLength { total: 19, available: 68 });
        for length in 0..packet().len() {
            Header::parse(&packet()[..length]).unwrap_err();
        }
        let mut header_alone = packet();
        header_alone[3] = 20;
        let total = Header::parse(&header_alone).map(|(header, _)| header.total_length());
        assert_eq!(total, Ok(20));
    }

    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(incremental_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    /// Sums whose first fold carries again, and sums just below.
    #[test]
    fn a_carry_of_a_carry_is_added() {
        for (sum, folded) in [
            (0, 0),
            (0xffff, 0xffff),
            (0x1_0000, 1),
            (0x1_fffe, 0xffff),
            (0x1_ffff, 1),
            (0x2_fffd, 0xffff),
            (0x2_fffe, 1),
            (0x9_fff6, 0xffff),
            (0x9_fff7, 1),
            (0xfffe_0001, 0xffff),
        ] {
            assert_eq!(fold(sum), folded, "{sum:#x}");
        }
        assert_eq!(incremental_checksum(0, 0, 1), 0xfffe, "0xffff + 0xffff + 1 carries twice");
    }

    #[test]
    fn dscp_and_ecn_share_a_byte() {
        for (number, ecn) in
            (0..).zip([Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced])
        {
            for dscp in 0..64 {
                let byte = type_of_service(dscp, ecn);
                assert_eq!(byte, dscp * 4 + number);
                assert_eq!(Ecn::from_wire(byte), ecn);
                let header = Header::new(1, 2, byte, 64, PROTOCOL_UDP, 20);
                assert_eq!((header.dscp(), header.ecn()), (dscp, ecn));
            }
        }
    }

    #[test]
    fn a_fragment_has_an_offset_or_more_to_come() {
        for (bits, expected) in [
            (0, false),
            (0x4000, false),
            (0x8000, false),
            (0x2000, true),
            (1, true),
            (0x1000, true),
        ] {
            let mut bytes = BYTES;
            bytes[6..8].copy_from_slice(&u16::to_be_bytes(bits));
            let header = Header::read_from_bytes(&bytes).unwrap();
            assert_eq!(header.is_fragment(), expected, "{bits:#06x}");
        }
    }

    #[test]
    fn both_zeros_of_ones_complement_verify() {
        let mut header = Header::new(0, 0, 0, 64, PROTOCOL_UDP, 20);
        // The words without the checksum then add up to ones.
        header.identification = header.checksum;
        for checksum in [0, u16::MAX] {
            header.checksum = u16::to_be_bytes(checksum);
            assert_eq!(header.expected_checksum(), 0);
            header.verify_checksum().unwrap();
        }
    }

    #[test]
    fn the_last_hop_of_a_packet() {
        let mut header = Header::new(1, 2, 0, 1, PROTOCOL_UDP, 20);
        let before = header;
        assert!(!header.decrement_time_to_live());
        assert_eq!(header, before);
    }

    proptest! {
        #[test]
        fn incremental_equals_full(
            source: u32, destination: u32, tos: u8, ttl in 2u8.., protocol: u8, length: u16,
            new_tos: u8, ecn: u8,
        ) {
            let mut header = Header::new(source, destination, tos, ttl, protocol, length);
            prop_assert!(header.decrement_time_to_live());
            header.verify_checksum().unwrap();
            header.set_type_of_service(new_tos);
            header.verify_checksum().unwrap();
            header.set_ecn(Ecn::from_wire(ecn));
            let tos = type_of_service(new_tos >> 2, Ecn::from_wire(ecn));
            prop_assert_eq!(
                header, Header::new(source, destination, tos, ttl - 1, protocol, length));
        }

        #[test]
        fn one_flipped_bit_is_found(bit in 0..LEN * 8) {
            let mut bytes = BYTES;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let header = Header::read_from_bytes(&bytes).unwrap();
            header.verify_checksum().unwrap_err();
        }
    }
}
