//! ACK extended transport header (InfiniBand Architecture 1.4, 9.3.5; syndromes in table 46, NAK codes in
//! table 47).
//!
//! ```text
//!  0  syndrome                 1
//!  1  message sequence number  3   of a selective NAK: the PSN of the packet that has arrived
//! ```
//!
//! The selective NAK is xoff's own: docs/selective-repeat.md specifies it.

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::error::{EmitError, Layer, ParseError};
use super::psn::Psn;

/// Max message sequence number.
pub const MAXIMUM_MESSAGE_SEQUENCE_NUMBER: u32 = 0x00ff_ffff;

/// The header's length in bytes.
pub const LEN: usize = 4;
const _: () = assert!(size_of::<Header>() == LEN);

/// The header on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    syndrome: u8,
    message_sequence_number: [u8; 3],
}

/// Syndrome of an AETH: ACK or NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the PSN has arrived; unlimited credit (0x1f).
    Ack,
    /// A PSN was skipped: the packet's PSN is the one expected (0x60).
    NakSequenceError,
    /// A packet has arrived ahead of the expected one, whose PSN the packet has (0x7f: the last of
    /// the NAK codes that InfiniBand reserves).
    SelectiveNak,
}

impl Syndrome {
    /// Decodes the syndrome's byte. `None` if xoff does not support it.
    #[inline(always)]
    pub const fn from_wire(syndrome: u8) -> Option<Self> {
        match syndrome {
            0x1f => Some(Self::Ack),
            0x60 => Some(Self::NakSequenceError),
            0x7f => Some(Self::SelectiveNak),
            _ => None,
        }
    }

    /// The syndrome's byte.
    #[inline(always)]
    pub const fn to_wire(self) -> u8 {
        match self {
            Self::Ack => 0x1f,
            Self::NakSequenceError => 0x60,
            Self::SelectiveNak => 0x7f,
        }
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ack => "ACK",
            Self::NakSequenceError => "NAK",
            Self::SelectiveNak => "SELECTIVE_NAK",
        })
    }
}

/// ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// ACK or NAK.
    pub syndrome: Syndrome,
    /// Message sequence number, 24 bits: messages completed at the responder. In a selective NAK,
    /// the PSN of the packet that has arrived.
    pub message_sequence_number: u32,
}

impl Fields {
    /// Creates a selective NAK: packet `arrived` has arrived ahead of the expected one.
    pub const fn selective_nak(arrived: Psn) -> Self {
        Self { syndrome: Syndrome::SelectiveNak, message_sequence_number: arrived.value() }
    }

    /// Returns the PSN of the packet that has arrived, for a selective NAK.
    pub const fn arrived(&self) -> Option<Psn> {
        match self.syndrome {
            Syndrome::SelectiveNak => Some(Psn::new(self.message_sequence_number)),
            Syndrome::Ack | Syndrome::NakSequenceError => None,
        }
    }
}

impl Header {
    /// Creates a header from `fields`. The message sequence number has 24 bits.
    #[inline(always)]
    pub const fn new(fields: Fields) -> Self {
        Self {
            syndrome: fields.syndrome.to_wire(),
            message_sequence_number: super::write_u24(fields.message_sequence_number),
        }
    }

    /// Returns the header's fields, or an error if the syndrome is unknown.
    #[inline(always)]
    pub const fn fields(&self) -> Result<Fields, ParseError> {
        match Syndrome::from_wire(self.syndrome) {
            Some(syndrome) => Ok(Fields {
                syndrome,
                message_sequence_number: super::read_u24(self.message_sequence_number),
            }),
            None => Err(ParseError::UnknownSyndrome(self.syndrome)),
        }
    }

    /// Returns the header at the start of `bytes` and the bytes after it.
    #[inline(always)]
    pub fn parse(bytes: &[u8]) -> Result<(&Self, &[u8]), ParseError> {
        super::split(bytes, Layer::Aeth)
    }

    /// Writes the header at the start of `buffer` and returns the rest of `buffer`.
    #[inline(always)]
    pub fn emit(self, buffer: &mut [u8]) -> Result<&mut [u8], EmitError> {
        super::put(self, buffer)
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Syndrome::from_wire(self.syndrome) {
            Some(syndrome) => write!(f, "{syndrome}")?,
            None => write!(f, "syndrome {:#04x}", self.syndrome)?,
        }
        let number = super::read_u24(self.message_sequence_number);
        match Syndrome::from_wire(self.syndrome) {
            Some(Syndrome::SelectiveNak) => write!(f, " arrived {number}"),
            _ => write!(f, " msn {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_to_header_and_back() {
        for (bytes, text) in [
            ([0x1f, 0x00, 0x00, 0x05], "ACK msn 5"),
            ([0x60, 0xff, 0x00, 0x01], "NAK msn 16711681"),
            ([0x7f, 0x00, 0x01, 0x02], "SELECTIVE_NAK arrived 258"),
        ] {
            let (header, _) = Header::parse(&bytes).unwrap();
            assert_eq!(header.to_string(), text);
            let mut buffer = [0; LEN];
            Header::new(header.fields().unwrap()).emit(&mut buffer).unwrap();
            assert_eq!(buffer, bytes);
        }
        Header::parse(&[0x1f, 0, 0]).unwrap_err();
    }

    #[test]
    fn a_selective_nak_names_a_packet_where_others_count_messages() {
        let nak = Fields::selective_nak(Psn::new(0x0001_0203));
        let mut buffer = [0; LEN];
        Header::new(nak).emit(&mut buffer).unwrap();
        assert_eq!(buffer, [0x7f, 0x01, 0x02, 0x03]);
        assert_eq!(nak.arrived(), Some(Psn::new(0x0001_0203)));
        for syndrome in [Syndrome::Ack, Syndrome::NakSequenceError] {
            assert_eq!(Fields { syndrome, ..nak }.arrived(), None);
        }
    }

    #[test]
    fn a_receiver_not_ready_is_not_spoken() {
        let (header, _) = Header::parse(&[0x21, 0, 0, 0]).unwrap();
        assert_eq!(header.fields(), Err(ParseError::UnknownSyndrome(0x21)));
        assert_eq!(header.to_string(), "syndrome 0x21 msn 0");
    }
}
