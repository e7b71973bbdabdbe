//! The fabric. Building one checks all of it: every host has one switch port, every name is usable, every limit is
//! kept.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use units::{BitsPerSecond, Picos};

use super::plan::{limit_hosts, limit_switches};
use super::routing::{Network, Routes, routes_of};
use super::{
    FabricError, HostId, LinkEnd, MAX_NAME_LENGTH, MAX_PORTS, NodeId, Plan, Racks, RouteFault,
    RouteMatch, StaticRoutes, SwitchId, Traffic, WireId, in_32_bits,
};

/// Hosts, switches, links and routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    nodes: Vec<Node>,
    wires: Vec<Wire>,
    hosts: u32,
    routes: Vec<Routes>,
    static_routes: StaticRoutes,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique in the fabric; 1 to 15 characters.
    pub name: String,
    /// Host or switch, with its number among its kind.
    pub kind: NodeKind,
    /// The wire that leaves each port; its reverse is the wire that enters there.
    pub ports: Vec<WireId>,
}

impl Node {
    /// Number of ports.
    pub fn port_count(&self) -> u16 {
        self.ports.len().try_into().expect("`connect` stops before")
    }
}

/// Kind of a node, with its number among nodes of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An end of flows, with exactly one port.
    Host(HostId),
    /// Forwards frames.
    Switch(SwitchId),
}

/// The far end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The neighbouring node.
    pub node: NodeId,
    /// The neighbouring node's port.
    pub port: u16,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// `from->to`, by node names; unique. See [`wire_name`].
    pub name: String,
    /// The sending node.
    pub from: NodeId,
    /// The sending node's port.
    pub from_port: u16,
    /// The receiving node.
    pub to: NodeId,
    /// The receiving node's port.
    pub to_port: u16,
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
}

/// The name of the wire between two nodes that belongs to the `number`-th link between them, from 1 on:
/// `a->b`, then `a->b#2`.
///
/// No node's name contains `#`, so no other wire has this name.
pub fn wire_name(from: &str, to: &str, number: u32) -> String {
    format!("{from}->{}", port_name(to, number))
}

/// The name of a node's port for the `number`-th link to `peer`, counted from 1: `peer`, then `peer#2`.
pub fn port_name(peer: &str, number: u32) -> String {
    if number == 1 { peer.into() } else { format!("{peer}#{number}") }
}

impl Wire {
    /// The name of its sender's port: the part of the wire's name after `->`. Unique in the node, and short enough
    /// for an interface.
    ///
    /// # Panics
    /// If the wire is not one of a fabric.
    pub fn port_name(&self) -> &str {
        self.name.split_once("->").expect("a fabric's wires are named from->to").1
    }
}

/// One wire of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
}

/// Both ends of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireEnds {
    /// The sender.
    pub from: NodeKind,
    /// The sender's port.
    pub from_port: u16,
    /// The receiver.
    pub to: NodeKind,
    /// The receiver's port.
    pub to_port: u16,
}

impl Fabric {
    /// Numbers nodes, ports and wires in the plan's order, checks them, and finds all shortest
    /// paths.
    pub fn build(plan: &Plan) -> Result<Self, FabricError> {
        limit_hosts(plan.hosts.len() as u64)?;
        limit_switches(plan.switches.len() as u64)?;
        let mut nodes = name_nodes(plan)?;
        let wires = connect(plan, &mut nodes)?;
        check_ports(&nodes)?;
        let hosts = in_32_bits(plan.hosts.len());
        let network = Network { nodes: &nodes, wires: &wires, hosts, is_up: |_| true };
        let routes = routes_of(network);
        Ok(Self { nodes, wires, hosts, routes, static_routes: StaticRoutes::default() })
    }

    /// Replaces the static routes. A new fabric has no static routes.
    ///
    /// # Errors
    /// If frames that a static route is for can loop, or reach a switch from which no path leads to their
    /// destination. The routes are set all the same: do not use a fabric after this error.
    pub fn set_static_routes(&mut self, routes: StaticRoutes) -> Result<(), RouteFault> {
        self.static_routes = routes;
        self.check_static_routes()
    }

