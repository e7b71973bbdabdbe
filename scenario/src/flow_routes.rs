//! Flows with special routes, which switches recognise by the five-tuples of their packets.
//!
//! Flows with different routes never share a five-tuple. If the source port that a flow draws belongs to a flow between
//! the same hosts with other routes, it takes the next port. ACKs of a flow count as packets without special routes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fabric_core::map_abi::{FIRST_HOST_ADDRESS, FlowKey};
use fabric_core::routing::{key_hash, key_name, member};
use fabric_core::wire::tcp::{Direction, Ports};
use fabric_core::wire::{ipv4, roce};
use topology::{
    Fabric, FlowClass, HostId, RouteMatch, StaticRoutes, SwitchId, Traffic, WireId, in_32_bits,
};
use workload::random::mix;
use workload::{Flow, FlowStream, Source};

use super::Scenario;
use super::routes::MAX_ROUTES;

/// First UDP source port that flows draw: the dynamic ports of RFC 6335, which `RoCEv2` uses as entropy.
const FIRST_SOURCE_PORT: u16 = 49_152;
/// Number of source ports minus one.
const SOURCE_PORT_MASK: u16 = 0x3fff;
/// Maximum number of source ports between two hosts for flows with special routes. Half of all ports, so that other
/// flows find free ones.
pub(super) const MAX_PORTS: usize = 1 << 13;

/// Queue pair of flow 0: InfiniBand reserves 0 and 1 for management datagrams. `MAX_FLOWS` excludes the last number,
/// too.
const FIRST_QUEUE_PAIR: u32 = 2;

/// Classes of flows, and the five-tuples of each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowRoutes {
    /// By workload: class of its label, and true if it uses TCP.
    workloads: Vec<(Option<FlowClass>, bool)>,
    /// Classes of flows that have a path in a list.
    paths: BTreeMap<Arc<[WireId]>, FlowClass>,
    /// Owners of source ports between two hosts: a class, or `None` for packets without special routes.
    claims: BTreeMap<(HostId, HostId), BTreeMap<u16, Option<FlowClass>>>,
    /// Five-tuples of each class.
    keys: BTreeMap<FlowClass, BTreeSet<FlowKey>>,
}

/// Reason why switches cannot distinguish flows.
pub(super) enum FlowRoutesFault {
    /// More than [`MAX_ROUTES`] five-tuples; the workload of the first flow beyond the limit.
    TooMany(usize),
    /// More than [`MAX_PORTS`] source ports between two hosts.
    Ports(usize, HostId, HostId),
    /// Two flows with different routes have equal source ports in the file; the workload of the second flow.
    SamePort(usize, HostId, HostId, u16),
}

impl FlowRoutes {
    /// Assigns classes to the flows of `sources`. `workloads` has for each source the class of its label, and true if
    /// it uses TCP. Adds routes for paths to `routes`, and records there the flows of each class.
    pub fn new(
        seed: u64,
        sources: &[Source],
        workloads: Vec<(Option<FlowClass>, bool)>,
        fabric: &Fabric,
        routes: &mut StaticRoutes,
    ) -> Result<Self, FlowRoutesFault> {
        let mut known = Self { workloads, ..Self::default() };
        known.add_paths(sources, fabric, routes);
        let has_class = known.workloads.iter().any(|(class, _)| class.is_some());
        if !has_class && known.paths.is_empty() {
            return Ok(known);
        }
        for (number, source) in sources.iter().enumerate() {
            let Source::Listed(flows) = source else { continue };
            for flow in flows.iter().filter(|flow| flow.source_port.is_some()) {
                let flow = Flow { workload: in_32_bits(number), ..flow.clone() };
                known.claim(&flow, known.class_of(&flow), seed)?;
            }
        }
        let mut count = 0;
        for flow in FlowStream::new(sources, seed) {
            let Some(class) = known.class_of(&flow) else { continue };
            routes.add_flows(class, flow.source, flow.destination);
            if !known.is_tcp(&flow) && flow.source_port.is_none() {
                known.claim(&flow, Some(class), seed)?;
            }
            let key = known.key(&flow, Direction::FromClient, seed);
            count += usize::from(known.keys.entry(class).or_default().insert(key));
            if count > MAX_ROUTES {
                return Err(FlowRoutesFault::TooMany(flow.workload as usize));
            }
        }
        Ok(known)
    }

