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
//! Hosts are those of HPCC's simulator ([`host_agent::ns3`]), or xoff's own.

#[cfg(test)]
mod conweave_tests;
#[cfg(test)]
mod datacenter_tests;
mod draws;
mod failure;
#[cfg(test)]
mod failure_tests;
mod hash_table;
mod host;
mod mrg32k3a;
mod pauses;
mod queue;
mod samples;
mod switch;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::VecDeque;
use std::sync::Arc;

use fabric_core::drop_reason::DropReason;
use fabric_core::map_abi::FIRST_HOST_ADDRESS;
use fabric_core::priority::Priority;
use host_agent::ns3::{self, Paths, Schedule, Settings, Timer};
use host_agent::{FlowRequest, ResponderRequest};
use results::Standalone;
use scenario::{BasePath, Numbers, Order, Scenario, SimulatorRoutes, flow_routes};
use topology::WireId;
use units::{Nanos, Picos};

use super::arrivals::Arrival;
use super::part::{Opening, Part, Window};
use crate::datapath::{DatapathError, Wires};
use crate::queue_pairs;
use draws::Draws;
use failure::Failure;
use pauses::Pauses;
use queue::Event;
pub use queue::{Queue, What};
use samples::Samples;
use turns::Turns;

/// A flow that starts, and its sender by its index in the part.
#[derive(Clone, Debug)]
struct Start {
    at: Picos,
    host: u32,
    flow: Starting,
}

/// Request for a flow.
#[derive(Clone, Debug)]
enum Starting {
    /// To hosts of HPCC's simulator.
    Simulated(ns3::Flow),
    /// To xoff's own hosts.
    Own {
        request: FlowRequest,
        responder: ResponderRequest,
        /// The receiver, by its index in the part.
        receiver: u32,
        traced: bool,
    },
}

/// Hosts of HPCC's simulator, and the routes from which their base values follow.
#[derive(Debug)]
struct Simulated {
    settings: Settings,
    routes: Arc<SimulatorRoutes>,
    payload: u64,
}

/// State of the driver.
#[derive(Debug)]
pub struct InOrder {
    /// Samples of queue lengths, which are events without an effect on others.
    samples: Samples,
    /// The simulator's hosts, unless hosts are xoff's own.
    simulated: Option<Simulated>,
    /// Flows that start later, in order.
    starts: VecDeque<Start>,
    /// Number of the event that starts flows, while no flow is known.
    next_start: Option<u64>,
    /// Flows that have been announced.
    announced: VecDeque<Start>,
    /// Random numbers, if they are the simulator's.
    draws: Option<Draws>,
    /// Ends of pauses.
    pauses: Pauses,
    /// Turns of PFC frames, if they wait behind control packets.
    turns: Option<Turns>,
    /// The failure of a link.
    failure: Option<Failure>,
}

impl InOrder {
    /// The driver of a scenario, and its queue of events; `None` if its events run in another order.
    pub fn new(scenario: &Scenario) -> Option<(Box<Self>, Queue)> {
        if scenario.order == Order::Nodes {
            return None;
        }
        let mut queue = Queue::default();
        // Before a run there are the first start of flows, the failure of a link, the queue monitor, and the end of the run.
        let first = queue.reserve();
        let failure = Failure::new(scenario, &mut queue);
        let [monitor, _end] = [(); 2].map(|()| queue.reserve());
        let simulated = |settings| Simulated {
            settings,
            routes: scenario.simulator_routes().expect("these hosts have them").clone(),
            payload: scenario.host.payload.0,
        };
        let driver = Self {
            samples: Samples::new(scenario, monitor),
            simulated: scenario.host.ns3.map(simulated),
            starts: VecDeque::new(),
            next_start: Some(first),
            announced: VecDeque::new(),
            draws: (scenario.numbers != Numbers::Seed).then(|| Draws::new(scenario)),
            pauses: Pauses::new(scenario),
            failure,
            turns: scenario.switch.scheme.shares_control_queue().then(Turns::default),
        };
        Some((Box::new(driver), queue))
    }

    /// Adds a flow between two hosts of the part. Flows come in the order of their starts, all of an instant before it.
    pub fn add_flow(
        &mut self,
        queue: &mut Queue,
        scenario: &Scenario,
        flow: &workload::Flow,
        [host, receiver]: [u32; 2],
    ) {
        let starting = if let Some(simulated) = &self.simulated {
            Starting::Simulated(simulated.request(scenario, flow))
        } else {
            let (request, responder) = queue_pairs::queue_pair(scenario, flow);
            let trace = scenario.results.flow_trace.as_ref();
            let traced = trace.is_some_and(|trace| trace.covers(&flow.label));
            Starting::Own { request, responder, receiver, traced }
        };
        self.starts.push_back(Start { at: flow.start, host, flow: starting });
        if let Some(serial) = self.next_start.take() {
            queue.insert_as(serial, flow.start, host, What::Starts);
        }
    }

