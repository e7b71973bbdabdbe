//! From a flow to its queue pair: the numbers by which both of its hosts know it.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use fabric_core::wire::{Packet, Psn};
use host_agent::{FlowRequest, ResponderRequest};
use scenario::Scenario;
use workload::Flow;
use workload::random::mix;

/// First UDP source port of flows: the dynamic ports of RFC 6335, which `RoCEv2` uses as entropy.
const FIRST_SOURCE_PORT: u16 = 49_152;

/// The queue pair of flow 0: InfiniBand reserves 0 and 1 for management datagrams. `MAX_FLOWS` leaves out the
/// last number, too.
const FIRST_QUEUE_PAIR: u32 = 2;

/// Both ends of a flow's queue pair.
pub fn queue_pair(scenario: &Scenario, flow: &Flow) -> (FlowRequest, ResponderRequest) {
    let entropy = mix(scenario.seed, u64::from(flow.id) + (1 << 33));
    let source_port = FIRST_SOURCE_PORT + (entropy & 0x3fff) as u16;
    let initial_psn = Psn::new((entropy >> 32) as u32);
    let qp = flow.id + FIRST_QUEUE_PAIR;
    let transport = scenario.transport_of(flow);
    let request = FlowRequest {
        flow: flow.id,
        transport,
        destination: FIRST_HOST_ADDRESS + flow.destination.0,
        qp,
        initial_psn,
        source_port,
        priority: Priority::new(flow.priority),
        bytes: flow.bytes.0,
    };
    let responder = ResponderRequest {
        qp,
        transport,
        peer: FIRST_HOST_ADDRESS + flow.source.0,
        initial_psn,
        source_port,
        bytes: flow.bytes.0,
    };
    (request, responder)
}

/// The flow that a packet belongs to, which a host of it has taken.
pub fn flow_of_packet(packet: &Packet) -> u32 {
    let qp = match packet {
        Packet::Roce(packet) => packet.destination_qp,
        Packet::Tcp(segment) => {
            let (connection, _) = segment.ports.connection().expect("a host has taken it");
            connection
        }
    };
    qp - FIRST_QUEUE_PAIR
}
