//! A flow that a host sends, as packets.
//!
//! A flow's packets are numbered from 0 in 64 bits; PSN, opcode, RETH and length are functions of
//! that number. A retransmission is therefore the same packet as the first transmission by
//! construction.

use fabric_core::priority::Priority;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{Ecn, Opcode, RethFields, RocePacket};
use fabric_core::wire::{RemainingSize, ipv4};
use units::Bytes;

use crate::segmentation::Segmentation;

/// Bits of a code point that describe one packet or flow. Answers do not repeat them.
pub(crate) const HINTS: u8 = ipv4::INCAST_LABEL | ipv4::FIRST_RTT;

/// Time to live of everything that a host sends.
pub(crate) const TIME_TO_LIVE: u8 = 64;

/// A flow to be sent on a queue pair of its own, whose set-up happened out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRequest {
    /// The number that events name.
    pub flow: u32,
    /// Index of the flow's transport among the host's transports.
    pub transport: u16,
    /// Address of the responder.
    pub destination: u32,
    /// Number of its queue pair or connection, equal at both ends, 24 bits.
    pub qp: u32,
    /// PSN of the first packet. TCP's initial sequence number is derived from it.
    pub initial_psn: Psn,
    /// UDP source port: the flow's entropy. TCP's ports encode `qp`.
    pub source_port: u16,
    /// Priority of its packets.
    pub priority: Priority,
    /// Payload bytes; zero sends one empty message.
    pub bytes: u64,
    /// True to label the flow's packets as part of an incast.
    pub is_incast: bool,
}

impl FlowRequest {
    /// The code point of its data packets, without the mark of a first round trip.
    #[inline]
    pub const fn dscp(&self) -> u8 {
        self.priority.number() << 3 | if self.is_incast { ipv4::INCAST_LABEL } else { 0 }
    }
}

/// The packets of a WRITE that carry a RETH with the address of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The first packet of a message, for all that follow it in order.
    FirstOfMessage,
    /// Each packet for itself, so that it can be taken in any order: it is an RDMA WRITE Only.
    EveryPacket,
}

/// The packets of one flow.
#[derive(Debug)]
pub struct Flow {
    request: FlowRequest,
    source: u32,
    segmentation: Segmentation,
    placement: Placement,
}

impl Flow {
    /// A flow from `source` in packets of at most `payload` bytes.
    pub fn new(request: &FlowRequest, source: u32, payload: u16, placement: Placement) -> Self {
        let segmentation = Segmentation::new(request.bytes, u64::from(payload));
        Self { request: *request, source, segmentation, placement }
    }

    /// The request that started the flow.
    pub fn request(&self) -> &FlowRequest {
        &self.request
    }

