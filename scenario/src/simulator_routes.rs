//! Routes and ECMP of ns-3 (`switch.ecmp = "murmur3"`): next hops in the order of a breadth-first search, chosen by
//! MurmurHash3 over addresses and ports, with the switch's id as the seed.
//!
//! Hosts of HPCC's simulator hash an ACK by its own header, so that it takes another way than its data.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::wire::{RocePacket, roce};
use host_agent::ns3::{Ports, Settings};
use results::{DESTINATION_PORT, FIRST_SOURCE_PORT, host_address};
use topology::{Fabric, HostId, NodeId, NodeKind, SwitchId, WireId};
use units::Nanos;
use workload::{CountedPorts, Flow};

use super::{Ecmp, NextHops, Scenario};

/// Bit-nanoseconds in a byte-second.
const BITS_PER_BYTE: u64 = 8;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Base values of a pair of hosts: its first shortest path's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasePath {
    /// Twice the delay, and the time of a full payload on each link.
    pub rtt: u64,
    /// Least rate of the path's links.
    pub rate: u64,
}

impl BasePath {
    /// Bandwidth-delay product, bytes.
    pub const fn product(self) -> u32 {
        // The simulator's products wrap.
        let bits = self.rtt.wrapping_mul(self.rate) / NANOS_PER_SECOND;
        (bits / BITS_PER_BYTE) as u32
    }

    /// The simulator's time of a flow alone: the round trip, and all bytes with these headers at the least rate.
    pub fn standalone(self, bytes: u64, payload: u64, headers: u64) -> Nanos {
        // The simulator counts in 32 bits.
        let all = (bytes + headers * bytes.div_ceil(payload)) & u64::from(u32::MAX);
        let bits = all.wrapping_mul(BITS_PER_BYTE * NANOS_PER_SECOND);
        let time = bits / self.rate.max(1);
        Nanos(self.rtt + time)
    }
}

/// A link from a node's side.
#[derive(Clone, Copy, Debug)]
struct Way {
    to: NodeId,
    wire: WireId,
}

/// Routes of all switches.
#[derive(Debug, PartialEq, Eq)]
pub struct SimulatorRoutes {
    /// Groups of ports, each group once.
    groups: Vec<Box<[u16]>>,
    /// Number of the group, by host and switch.
    group_of: Vec<u32>,
    switches: usize,
    /// The simulator's ids of switches.
    ids: Box<[u32]>,
    /// The simulator's addresses of hosts.
    addresses: Box<[u32]>,
    /// The longest round trip of all pairs, and the largest product, maybe another pair's.
    pub longest: (u64, u32),
    /// True if packets carry a UDP destination port of their flow.
    has_destination_ports: bool,
    /// A link that is down, by one of its wires.
    down: Option<WireId>,
}

impl SimulatorRoutes {
    /// The routes of a scenario, around a link that is down.
    fn new(scenario: &Scenario, down: Option<WireId>) -> Self {
        let fabric = scenario.fabric();
        let ids = node_ids(scenario);
        let ways = ways(fabric, &ids, scenario.switch.next_hops, down);
        let hosts = fabric.host_count();
        let switches = fabric.switch_count() as usize;
        let id_of = |node: NodeId| ids[node.0 as usize];
        let mut routes = Self {
            groups: Vec::new(),
            group_of: Vec::with_capacity(hosts as usize * switches),
            switches,
            ids: (0..fabric.switch_count())
                .map(|switch| id_of(fabric.switch_node(SwitchId(switch))))
                .collect(),
            addresses: (0..hosts).map(|host| host_address(id_of(NodeId(host)))).collect(),
            longest: (0, 0),
            has_destination_ports: scenario.host.ns3.is_some(),
            down,
        };
        let mut numbers = BTreeMap::new();
        let payload = scenario.host.payload.0;
        for host in (0..hosts).map(HostId) {
            routes.search(fabric, &ways, host, payload, &mut numbers);
        }
        routes
    }

