//! Events in the order of their insertion, as in ns-3: the driver of a scenario with `order = "insertion"`.
//!
//! The nodes are those of any run. A single queue of events takes the place of inboxes and wakes, so that all runs on one
//! thread; windows only bound what is run between tasks of the whole fabric. Events of one instant run in the order in
//! which others have inserted them:
//!
//! - A port that starts a frame inserts its end, then its arrival. The port is busy until the end has run.
//! - All that an arrival causes at a node happens within it.
//! - The start of flows at an instant inserts an announcement of each, then the next start; an announcement inserts the
//!   creation of the queue pair.
//!
//! Hosts are those of HPCC's simulator ([`host_agent::ns3`]).

#[cfg(test)]
mod conweave_tests;
mod draws;
mod host;
mod mrg32k3a;
mod pauses;
mod queue;
mod routes;
mod samples;
mod switch;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::{BTreeMap, VecDeque};

use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use host_agent::ns3::{Flow, Paths, Ports, Schedule, Settings, Timer};
use results::{DESTINATION_PORT, FIRST_SOURCE_PORT};
use scenario::{Ecmp, Numbers, Order, Scenario, Scheme, flow_routes};
use topology::{HostId, WireId};
use units::{Nanos, Picos};

use super::part::{Opening, Part, Window};
use crate::datapath::{DatapathError, Wires};
use draws::Draws;
use pauses::Pauses;
use queue::Event;
pub use queue::{Queue, What};
use routes::Routes;
use samples::Samples;
use turns::Turns;

/// A flow that starts, and its host by its index in the part.
#[derive(Clone, Copy, Debug)]
struct Start {
    at: Picos,
    host: u32,
    flow: Flow,
}

/// State of the driver.
#[derive(Debug)]
pub struct InOrder {
    queue: Queue,
    /// Samples of queue lengths, which are events without an effect on others.
    samples: Samples,
    settings: Settings,
    /// Flows that start later, in order.
    starts: VecDeque<Start>,
    /// Number of the event that starts flows, while no flow is known.
    next_start: Option<u64>,
    /// Flows that have been announced.
    announced: VecDeque<Start>,
    /// Random numbers, if they are the simulator's.
    draws: Option<Draws>,
    routes: Routes,
    /// True if the routes are used; otherwise switches use their own.
    routes_packets: bool,
    /// Ends of pauses.
    pauses: Pauses,
    /// Turns of PFC frames, if they wait behind control packets.
    turns: Option<Turns>,
    /// Number of earlier flows of each pair of hosts.
    flows: BTreeMap<(HostId, HostId), u16>,
    /// Number of earlier flows from each host and to it.
    flows_of_hosts: BTreeMap<HostId, [u16; 2]>,
    /// Source and destination port of each flow under way.
    under_way: BTreeMap<u32, [u16; 2]>,
    payload: u64,
}

impl InOrder {
    /// The driver of a scenario; `None` if its events run in another order.
    pub fn new(scenario: &Scenario) -> Option<Box<Self>> {
        if scenario.order == Order::Nodes {
            return None;
        }
        let mut queue = Queue::default();
        // Before a run there are the first start of flows, the queue monitor, and the end of the run.
        let [first, monitor, _end] = [(); 3].map(|()| queue.reserve());
        Some(Box::new(Self {
            queue,
            samples: Samples::new(scenario, monitor),
            settings: scenario.host.ns3.expect("the order needs these hosts"),
            starts: VecDeque::new(),
            next_start: Some(first),
            announced: VecDeque::new(),
            draws: (scenario.numbers != Numbers::Seed).then(|| Draws::new(scenario)),
            routes: Routes::new(scenario),
            routes_packets: scenario.switch.ecmp == Ecmp::Murmur3,
            pauses: Pauses::new(scenario),
            turns: matches!(scenario.switch.scheme, Scheme::ServicePools(_)).then(Turns::default),
            flows: BTreeMap::new(),
            flows_of_hosts: BTreeMap::new(),
            under_way: BTreeMap::new(),
            payload: scenario.host.payload.0,
        }))
    }

    /// Instant of the next event.
    pub fn next(&self) -> Picos {
        self.queue.next()
    }

    /// Frames on their way, as pairs of node and port.
    pub fn on_their_way(&self) -> impl Iterator<Item = (u32, u16)> {
        self.queue.on_their_way()
    }

    /// Source and destination port of the next flow in the order of starts.
    fn ports_of(&mut self, scenario: &Scenario, flow: &workload::Flow) -> [u16; 2] {
        let take = |number: &mut u16| {
            *number = number.wrapping_add(1);
            number.wrapping_sub(1)
        };
        if self.settings.ports == Ports::Hosts {
            let [from, _] = self.flows_of_hosts.entry(flow.source).or_default();
            let source = FIRST_SOURCE_PORT.wrapping_add(take(from));
            let [_, to] = self.flows_of_hosts.entry(flow.destination).or_default();
            return [source, DESTINATION_PORT.wrapping_add(take(to))];
        }
        let number = self.flows.entry((flow.source, flow.destination)).or_default();
        let ports = scenario.results.hpcc.as_ref().map(|hpcc| &hpcc.destination_ports);
        let port = ports.and_then(|ports| ports.get(&*flow.label));
        [FIRST_SOURCE_PORT.wrapping_add(take(number)), port.copied().unwrap_or(DESTINATION_PORT)]
    }

