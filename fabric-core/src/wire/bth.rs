//! Base transport header (InfiniBand Architecture 1.4, 9.2), as RoCEv2 carries it (annex A17).
//!
//! ```text
//!  0  opcode                          1
//!  1  solicited 80 | migration 40     1
//!     | pad count 30 | version 0f
//!  2  partition key                   2
//!  4  FECN 80 | BECN 40 | reserved    1
//!  5  destination queue pair          3
//!  8  ACK request 80 | reserved       1
//!  9  PSN                             3
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::psn::Psn;

/// The default partition, to which all end nodes belong.
pub const DEFAULT_PARTITION_KEY: u16 = 0xffff;
/// Backward explicit congestion notification, in the congestion byte: set in a CNP, and in an ACK that
/// echoes a mark.
pub const BECN: u8 = 0x40;
/// Max queue pair number.
pub const MAXIMUM_QUEUE_PAIR: u32 = 0x00ff_ffff;

const MIGRATION: u8 = 0x40;
const PAD_COUNT_SHIFT: u32 = 4;
const VERSION_MASK: u8 = 0x0f;
const ACK_REQUEST: u8 = 0x80;

/// The header's length in bytes.
pub const LEN: usize = 12;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    opcode: u8,
    flags: u8,
    partition_key: [u8; 2],
    congestion: u8,
    destination_qp: [u8; 3],
    ack_request: u8,
    psn: [u8; 3],
}

/// BTH opcodes of reliable connections that xoff supports, and the CNP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// RDMA WRITE First, with RETH.
    WriteFirst = 0x06,
    /// RDMA WRITE Middle.
    WriteMiddle = 0x07,
    /// RDMA WRITE Last.
    WriteLast = 0x08,
    /// RDMA WRITE Only, with RETH.
    WriteOnly = 0x0a,
    /// Acknowledge, with AETH: ACK and NAK.
    Acknowledge = 0x11,
    /// Congestion notification packet (RoCEv2 annex, A17.9.3).
    Cnp = 0x81,
}

impl Opcode {
    /// Decodes the opcode's byte. `None` if xoff does not support it.
    #[inline(always)]
    pub const fn from_wire(opcode: u8) -> Option<Self> {
        match opcode {
            0x06 => Some(Self::WriteFirst),
            0x07 => Some(Self::WriteMiddle),
            0x08 => Some(Self::WriteLast),
            0x0a => Some(Self::WriteOnly),
            0x11 => Some(Self::Acknowledge),
            0x81 => Some(Self::Cnp),
            _ => None,
        }
    }

    /// True if a RETH follows the BTH.
    #[inline(always)]
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WriteFirst | Self::WriteOnly)
    }

    /// True if an AETH follows the BTH.
    #[inline(always)]
    pub const fn has_aeth(self) -> bool {
        matches!(self, Self::Acknowledge)
    }

    /// True if a payload may follow the headers.
    #[inline(always)]
    pub const fn has_payload(self) -> bool {
        !matches!(self, Self::Acknowledge | Self::Cnp)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::WriteFirst => "WRITE_FIRST",
            Self::WriteMiddle => "WRITE_MIDDLE",
            Self::WriteLast => "WRITE_LAST",
            Self::WriteOnly => "WRITE_ONLY",
            Self::Acknowledge => "ACKNOWLEDGE",
            Self::Cnp => "CNP",
        })
    }
}

impl Header {
    /// Creates a header with the migration bit set, as NICs set it, and with BECN if the opcode is the CNP's.
    ///
    /// `pad_count` is the number of bytes, 0 to 3, that pad the payload to a multiple of four.
    /// `destination_qp` has 24 bits.
    #[inline(always)]
    pub const fn new(
        opcode: Opcode,
        pad_count: u8,
        destination_qp: u32,
        ack_request: bool,
        psn: Psn,
    ) -> Self {
        Self {
            opcode: opcode as u8,
            flags: MIGRATION | (pad_count & 3) << PAD_COUNT_SHIFT,
            partition_key: DEFAULT_PARTITION_KEY.to_be_bytes(),
            congestion: if matches!(opcode, Opcode::Cnp) { BECN } else { 0 },
            destination_qp: super::write_u24(destination_qp),
            ack_request: if ack_request { ACK_REQUEST } else { 0 },
            psn: super::write_u24(psn.value()),
        }
    }