    /// Searches breadth first from a host. Other hosts are never passed through.
    fn search(
        &mut self,
        fabric: &Fabric,
        ways: &[Vec<Way>],
        host: HostId,
        payload: u64,
        numbers: &mut BTreeMap<Box<[u16]>, u32>,
    ) {
        let nodes = fabric.nodes().len();
        let mut distances: Vec<Option<(u64, u64, u64)>> = vec![None; nodes];
        let mut hops = vec![u32::MAX; nodes];
        let mut next: Vec<Vec<u16>> = vec![Vec::new(); nodes];
        let start = fabric.host_node(host);
        hops[start.0 as usize] = 0;
        distances[start.0 as usize] = Some((0, 0, u64::MAX));
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let here = hops[node.0 as usize];
            for way in &ways[node.0 as usize] {
                let there = way.to.0 as usize;
                if hops[there] == u32::MAX {
                    hops[there] = here + 1;
                    distances[there] = further(distances[node.0 as usize], fabric, *way, payload);
                    if matches!(fabric.node(way.to).kind, NodeKind::Switch(_)) {
                        queue.push_back(way.to);
                    }
                }
                if hops[there] == here + 1 {
                    // The way back of this link.
                    let back = fabric.wire(way.wire.reverse());
                    next[there].push(back.from_port);
                }
            }
        }
        for hops in &mut next[fabric.host_count() as usize..nodes] {
            let group: Box<[u16]> = std::mem::take(hops).into();
            let groups = &mut self.groups;
            let number = *numbers.entry(group).or_insert_with_key(|group| {
                groups.push(group.clone());
                topology::in_32_bits(groups.len() - 1)
            });
            self.group_of.push(number);
        }
        for (other, distance) in distances.iter().enumerate().take(fabric.host_count() as usize) {
            if let Some((delay, time, rate)) = *distance
                && other != host.0 as usize
            {
                let base = BasePath { rtt: 2 * delay + time, rate };
                self.longest.0 = self.longest.0.max(base.rtt);
                self.longest.1 = self.longest.1.max(base.product());
            }
        }
    }

    /// Ports of a switch towards a host, in the simulator's order.
    fn group(&self, switch: SwitchId, host: HostId) -> &[u16] {
        let place = host.0 as usize * self.switches + switch.0 as usize;
        &self.groups[self.group_of[place] as usize]
    }

    /// The port by which a packet leaves a switch; `None` if no port leads to its destination.
    #[inline]
    pub fn port(&self, switch: SwitchId, packet: &RocePacket) -> Option<u16> {
        let host = |address: u32| HostId(address.wrapping_sub(FIRST_HOST_ADDRESS));
        let ends = [host(packet.source), host(packet.destination)];
        let destination_port =
            if self.has_destination_ports { packet.remaining.to_wire() } else { roce::UDP_PORT };
        self.port_between(switch, ends, [packet.source_port, destination_port])
    }

    /// The port by which a switch sends packets between two hosts and two ports.
    #[inline]
    pub(super) fn port_between(
        &self,
        switch: SwitchId,
        [source, destination]: [HostId; 2],
        ports: [u16; 2],
    ) -> Option<u16> {
        let group = self.group(switch, destination);
        if group.len() < 2 {
            return group.first().copied();
        }
        let [from, to] = ports.map(u32::from);
        let key = [self.address(source), self.address(destination), from | to << 16];
        let hash = murmur(key, self.ids[switch.0 as usize]);
        Some(group[hash as usize % group.len()])
    }

    /// The simulator's address of a host.
    pub fn address(&self, host: HostId) -> u32 {
        self.addresses[host.0 as usize]
    }

    /// True if packets of a host reach another one.
    pub(super) fn connects(&self, fabric: &Fabric, [from, to]: [HostId; 2]) -> bool {
        let wire = fabric.host(from).ports[0];
        let is_up = self.down.is_none_or(|down| ![down, down.reverse()].contains(&wire));
        is_up
            && match fabric.node(fabric.wire(wire).to).kind {
                NodeKind::Switch(switch) => !self.group(switch, to).is_empty(),
                NodeKind::Host(_) => true,
            }
    }

    /// Base values of a pair of hosts.
    pub fn base(&self, fabric: &Fabric, [from, to]: [HostId; 2], payload: u64) -> BasePath {
        let mut wire = fabric.host(from).ports[0];
        let (mut delay, mut time, mut rate) = (0, 0, u64::MAX);
        loop {
            let link = fabric.wire(wire);
            delay += link.delay.to_nanos().0;
            time += payload_time(payload, link.rate.0);
            rate = rate.min(link.rate.0);
            let NodeKind::Switch(switch) = fabric.node(link.to).kind else { break };
            let Some(&port) = self.group(switch, to).first() else { break };
            wire = fabric.switch(switch).ports[usize::from(port)];
        }
        BasePath { rtt: 2 * delay + time, rate }
    }

    /// The wires that packets between two hosts and two ports cross.
    fn path(&self, fabric: &Fabric, ends: [HostId; 2], ports: [u16; 2]) -> Vec<WireId> {
        let mut path = vec![fabric.host(ends[0]).ports[0]];
        while let Some(&wire) = path.last()
            && let NodeKind::Switch(switch) = fabric.node(fabric.wire(wire).to).kind
            && let Some(port) = self.port_between(switch, ends, ports)
        {
            path.push(fabric.switch(switch).ports[usize::from(port)]);
        }
        path
    }
}

fn payload_time(payload: u64, rate: u64) -> u64 {
    payload * NANOS_PER_SECOND * BITS_PER_BYTE / rate
}