    /// Adds a flow. Flows come in the order of their starts, all of an instant before it. Returns its source and
    /// destination port.
    pub fn add_flow(&mut self, scenario: &Scenario, flow: &workload::Flow, host: u32) -> [u16; 2] {
        let pair = [flow.source, flow.destination];
        let ports = self.ports_of(scenario, flow);
        let (rtt, window) = match self.settings.paths {
            Paths::Longest => self.routes.longest,
            Paths::Own => {
                let base = self.routes.base(scenario.fabric(), pair, self.payload);
                (base.rtt, base.product())
            }
        };
        let request = Flow {
            flow: flow.id,
            qp: flow_routes::queue_pair(flow.id),
            destination: FIRST_HOST_ADDRESS + flow.destination.0,
            source_port: ports[0],
            destination_port: ports[1],
            priority: Priority::new(flow.priority),
            bytes: flow.bytes.0,
            window: if self.settings.window { window } else { 0 },
            base_rtt: Nanos(rtt),
        };
        self.under_way.insert(flow.id, ports);
        self.starts.push_back(Start { at: flow.start, host, flow: request });
        if let Some(serial) = self.next_start.take() {
            self.queue.insert_as(serial, flow.start, host, What::Starts);
        }
        ports
    }

    /// The simulator's completion time of a flow alone on its path, if the scenario asks for it.
    pub fn standalone(&self, scenario: &Scenario, flow: &workload::Flow) -> Option<Nanos> {
        let headers = scenario.results.hpcc.as_ref()?.standalone_headers?;
        let pair = [flow.source, flow.destination];
        let base = self.routes.base(scenario.fabric(), pair, self.payload);
        Some(base.standalone(flow.bytes.0, self.payload, headers.0))
    }

    /// The wires that the data of a flow crosses that is under way; `None` if switches have their own routes.
    pub fn path(&self, scenario: &Scenario, flow: &workload::Flow) -> Option<Vec<WireId>> {
        let ports = *self.under_way.get(&flow.id).filter(|_| self.routes_packets)?;
        Some(self.routes.path(scenario.fabric(), [flow.source, flow.destination], ports))
    }

    /// Forgets a flow that is complete.
    pub fn end_flow(&mut self, flow: u32) {
        self.under_way.remove(&flow);
    }

    /// Starts the flows of an instant.
    fn start_flows(&mut self, now: Picos) {
        while let Some(start) = self.starts.pop_front_if(|start| start.at == now) {
            self.queue.insert(now, start.host, What::Announced);
            self.announced.push_back(start);
        }
        let serial = self.queue.reserve();
        match self.starts.front() {
            Some(next) => self.queue.insert_as(serial, next.at, next.host, What::Starts),
            None => self.next_start = Some(serial),
        }
    }

    /// Decides if a frame is lost that arrives by a wire.
    #[inline]
    fn loses(&mut self, wire: WireId) -> bool {
        self.draws.as_mut().is_some_and(|draws| draws.loses(wire))
    }

    /// Uses up the random numbers of PFC frames.
    #[inline]
    fn skip(&mut self, frames: usize) {
        if let Some(draws) = &mut self.draws {
            draws.skip(frames);
        }
    }
}

/// The queue as a host sees it.
struct HostQueue<'a> {
    queue: &'a mut Queue,
    node: u32,
}

impl Schedule for HostQueue<'_> {
    #[inline]
    fn schedule(&mut self, at: Nanos, timer: Timer) {
        self.queue.insert(Picos::from_nanos(at), self.node, What::Timer(timer));
    }

    fn reserve(&mut self) -> u64 {
        self.queue.reserve()
    }

    fn schedule_as(&mut self, place: u64, at: Nanos, timer: Timer) {
        self.queue.insert_as(place, Picos::from_nanos(at), self.node, What::Timer(timer));
    }
}

impl<W: Wires> Part<W> {
    /// Runs all events before the end of a window, in the order of their insertion.
    pub fn run_in_order(
        &mut self,
        window: Window,
        order: &mut InOrder,
    ) -> Result<(), DatapathError> {
        if window.opening != Opening::default() {
            let hosts = self.hosts.len();
            (hosts..hosts + self.switches.len()).for_each(|index| self.open(index, window));
        }
        while let Some(event) = order.queue.pop(window.end) {
            self.run_event(order, &event)?;
        }
        Ok(())
    }

    fn run_event(&mut self, order: &mut InOrder, event: &Event) -> Result<(), DatapathError> {
        order.samples.take_before(event, &mut order.queue);
        let (now, node) = (event.at(), event.node);
        let hosts = self.hosts.len();
        let core = &mut self.core;
        match event.what {
            What::Starts => order.start_flows(now),
            What::Announced => order.queue.insert(now, node, What::Begins),
            What::Begins => {
                let start = order.announced.pop_front().expect("an announced flow begins once");
                self.hosts[node as usize].begin(core, order, now, start);
            }
            _ if (node as usize) < hosts => {
                let host = &mut self.hosts[node as usize];
                let completed = host.run_event(core, order, event)?;
                if let Some(flow) = completed {
                    // At the same instant, so that a late duplicate begins anew there.
                    let receiver = flow.destination.wrapping_sub(FIRST_HOST_ADDRESS);
                    self.hosts[receiver as usize].forget(core, now, &flow);
                }
            }
            _ => self.switches[node as usize - hosts].run_event(core, order, event)?,
        }
        Ok(())
    }
}
