//! Paths between hosts: how many, how long, and how fast an idle one answers.

use std::collections::BTreeMap;

use scenario::{Scenario, Transport};
use topology::{Fabric, HostId, Racks};
use units::{BitsPerSecond, Bytes, Picos};

use crate::ideal::{FlowShape, Frames, completion};
use crate::paths::frames_of;

/// All pairs of hosts that are equally far from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathGroup {
    /// Links of a path.
    pub links: u32,
    /// Ordered pairs of hosts.
    pub pairs: u64,
    /// Fewest and most equal-cost paths of a pair.
    pub paths: (u64, u64),
    /// Shortest and longest base round-trip time: a full packet there and its ACK back over idle
    /// wires, on the first of the equal-cost paths.
    pub base_rtt: (Picos, Picos),
    /// Largest bandwidth-delay product: base round-trip time x the path's slowest link.
    pub bdp: Bytes,
}

/// The groups, nearest first; their base round-trip times are those of `transport`.
pub fn path_groups(scenario: &Scenario, transport: &Transport, racks: &Racks) -> Vec<PathGroup> {
    let fabric = scenario.fabric();
    let members: Vec<Vec<HostId>> =
        (0..racks.len()).map(|rack| representatives(fabric, racks.hosts(rack))).collect();
    let mut groups: BTreeMap<u32, PathGroup> = BTreeMap::new();
    for destination in 0..racks.len() {
        for (source, links, paths) in counts(fabric, racks, destination) {
            let (from, to) = (racks.hosts(source).len() as u64, racks.hosts(destination).len());
            let pairs = from * (to as u64 - u64::from(source == destination));
            if pairs == 0 {
                continue;
            }
            for &sender in &members[source] {
                let receivers = members[destination].iter().filter(|host| **host != sender);
                for &receiver in receivers {
                    let (rtt, rate) = round_trip(scenario, transport, sender, receiver);
                    let bdp = rate.bytes_in(rtt);
                    let group = groups.entry(links).or_insert(PathGroup {
                        links,
                        pairs: 0,
                        paths: (paths, paths),
                        base_rtt: (rtt, rtt),
                        bdp,
                    });
                    group.base_rtt = (group.base_rtt.0.min(rtt), group.base_rtt.1.max(rtt));
                    group.bdp = group.bdp.max(bdp);
                }
            }
            if let Some(group) = groups.get_mut(&links) {
                group.pairs += pairs;
                group.paths = (group.paths.0.min(paths), group.paths.1.max(paths));
            }
        }
    }
    groups.into_values().collect()
}

/// The longest base round-trip time between two hosts, for what carries flows.
pub fn longest_base_rtt(scenario: &Scenario, transport: &Transport) -> Picos {
    let groups = path_groups(scenario, transport, &Racks::of(scenario.fabric()));
    groups.iter().map(|group| group.base_rtt.1).max().unwrap_or_default()
}

/// The first two hosts of each speed of link in a rack: round-trip times of the others are theirs.
fn representatives(fabric: &Fabric, hosts: &[HostId]) -> Vec<HostId> {
    let mut seen: BTreeMap<(u64, u64), u32> = BTreeMap::new();
    let is_new = |host: &&HostId| {
        let wire = fabric.wire(fabric.host(**host).ports[0]);
        let count = seen.entry((wire.rate.0, wire.delay.0)).or_default();
        *count += 1;
        *count <= 2
    };
    hosts.iter().filter(is_new).copied().collect()
}

/// Each rack from which there are paths to the hosts of `destination`: the links of a path, hosts'
/// own included, and how many paths there are.
fn counts(fabric: &Fabric, racks: &Racks, destination: usize) -> Vec<(usize, u32, u64)> {
    let host = racks.hosts(destination)[0];
    let mut paths = vec![0u64; fabric.switch_count() as usize];
    let mut links = vec![0; fabric.switch_count() as usize];
    for (distance, switch) in fabric.switches_towards(host) {
        let group = fabric.routes(switch).ports_to(host);
        let through = |&port: &u16| {
            let peer = fabric.peer(fabric.switch_node(switch), port).node;
            paths[(peer.0 - fabric.host_count()) as usize]
        };
        let count =
            if distance == 0 { 1 } else { group.iter().map(through).fold(0, u64::saturating_add) };
        paths[switch.0 as usize] = count;
        links[switch.0 as usize] = distance + 2;
    }
    let count = |rack: usize| {
        let switch = racks.switch(rack).0 as usize;
        (rack, links[switch], paths[switch])
    };
    (0..racks.len()).map(count).filter(|(_, _, paths)| *paths > 0).collect()
}

/// The frames of a flow that goes on.
fn established(frames: Frames) -> Frames {
    match frames {
        Frames::Tcp { telemetry_hops, .. } => Frames::Tcp { handshake: false, telemetry_hops },
        roce @ Frames::Roce { .. } => roce,
    }
}

/// The base round-trip time between two hosts, and the slowest rate on the way there.
fn round_trip(
    scenario: &Scenario,
    transport: &Transport,
    source: HostId,
    destination: HostId,
) -> (Picos, BitsPerSecond) {
    let fabric = scenario.fabric();
    let first = |from, to| {
        let path = fabric.path(from, to, |_, group| group[0]);
        fabric.hops(&path.expect("the racks have a path"))
    };
    let there = first(source, destination);
    let payload = scenario.host.payload;
    let wire_overhead = scenario.switch.wire_overhead;
    let packet = FlowShape {
        bytes: payload,
        payload,
        frames: established(frames_of(scenario, transport).0),
        ack_interval: 1,
        wire_overhead,
    };
    let rtt = completion(&there, &first(destination, source), packet);
    let slowest = there.iter().map(|hop| hop.rate).min().unwrap_or_default();
    (rtt, slowest)
}