    /// All nodes, hosts first; a [`NodeId`] is an index into them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All wires; a [`WireId`] is an index into them.
    pub fn wires(&self) -> &[Wire] {
        &self.wires
    }

    /// Number of hosts.
    pub fn host_count(&self) -> u32 {
        self.hosts
    }

    /// Number of switches.
    pub fn switch_count(&self) -> u32 {
        in_32_bits(self.nodes.len()) - self.hosts
    }

    /// The node with a number.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The wire with a number.
    pub fn wire(&self, id: WireId) -> &Wire {
        &self.wires[id.0 as usize]
    }

    /// A host's node number.
    pub const fn host_node(&self, host: HostId) -> NodeId {
        NodeId(host.0)
    }

    /// A switch's node number.
    pub const fn switch_node(&self, switch: SwitchId) -> NodeId {
        NodeId(self.hosts + switch.0)
    }

    /// The host as a node.
    pub fn host(&self, host: HostId) -> &Node {
        self.node(self.host_node(host))
    }

    /// The switch as a node.
    pub fn switch(&self, switch: SwitchId) -> &Node {
        self.node(self.switch_node(switch))
    }

    /// The host with a name.
    pub fn host_named(&self, name: &str) -> Option<HostId> {
        let hosts = &self.nodes[..self.hosts as usize];
        hosts.iter().position(|node| node.name == name).map(HostId::at)
    }

    /// The node and port at the far end of a node's port.
    pub fn peer(&self, node: NodeId, port: u16) -> Peer {
        let wire = self.wire(self.node(node).ports[port as usize]);
        Peer { node: wire.to, port: wire.to_port }
    }

    /// All shortest paths from a switch to every host. [`Self::static_routes`] override them.
    pub fn shortest_routes(&self, switch: SwitchId) -> &Routes {
        &self.routes[switch.0 as usize]
    }

    /// Shortest paths of all switches, by number, without the links that `is_down` says are down.
    pub fn routes_without(&self, is_down: impl Fn(WireId) -> bool) -> Vec<Routes> {
        let is_up = |wire: WireId| !is_down(wire) && !is_down(wire.reverse());
        let Self { nodes, wires, hosts, .. } = self;
        routes_of(Network { nodes, wires, hosts: *hosts, is_up: &is_up })
    }

    /// The static routes, which override the shortest paths.
    pub fn static_routes(&self) -> &StaticRoutes {
        &self.static_routes
    }

    /// The ports by which a switch sends `traffic`, ascending; empty if it cannot.
    pub fn ports(&self, switch: SwitchId, traffic: Traffic) -> &[u16] {
        match self.applying(switch, traffic) {
            Some((_, ports)) => ports,
            None => self.shortest_routes(switch).ports_to(traffic.destination),
        }
    }

    /// The static route of a switch that applies to `traffic`, and its ECMP group. A switch delivers frames to its
    /// own hosts, whatever the routes are: any other next hop would send them back.
    pub fn applying(&self, switch: SwitchId, traffic: Traffic) -> Option<(RouteMatch, &[u16])> {
        let applying = self.static_routes.applying(switch, traffic)?;
        (self.edge(traffic.destination) != switch).then_some(applying)
    }

    /// The wires of [`Self::ports`].
    pub fn onward(&self, switch: SwitchId, traffic: Traffic) -> impl Iterator<Item = WireId> {
        let wires = &self.switch(switch).ports;
        self.ports(switch, traffic).iter().map(|&port| wires[port as usize])
    }

    /// The switch that a host is on.
    pub fn edge(&self, host: HostId) -> SwitchId {
        match self.ends(self.host(host).ports[0]).to {
            NodeKind::Switch(switch) => switch,
            NodeKind::Host(_) => unreachable!("a host's link leads to a switch"),
        }
    }