    /// Sets BECN.
    #[must_use]
    #[inline(always)]
    pub const fn with_becn(self) -> Self {
        Self { congestion: BECN, ..self }
    }

    /// Returns the opcode. `None` if xoff does not support it.
    #[inline(always)]
    pub const fn opcode(&self) -> Option<Opcode> {
        Opcode::from_wire(self.opcode)
    }

    /// The opcode's byte.
    #[inline(always)]
    pub const fn opcode_byte(&self) -> u8 {
        self.opcode
    }

    /// Bytes between payload and ICRC, 0 to 3.
    #[inline(always)]
    pub const fn pad_count(&self) -> u8 {
        self.flags >> PAD_COUNT_SHIFT & 3
    }

    /// Partition key.
    #[inline(always)]
    pub const fn partition_key(&self) -> u16 {
        u16::from_be_bytes(self.partition_key)
    }

    /// The byte that holds FECN and BECN.
    #[inline(always)]
    pub const fn congestion(&self) -> u8 {
        self.congestion
    }

    /// Destination queue pair, 24 bits.
    #[inline(always)]
    pub const fn destination_qp(&self) -> u32 {
        super::read_u24(self.destination_qp)
    }

    /// True if the requester requests an ACK for this packet.
    #[inline(always)]
    pub const fn ack_request(&self) -> bool {
        self.ack_request & ACK_REQUEST != 0
    }

    /// Packet sequence number.
    #[inline(always)]
    pub const fn psn(&self) -> Psn {
        Psn::new(super::read_u24(self.psn))
    }

    /// Returns the header at the start of `segment`, whatever its opcode, and the bytes after it.
    #[inline(always)]
    pub fn parse(segment: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        let (header, rest) = super::split::<Self>(segment, Layer::Bth)?;
        match header.flags & VERSION_MASK {
            0 => Ok((header, rest)),
            version => Err(ParseError::BthVersion(version)),
        }
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opcode() {
            Some(opcode) => write!(f, "{opcode}")?,
            None => write!(f, "opcode {:#04x}", self.opcode)?,
        }
        write!(f, " qp {} psn {}", self.destination_qp(), self.psn())?;
        if self.ack_request() { f.write_str(" ack-request") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a packet that scapy 2.8.0 (`scapy.contrib.roce`) built.
    const BYTES: [u8; LEN] =
        [0x0a, 0x60, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x80, 0xfe, 0xdc, 0xba];

    #[test]
    fn bytes_to_header_and_back() {
        let (header, _) = Header::parse(&BYTES).unwrap();
        assert_eq!(header.to_string(), "WRITE_ONLY qp 1193046 psn 16702650 ack-request");
        assert_eq!((header.pad_count(), header.congestion()), (2, 0));
        assert_eq!(header.partition_key(), DEFAULT_PARTITION_KEY);
        let mut buffer = [0; LEN];
        Header::new(Opcode::WriteOnly, 2, 0x0012_3456, true, Psn::new(0x00fe_dcba))
            .emit(&mut buffer)
            .unwrap();
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn only_a_cnp_carries_becn_unasked() {
        assert_eq!(Header::new(Opcode::Cnp, 0, 1, false, Psn::new(0)).congestion(), BECN);
        let acknowledge = Header::new(Opcode::Acknowledge, 0, 1, false, Psn::new(0));
        assert_eq!(acknowledge.congestion(), 0);
        let mut buffer = [0; LEN];
        acknowledge.with_becn().emit(&mut buffer).unwrap();
        assert_eq!(buffer[4], 0x40);
    }

    #[test]
    fn every_opcode_survives_its_byte_and_no_other_byte_is_one() {
        let known = (0..=u8::MAX).filter_map(|byte| {
            Opcode::from_wire(byte).inspect(|opcode| assert_eq!(*opcode as u8, byte))
        });
        assert_eq!(known.count(), 6);
    }

    #[test]
    fn another_version_is_an_error() {
        let mut bytes = BYTES;
        bytes[1] |= 3;
        assert_eq!(Header::parse(&bytes).unwrap_err(), ParseError::BthVersion(3));
        Header::parse(&BYTES[..LEN - 1]).unwrap_err();
    }
}
