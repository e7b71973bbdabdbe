//! Packets as the simulator's hosts exchange them, in the form of RoCEv2.

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Ecn, Opcode, RethFields, RocePacket, Syndrome};
use fabric_core::wire::telemetry::Stamp;
use fabric_core::wire::{RemainingSize, TelemetryFields};
use zerocopy::{FromBytes, IntoBytes};

use super::super::congestion::hpcc::{Hop, MAX_HOPS};
use super::super::queue_pair::Flow;
use super::super::settings::Control;
use crate::flow::TIME_TO_LIVE;

/// Bits of a byte's number in a packet's PSN. An ACK has the rest in its message sequence number.
const PSN_BITS: u32 = 24;

/// A number of 64 bits as a stamp.
pub(super) fn to_stamp(number: u64) -> Stamp {
    Stamp::read_from_bytes(&number.to_be_bytes()).expect("a stamp has eight bytes")
}

/// The number of a stamp.
pub(super) fn of_stamp(stamp: Stamp) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(stamp.as_bytes());
    u64::from_be_bytes(bytes)
}

impl Hop {
    /// The telemetry as a packet carries it.
    pub fn to_stamp(self) -> Stamp {
        to_stamp(self.0)
    }
}

/// A data packet. It names its first byte in its RETH, and the simulator's destination port in its identification.
pub(super) fn data_packet(
    flow: &Flow,
    source: u32,
    first: u64,
    payload: u16,
    control: Control,
) -> RocePacket {
    let telemetry = match control {
        Control::Hpcc | Control::PowerTcp | Control::ThetaPowerTcp => {
            TelemetryFields::with_room(MAX_HOPS as u8)
        }
        // The time of the packet's start, which switches must not change.
        Control::Timely => {
            TelemetryFields::with_room(1).map(|room| TelemetryFields { hops: 1, ..room }.echoed())
        }
        Control::None | Control::Dcqcn | Control::Dctcp => None,
    };
    RocePacket {
        source,
        destination: flow.destination,
        source_port: flow.source_port,
        dscp: flow.priority.number() << 3,
        ecn: Ecn::Capable0,
        ttl: TIME_TO_LIVE,
        opcode: Opcode::WriteOnly,
        ack_request: false,
        congestion_echo: false,
        destination_qp: flow.qp,
        psn: Psn::new(first as u32 & mask()),
        reth: Some(RethFields {
            virtual_address: first,
            remote_key: flow.qp,
            dma_length: payload.into(),
        }),
        aeth: None,
        payload_length: payload,
        telemetry,
        remaining: RemainingSize::from_wire(flow.destination_port),
    }
}

const fn mask() -> u32 {
    (1 << PSN_BITS) - 1
}

/// The number of a byte that an ACK or NACK names.
pub(super) fn number_of(psn: Psn, aeth: AethFields) -> u32 {
    aeth.message_sequence_number << PSN_BITS | psn.value()
}

/// The ACK or NACK of a data packet: back to its sender, between the same ports.
pub(super) fn answer_to(
    data: &RocePacket,
    expected: u32,
    syndrome: Syndrome,
    marked: bool,
) -> RocePacket {
    RocePacket {
        source: data.destination,
        destination: data.source,
        source_port: data.remaining.to_wire(),
        ecn: Ecn::NotCapable,
        ttl: TIME_TO_LIVE,
        opcode: Opcode::Acknowledge,
        congestion_echo: marked,
        psn: Psn::new(expected & mask()),
        reth: None,
        aeth: Some(AethFields { syndrome, message_sequence_number: expected >> PSN_BITS }),
        payload_length: 0,
        telemetry: data.telemetry.map(TelemetryFields::echoed),
        remaining: RemainingSize::from_wire(data.source_port),
        ..*data
    }
}
