//! Passes the notes of a fabric's parts to the record, and keeps counters beside it.

use std::collections::BTreeMap;

use fabric_core::drop_reason::{DropClass, DropReason};
use fabric_core::hop_control::{HopControl, LINE_RATE};
use fabric_core::lossy::state::ONE_QUEUE;
use fabric_core::priority::{self, Priority};
use fabric_core::scheme::FlowUse;
use host_agent::{HostEvent, SenderState};
use results::{
    BufferLevel, DropRow, EgressQueueRow, FIRST_SOURCE_PORT, FlowQueuesRow, FlowTablesRow,
    FlowTraceRow, HeldFlowRow, LinkDelayRow, LossyQueueRow, PauseReceived, PauseRow, PortStateRow,
    QueuePauseRow, QueueRow, RateRow, Record, Recorded, ResultsError, WatchdogRow, WireLogRecord,
};
use scenario::Scenario;
use switch_user::switch::{Event, Storm};
use topology::{HostId, NodeId, NodeKind, SwitchId, WireId};
use units::{BitsPerSecond, Bytes, Nanos, Picos};
use workload::{Flow, PortCounts};

use super::MAX_WINDOW;
use super::flow_decisions::FlowDecisions;
use super::journal::{Entry, LossySample, Note, SampledCounter};

/// The instant that a run has completely processed when it has reached `time`: nodes may have run on to the end of
/// an unfinished window.
fn certain_at(time: Nanos) -> Nanos {
    Nanos(time.0.saturating_sub(MAX_WINDOW.to_nanos_ceil().0))
}

/// The record of a run, with counters kept beside it.
pub struct Recorder<'a> {
    scenario: &'a Scenario,
    /// The record.
    pub record: Record,
    /// Lossless packets that switches dropped, by switch and reason.
    pub lossless_drops: BTreeMap<(u32, DropReason), u64>,
    /// PAUSE frames lost by faults, by switch.
    pub lost_pauses: BTreeMap<u32, u64>,
    /// Sentences on flows whose receivers lack bytes.
    pub misdelivered: Vec<String>,
    /// Pauses of flows that switches have sent (OFC).
    pub flow_decisions: FlowDecisions,
    /// Source ports of flows in HPCC's files, if hosts do not have them, by pair of hosts.
    source_ports: PortCounts<(HostId, HostId)>,
    /// True if the fabric continues without results when they cannot be written.
    pub survives: bool,
    /// Error that made writing fail.
    pub lost: Option<ResultsError>,
}

impl<'a> Recorder<'a> {
    /// A recorder without records.
    pub fn new(scenario: &'a Scenario, record: Record) -> Self {
        Self {
            scenario,
            record,
            lossless_drops: BTreeMap::new(),
            lost_pauses: BTreeMap::new(),
            misdelivered: Vec::new(),
            flow_decisions: FlowDecisions::default(),
            source_ports: PortCounts::default(),
            survives: false,
            lost: None,
        }
    }

    /// Takes the next source port of a flow's pair of hosts, if a file has it.
    pub fn count_source_port(&mut self, flow: &Flow) -> u16 {
        match self.scenario.results.hpcc {
            None => FIRST_SOURCE_PORT,
            Some(_) => self.source_ports.take((flow.source, flow.destination), FIRST_SOURCE_PORT),
        }
    }

    /// Records one note. Notes come in the order of time.
    pub fn record_note(&mut self, entry: &Entry) -> Result<(), ResultsError> {
        let result = self.record_entry(entry);
        self.survive(result)
    }

    /// True if a switch has paused this flow at a neighbour since the flow started; `None` if switches do not pause
    /// flows.
    pub fn is_congested(&self, flow: &Flow) -> Option<bool> {
        if !self.scenario.switch.pauses_flows() {
            return None;
        }
        let paused = self.flow_decisions.paused_at(self.scenario.flow_name(flow));
        Some(paused.is_some_and(|at| at >= flow.start))
    }

    /// Records a row of a table.
    pub fn add<R: Recorded>(&mut self, row: &R) -> Result<(), ResultsError> {
        let result = self.record.add(row);
        self.survive(result)
    }

