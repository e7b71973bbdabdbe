//! Hop control frame: limits, beyond PFC, on what the neighbour may send to a switch
//! (docs/hop-control.md). This protocol is xoff's own.
//!
//! ```text
//!  0  header of xoff's protocols  18   protocol 2; kind: 1 a queue, 2 all queues, 3 flows, 4 a rate
//! 18  subject                      1   kind 1: queue; kinds 3, 4: priority; else 0
//! 19  state                        1   kinds 1, 3: 1 pauses, 0 resumes; else 0
//! 20  count                        1   kind 3: flows; else 0
//! 21  zero                         1
//! 22  data                        16   kind 2: bit n (from the lowest) is set if queue n is paused; kind 3: flows,
//!                                      4 each; kind 4: kbit/s in the first 4; else 0
//! 38  zeros                       22   to the minimum of 60 bytes
//! ```

use core::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned, transmute_mut};

use super::error::{Layer, ParseError};
use super::ethernet::Address;
use super::experimental;
use super::pfc::{self, Frame as PfcFrame};
use crate::hop_control::{FlowList, HopControl, MAX_FLOWS};
use crate::priority::Priority;
use crate::queue::{FLOW_QUEUES, QueueId};

/// Number of the hop control protocol among xoff's protocols under the experimental EtherType.
pub const PROTOCOL: u16 = 2;
/// The frame's length in bytes, without FCS.
pub const LEN: usize = 60;
/// Bytes whose meaning depends on the kind.
pub const BODY_LEN: usize = 20;
const _: () = assert!(size_of::<Header>() == LEN && pfc::LEN == LEN);

const KIND_QUEUE: u16 = 1;
const KIND_QUEUES: u16 = 2;
const KIND_FLOWS: u16 = 3;
const KIND_RATE: u16 = 4;

/// The frame on the wire.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Header {
    start: experimental::Header,
    body: [u8; BODY_LEN],
    padding: [u8; 22],
}

/// Any hop control frame as a plain value. Pauses of classes travel in a PFC frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The sender's MAC address.
    pub source: [u8; 6],
    /// The message.
    pub control: HopControl,
}

impl Frame {
    /// Parses a frame of this protocol; bytes beyond its 60 are ignored.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (header, _) = super::split::<Header>(frame, Layer::HopControl)?;
        header.start.check(PROTOCOL)?;
        let kind = header.start.kind();
        let control = read_body(kind, &header.body).ok_or(ParseError::HopControlBody(kind))?;
        Ok(Self { source: header.start.source(), control })
    }

    /// Writes the whole frame.
    #[inline(always)]
    pub fn emit(&self, buffer: &mut [u8; LEN]) {
        let (kind, body) = match self.control {
            HopControl::Classes(pauses) => return PfcFrame::new(self.source, pauses).emit(buffer),
            HopControl::Queue { queue, paused } => (KIND_QUEUE, body(queue.number(), paused, 0, 0)),
            HopControl::Queues { paused } => (KIND_QUEUES, body(0, false, 0, wide(paused))),
            HopControl::Flows { priority, paused, flows } => {
                let words = flows.words().iter();
                let words = words.fold(0, |data, &flow| data << 32 | u128::from(flow));
                (KIND_FLOWS, body(priority.number(), paused, flows.count(), words))
            }
            HopControl::Rate { priority, kilobits_per_second } => (
                KIND_RATE,
                body(priority.number(), false, 0, u128::from(kilobits_per_second) << 96),
            ),
        };
        let header: &mut Header = transmute_mut!(buffer);
        header.start = experimental::Header::new(self.source, PROTOCOL, kind);
        header.body = body;
        header.padding = [0; 22];
    }
}

#[inline(always)]
const fn wide([low, high]: [u64; 2]) -> u128 {
    low as u128 | (high as u128) << 64
}

/// Decodes the body of a frame of this kind. `None` if the body is invalid or the kind unknown.
#[inline(always)]
pub fn read_body(kind: u16, body: &[u8; BODY_LEN]) -> Option<HopControl> {
    let [subject, state, count, _, data @ ..] = *body;
    let paused = state == 1;
    let priority = Priority::from_bits(subject.into());
    match kind {
        KIND_QUEUE if subject < FLOW_QUEUES && state <= 1 => {
            Some(HopControl::Queue { queue: QueueId::from_bits(subject.into()), paused })
        }
        KIND_QUEUES => {
            let mask = u128::from_be_bytes(data);
            Some(HopControl::Queues { paused: [mask as u64, (mask >> 64) as u64] })
        }
        KIND_FLOWS if priority.number() == subject && state <= 1 => {
            let mut flows = [0; MAX_FLOWS];
            let mut flow = 0;
            while flow < MAX_FLOWS {
                flows[flow] = word(&data, flow);
                flow += 1;
            }
            let flows = FlowList::from_first(count, flows)?;
            Some(HopControl::Flows { priority, paused, flows })
        }
        KIND_RATE if priority.number() == subject => {
            Some(HopControl::Rate { priority, kilobits_per_second: word(&data, 0) })
        }
        _ => None,
    }
}

