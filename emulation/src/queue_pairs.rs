//! From a flow to its queue pair: the numbers by which both of its hosts know it.

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use fabric_core::wire::Psn;
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
    let request = FlowRequest {
        flow: flow.id,
        destination: FIRST_HOST_ADDRESS + flow.destination.0,
        qp,
        initial_psn,
        source_port,
        priority: Priority::new(flow.priority),
        bytes: flow.bytes.0,
    };
    let responder = ResponderRequest {
        qp,
        peer: FIRST_HOST_ADDRESS + flow.source.0,
        initial_psn,
        source_port,
        bytes: flow.bytes.0,
    };
    (request, responder)
}

/// The flow of a queue pair number.
pub const fn flow_of(qp: u32) -> u32 {
    qp - FIRST_QUEUE_PAIR
}
