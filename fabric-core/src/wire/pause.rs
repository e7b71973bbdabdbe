//! Global PAUSE frame (IEEE 802.3-2022, annex 31B): all priorities at once, ignored by a PFC port.
//!
//! ```text
//!  0  MAC control header, opcode 00 01  16
//! 16  time                               2   in quanta of 512 bit times of the port
//! 18  zeros                             42   to the minimum of 60 bytes
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut};

use super::error::{Layer, ParseError};
use super::ethernet::Address;
use super::mac_control::{self, OPCODE_PAUSE};

/// The frame's length in bytes, without FCS.
pub const LEN: usize = 60;
const _: () = assert!(size_of::<Header>() == LEN);

/// The frame on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    mac_control: mac_control::Header,
    time: [u8; 2],
    padding: [u8; 42],
}

/// A global PAUSE frame as a plain value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The sender's MAC address.
    pub source: [u8; 6],
    /// Pause time for all priorities, in quanta; 0 resumes them.
    pub quanta: u16,
}

impl Frame {
    /// Parses a frame; bytes beyond its 60 are ignored.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (header, _) = super::split::<Header>(frame, Layer::MacControl)?;
        header.mac_control.check(OPCODE_PAUSE)?;
        let quanta = u16::from_be_bytes(header.time);
        Ok(Self { source: header.mac_control.source(), quanta })
    }

    /// Writes the whole frame.
    #[inline(always)]
    pub fn emit(&self, buffer: &mut [u8; LEN]) {
        let header: &mut Header = transmute_mut!(buffer);
        header.mac_control = mac_control::Header::new(self.source, OPCODE_PAUSE);
        header.time = self.quanta.to_be_bytes();
        header.padding = [0; 42];
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PAUSE from {} {}", Address(self.source), self.quanta)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;

    #[test]
    fn bytes_to_frame_and_back() {
        let mut bytes = hex("01 80 c2 00 00 01 02 02 00 00 00 03 88 08 00 01 ff fe");
        bytes.resize(LEN, 0);
        let frame = Frame::parse(&bytes).unwrap();
        assert_eq!(frame.to_string(), "PAUSE from 02:02:00:00:00:03 65534");
        let mut buffer = [0xff; LEN];
        frame.emit(&mut buffer);
        assert_eq!(buffer[..], bytes);
        for length in 0..LEN {
            Frame::parse(&bytes[..length]).unwrap_err();
        }
        bytes[14] = 1;
        assert_eq!(Frame::parse(&bytes), Err(ParseError::MacControlOpcode(0x0101)));
    }
}
