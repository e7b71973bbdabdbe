//! Priority-based flow control frame (IEEE 802.1Qbb; IEEE 802.3-2022, annex 31D).
//!
//! ```text
//!  0  MAC control header, opcode 01 01  16
//! 16  class-enable vector                2   bit n = priority n; the high byte is reserved
//! 18  time[0..=7]                    8 x 2   in quanta of 512 bit times of the port
//! 34  zeros                             26   to the minimum of 60 bytes
//! ```

use core::fmt;

use units::{BitsPerSecond, Picos};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut};

use super::error::{Layer, ParseError};
use super::ethernet::Address;
use super::mac_control::{self, OPCODE_PFC};
use crate::hop_control::ClassPauses;

/// Duration of one quantum, in bit times of the port.
pub const QUANTUM_BITS: u64 = 512;

/// The frame's length in bytes, without FCS.
pub const LEN: usize = 60;
/// Length of the body, bytes.
pub const BODY_LEN: usize = 18;
const _: () = assert!(size_of::<Header>() == LEN && size_of::<Body>() == BODY_LEN);

/// The frame on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    mac_control: mac_control::Header,
    body: Body,
    padding: [u8; 26],
}

/// Content of the frame after the MAC control header.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Body {
    reserved: u8,
    class_enable: u8,
    time: [[u8; 2]; 8],
}

impl Body {
    /// Class-enable vector.
    #[inline(always)]
    pub const fn class_enable(&self) -> u8 {
        self.class_enable
    }

    /// Quanta per class.
    #[inline(always)]
    pub const fn quanta(&self) -> [u16; 8] {
        let mut quanta = [0; 8];
        let mut class = 0;
        while class < quanta.len() {
            quanta[class] = u16::from_be_bytes(self.time[class]);
            class += 1;
        }
        quanta
    }
}

/// Duration of `quanta` on a port of this rate.
#[inline]
pub const fn quantum_duration(rate: BitsPerSecond, quanta: u16) -> Picos {
    rate.serialise(quanta as u64 * (QUANTUM_BITS / 8))
}

/// A PFC frame as a plain value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The sender's MAC address.
    pub source: [u8; 6],
    /// Bit n: the frame names priority n.
    pub class_enable: u8,
    /// Pause time of each priority, in quanta; 0 resumes a named priority (XON).
    pub quanta: [u16; 8],
}

impl Frame {
    /// Creates a frame that pauses each priority in `class_enable` for `quanta`.
    #[inline(always)]
    pub const fn xoff(source: [u8; 6], class_enable: u8, quanta: u16) -> Self {
        let mut frame = Self { source, class_enable, quanta: [0; 8] };
        let mut priority = 0;
        while priority < frame.quanta.len() {
            if class_enable >> priority & 1 != 0 {
                frame.quanta[priority] = quanta;
            }
            priority += 1;
        }
        frame
    }

    /// Creates a frame that resumes each priority in `class_enable`.
    #[inline(always)]
    pub const fn xon(source: [u8; 6], class_enable: u8) -> Self {
        Self { source, class_enable, quanta: [0; 8] }
    }

    /// Creates the frame for a decision of the switch.
    #[inline(always)]
    pub const fn new(source: [u8; 6], pauses: ClassPauses) -> Self {
        Self { source, class_enable: pauses.named, quanta: pauses.quanta }
    }

    /// Returns the quanta for which the frame pauses `priority`. `None` if the frame does not name it.
    #[inline(always)]
    pub fn quanta_of(&self, priority: u8) -> Option<u16> {
        let enabled = u32::from(self.class_enable).checked_shr(u32::from(priority))? & 1 != 0;
        if enabled { self.quanta.get(usize::from(priority)).copied() } else { None }
    }

    /// Parses a frame; bytes beyond its 60 are ignored.
    #[inline(always)]
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (header, _) = super::split::<Header>(frame, Layer::MacControl)?;
        header.mac_control.check(OPCODE_PFC)?;
        Ok(Self {
            source: header.mac_control.source(),
            class_enable: header.body.class_enable(),
            quanta: header.body.quanta(),
        })
    }

    /// Writes the whole frame.
    #[inline(always)]
    pub fn emit(&self, buffer: &mut [u8; LEN]) {
        let header: &mut Header = transmute_mut!(buffer);
        header.mac_control = mac_control::Header::new(self.source, OPCODE_PFC);
        let time = self.quanta.map(u16::to_be_bytes);
        header.body = Body { reserved: 0, class_enable: self.class_enable, time };
        header.padding = [0; 26];
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PFC from {}", Address(self.source))?;
        for priority in 0..8 {
            match self.quanta_of(priority) {
                None => {}
                Some(0) => write!(f, " {priority}=xon")?,
                Some(quanta) => write!(f, " {priority}={quanta}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: [u8; 6] = [0x02, 0x02, 0, 0, 0, 0x03];

    const BYTES: [u8; LEN] = {
        let mut bytes = [0; LEN];
        let head = [
            0x01, 0x80, 0xc2, 0, 0, 0x01, 0x02, 0x02, 0, 0, 0, 0x03, 0x88, 0x08, 0x01, 0x01, 0x00,
            0x18, 0, 0, 0, 0, 0, 0, 0xab, 0xcd, 0x00, 0x00,
        ];
        let mut at = 0;
        while at < head.len() {
            bytes[at] = head[at];
            at += 1;
        }
        bytes
    };

    #[test]
    fn bytes_to_frame_and_back() {
        let frame = Frame::parse(&BYTES).unwrap();
        assert_eq!(frame.to_string(), "PFC from 02:02:00:00:00:03 3=43981 4=xon");
        assert_eq!(frame, Frame { class_enable: 0x18, ..Frame::xoff(SOURCE, 0x08, 0xabcd) });
        let mut buffer = [0xff; LEN];
        frame.emit(&mut buffer);
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn a_frame_speaks_only_of_enabled_priorities() {
        let frame = Frame { class_enable: 0x81, quanta: [9; 8], source: SOURCE };
        assert_eq!(frame.quanta_of(7), Some(9));
        assert_eq!(frame.quanta_of(3), None);
        assert_eq!(frame.quanta_of(8), None);
        assert_eq!(frame.quanta_of(32), None);
        assert_eq!(Frame::xon(SOURCE, 0x08).quanta_of(3), Some(0));
    }

    #[test]
    fn the_reserved_byte_is_ignored_and_a_global_pause_is_no_pfc() {
        let mut bytes = BYTES;
        bytes[16] = 0xff;
        assert_eq!(Frame::parse(&bytes), Frame::parse(&BYTES));
        bytes[14] = 0;
        assert_eq!(Frame::parse(&bytes), Err(ParseError::MacControlOpcode(1)));
    }

    #[test]
    fn the_longest_pause_at_100g() {
        let rate = BitsPerSecond(100_000_000_000);
        assert_eq!(quantum_duration(rate, 1), Picos(5_120));
        assert_eq!(quantum_duration(rate, u16::MAX), Picos(335_539_200));
    }

    #[test]
    fn every_cut_is_an_error() {
        for length in 0..LEN {
            Frame::parse(&BYTES[..length]).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn parse_undoes_emit(source: [u8; 6], class_enable: u8, quanta: [u16; 8]) {
            let frame = Frame { source, class_enable, quanta };
            let mut buffer = [0xff; LEN];
            frame.emit(&mut buffer);
            prop_assert_eq!(Frame::parse(&buffer), Ok(frame));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Frame::parse(&bytes);
        }
    }
}