    /// Keeps the first `kept` workloads, and adds one without a class.
    pub(super) fn add_classless(&mut self, kept: usize, is_tcp: bool) {
        self.workloads.truncate(kept);
        self.workloads.push((None, is_tcp));
    }

    fn add_paths(&mut self, sources: &[Source], fabric: &Fabric, routes: &mut StaticRoutes) {
        let labels = self.workloads.iter().filter_map(|(class, _)| *class).max();
        let first = labels.map_or(0, |FlowClass(last)| last + 1);
        for source in sources {
            let Source::Listed(flows) = source else { continue };
            for path in flows.iter().filter_map(|flow| flow.path.as_ref()) {
                let class = FlowClass(first + in_32_bits(self.paths.len()));
                if self.paths.contains_key(path) {
                    continue;
                }
                self.paths.insert(path.clone(), class);
                let frames = RouteMatch { class: Some(class), source: None, destination: None };
                for wire in &path[1..] {
                    let wire = fabric.wire(*wire);
                    let switch = SwitchId(wire.from.0 - fabric.host_count());
                    routes.add(switch, frames, vec![wire.from_port]);
                }
            }
        }
    }

    fn class_of(&self, flow: &Flow) -> Option<FlowClass> {
        match &flow.path {
            Some(path) => self.paths.get(path).copied(),
            None => self.workloads[flow.workload as usize].0,
        }
    }

    fn is_tcp(&self, flow: &Flow) -> bool {
        self.workloads[flow.workload as usize].1
    }

    /// Reserves a flow's source port for its class, in both directions.
    fn claim(
        &mut self,
        flow: &Flow,
        class: Option<FlowClass>,
        seed: u64,
    ) -> Result<(), FlowRoutesFault> {
        let port = self.source_port(flow, seed);
        let workload = flow.workload as usize;
        let (from, to) = (flow.source, flow.destination);
        for (pair, class) in [((from, to), class), ((to, from), None)] {
            let ports = self.claims.entry(pair).or_default();
            if *ports.entry(port).or_insert(class) != class {
                return Err(FlowRoutesFault::SamePort(workload, from, to, port));
            }
            if ports.len() > MAX_PORTS {
                return Err(FlowRoutesFault::Ports(workload, from, to));
            }
        }
        Ok(())
    }

    /// Returns the UDP source port of a RoCEv2 flow.
    fn source_port(&self, flow: &Flow, seed: u64) -> u16 {
        if let Some(port) = flow.source_port {
            return port;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the mask leaves 14 bits")]
        let drawn = (entropy(seed, flow.id) & u64::from(SOURCE_PORT_MASK)) as u16;
        let (from, to) = (flow.source, flow.destination);
        let Some(ahead) = self.claims.get(&(from, to)) else { return FIRST_SOURCE_PORT + drawn };
        let back = self.claims.get(&(to, from)).expect("ports are claimed in both directions");
        let class = self.class_of(flow);
        let fits = |port: &u16| {
            ahead.get(port).is_none_or(|owner| *owner == class)
                && back.get(port).is_none_or(Option::is_none)
        };
        let ports = (0..=SOURCE_PORT_MASK)
            .map(|further| FIRST_SOURCE_PORT + (drawn.wrapping_add(further) & SOURCE_PORT_MASK));
        ports.into_iter().find(fits).expect("half of the ports are never claimed")
    }

    /// Returns the five-tuple of a flow's data packets or of its ACKs.
    fn key(&self, flow: &Flow, direction: Direction, seed: u64) -> FlowKey {
        let (ports, protocol) = if self.is_tcp(flow) {
            (Ports::for_connection(queue_pair(flow.id), direction), ipv4::PROTOCOL_TCP)
        } else {
            let source = self.source_port(flow, seed);
            (Ports { source, destination: roce::UDP_PORT }, ipv4::PROTOCOL_UDP)
        };
        match direction {
            Direction::FromClient => key(flow.source, flow.destination, ports, protocol),
            Direction::FromServer => key(flow.destination, flow.source, ports, protocol),
        }
    }
}

fn key(source: HostId, destination: HostId, ports: Ports, protocol: u8) -> FlowKey {
    FlowKey {
        source: FIRST_HOST_ADDRESS + source.0,
        destination: FIRST_HOST_ADDRESS + destination.0,
        ports: u32::from(ports.source) << 16 | u32::from(ports.destination),
        protocol: protocol.into(),
    }
}

/// Returns the number of a flow's queue pair or TCP connection.
pub fn queue_pair(flow: u32) -> u32 {
    flow + FIRST_QUEUE_PAIR
}

/// Returns the flow of a queue pair.
pub fn flow_of(queue_pair: u32) -> u32 {
    queue_pair - FIRST_QUEUE_PAIR
}

/// Returns random bits of a flow; the lowest bits choose the source port.
pub fn entropy(seed: u64, flow: u32) -> u64 {
    mix(seed, u64::from(flow) + (1 << 33))
}

impl Scenario {
    /// Returns the UDP source port of a RoCEv2 flow.
    pub fn source_port(&self, flow: &Flow) -> u16 {
        self.flow_routes.source_port(flow, self.seed)
    }