    /// The simulator's completion time of a flow alone on its path, if the scenario asks for it and hosts are the
    /// simulator's. After the failure of a link the least rate is another path's.
    pub fn standalone(&self, scenario: &Scenario, flow: &workload::Flow) -> Option<Standalone> {
        let headers = scenario.results.hpcc.as_ref()?.standalone_headers?.0;
        let Simulated { routes, payload, .. } = self.simulated.as_ref()?;
        let base = |routes: &SimulatorRoutes| {
            routes.base(scenario.fabric(), [flow.source, flow.destination], *payload)
        };
        let usual = base(routes);
        let time = |of: BasePath| of.standalone(flow.bytes.0, *payload, headers);
        let later = self.failure.as_ref().map(|failure| {
            let rate = base(&failure.routes).rate;
            (failure.link.at.to_nanos(), time(BasePath { rate, ..usual }))
        });
        Some(Standalone { time: time(usual), later })
    }

    /// Starts the flows of an instant.
    fn start_flows(&mut self, queue: &mut Queue, now: Picos) {
        while let Some(start) = self.starts.pop_front_if(|start| start.at == now) {
            queue.insert(now, start.host, What::Announced);
            self.announced.push_back(start);
        }
        let serial = queue.reserve();
        match self.starts.front() {
            Some(next) => queue.insert_as(serial, next.at, next.host, What::Starts),
            None => self.next_start = Some(serial),
        }
    }

    /// Decides if a frame is lost that arrives by a wire.
    #[inline]
    fn loss(&mut self, arrival: &Arrival, wire: WireId) -> Option<DropReason> {
        if self.is_dead(wire) {
            self.count_dead(wire);
            return Some(DropReason::LinkDown);
        }
        if arrival.is_damaged() {
            return Some(DropReason::Corrupted);
        }
        let is_lost = self.draws.as_mut().is_some_and(|draws| draws.loses(wire));
        is_lost.then_some(DropReason::InjectedLoss)
    }

    /// Uses up the random numbers of PFC frames.
    #[inline]
    fn skip(&mut self, frames: usize) {
        if let Some(draws) = &mut self.draws {
            draws.skip(frames);
        }
    }
}

impl Simulated {
    /// Request for a flow to its sender.
    fn request(&self, scenario: &Scenario, flow: &workload::Flow) -> ns3::Flow {
        let (rtt, window) = match self.settings.paths {
            Paths::Longest => self.routes.longest,
            Paths::Own => {
                let pair = [flow.source, flow.destination];
                let base = self.routes.base(scenario.fabric(), pair, self.payload);
                (base.rtt, base.product())
            }
        };
        let [source_port, destination_port] = scenario.udp_ports(flow);
        let fabric = scenario.fabric();
        let line = fabric.wire(fabric.host(flow.source).ports[0]).rate;
        ns3::Flow {
            flow: flow.id,
            qp: flow_routes::queue_pair(flow.id),
            destination: FIRST_HOST_ADDRESS + flow.destination.0,
            source_port,
            destination_port,
            priority: Priority::new(flow.priority),
            bytes: flow.bytes.0,
            window: self.settings.window(window, rtt, line),
            base_rtt: Nanos(rtt),
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
        while let Some(event) = self.core.queue().pop(window.end) {
            self.run_event(order, &event)?;
        }
        Ok(())
    }

    fn run_event(&mut self, order: &mut InOrder, event: &Event) -> Result<(), DatapathError> {
        let core = &mut self.core;
        order.samples.take_before(event, core.queue());
        let (now, node) = (event.at(), event.node);
        let hosts = self.hosts.len();
        match event.what {
            What::Starts => order.start_flows(core.queue(), now),
            What::Announced => core.queue().insert(now, node, What::Begins),
            What::LinkDown => self.take_link_down(order, now),
            What::Begins => {
                let start = order.announced.pop_front().expect("an announced flow begins once");
                if let Starting::Simulated(flow) = &start.flow {
                    order.note_created(start.host, flow);
                }
                if let Starting::Own { responder, receiver, .. } = &start.flow {
                    self.hosts[*receiver as usize].host.open_responder(responder);
                }
                self.hosts[node as usize].begin(core, now, &start);
            }
            _ if (node as usize) < hosts => {
                let host = &mut self.hosts[node as usize];
                let completed = host.run_event(core, order, event)?;
                if let Some(flow) = completed {
                    order.note_completed(node, &flow);
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