    /// Records frames that were sent on wires.
    pub fn wires<'r>(
        &mut self,
        logged: impl Iterator<Item = &'r WireLogRecord>,
    ) -> Result<(), ResultsError> {
        let result = self.record.wire_log(logged);
        self.survive(result)
    }

    /// Gives up the results if writing failed and the fabric is to continue.
    fn survive(&mut self, result: Result<(), ResultsError>) -> Result<(), ResultsError> {
        match result {
            Err(error) if self.survives => {
                self.record.abandon_folder();
                self.lost.get_or_insert(error);
                Ok(())
            }
            result => result,
        }
    }

    fn record_entry(&mut self, entry: &Entry) -> Result<(), ResultsError> {
        let Self { scenario, record, .. } = self;
        let fabric = scenario.fabric();
        let (at, time) = (entry.at, entry.at.to_nanos());
        let node = fabric.node(entry.node).name.as_str();
        let peer = |port| fabric.node(fabric.peer(entry.node, port).node).name.as_str();
        match entry.what {
            Note::Delivered { flow, bytes } => record.delivered(at, flow, bytes),
            Note::Misdelivered { flow, delivered, bytes } => {
                let has = format!("its receiver has {delivered} of {bytes} bytes");
                self.misdelivered.push(format!("flow {flow} completed, but {has}"));
                Ok(())
            }
            Note::Switch(ref event) => self.switch_event(entry, event),
            Note::Host(ref event) => self.host_event(entry, event),
            Note::SampledTables { port, rows } => {
                record.flow_tables(&FlowTablesRow { time, node, port, rows });
                Ok(())
            }
            Note::Held { port, queue, flow } => {
                record.add(&HeldFlowRow { time, node, port, by: peer(port), queue, flow })
            }
            Note::Lost { wire, priority, length, is_pause, reason } => {
                if is_pause {
                    self.count_lost_pause(fabric.wire(wire).from);
                }
                self.lost(entry, wire, (priority, reason, length))
            }
            Note::Sampled(ref counters) => {
                counters.iter().try_for_each(|counter| record.add(&queue_row(time, node, counter)))
            }
            Note::SampledPeak { since, total, headroom } => {
                record.buffer_peak(node, since.to_nanos(), time, BufferLevel { total, headroom });
                Ok(())
            }
            Note::SampledQueue { port, priority, queue, bytes } => {
                let bytes = Bytes(bytes);
                record.add(&EgressQueueRow { time, node, port, priority, queue, bytes })
            }
            Note::SampledLossy { port, priority, queue, ref sample } => {
                record.add(&lossy_queue_row(time, node, (port, priority, queue), sample))
            }
            Note::SampledFlows { port, flows } => {
                record.add(&flow_queues_row(time, node, port, &flows))
            }
            Note::Captured { interface, ref bytes, dropped } => {
                let comment = dropped.map(capture_comment);
                record.capture(interface, time, bytes, comment.as_deref())
            }
            Note::PausesChanged { .. } => unreachable!("the engine acts on it"),
        }
    }

    /// Records a received class of a PFC frame, or a watchdog's end of a pause.
    fn pause_received(
        &mut self,
        entry: &Entry,
        port: u16,
        priority: Priority,
        (until, quanta): (Nanos, Option<u16>),
    ) -> Result<(), ResultsError> {
        let (fabric, time) = (self.scenario.fabric(), entry.at.to_nanos());
        let wire = fabric.wire(fabric.node(entry.node).ports[usize::from(port)].reverse());
        let response = self.scenario.pause_response_ns(wire.to, wire.rate);
        self.record.pause_received(&PauseReceived {
            time,
            node: &fabric.node(entry.node).name,
            port: wire.to_port,
            by: &fabric.node(wire.from).name,
            priority: priority.number(),
            binds: Nanos(time.0 + response.0),
            until,
            quanta,
        })
    }

    /// Records a frame that was lost on a wire, or arrived damaged.
    fn lost(
        &mut self,
        entry: &Entry,
        wire: WireId,
        (priority, reason, length): (Option<u8>, DropReason, u32),
    ) -> Result<(), ResultsError> {
        let fabric = self.scenario.fabric();
        let wire = fabric.wire(wire);
        let (place, port) = match reason {
            DropReason::Corrupted => (&fabric.node(entry.node).name, Some(wire.to_port)),
            _ => (&wire.name, None),
        };
        let row = drop_row(entry.at.to_nanos(), place, port, priority, reason, length);
        self.record.add(&row)
    }

    /// Counts a PAUSE that was lost on the way from a node.
    fn count_lost_pause(&mut self, from: NodeId) {
        if let NodeKind::Switch(SwitchId(switch)) = self.scenario.fabric().node(from).kind {
            *self.lost_pauses.entry(switch).or_default() += 1;
        }
    }

    /// Records a PFC storm that is over, or that lasts until the run's end, at `now`.
    pub fn storm(&mut self, node: NodeId, storm: &Storm, now: Picos) -> Result<(), ResultsError> {
        let Self { scenario, record, .. } = self;
        let fabric = scenario.fabric();
        let Storm { port, priority, detected, restored, .. } = *storm;
        let action = scenario.switch.watchdog.map_or("", |watchdog| watchdog.action.name());
        let row = WatchdogRow {
            detected: detected.to_nanos(),
            restored: restored.map(Picos::to_nanos),
            node: &fabric.node(node).name,
            port,
            peer: &fabric.node(fabric.peer(node, port).node).name,
            priority: priority.number(),
            action,
            waiting: storm.waiting,
            egress_dropped: storm.egress_dropped,
            ingress_dropped: storm.ingress_dropped,
            forwarded: storm.forwarded,
        };
        record.storm(&row, now.to_nanos())
    }
}

