//! Queue pairs of flows, with the numbers that both of their hosts use.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use fabric_core::wire::{Packet, Psn, RocePacket, TcpSegment};
use host_agent::{FlowRequest, ResponderRequest};
use scenario::{Scenario, flow_routes};
use workload::Flow;

/// Both ends of a flow's queue pair.
pub fn queue_pair(scenario: &Scenario, flow: &Flow) -> (FlowRequest, ResponderRequest) {
    let source_port = scenario.source_port(flow);
    let initial_psn = Psn::new((flow_routes::entropy(scenario.seed, flow.id) >> 32) as u32);
    let qp = flow_routes::queue_pair(flow.id);
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
        is_incast: scenario.labels_as_incast(flow),
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

/// Flow of a packet that a host of the fabric has sent.
pub fn flow_of_packet(packet: &Packet) -> u32 {
    match packet {
        Packet::Roce(packet) => flow_of_roce(packet),
        Packet::Tcp(segment) => flow_of_segment(segment),
    }
}

/// Flow of a RoCEv2 packet.
pub fn flow_of_roce(packet: &RocePacket) -> u32 {
    flow_routes::flow_of(packet.destination_qp)
}

/// Flow of a TCP segment.
pub fn flow_of_segment<S>(segment: &TcpSegment<S>) -> u32 {
    let (connection, _) = segment.ports.connection().expect("a host of the fabric has made it");
    flow_routes::flow_of(connection)
}
