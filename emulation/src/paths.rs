//! The path of a flow through its fabric, and its completion time there alone.

use fabric_core::frame::Ipv4Fields;
use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::routing::{flow_hash, member};
use fabric_core::wire::roce;
use scenario::Scenario;
use topology::{HostId, WireId};
use units::Picos;
use workload::Flow;

use crate::host_settings::reliability;
use crate::ideal::{FlowShape, completion};
use crate::queue_pairs::queue_pair;
use crate::switch_settings::ecmp_seed;

/// The wires that a flow's packets cross, and those of its ACKs, as ECMP will choose them.
pub fn of_flow(scenario: &Scenario, flow: &Flow) -> (Vec<WireId>, Vec<WireId>) {
    let (request, _) = queue_pair(scenario, flow);
    let one_way = |source: HostId, destination: HostId| {
        let fields = Ipv4Fields {
            source: FIRST_HOST_ADDRESS + source.0,
            destination: FIRST_HOST_ADDRESS + destination.0,
            ports: u32::from(request.source_port) << 16 | u32::from(roce::UDP_PORT),
            protocol: 17,
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

/// The flow's completion time on an idle path.
pub fn ideal(scenario: &Scenario, flow: &Flow) -> Picos {
    let (path, back) = of_flow(scenario, flow);
    let fabric = scenario.fabric();
    completion(
        &fabric.hops(&path),
        &fabric.hops(&back),
        FlowShape {
            bytes: flow.bytes,
            payload: scenario.host.payload,
            placement: reliability(scenario).placement(),
            ack_interval: scenario.host.ack_interval,
            wire_overhead: scenario.switch.wire_overhead,
            telemetry_hops: scenario.host.telemetry_hops,
        },
    )
}
