//! The path of a flow through its fabric, and its completion time there alone.

use fabric_core::frame::Ipv4Fields;
use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::routing::{flow_hash, member};
use fabric_core::wire::tcp::{Direction, Ports};
use fabric_core::wire::{ipv4, roce};
use scenario::{Scenario, Transport};
use topology::{HostId, WireId};
use units::Picos;
use workload::Flow;

use crate::host_settings::reliability;
use crate::ideal::{FlowShape, Frames, completion};
use crate::queue_pairs::queue_pair;
use crate::switch_settings::ecmp_seed;

/// The wires that a flow's packets cross, and those of its ACKs, as ECMP will choose them.
pub fn of_flow(scenario: &Scenario, flow: &Flow) -> (Vec<WireId>, Vec<WireId>) {
    let (request, _) = queue_pair(scenario, flow);
    let tcp = matches!(transport(scenario, flow), Transport::Tcp(_));
    let protocol = if tcp { ipv4::PROTOCOL_TCP } else { ipv4::PROTOCOL_UDP };
    let ports = |forward: bool| {
        let (source, destination) = if tcp {
            let direction = if forward { Direction::FromClient } else { Direction::FromServer };
            let Ports { source, destination } = Ports::of_connection(request.qp, direction);
            (source, destination)
        } else {
            (request.source_port, roce::UDP_PORT)
        };
        u32::from(source) << 16 | u32::from(destination)
    };
    let one_way = |source: HostId, destination: HostId| {
        let fields = Ipv4Fields {
            source: FIRST_HOST_ADDRESS + source.0,
            destination: FIRST_HOST_ADDRESS + destination.0,
            ports: ports(source == flow.source),
            protocol,
            ..Ipv4Fields::default()
        };
        scenario
            .fabric()
            .path(source, destination, |switch, group| {
                let hash = flow_hash(&fields, ecmp_seed(scenario, switch));
                let ports = group.len().try_into().expect("a switch has at most 256 ports");
                group[member(hash, ports) as usize]
            })
            .expect("a scenario's flows have paths")
    };
    (one_way(flow.source, flow.destination), one_way(flow.destination, flow.source))
}

/// What carries a flow.
pub fn transport<'a>(scenario: &'a Scenario, flow: &Flow) -> &'a Transport {
    &scenario.transports()[usize::from(scenario.transport_of(flow))]
}

/// What the frames of a flow are, and how many packets an ACK may cover.
pub fn frames_of(scenario: &Scenario, transport: &Transport) -> (Frames, u32) {
    match transport {
        Transport::RoceRc(roce) => {
            let placement = reliability(roce).placement();
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

/// The flow's completion time on an idle path.
pub fn ideal(scenario: &Scenario, flow: &Flow) -> Picos {
    let (frames, ack_interval) = frames_of(scenario, transport(scenario, flow));
    let (path, back) = of_flow(scenario, flow);
    let fabric = scenario.fabric();
    completion(
        &fabric.hops(&path),
        &fabric.hops(&back),
        FlowShape {
            bytes: flow.bytes,
            payload: scenario.host.payload,
            frames,
            ack_interval,
            wire_overhead: scenario.switch.wire_overhead,
        },
    )
}
