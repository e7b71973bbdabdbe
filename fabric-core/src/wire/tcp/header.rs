//! The TCP header without options (RFC 9293, 3.1; the byte diagram is in `tcp.rs`), and its checksum.

use core::fmt;
use core::mem::offset_of;
use core::ops::{BitOr, Range};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::super::error::{EmitError, Layer, ParseError};
use super::super::ipv4;
use super::{Ports, options};

/// The header's length in bytes without options.
pub const LEN: usize = 20;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    source_port: [u8; 2],
    destination_port: [u8; 2],
    sequence: [u8; 4],
    acknowledgement: [u8; 4],
    words: u8,
    flags: u8,
    window: [u8; 2],
    checksum: [u8; 2],
    urgent_pointer: [u8; 2],
}

/// Flags of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Opens the connection.
    pub const SYN: Self = Self(0x02);
    /// The payload is to be delivered to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);
    /// The receiver saw a mark (RFC 3168); with SYN, ECN is understood.
    pub const ECE: Self = Self(0x40);
    /// The sender has reduced its window (RFC 3168); with SYN, ECN is understood.
    pub const CWR: Self = Self(0x80);

    const ALL: u8 = 0xdb;

    /// Decodes flags. `None` with RST or URG, which no xoff host sends.
    #[inline]
    pub const fn from_wire(bits: u8) -> Option<Self> {
        if bits & !Self::ALL == 0 { Some(Self(bits)) } else { None }
    }

    /// Returns the flags as on the wire.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if all of `flags` are set.
    #[inline]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns `self` if `condition` holds, otherwise no flags.
    #[inline]
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self(0) }
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut separator = "";
        for (bit, name) in names.iter().enumerate() {
            if self.0 & 1 << bit != 0 {
                write!(f, "{separator}{name}")?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Header {
    /// Creates a header without checksum. `words` of 4 bytes is the length of the header with its options.
    pub const fn new(
        ports: Ports,
        sequence: u32,
        acknowledgement: u32,
        words: u8,
        flags: Flags,
        window: u16,
    ) -> Self {
        Self {
            source_port: ports.source.to_be_bytes(),
            destination_port: ports.destination.to_be_bytes(),
            sequence: sequence.to_be_bytes(),
            acknowledgement: acknowledgement.to_be_bytes(),
            words: words << 4,
            flags: flags.0,
            window: window.to_be_bytes(),
            checksum: [0; 2],
            urgent_pointer: [0; 2],
        }
    }

    /// Source and destination port.
    pub const fn ports(&self) -> Ports {
        Ports {
            source: u16::from_be_bytes(self.source_port),
            destination: u16::from_be_bytes(self.destination_port),
        }
    }

    /// Sequence number.
    pub const fn sequence(&self) -> u32 {
        u32::from_be_bytes(self.sequence)
    }

    /// Acknowledgement number.
    pub const fn acknowledgement(&self) -> u32 {
        u32::from_be_bytes(self.acknowledgement)
    }

    /// Header and options, in bytes.
    pub const fn length(&self) -> usize {
        (self.words >> 4) as usize * 4
    }

    /// Returns the range of any telemetry in the segment: up to the end of the header.
    pub const fn telemetry_place(&self) -> Range<usize> {
        LEN + options::TELEMETRY_AT..self.length()
    }

    /// Returns the flags if xoff sends such flags, and no reserved bit and no urgent pointer is set.
    pub const fn flags(&self) -> Result<Flags, ParseError> {
        match Flags::from_wire(self.flags) {
            Some(flags)
                if self.words.trailing_zeros() >= 4 && matches!(self.urgent_pointer, [0, 0]) =>
            {
                Ok(flags)
            }
            _ => Err(ParseError::TcpFlags(self.flags)),
        }
    }

    /// Returns the receive window field.
    pub const fn window(&self) -> u16 {
        u16::from_be_bytes(self.window)
    }

    /// Returns the checksum field.
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes(self.checksum)
    }

    /// Replaces the checksum.
    pub const fn set_checksum(&mut self, checksum: u16) {
        self.checksum = checksum.to_be_bytes();
    }

    /// Returns the header at the start of `segment` and the bytes after it.
    pub fn parse(segment: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::super::split(segment, Layer::Tcp)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::super::put(self, buffer)
    }
}

/// Returns the correct checksum of a segment, whatever its checksum field contains (RFC 9293, 3.1:
/// it covers addresses, protocol and length).
pub fn checksum(source: u32, destination: u32, segment: &[u8]) -> u16 {
    const PLACE: core::ops::Range<usize> =
        offset_of!(Header, checksum)..offset_of!(Header, urgent_pointer);
    let own = segment.get(PLACE).map_or(0, |own| u32::from(own[0]) << 8 | u32::from(own[1]));
    let address = |address: u32| (address >> 16) + (address & 0xffff);
    let pseudo = address(source) + address(destination) + u32::from(ipv4::PROTOCOL_TCP);
    // A segment has less than 2^15 words, and the pseudo header six.
    !ipv4::fold(pseudo + segment.len() as u32 + ipv4::sum_of_words(segment) - own)
}
