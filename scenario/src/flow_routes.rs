//! Flows that have routes of their own, and how switches tell their packets from others: by their five-tuples.
//!
//! Flows of different routes never share a five-tuple. Where the source port that a flow draws is one of another flow
//! between the same hosts that takes other routes, it takes the next port. The ACKs of a flow count as packets without
//! routes of their own.

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
use super::routes::MOST_ROUTES;

/// First UDP source port that flows draw: the dynamic ports of RFC 6335, which `RoCEv2` uses as entropy.
const FIRST_SOURCE_PORT: u16 = 49_152;
/// How many there are, less one.
const SOURCE_PORT_MASK: u16 = 0x3fff;
/// Source ports that flows with routes of their own may have between two hosts; half of them, so that other flows find
/// some.
pub(super) const MOST_PORTS: usize = 1 << 13;

/// The queue pair of flow 0: InfiniBand reserves 0 and 1 for management datagrams. `MAX_FLOWS` leaves out the
/// last number, too.
const FIRST_QUEUE_PAIR: u32 = 2;

/// The class of each flow, and the five-tuples that it decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FlowRoutes {
    /// By workload: the class of its label, and whether it goes by TCP.
    workloads: Vec<(Option<FlowClass>, bool)>,
    /// Of flows that have a path of their own.
    paths: BTreeMap<Arc<[WireId]>, FlowClass>,
    /// Whose the source ports between two hosts are: packets of a class, or those without routes of their own.
    claims: BTreeMap<(HostId, HostId), BTreeMap<u16, Option<FlowClass>>>,
    /// The five-tuples of each class.
    keys: BTreeMap<FlowClass, BTreeSet<FlowKey>>,
}

/// Why flows cannot be told apart.
pub(super) enum FlowRoutesFault {
    /// There are more than [`MOST_ROUTES`] in all; the workload of the first that is too many.
    TooMany(usize),
    /// More than [`MOST_PORTS`] between two hosts.
    Ports(usize, HostId, HostId),
    /// Two flows of one source port that the file gives take different routes; the workload of the second.
    SamePort(usize, HostId, HostId, u16),
}

impl FlowRoutes {
    /// The flows of `sources` with their classes; `workloads` says of each source the class of its label, and whether
    /// it goes by TCP. Adds the routes of flows with paths to `routes`, and says there which flows have a class.
    pub fn of(
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
            if count > MOST_ROUTES {
                return Err(FlowRoutesFault::TooMany(flow.workload as usize));
            }
        }
        Ok(known)
    }

    /// Forgets workloads but the first `kept`, and adds one without a class.
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

    /// Keeps a flow's source port for its class, in both directions.
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
            if ports.len() > MOST_PORTS {
                return Err(FlowRoutesFault::Ports(workload, from, to));
            }
        }
        Ok(())
    }

    /// The UDP source port of a flow of RoCEv2.
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

    /// The five-tuple of a flow's data, or that of its ACKs.
    fn key(&self, flow: &Flow, direction: Direction, seed: u64) -> FlowKey {
        let (ports, protocol) = if self.is_tcp(flow) {
            (Ports::of_connection(queue_pair(flow.id), direction), ipv4::PROTOCOL_TCP)
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

/// The number of a flow's queue pair, or TCP connection.
pub fn queue_pair(flow: u32) -> u32 {
    flow + FIRST_QUEUE_PAIR
}

/// The flow of a queue pair.
pub fn flow_of(queue_pair: u32) -> u32 {
    queue_pair - FIRST_QUEUE_PAIR
}

/// Random bits of a flow: its lowest ones choose the source port.
pub fn entropy(seed: u64, flow: u32) -> u64 {
    mix(seed, u64::from(flow) + (1 << 33))
}

impl Scenario {
    /// The UDP source port of a flow of RoCEv2.
    pub fn source_port(&self, flow: &Flow) -> u16 {
        self.flow_routes.source_port(flow, self.seed)
    }

    /// The class of flows by which static routes know a flow, if any of them is for it.
    pub fn class_of(&self, flow: &Flow) -> Option<FlowClass> {
        self.flow_routes.class_of(flow)
    }

    /// The class of all flows of a workload that have no path of their own.
    pub fn class_of_workload(&self, workload: usize) -> Option<FlowClass> {
        self.flow_routes.workloads[workload].0
    }

    /// The routes of a switch that go before those by destination: whose, and the ECMP group.
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

    /// The wires that a flow's packets cross, and those of its ACKs, as ECMP will choose them.
    pub fn path_of(&self, flow: &Flow) -> (Vec<WireId>, Vec<WireId>) {
        let key = |direction| self.flow_routes.key(flow, direction, self.seed);
        let there = self.wires_of(&key(Direction::FromClient), self.class_of(flow));
        (there, self.wires_of(&key(Direction::FromServer), None))
    }

    /// What switches and hosts call a flow's data packets where they pause flows (OFC).
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

    /// The seed of one switch's ECMP hash.
    pub fn ecmp_seed(&self, switch: SwitchId) -> u32 {
        (mix(self.seed, u64::from(switch.0)) & 0xffff_ffff) as u32
    }
}

fn traffic_of(key: &FlowKey, class: Option<FlowClass>) -> Traffic {
    let host = |address| HostId(address - FIRST_HOST_ADDRESS);
    Traffic::between(host(key.source), host(key.destination)).of(class)
}