/// Returns 32-bit word `index` of four in network order.
#[inline(always)]
const fn word(data: &[u8; 16], index: usize) -> u32 {
    let at = 4 * (index & 3);
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

#[inline(always)]
fn body(subject: u8, state: bool, count: u8, data: u128) -> [u8; BODY_LEN] {
    let mut body = [0; BODY_LEN];
    let (head, tail) = body.split_at_mut(4);
    head.copy_from_slice(&[subject, u8::from(state), count, 0]);
    tail.copy_from_slice(&data.to_be_bytes());
    body
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let HopControl::Classes(pauses) = self.control {
            return PfcFrame::new(self.source, pauses).fmt(f);
        }
        write!(f, "hop control from {}", Address(self.source))?;
        let verb = |paused| if paused { "pauses" } else { "resumes" };
        match self.control {
            HopControl::Classes(_) => Ok(()),
            HopControl::Queue { queue, paused } => write!(f, " {} queue {queue}", verb(paused)),
            HopControl::Queues { paused } => write!(f, " paused queues {:#x}", wide(paused)),
            HopControl::Flows { priority, paused, flows } => {
                write!(f, " {} of priority {priority} flows", verb(paused))?;
                flows.hashes().iter().try_for_each(|flow| write!(f, " {flow:08x}"))
            }
            HopControl::Rate { priority, kilobits_per_second } => {
                write!(f, " priority {priority} at {kilobits_per_second} kbit/s")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hex;
    use super::*;
    use proptest::prelude::*;

    const SOURCE: [u8; 6] = [0x02, 0x02, 0, 0, 0, 0x03];

    fn padded(text: &str) -> [u8; LEN] {
        let mut bytes = hex(&format!("01 80 c2 00 00 0e 02 02 00 00 00 03 88 b5 00 02 {text}"));
        bytes.resize(LEN, 0);
        bytes.try_into().unwrap()
    }

    #[test]
    fn bytes_to_frame_and_back() {
        let priority = Priority::new(3);
        let flows = FlowList::new(&[0x0102_0304, 0xa0b0_c0d0]).unwrap();
        for (bytes, control, shown) in [
            (
                "00 01 7f 01",
                HopControl::Queue { queue: QueueId::data(127), paused: true },
                "pauses queue 127",
            ),
            (
                "00 02 00 00 00 00 80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 05",
                HopControl::Queues { paused: [5, 1 << 63] },
                "paused queues 0x80000000000000000000000000000005",
            ),
            (
                "00 03 03 00 02 00 01 02 03 04 a0 b0 c0 d0",
                HopControl::Flows { priority, paused: false, flows },
                "resumes of priority 3 flows 01020304 a0b0c0d0",
            ),
            (
                "00 04 03 00 00 00 05 f5 e1 00",
                HopControl::Rate { priority, kilobits_per_second: 100_000_000 },
                "priority 3 at 100000000 kbit/s",
            ),
        ] {
            let frame = Frame { source: SOURCE, control };
            assert_eq!(Frame::parse(&padded(bytes)), Ok(frame));
            let mut buffer = [0xff; LEN];
            frame.emit(&mut buffer);
            assert_eq!(buffer, padded(bytes));
            assert_eq!(frame.to_string(), format!("hop control from 02:02:00:00:00:03 {shown}"));
        }
    }

    #[test]
    fn what_contradicts_itself_says_nothing() {
        for bytes in [
            "00 00",
            "00 05",
            "00 01 80 01",
            "00 01 7f 02",
            "00 03 08 01 01",
            "00 03 03 02 01",
            "00 03 03 01 05",
            "00 04 08",
        ] {
            assert!(
                matches!(Frame::parse(&padded(bytes)), Err(ParseError::HopControlBody(_))),
                "{bytes}"
            );
        }
        let mut other = padded("00 01");
        other[15] = 1;
        assert_eq!(Frame::parse(&other), Err(ParseError::ExperimentalProtocol(1)));
        let mut elsewhere = padded("00 01");
        elsewhere[5] = 1;
        let reached = elsewhere[..6].try_into().unwrap();
        assert_eq!(Frame::parse(&elsewhere), Err(ParseError::ExperimentalDestination(reached)));
    }

    proptest! {
        #[test]
        fn what_parses_comes_out_again(mut bytes in any::<[u8; LEN]>(), kind in 0..6u16) {
            bytes[..18].copy_from_slice(&padded("")[..18]);
            bytes[16..18].copy_from_slice(&kind.to_be_bytes());
            if let Ok(frame) = Frame::parse(&bytes) {
                let mut buffer = [0; LEN];
                frame.emit(&mut buffer);
                prop_assert_eq!(Frame::parse(&buffer), Ok(frame));
            }
        }
    }
}
