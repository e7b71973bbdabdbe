//! Commands to hosts: start and end of flows, at both of their hosts, and PFC storms.

use host_agent::SenderCounts;
use results::{FlowRow, FlowStart, Standalone, WireLogRecord};
use scenario::Scenario;
use topology::{HostId, NodeKind};
use units::Picos;
use workload::Flow;

use super::host_node::Command;
use super::part::{Part, Window};
use super::{Engine, RunError};
use crate::datapath::Wires;
use crate::hpcc_options::standalone;
use crate::partition::Place;
use crate::{paths, queue_pairs};

/// Max number of flows that start in a window, unless they start at one instant.
const MAX_STARTS: u64 = 1 << 14;

impl<W: Wires> Engine<'_, W> {
    /// Sends hosts the flows that start in `window`. Ends the window earlier if there are too many, so that the run
    /// can be interrupted between them. Returns the number of flows.
    pub(super) fn start_flows(&mut self, window: &mut Window) -> u64 {
        let mut started = 0;
        while let Some(start) = self.stream.next_start().filter(|&start| start < window.end) {
            if started >= MAX_STARTS && start > window.start {
                window.end = start;
                break;
            }
            started += 1;
            let flow = self.stream.next().expect("it has a start");
            self.start_flow(flow);
        }
        started
    }

    /// Sends a flow to its hosts.
    pub(super) fn start_flow(&mut self, flow: Flow) {
        self.classes |= 1 << flow.priority;
        let fabric = self.scenario.fabric();
        let ends = [flow.source, flow.destination].map(|host| fabric.host_node(host));
        let Part { in_order, core, .. } = &mut *self.parts[0];
        let of_order = in_order.as_mut().and_then(|order| {
            let ends = ends.map(|node| self.partition.place(node).index);
            order.add_flow(core.queue(), self.scenario, &flow, ends);
            order.standalone(self.scenario, &flow)
        });
        if in_order.is_none() {
            let (request, responder) = queue_pairs::queue_pair(self.scenario, &flow);
            self.command(flow.destination, flow.start, Command::Open(responder));
            let trace = self.scenario.results.flow_trace.as_ref();
            let traced = trace.is_some_and(|trace| trace.covers(&flow.label));
            self.command(flow.source, flow.start, Command::Start { request, traced });
        }
        let standalone =
            of_order.or_else(|| standalone(self.scenario, &flow).map(Standalone::from));
        let ports = self.scenario.host.ns3.is_some().then(|| self.scenario.udp_ports(&flow));
        let source_port = match ports {
            Some([source, _]) => source,
            None => self.recorder.count_source_port(&flow),
        };
        self.recorder.record.flow_started(&FlowStart {
            flow: flow.id,
            label: &flow.label,
            src: &fabric.host(flow.source).name,
            dst: &fabric.host(flow.destination).name,
            standalone,
            source_port,
            destination_port: ports.map(|[_, destination]| destination),
        });
        if self.scenario.results.port_queues {
            let (path, _) = self.scenario.path_of(&flow);
            let ports = path.iter().map(|&wire| fabric.ends(wire)).filter_map(|ends| {
                let NodeKind::Switch(switch) = ends.from else { return None };
                Some((fabric.switch(switch).name.as_str(), ends.from_port))
            });
            self.recorder.record.flow_path(&flow.label, ports);
        }
        if self.scenario.switch.pauses_flows() {
            self.recorder.flow_decisions.start(self.scenario, &flow);
        }
        if self.is_of_window(&flow) {
            self.flows_of_window += 1;
            self.window_had_flows = true;
        }
        self.active.insert(flow.id, flow);
    }

    /// True if a flow starts in the scenario's window and has an end.
    fn is_of_window(&self, flow: &Flow) -> bool {
        let window = self.scenario.results.window();
        !flow.long_lived && window.is_some_and(|window| window.contains(flow.start))
    }

    /// Sends the scenario's PFC storms to the hosts.
    pub(super) fn announce_storms(&mut self) {
        let scenario = self.scenario;
        for storm in &scenario.storms {
            let host = scenario.fabric().host_named(&storm.host);
            let host = host.expect("a scenario's storms name hosts");
            let (classes, end) = (storm.priorities().0, storm.end());
            self.command(host, storm.at, Command::BeginStorm { classes, end });
        }
    }

    pub(super) fn command(&mut self, host: HostId, at: Picos, command: Command) {
        let Place { part, index } = self.partition.place(self.scenario.fabric().host_node(host));
        let part = &mut self.parts[part as usize];
        part.hosts[index as usize].command(at, command);
        part.core.wake(index, at);
    }

    /// Handles the last ACK of a flow at its sender.
    pub(super) fn complete_flow(
        &mut self,
        number: u32,
        at: Picos,
        counts: SenderCounts,
    ) -> Result<(), RunError> {
        let flow = self.active.remove(&number).expect("a flow that completes has started");
        let (request, _) = queue_pairs::queue_pair(self.scenario, &flow);
        // Closed in a later window, so that the order of nodes in this window does not matter.
        let close = Command::Close { flow: number, qp: request.qp, bytes: flow.bytes.0 };
        if self.scenario.host.ns3.is_none() {
            self.command(flow.destination, at + self.lookahead, close);
        }
        self.flows_completed += 1;
        self.flows_of_window -= u64::from(self.is_of_window(&flow));
        let congested = self.recorder.is_congested(&flow);
        let row = flow_row(self.scenario, &flow, Some(at), counts);
        let row = FlowRow { congested, ..row };
        #[cfg(feature = "kernel")]
        self.notify_waiter(&row);
        self.recorder.add(&row)?;
        self.prune_flow_decisions();
        if self.scenario.results.explain {
            let logged = WireLogRecord::for_flow(number, flow.start, Some(at));
            self.recorder.wires(std::iter::once(&logged))?;
        }
        Ok(())
    }

    /// Records the rows of flows that have not completed.
    pub(super) fn record_unfinished(&mut self) -> Result<(), RunError> {
        for flow in self.active.values() {
            let (request, _) = queue_pairs::queue_pair(self.scenario, flow);
            let place = self.partition.place(self.scenario.fabric().host_node(flow.source));
            let sender = &mut self.parts[place.part as usize].hosts[place.index as usize];
            let counts = sender.sender_counts(request.qp).unwrap_or_default();
            let congested = self.recorder.is_congested(flow);
            let row = flow_row(self.scenario, flow, None, counts);
            self.recorder.add(&FlowRow { congested, ..row })?;
            if self.scenario.results.explain {
                let logged = WireLogRecord::for_flow(flow.id, flow.start, None);
                self.recorder.wires(std::iter::once(&logged))?;
            }
        }
        Ok(())
    }
}

/// Row of a flow; `completed` is `None` if it did not complete. The caller adds if the flow was paused.
pub(super) fn flow_row<'a>(
    scenario: &'a Scenario,
    flow: &'a Flow,
    completed: Option<Picos>,
    counts: SenderCounts,
) -> FlowRow<'a> {
    let fabric = scenario.fabric();
    let transport = paths::transport(scenario, flow);
    FlowRow {
        flow: flow.id,
        label: &flow.label,
        src: &fabric.host(flow.source).name,
        dst: &fabric.host(flow.destination).name,
        priority: flow.priority,
        transport: transport.name(),
        congestion_control: match &scenario.host.ns3 {
            None => transport.congestion_control().name(),
            Some(hosts) => hosts.control.name(),
        },
        bytes: flow.bytes,
        start: flow.start.to_nanos(),
        fct: completed.map(|at| at.since(flow.start).to_nanos_ceil()),
        ideal: paths::ideal(scenario, flow).to_nanos_ceil(),
        retransmitted_packets: counts.retransmitted_packets,
        cnps: counts.notifications,
        long_lived: flow.long_lived,
        path: paths::nodes(fabric, flow, &scenario.path_of(flow).0),
        congested: None,
    }
}