    /// Follows all traffic that static routes are for, from all hosts that may send it. Hosts that share routes are
    /// checked once.
    fn check_static_routes(&self) -> Result<(), RouteFault> {
        if self.static_routes.is_empty() {
            return Ok(());
        }
        let groups = Racks::by_routes(self);
        let of_group = |host| groups.rack_of(host);
        let mut followed = BTreeSet::new();
        let hosts: BTreeSet<HostId> =
            self.static_routes.iter().filter_map(|(_, frames, _)| frames.destination).collect();
        for destination in hosts {
            if !followed.insert((None, None, of_group(destination))) {
                continue;
            }
            let traffic = Traffic { class: None, source: None, destination };
            // Without a path there is nothing that a route could break.
            let starts = (0..groups.len())
                .map(|group| groups.switch(group))
                .filter(|&switch| !self.shortest_routes(switch).ports_to(destination).is_empty());
            self.switches_of(traffic, starts)?;
        }
        let pairs = self.static_routes.iter().filter_map(|(_, frames, _)| {
            Some(Traffic::between(frames.source?, frames.destination?))
        });
        for traffic in pairs.chain(self.static_routes.flows()) {
            let Some(source) = traffic.source else { continue };
            let groups = (traffic.class, Some(of_group(source)), of_group(traffic.destination));
            if followed.insert(groups) && self.reaches(source, traffic.destination) {
                self.switches_of(traffic, [self.edge(source)])?;
            }
        }
        Ok(())
    }

    /// Distance of each node from the nearest host, in links: hosts 0, a switch with hosts 1, and so on up.
    /// `u32::MAX` for switches that no host can reach.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = vec![u32::MAX; self.nodes.len()];
        let mut frontier: Vec<NodeId> = (0..self.hosts).map(NodeId).collect();
        for level in 0.. {
            frontier.retain(|node| levels[node.0 as usize] == u32::MAX);
            if frontier.is_empty() {
                break;
            }
            for node in &frontier {
                levels[node.0 as usize] = level;
            }
            let ports = frontier.iter().flat_map(|node| &self.node(*node).ports);
            frontier = ports.map(|wire| self.wire(*wire).to).collect();
        }
        levels
    }

    /// True if links that are up lead from `source` to `destination`. Static routes do not change the answer.
    pub fn reaches(&self, source: HostId, destination: HostId) -> bool {
        !self.shortest_routes(self.edge(source)).ports_to(destination).is_empty()
    }

    /// The wires that a frame crosses to its destination, the uplink of its source first.
    ///
    /// `choose` picks a port of the group of ports (ascending, never empty) at each
    /// switch. `None` if there is no path.
    ///
    /// # Panics
    /// If the traffic names no source.
    pub fn path(
        &self,
        traffic: Traffic,
        mut choose: impl FnMut(SwitchId, &[u16]) -> u16,
    ) -> Option<Vec<WireId>> {
        let source = traffic.source.expect("a path begins at a host");
        let mut wires = vec![self.host(source).ports[0]];
        loop {
            let here = self.wire(wires[wires.len() - 1]).to;
            match self.node(here).kind {
                NodeKind::Host(_) => return Some(wires),
                NodeKind::Switch(switch) => {
                    let group = self.ports(switch, traffic);
                    if group.is_empty() {
                        return None;
                    }
                    let port = choose(switch, group);
                    assert!(group.contains(&port), "a chosen port is one of the group's");
                    wires.push(self.node(here).ports[port as usize]);
                }
            }
        }
    }

    /// Both ends of a wire.
    pub fn ends(&self, wire: WireId) -> WireEnds {
        let wire = self.wire(wire);
        WireEnds {
            from: self.node(wire.from).kind,
            from_port: wire.from_port,
            to: self.node(wire.to).kind,
            to_port: wire.to_port,
        }
    }

    /// Rate and delay of each wire of a path, in the path's order.
    pub fn hops(&self, path: &[WireId]) -> Vec<Hop> {
        let hop = |wire: &Wire| Hop { rate: wire.rate, delay: wire.delay };
        path.iter().map(|&id| hop(self.wire(id))).collect()
    }
}

fn name_nodes(plan: &Plan) -> Result<Vec<Node>, FabricError> {
    let hosts = (0..).map(|n| NodeKind::Host(HostId(n))).zip(&plan.hosts);
    let switches = (0..).map(|n| NodeKind::Switch(SwitchId(n))).zip(&plan.switches);
    hosts
        .chain(switches)
        .map(|(node, name)| match name_fault(name) {
            None => Ok(Node { name: name.clone(), kind: node, ports: Vec::new() }),
            Some(reason) => Err(FabricError::Name { node, name: name.clone(), reason }),
        })
        .collect()
}

