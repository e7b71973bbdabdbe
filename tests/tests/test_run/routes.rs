//! The egress port of a packet, in eBPF and natively. Needs root.

use fabric_core::arrival::Outcome;
use fabric_core::map_abi::{FIRST_HOST_ADDRESS, FlowKey};
use fabric_core::policy::{MarkingScheme, Policy, ThresholdScheme};
use fabric_core::wire::ipv4::PROTOCOL_UDP;
use fabric_core::wire::roce::{Ecn, UDP_PORT};
use tests::switch::frame::{bytes, data, inbound};
use tests::switch::{State, Twins, in_namespace};
use units::Nanos;

/// Frames come in here.
const PORT: u32 = 1;
const NOW: Nanos = Nanos(1_000_000);
/// From host 0 to host 2, which is behind port 2.
const PAIR: FlowKey = FlowKey {
    source: FIRST_HOST_ADDRESS,
    destination: FIRST_HOST_ADDRESS + 2,
    ports: 0,
    protocol: 0,
};

/// The route of the flow with this source port.
const fn flow(source_port: u16) -> FlowKey {
    let ports = (source_port as u32) << 16 | UDP_PORT as u32;
    FlowKey { ports, protocol: PROTOCOL_UDP as u32, ..PAIR }
}

#[test]
fn a_flow_goes_before_its_pair_and_a_pair_before_its_destination() {
    let of_flow = (flow(7), vec![0]);
    let of_pair = (PAIR, vec![3]);
    let back = (FlowKey { source: PAIR.destination, destination: PAIR.source, ..PAIR }, vec![1]);
    let others = (8..20).map(|port| (flow(port), vec![1]));
    let many: Vec<_> = others.chain([of_flow.clone(), of_pair.clone()]).collect();
    // Policy routes; the ports of packets with source port 7, and with 6.
    let rows = [
        ("none", vec![], [2, 2]),
        ("a flow", vec![of_flow.clone()], [0, 2]),
        ("a pair", vec![of_pair.clone()], [3, 3]),
        ("both", vec![of_flow, of_pair], [0, 3]),
        ("many", many, [0, 3]),
        ("the way back", vec![back], [2, 2]),
    ];
    in_namespace(|| {
        let mut twins = Twins::load(Policy::new(ThresholdScheme::Dynamic, MarkingScheme::Off));
        for (what, policies, expected) in rows {
            twins.reset(&State { policies, ..State::fresh() });
            let ports = [7, 6].map(|source_port| {
                let mut packet = data(2, 3, Ecn::Capable0, 1000);
                packet.source_port = source_port;
                let arrival = twins.arrive(PORT, NOW, &bytes(&packet, &inbound(PORT)));
                match arrival.expect("both agree").outcome {
                    Outcome::Queued(queued) => queued.egress_port,
                    other => panic!("{what}: {other:?}"),
                }
            });
            assert_eq!(ports, expected, "{what}");
        }
    });
}
