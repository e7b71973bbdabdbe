//! The completion time of a flow on an idle path, packet by packet and hop by hop.

use xoff::scenario::{Flow, Scenario};
use xoff::topology::ideal::Hop;
use xoff::topology::{HostId, SwitchId};

/// Ethernet, IPv4, UDP, BTH and ICRC.
const HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
const RETH: u64 = 16;
const AETH: u64 = 4;
const PREAMBLE_FCS_AND_GAP: u64 = 8 + 4 + 12;

/// From the flow's start to the arrival of its last ACK, in nanoseconds, rounded up. The path is the
/// first of equal ones: let the fabric have one path only, or equal ones.
pub fn completion_ns(scenario: &Scenario, flow: &Flow) -> u64 {
    let there = hops(scenario, flow.source, flow.destination);
    let back = hops(scenario, flow.destination, flow.source);
    let payload = scenario.host.payload.0;
    let packets = flow.bytes.0.div_ceil(payload);
    let lengths = (0..packets).map(|number| {
        let bytes = payload.min(flow.bytes.0 - number * payload);
        HEADERS + bytes.next_multiple_of(4) + if number == 0 { RETH } else { 0 }
    });
    (arrival_ps(&there, lengths) + arrival_ps(&back, [HEADERS + AETH].into_iter())).div_ceil(1000)
}

fn hops(scenario: &Scenario, source: HostId, destination: HostId) -> Vec<Hop> {
    let fabric = scenario.fabric();
    let first = |_: SwitchId, ports: &[u16]| ports[0];
    let path = fabric.path(source, destination, first).expect("the hosts are connected");
    fabric.hops(&path)
}

/// When the last of these frames has arrived whole at the end of the path.
fn arrival_ps(hops: &[Hop], lengths: impl Iterator<Item = u64>) -> u64 {
    let mut free_ps = vec![0; hops.len()];
    let mut arrived_ps = 0;
    for length in lengths {
        arrived_ps = 0;
        for (hop, free_ps) in hops.iter().zip(&mut free_ps) {
            let start = arrived_ps.max(*free_ps);
            let bits = (length + PREAMBLE_FCS_AND_GAP) * 8;
            let serialisation =
                (u128::from(bits) * 1_000_000_000_000).div_ceil(u128::from(hop.rate.0));
            *free_ps = start + serialisation as u64;
            arrived_ps = *free_ps + hop.delay.0;
        }
    }
    arrived_ps
}
