//! Partition of a fabric's nodes into parts. One thread runs each part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use topology::{Fabric, HostId, NodeId, NodeKind, SwitchId, Wire};

/// Position of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The part.
    pub part: u32,
    /// Its index in the part: hosts first, then switches, both in the order of their numbers.
    pub index: u32,
}

/// The hosts and switches of one part, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// The hosts.
    pub hosts: Vec<HostId>,
    /// The switches.
    pub switches: Vec<SwitchId>,
}

/// A division of all nodes. A host is in the part of its switch, so its frames stay there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    parts: Vec<Members>,
    /// Positions by [`NodeId`].
    places: Vec<Place>,
}

impl Partition {
    /// Divides a fabric into at most `parts` parts with about as many ports each; at least one.
    pub fn new(fabric: &Fabric, parts: usize) -> Self {
        let switches = fabric.switch_count();
        let wanted = u32::try_from(parts).unwrap_or(u32::MAX).clamp(1, switches.max(1));
        // The largest first, each to the part with the smallest weight up to now.
        let mut order: Vec<SwitchId> = (0..switches).map(SwitchId).collect();
        order.sort_by_key(|&switch| Reverse(weight(fabric, switch)));
        let mut load: BinaryHeap<Reverse<(u64, u32)>> =
            (0..wanted).map(|part| Reverse((0, part))).collect();
        let mut part_of = vec![0; fabric.nodes().len()];
        for switch in order {
            let Reverse((sum, part)) = load.pop().expect("there is at least one part");
            part_of[fabric.switch_node(switch).0 as usize] = part;
            load.push(Reverse((sum + weight(fabric, switch), part)));
        }
        for host in 0..fabric.host_count() {
            let uplink = fabric.wire(fabric.host(HostId(host)).ports[0]);
            part_of[host as usize] = part_of[uplink.to.0 as usize];
        }
        let mut parts = vec![Members::default(); wanted as usize];
        let mut sizes = vec![0; wanted as usize];
        let places = fabric.nodes().iter().zip(&part_of).map(|(node, &part)| {
            match node.kind {
                NodeKind::Host(host) => parts[part as usize].hosts.push(host),
                NodeKind::Switch(switch) => parts[part as usize].switches.push(switch),
            }
            let size = &mut sizes[part as usize];
            *size += 1;
            Place { part, index: *size - 1 }
        });
        let places = places.collect();
        Self { parts, places }
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Nodes of each part.
    pub fn members(&self) -> &[Members] {
        &self.parts
    }

    /// Position of a node.
    pub fn place(&self, node: NodeId) -> Place {
        self.places[node.0 as usize]
    }
}

/// Relative cost of a switch and its hosts. A port to a host counts twice, because of the host, but less if hosts
/// have more bandwidth than the switch's other ports.
fn weight(fabric: &Fabric, switch: SwitchId) -> u64 {
    const PORT: u64 = 100;
    let to_host = |wire: &Wire| matches!(fabric.node(wire.to).kind, NodeKind::Host(_));
    let ports = fabric.switch(switch).ports.iter().map(|&wire| fabric.wire(wire));
    let (hosts, others): (Vec<&Wire>, Vec<&Wire>) = ports.partition(|wire| to_host(wire));
    let rate = |wires: &[&Wire]| wires.iter().map(|wire| u128::from(wire.rate.0)).sum::<u128>();
    let (of_hosts, of_others) = (rate(&hosts), rate(&others));
    let all = 2 * PORT * hosts.len() as u64;
    let of_hosts = match of_others {
        0 => all,
        _ if of_others >= of_hosts => all,
        _ => u64::try_from(u128::from(all) * of_others / of_hosts).unwrap_or(all),
    };
    PORT * others.len() as u64 + of_hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf_spine() -> Fabric {
        let scenario = "[topology]\nkind = \"leaf-spine\"\nleaves = 5\nspines = 3\nhosts_per_leaf = 4
host_link = { rate = \"8Gbps\", delay = \"1us\" }\nfabric_link = { rate = \"8Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
        let path = std::path::Path::new("partition.toml");
        let scenario = scenario::Scenario::parse(scenario, path, &[]);
        scenario.unwrap_or_else(|error| panic!("{error}")).fabric().clone()
    }

    #[test]
    fn every_node_is_in_one_part_and_hosts_are_with_their_switch() {
        let fabric = leaf_spine();
        for parts in [1, 2, 3, 7, 100] {
            let partition = Partition::new(&fabric, parts);
            assert_eq!(partition.parts(), parts.min(8));
            for (part, members) in (0..).zip(partition.members()) {
                assert!(!members.switches.is_empty(), "part {part} of {parts}");
                let hosts = members.hosts.iter().map(|&host| fabric.host_node(host));
                let switches = members.switches.iter().map(|&switch| fabric.switch_node(switch));
                for (index, node) in (0..).zip(hosts.chain(switches)) {
                    assert_eq!(partition.place(node), Place { part, index });
                }
                for &host in &members.hosts {
                    let uplink = fabric.wire(fabric.host(host).ports[0]);
                    assert_eq!(partition.place(uplink.to).part, part);
                }
            }
            let nodes = |members: &Members| members.hosts.len() + members.switches.len();
            let all: usize = partition.members().iter().map(nodes).sum();
            assert_eq!(all, fabric.nodes().len());
        }
    }

    #[test]
    fn parts_are_about_equal() {
        let fabric = leaf_spine();
        let partition = Partition::new(&fabric, 2);
        let ports = |members: &Members| -> u64 {
            members.switches.iter().map(|&switch| weight(&fabric, switch)).sum()
        };
        let [first, second] = [0, 1].map(|part| ports(&partition.members()[part]));
        assert!(first.abs_diff(second) <= 1100, "{first} and {second}");
    }
}