impl Recorder<'_> {
    /// Adds the rows of a switch's event.
    fn switch_event(&mut self, entry: &Entry, event: &Event) -> Result<(), ResultsError> {
        let fabric = self.scenario.fabric();
        let (time, node) = (entry.at.to_nanos(), fabric.node(entry.node).name.as_str());
        let peer = |port| fabric.node(fabric.peer(entry.node, port).node).name.as_str();
        match *event {
            Event::Pause { port, classes, event, state, ref order } => priority::in_mask(classes)
                .try_for_each(|priority| {
                    self.record.add(&PauseRow {
                        time,
                        node,
                        port,
                        peer: peer(port),
                        peer_port: fabric.peer(entry.node, port).port,
                        priority: priority.number(),
                        event,
                        level: order.level,
                        occupancy: Bytes(order.occupancy_bytes),
                        threshold: Bytes(order.threshold_bytes),
                        shared_free: Bytes(order.shared_free_bytes),
                        state,
                    })
                }),
            Event::Ordered { port, ref order } => match order.control {
                HopControl::Queue { queue, paused } => self.record.add(&QueuePauseRow {
                    time,
                    node,
                    port,
                    peer: peer(port),
                    queue: queue.number(),
                    paused,
                    length: Bytes(order.occupancy_bytes),
                    threshold: Bytes(order.threshold_bytes),
                }),
                HopControl::Rate { priority, kilobits_per_second: rate } => {
                    let limit = BitsPerSecond(u64::from(rate) * 1000);
                    self.record.add(&RateRow {
                        time,
                        node,
                        port,
                        peer: peer(port),
                        priority: priority.number(),
                        rate: (rate != LINE_RATE).then_some(limit),
                        occupancy: Bytes(order.occupancy_bytes),
                        threshold: Bytes(order.threshold_bytes),
                    })
                }
                HopControl::Flows { .. } => {
                    let rows = self.flow_decisions.record(self.scenario, entry, port, order);
                    rows.iter().try_for_each(|row| self.record.add(row))
                }
                HopControl::Classes(_) | HopControl::Queues { .. } => Ok(()),
            },
            Event::PauseReceived { port, priority, until, quanta } => {
                self.pause_received(entry, port, priority, (until, quanta))
            }
            Event::Dropped { port, reason, priority, length } => {
                let priority = priority.map(Priority::number);
                self.count_drop(entry.node, priority, reason);
                self.record.add(&drop_row(time, node, Some(port), priority, reason, length))
            }
            Event::StateChanged { port, priority, cause } => {
                let priority = priority.map(Priority::number);
                let row = PortStateRow { time, node, port, priority, cause };
                self.record.port_state(&row, certain_at(time))
            }
            Event::StormRestored(ref storm) => self.storm(entry.node, storm, entry.at),
            Event::HeadroomChanged { port, headroom, measured } => self.record.add(&LinkDelayRow {
                time,
                node,
                port,
                peer: peer(port),
                link_delay: measured.map(|measured| measured.link_delay()),
                response: measured.map(|measured| measured.response),
                headroom,
            }),
            Event::Admitted(_)
            | Event::Departed(_)
            | Event::PfcQueued(_)
            | Event::PausesTested { .. }
            | Event::StormDetected(_) => Ok(()),
        }
    }

    /// Adds the rows of a host's event.
    fn host_event(&mut self, entry: &Entry, event: &HostEvent) -> Result<(), ResultsError> {
        match *event {
            HostEvent::SenderChanged { flow, at, ref state } => {
                let SenderState { rate, window, congestion_millionths, round_trip, outstanding } =
                    **state;
                self.record.flow_trace(&FlowTraceRow {
                    time: at.to_nanos(),
                    flow,
                    rate,
                    window,
                    round_trip: round_trip.map(Picos::to_nanos_ceil),
                    congestion_millionths,
                    outstanding,
                })
            }
            HostEvent::PauseReceived { priority, until, quanta, .. } => {
                self.pause_received(entry, 0, priority, (until, Some(quanta)))
            }
            HostEvent::FlowDelivered { .. } => unreachable!("it is not noted"),
            HostEvent::FlowCompleted { .. } => unreachable!("the engine acts on it"),
        }
    }

    /// Counts lossless packets that a switch drops, except for drops that the scenario asks for.
    fn count_drop(&mut self, node: NodeId, priority: Option<u8>, reason: DropReason) {
        if matches!(reason.class(), DropClass::Injected | DropClass::Watchdog) {
            return;
        }
        let is_lossless = |priority| self.scenario.switch.lossless.contains(priority);
        if priority.is_some_and(is_lossless)
            && let NodeKind::Switch(SwitchId(switch)) = self.scenario.fabric().node(node).kind
        {
            *self.lossless_drops.entry((switch, reason)).or_default() += 1;
        }
    }
}

