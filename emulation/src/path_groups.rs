//! Paths between hosts: their number, length and base round-trip time.

use std::collections::BTreeMap;

use scenario::{Scenario, Transport};
use topology::{Fabric, HostId, Racks, Reach};
use units::{BitsPerSecond, Bytes, Picos};

use crate::ideal::{FlowShape, Frames, completion};
use crate::paths::frames_of;
use crate::wire_timing::PortTime;

/// All pairs of hosts that are equally far from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathGroup {
    /// Links of the longest path of a pair.
    pub links: u32,
    /// Ordered pairs of hosts.
    pub pairs: u64,
    /// Fewest and most paths of a pair.
    pub paths: (u64, u64),
    /// Shortest and longest base round-trip time: a full packet there and its ACK back over idle
    /// wires, on the first of the longest paths.
    pub base_rtt: (Picos, Picos),
    /// Largest bandwidth-delay product: base round-trip time x the path's slowest link.
    pub bdp: Bytes,
}

/// The groups, nearest first, with base round-trip times for `transport`. Flows that have their own routes are left
/// out.
pub fn path_groups(scenario: &Scenario, transport: &Transport) -> Vec<PathGroup> {
    Paths::new(scenario, transport).groups()
}

/// Max base round-trip time between two hosts, or of flows that have their own routes, for a transport.
pub fn longest_base_rtt(scenario: &Scenario, transport: &Transport) -> Picos {
    let paths = Paths::new(scenario, transport);
    let groups = paths.groups().into_iter().map(|group| group.base_rtt.1);
    let flows = Reach::for_flows(scenario.fabric(), &paths.hosts);
    let flows = flows.iter().map(|reach| {
        let source = reach.traffic.source.expect("flows have senders");
        paths.round_trip(reach, source, reach.traffic.destination).0
    });
    groups.chain(flows).max().unwrap_or_default()
}

/// All paths of a fabric.
struct Paths<'a> {
    scenario: &'a Scenario,
    transport: &'a Transport,
    /// Hosts that share routes.
    hosts: Racks,
    /// Paths by group of the destination.
    reaches: Vec<Vec<Reach>>,
}

/// The first two hosts for each link speed in a group: round-trip times of the other hosts are equal.
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

/// The frames of an established flow.
fn established(frames: Frames) -> Frames {
    match frames {
        Frames::Tcp { telemetry_hops, .. } => Frames::Tcp { handshake: false, telemetry_hops },
        roce @ Frames::Roce { .. } => roce,
    }
}

impl<'a> Paths<'a> {
    fn new(scenario: &'a Scenario, transport: &'a Transport) -> Self {
        let fabric = scenario.fabric();
        let hosts = Racks::by_routes(fabric);
        let reaches =
            (0..hosts.len()).map(|group| Reach::to_group(fabric, &hosts, group, None)).collect();
        Self { scenario, transport, hosts, reaches }
    }

    /// Pairs of hosts by distance, nearest first.
    fn groups(&self) -> Vec<PathGroup> {
        let (fabric, hosts) = (self.scenario.fabric(), &self.hosts);
        let members: Vec<Vec<HostId>> =
            (0..hosts.len()).map(|group| representatives(fabric, hosts.hosts(group))).collect();
        let mut groups: BTreeMap<u32, PathGroup> = BTreeMap::new();
        for (destination, reaches) in self.reaches.iter().enumerate() {
            for (reach, source) in reaches
                .iter()
                .flat_map(|reach| reach.sources.iter().map(move |&source| (reach, source)))
            {
                let (from, to) = (hosts.hosts(source).len() as u64, hosts.hosts(destination).len());
                let pairs = from * (to as u64 - u64::from(source == destination));
                let switch = hosts.switch(source);
                let (links, count) = (reach.links_from(switch), reach.paths_from(switch));
                for &sender in &members[source] {
                    let receivers = members[destination].iter().filter(|host| **host != sender);
                    for &receiver in receivers {
                        let (rtt, rate) = self.round_trip(reach, sender, receiver);
                        let bdp = rate.bytes_in(rtt);
                        let group = groups.entry(links).or_insert(PathGroup {
                            links,
                            pairs: 0,
                            paths: (count, count),
                            base_rtt: (rtt, rtt),
                            bdp,
                        });
                        group.base_rtt = (group.base_rtt.0.min(rtt), group.base_rtt.1.max(rtt));
                        group.bdp = group.bdp.max(bdp);
                    }
                }
                if let Some(group) = groups.get_mut(&links) {
                    group.pairs += pairs;
                    group.paths = (group.paths.0.min(count), group.paths.1.max(count));
                }
            }
        }
        groups.into_values().collect()
    }

    /// Base round-trip time between two hosts on the longest of the paths of `there`, and the min rate on the way
    /// there.
    fn round_trip(
        &self,
        there: &Reach,
        source: HostId,
        destination: HostId,
    ) -> (Picos, BitsPerSecond) {
        let Self { scenario, transport, .. } = self;
        let fabric = scenario.fabric();
        let (from, to) = (self.hosts.rack_of(destination), self.hosts.rack_of(source));
        let back = self.reaches[to].iter().find(|reach| reach.sources.binary_search(&from).is_ok());
        let back = back.expect("what has a path has one back");
        let there = fabric.hops(&there.longest_path(fabric, source, destination));
        let payload = scenario.host.payload;
        let packet = FlowShape {
            bytes: payload,
            payload,
            frames: established(frames_of(scenario, transport).0),
            ack_interval: 1,
            lengths: scenario.frames.lengths(),
            port_time: PortTime::new(scenario),
        };
        let back = fabric.hops(&back.longest_path(fabric, destination, source));
        let slowest = there.iter().map(|hop| hop.rate).min().unwrap_or_default();
        (completion(&there, &back, packet), slowest)
    }
}