/// Reason why a name cannot be part of the names of an interface, a namespace and a wire, if it cannot.
fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > MAX_NAME_LENGTH {
        return Some("it is longer than 15 characters, the limit of an interface name");
    }
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.chars().all(inner) {
        return Some("only ASCII letters, digits, `-`, `_` and `.` may stand in it");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.ends_with(['-', '.']) {
        return Some("it starts with a letter and ends with a letter, a digit or `_`");
    }
    if ["lo", "all", "default"].contains(&name) {
        return Some("Linux keeps `lo`, `all` and `default` for itself");
    }
    None
}

fn connect(plan: &Plan, nodes: &mut [Node]) -> Result<Vec<Wire>, FabricError> {
    let mut numbers = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate() {
        if numbers.insert(node.name.clone(), NodeId::at(number)).is_some() {
            return Err(FabricError::DuplicateName { node: node.kind, name: node.name.clone() });
        }
    }
    let mut wires: Vec<Wire> = Vec::with_capacity(plan.links.len() * 2);
    let mut joined: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    for (link, planned) in plan.links.iter().enumerate() {
        let find = |end, name: &String| {
            let unknown = || FabricError::UnknownNode { link, end, name: name.clone() };
            numbers.get(name).copied().ok_or_else(unknown)
        };
        let from = find(LinkEnd::A, &planned.a)?;
        let to = find(LinkEnd::B, &planned.b)?;
        let (a, b) = (planned.a.clone(), planned.b.clone());
        if from == to {
            return Err(FabricError::SelfLink { link, name: a });
        }
        let is_host = |node: NodeId| matches!(nodes[node.0 as usize].kind, NodeKind::Host(_));
        if is_host(from) && is_host(to) {
            return Err(FabricError::HostToHost { link, a, b });
        }
        let number = joined.entry((from.min(to), from.max(to))).or_default();
        *number += 1;
        let number = *number;
        let is_long = |interface: &String| interface.len() > MAX_NAME_LENGTH;
        if let Some(interface) =
            [&a, &b].map(|peer| port_name(peer, number)).into_iter().find(is_long)
        {
            return Err(FabricError::InterfaceName { link, a, b, number, interface });
        }
        // Ports are numbered by 16 bits; how many a node may have is checked where all links are known.
        let full = |node: &NodeId| nodes[node.0 as usize].ports.len() == usize::from(u16::MAX);
        if let Some(node) = [from, to].into_iter().find(full) {
            let Node { name, kind, .. } = nodes[node.0 as usize].clone();
            let links = plan.links.iter().filter(|link| link.a == name || link.b == name).count();
            check_port_count(name, kind, links)?;
        }
        let from_port = nodes[from.0 as usize].port_count();
        let to_port = nodes[to.0 as usize].port_count();
        let there = WireId::at(wires.len());
        nodes[from.0 as usize].ports.push(there);
        nodes[to.0 as usize].ports.push(there.reverse());
        let (rate, delay) = (planned.rate, planned.delay);
        let name = wire_name(&a, &b, number);
        wires.push(Wire { name, from, from_port, to, to_port, rate, delay });
        wires.push(Wire {
            name: wire_name(&b, &a, number),
            from: to,
            from_port: to_port,
            to: from,
            to_port: from_port,
            rate,
            delay,
        });
    }
    Ok(wires)
}

fn check_ports(nodes: &[Node]) -> Result<(), FabricError> {
    nodes
        .iter()
        .try_for_each(|node| check_port_count(node.name.clone(), node.kind, node.ports.len()))
}

fn check_port_count(name: String, kind: NodeKind, links: usize) -> Result<(), FabricError> {
    match kind {
        NodeKind::Host(host) if links != 1 => Err(FabricError::HostPorts { host, name, links }),
        NodeKind::Switch(switch) if links == 0 => Err(FabricError::IdleSwitch { switch, name }),
        NodeKind::Switch(switch) if links > MAX_PORTS => {
            Err(FabricError::TooManyPorts { switch, name, links })
        }
        _ => Ok(()),
    }
}