    /// Returns the class by which static routes match a flow, if there is one.
    pub fn class_of(&self, flow: &Flow) -> Option<FlowClass> {
        self.flow_routes.class_of(flow)
    }

    /// Returns the class of a workload's flows that have no path in a list.
    pub fn class_of_workload(&self, workload: usize) -> Option<FlowClass> {
        self.flow_routes.workloads[workload].0
    }

    /// Returns the routes of a switch that override routes by destination: five-tuple and ECMP group.
    pub fn policy_routes(&self, switch: SwitchId) -> Vec<(FlowKey, &[u16])> {
        let statics = self.fabric.static_routes();
        let mut found = Vec::new();
        let mut classes = BTreeSet::new();
        for (frames, ports) in statics.at(switch) {
            classes.extend(frames.class);
            if let RouteMatch { class: None, source: Some(from), destination: Some(to) } = frames {
                let none = Ports { source: 0, destination: 0 };
                found.push((key(from, to, none, 0), ports));
            }
        }
        for class in classes {
            for key in self.flow_routes.keys.get(&class).into_iter().flatten() {
                let traffic = traffic_of(key, Some(class));
                let own = self.fabric.applying(switch, traffic);
                found.extend(
                    own.filter(|(frames, _)| frames.class.is_some())
                        .map(|(_, ports)| (*key, ports)),
                );
            }
        }
        found
    }

    /// Returns the wires that a flow's packets cross, and the wires that its ACKs cross, as ECMP will choose them.
    pub fn path_of(&self, flow: &Flow) -> (Vec<WireId>, Vec<WireId>) {
        if let Some(routes) = self.ecmp_routes() {
            return self.simulator_path(routes, flow);
        }
        let key = |direction| self.flow_routes.key(flow, direction, self.seed);
        let there = self.wires_of(&key(Direction::FromClient), self.class_of(flow));
        (there, self.wires_of(&key(Direction::FromServer), None))
    }

    /// Returns the name of a flow's data packets in pauses of flows (OFC).
    pub fn flow_name(&self, flow: &Flow) -> u32 {
        key_name(&self.flow_routes.key(flow, Direction::FromClient, self.seed))
    }

    fn wires_of(&self, key: &FlowKey, class: Option<FlowClass>) -> Vec<WireId> {
        let choose = |switch, group: &[u16]| {
            let hash = key_hash(key, self.ecmp_seed(switch));
            group[member(hash, in_32_bits(group.len())) as usize]
        };
        self.fabric.path(traffic_of(key, class), choose).expect("a scenario's flows have paths")
    }

    /// Returns the seed of a switch's ECMP hash.
    pub fn ecmp_seed(&self, switch: SwitchId) -> u32 {
        (mix(self.seed, u64::from(switch.0)) & 0xffff_ffff) as u32
    }
}

fn traffic_of(key: &FlowKey, class: Option<FlowClass>) -> Traffic {
    let host = |address| HostId(address - FIRST_HOST_ADDRESS);
    Traffic::between(host(key.source), host(key.destination)).with_class(class)
}