    /// Packets of the flow, at least 1.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.segmentation.packets()
    }

    /// The PSN of packet `number`.
    #[inline]
    pub fn psn(&self, number: u64) -> Psn {
        // PSNs are counted modulo 2^24 anyway.
        self.request.initial_psn.add((number % (1 << 24)) as u32)
    }

    /// Payload bytes of the packets before packet `number`.
    #[inline]
    pub fn bytes_before(&self, number: u64) -> Bytes {
        Bytes(self.segmentation.bytes_before(number))
    }

    /// Payload bytes of packet `number`.
    #[inline]
    pub fn payload_of(&self, number: u64) -> Bytes {
        Bytes(self.segmentation.payload_of(number))
    }

    /// Bytes left to send from packet `number` on.
    #[inline]
    pub fn remaining_from(&self, number: u64) -> u64 {
        self.request.bytes - self.segmentation.bytes_before(number)
    }

    /// Packet `number`. Every call returns an equal packet.
    #[inline]
    pub fn packet(&self, number: u64) -> RocePacket {
        let (message, position) = self.segmentation.place(number);
        let last = self.segmentation.ends_message(number, position);
        let payload = self.segmentation.payload_of(number);
        let (opcode, placed) = match (self.placement, position == 0, last) {
            (Placement::EveryPacket, ..) => {
                (Opcode::WriteOnly, Some((self.segmentation.bytes_before(number), payload)))
            }
            (_, false, false) => (Opcode::WriteMiddle, None),
            (_, false, true) => (Opcode::WriteLast, None),
            (_, true, _) => {
                let message = self.segmentation.message(message);
                let opcode = if last { Opcode::WriteOnly } else { Opcode::WriteFirst };
                (opcode, Some((message.start, message.bytes)))
            }
        };
        let reth = placed.map(|(virtual_address, bytes)| RethFields {
            virtual_address,
            remote_key: self.request.qp,
            dma_length: bytes.try_into().expect("a message is at most 1 GiB"),
        });
        RocePacket {
            source: self.source,
            destination: self.request.destination,
            source_port: self.request.source_port,
            dscp: self.request.dscp(),
            ecn: Ecn::Capable0,
            ttl: TIME_TO_LIVE,
            opcode,
            ack_request: last,
            congestion_echo: false,
            destination_qp: self.request.qp,
            psn: self.psn(number),
            reth,
            aeth: None,
            payload_length: payload.try_into().expect("a payload is at most the host's"),
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// In packets of up to 1000 bytes.
    pub(crate) fn flow(bytes: u64, initial_psn: u32) -> Flow {
        placed(bytes, initial_psn, Placement::FirstOfMessage)
    }

    /// In packets of up to 1000 bytes with RETHs where `placement` has them.
    pub(crate) fn placed(bytes: u64, initial_psn: u32, placement: Placement) -> Flow {
        let request = FlowRequest {
            flow: 0,
            transport: 0,
            destination: 2,
            qp: 9,
            initial_psn: Psn::new(initial_psn),
            source_port: 50_000,
            priority: Priority::new(3),
            bytes,
            is_incast: false,
        };
        Flow::new(&request, 1, 1000, placement)
    }

    #[test]
    fn a_packet_carries_what_the_request_says() {
        let flow = flow(2500, 0x00ff_ffff);
        let first = RocePacket {
            source: 1,
            destination: 2,
            source_port: 50_000,
            dscp: 24,
            ecn: Ecn::Capable0,
            ttl: 64,
            opcode: Opcode::WriteFirst,
            ack_request: false,
            congestion_echo: false,
            destination_qp: 9,
            psn: Psn::new(0x00ff_ffff),
            reth: Some(RethFields { virtual_address: 0, remote_key: 9, dma_length: 2500 }),
            aeth: None,
            payload_length: 1000,
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        };
        let (opcode, psn) = (Opcode::WriteMiddle, Psn::new(0));
        let middle = RocePacket { opcode, psn, reth: None, ..first };
        let (opcode, psn) = (Opcode::WriteLast, Psn::new(1));
        let last = RocePacket { opcode, psn, ack_request: true, payload_length: 500, ..middle };
        assert_eq!([0, 1, 2].map(|number| flow.packet(number)), [first, middle, last]);
    }

    #[test]
    fn a_packet_that_places_itself_is_a_write_of_its_own() {
        let flow = placed(2500, 5, Placement::EveryPacket);
        let packets = [0, 1, 2].map(|number| flow.packet(number));
        assert_eq!(packets.map(|packet| packet.opcode), [Opcode::WriteOnly; 3]);
        let reths = packets.map(|packet| packet.reth.expect("each has one"));
        assert_eq!(reths.map(|reth| reth.virtual_address), [0, 1000, 2000]);
        assert_eq!(reths.map(|reth| reth.dma_length), [1000, 1000, 500]);
        assert_eq!(packets.map(|packet| packet.payload_length), [1000, 1000, 500]);
        assert_eq!(packets.map(|packet| packet.ack_request), [false, false, true]);
        assert_eq!(packets.map(|packet| packet.frame_length()), [1074, 1074, 574]);
    }

    #[test]
    fn a_flow_beyond_a_gibibyte_is_several_messages() {
        let message = 1_073_741_000;
        let flow = flow(2 * message + 1, 5);
        let per_message = message / 1000;
        let reths = [0, per_message, 2 * per_message].map(|number| flow.packet(number));
        let starts = reths.map(|packet| packet.reth.expect("a message starts").virtual_address);
        assert_eq!(starts, [0, message, 2 * message]);
        assert_eq!(reths[1].reth.map(|reth| u64::from(reth.dma_length)), Some(message));
        assert_eq!(reths[2].reth.map(|reth| reth.dma_length), Some(1));
        assert_eq!((reths[2].opcode, reths[2].payload_length), (Opcode::WriteOnly, 1));
        let end = flow.packet(per_message - 1);
        assert_eq!((end.opcode, end.ack_request), (Opcode::WriteLast, true));
    }

    #[test]
    fn an_empty_flow_is_one_empty_packet() {
        let flow = flow(0, 0);
        assert_eq!(flow.packets(), 1);
        let packet = flow.packet(0);
        assert_eq!((packet.opcode, packet.payload_length), (Opcode::WriteOnly, 0));
    }

    #[test]
    fn the_bytes_before_a_packet_end_with_the_flow() {
        let bytes = [0, 1, 2, 3].map(|number| flow(2500, 0).bytes_before(number).0);
        assert_eq!(bytes, [0, 1000, 2000, 2500]);
    }
}
