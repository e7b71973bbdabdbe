//! The completion time of a flow without other traffic, and its inputs.

use scenario::{Scenario, Transport};
use topology::{Fabric, WireId};
use units::Picos;
use workload::Flow;

use crate::ideal::{FlowShape, Frames, completion};
use crate::wire_timing::PortTime;

/// Transport of a flow.
pub fn transport<'a>(scenario: &'a Scenario, flow: &Flow) -> &'a Transport {
    &scenario.transports()[usize::from(scenario.transport_of(flow))]
}

/// Frames of a flow, and the max number of packets that an ACK covers.
pub fn frames_of(scenario: &Scenario, transport: &Transport) -> (Frames, u32) {
    match transport {
        Transport::RoceRc(roce) => {
            let placement = roce.reliability.placement();
            let telemetry_hops = roce.telemetry_hops;
            (Frames::Roce { placement, telemetry_hops }, scenario.host.ack_interval)
        }
        Transport::Tcp(tcp) => {
            let together = if tcp.delayed_ack > Picos::ZERO { 2 } else { 1 };
            let (handshake, telemetry_hops) = (tcp.handshake, tcp.telemetry_hops);
            (Frames::Tcp { handshake, telemetry_hops }, together)
        }
    }
}

/// The nodes that a flow's data crosses by these wires, with `>` between them.
pub fn nodes(fabric: &Fabric, flow: &Flow, wires: &[WireId]) -> String {
    let mut path = fabric.host(flow.source).name.clone();
    for wire in wires {
        path.push('>');
        path.push_str(&fabric.node(fabric.wire(*wire).to).name);
    }
    path
}

/// The flow's completion time on an idle path.
pub fn ideal(scenario: &Scenario, flow: &Flow) -> Picos {
    let (frames, ack_interval) = frames_of(scenario, transport(scenario, flow));
    let (path, back) = scenario.path_of(flow);
    let fabric = scenario.fabric();
    completion(
        &fabric.hops(&path),
        &fabric.hops(&back),
        FlowShape {
            bytes: flow.bytes,
            payload: scenario.host.payload,
            frames,
            ack_interval,
            lengths: scenario.frames.lengths(),
            port_time: PortTime::new(scenario),
        },
    )
}