fn queue_row<'a>(time: Nanos, node: &'a str, counter: &SampledCounter) -> QueueRow<'a> {
    let SampledCounter { kind, port, priority, bytes } = *counter;
    QueueRow { time, node, kind, port, priority, bytes: Bytes(bytes) }
}

fn drop_row(
    time: Nanos,
    node: &str,
    port: Option<u16>,
    priority: Option<u8>,
    reason: DropReason,
    length: u32,
) -> DropRow<'_> {
    DropRow { time, node, port, priority, bytes: Bytes(length.into()), reason }
}

fn lossy_queue_row<'a>(
    time: Nanos,
    node: &'a str,
    (port, priority, queue): (u16, u8, u8),
    of: &LossySample,
) -> LossyQueueRow<'a> {
    let thousandths = u64::from(of.congested) * 1000 / u64::from(ONE_QUEUE);
    LossyQueueRow {
        time,
        node,
        port,
        priority,
        queue,
        bytes: Bytes(of.bytes),
        threshold: of.threshold.map(Bytes),
        longest_wait: of.longest_wait,
        congested_thousandths: u32::try_from(thousandths).unwrap_or(u32::MAX),
    }
}

fn flow_queues_row<'a>(time: Nanos, node: &'a str, port: u16, of: &FlowUse) -> FlowQueuesRow<'a> {
    let FlowUse { flows, queues, paused, pausing, activations, collisions } = *of;
    FlowQueuesRow { time, node, port, flows, queues, paused, pausing, activations, collisions }
}

/// Comment of a dropped frame in a capture.
pub fn capture_comment(reason: DropReason) -> String {
    format!("dropped: {}", reason.name())
}