/// Delay, payload times and least rate one link further.
fn further(
    at: Option<(u64, u64, u64)>,
    fabric: &Fabric,
    way: Way,
    payload: u64,
) -> Option<(u64, u64, u64)> {
    let (delay, time, rate) = at?;
    let link = fabric.wire(way.wire);
    let time = time + payload_time(payload, link.rate.0);
    Some((delay + link.delay.to_nanos().0, time, rate.min(link.rate.0)))
}

/// The simulator's ids of nodes.
fn node_ids(scenario: &Scenario) -> Vec<u32> {
    let nodes = scenario.fabric().nodes();
    match scenario.results.hpcc.as_ref().and_then(|hpcc| hpcc.nodes.as_ref()) {
        None => (0..).take(nodes.len()).collect(),
        Some(names) => {
            let ids: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
            nodes.iter().map(|node| ids[node.name.as_str()]).collect()
        }
    }
}

/// The links of each node in the order in which the simulator visits its neighbours. Of parallel links it uses the
/// last. Links that are down are left out.
fn ways(fabric: &Fabric, ids: &[u32], order: NextHops, down: Option<WireId>) -> Vec<Vec<Way>> {
    let is_up = |way: &Way| down.is_none_or(|down| ![down, down.reverse()].contains(&way.wire));
    let of_node = |node: NodeId| {
        let mut ways: BTreeMap<u32, Way> = BTreeMap::new();
        for &wire in &fabric.node(node).ports {
            let to = fabric.wire(wire).to;
            ways.insert(ids[to.0 as usize], Way { to, wire });
        }
        let ascending = ways.into_values().filter(is_up);
        match order {
            NextHops::Ascending => ascending.collect(),
            NextHops::Descending => ascending.rev().collect(),
        }
    };
    (0..fabric.nodes().len()).map(|node| of_node(NodeId::at(node))).collect()
}

/// Numbering of UDP ports by hosts of a simulator.
pub(super) fn counted_ports(hosts: &Settings) -> CountedPorts {
    let source = FIRST_SOURCE_PORT;
    match hosts.ports {
        Ports::Pairs => CountedPorts::Pairs { source },
        Ports::Hosts => CountedPorts::Hosts { source, destination: DESTINATION_PORT },
    }
}

/// Routes of a scenario, found when they are first asked for: a search from each host takes long in a large fabric.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundRoutes {
    usual: OnceLock<Arc<SimulatorRoutes>>,
    after_failure: OnceLock<Arc<SimulatorRoutes>>,
}

impl PartialEq for FoundRoutes {
    /// Routes follow from the rest of a scenario.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for FoundRoutes {}

impl Scenario {
    /// Returns the simulator's routes, if switches or hosts compute with them.
    pub fn simulator_routes(&self) -> Option<&Arc<SimulatorRoutes>> {
        let computes = self.switch.ecmp == Ecmp::Murmur3 || self.host.ns3.is_some();
        let find = || Arc::new(SimulatorRoutes::new(self, None));
        computes.then(|| self.found_routes.usual.get_or_init(find))
    }

    /// Returns the simulator's routes, if packets follow them.
    pub fn ecmp_routes(&self) -> Option<&Arc<SimulatorRoutes>> {
        if self.switch.ecmp == Ecmp::Murmur3 { self.simulator_routes() } else { None }
    }

    /// Returns the simulator's routes around the link that [fails](Self::link_failure), if one does.
    pub fn routes_after_failure(&self) -> Option<&Arc<SimulatorRoutes>> {
        let link = self.link_failure()?.link;
        let find = || Arc::new(SimulatorRoutes::new(self, Some(link)));
        Some(self.found_routes.after_failure.get_or_init(find))
    }

    /// Returns the source and the destination port of a flow's packets over UDP.
    pub fn udp_ports(&self, flow: &Flow) -> [u16; 2] {
        let source = self.source_port(flow);
        if self.host.ns3.is_none() {
            return [source, roce::UDP_PORT];
        }
        let ports = self.results.hpcc.as_ref().map(|hpcc| &hpcc.destination_ports);
        let of_label = ports.and_then(|ports| ports.get(&*flow.label).copied());
        [source, flow.destination_port.or(of_label).unwrap_or(DESTINATION_PORT)]
    }

    /// The wires that packets of a flow and its ACKs cross on the simulator's routes.
    pub(super) fn simulator_path(
        &self,
        routes: &SimulatorRoutes,
        flow: &Flow,
    ) -> (Vec<WireId>, Vec<WireId>) {
        let [source, destination] = self.udp_ports(flow);
        let there =
            routes.path(&self.fabric, [flow.source, flow.destination], [source, destination]);
        let ports =
            if self.host.ns3.is_some() { [destination, source] } else { [source, destination] };
        (there, routes.path(&self.fabric, [flow.destination, flow.source], ports))
    }
}

/// MurmurHash3 (x86, 32 bits) of three words.
fn murmur(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // The length in bytes.
    hash ^= 0xc;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
