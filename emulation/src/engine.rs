//! The engine: one event loop over (emulated time, order of scheduling) that drives hosts, switches and
//! wires on any datapath.
//!
//! Results depend on the order of events only: not on a wall clock, threads or the iteration of hash maps.
#![expect(
    clippy::cast_possible_truncation,
    reason = "ports, priorities, slots and lengths are packed into events and rows on every hop; what \
              is packed was checked when the fabric was built"
)]

mod books;
mod deadlock;
mod event;
mod event_queue;
mod faults;
mod headroom_study;
mod host_side;
mod losses;
mod off_state;
mod paused_lanes;
pub(crate) mod recorder;
mod sampler;
mod switch_side;
#[cfg(test)]
mod tests;
mod transmitter;
mod wait_graph;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use fabric_core::drop_reason::DropReason;
use host_agent::{Host, HostCounters};
use results::{DropRow, FlowRow, Record, ResultsError, RunEnd, Summary};
use scenario::{CaptureFilter, Scenario, Stop, ThresholdUpdate};
use switch_user::switch::Switch;
use switch_user::tables::SwitchTables;
use topology::{HostId, NodeKind, SwitchId, WireId};
use units::{Bytes, Nanos, Picos};
use workload::{Flow, FlowStream};

use crate::datapath::{
    Crossing, DatapathError, Deployed, FrameId, FrameKind, FrameStore, Orders, Wires,
};
use crate::host_settings;
use crate::paths;
use crate::stations;
use crate::switch_settings;

use deadlock::DeadlockWatch;
use event::Event;
use event_queue::EventQueue;
use host_side::{Completion, HostNode};
use recorder::{Recorder, drop_class};
use sampler::Sampler;
use switch_side::SwitchNode;
use transmitter::Transmitter;

/// Events between two looks at the interrupt flag and calls of the progress callback.
const EVENTS_PER_LOOK: u64 = 4096;

/// Why a run ended without results.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The substrate broke a promise.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// Results could not be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The user asked for it.
    #[error("interrupted at {at} of emulated time; nothing was written")]
    Interrupted {
        /// How far the run had come.
        at: Nanos,
    },
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Emulated time.
    pub now: Nanos,
    /// Flows that have completed.
    pub flows_completed: u64,
    /// Frames that have crossed a wire.
    pub packet_hops: u64,
}

/// Who watches a run.
pub struct Watch<'a> {
    /// Set when the run should end early.
    pub interrupted: &'a AtomicBool,
    /// Called now and then.
    pub progress: &'a mut dyn FnMut(Progress),
}

/// One run.
pub struct Engine<'a, W: Wires> {
    scenario: &'a Scenario,
    /// Flows that are still to start.
    stream: FlowStream,
    /// Flows that have started and are not done.
    active: BTreeMap<u32, Flow>,
    /// Carries the frames.
    medium: W,
    frames: W::Frames,
    hosts: Vec<HostNode>,
    switches: Vec<SwitchNode>,
    /// By wire.
    transmitters: Vec<Transmitter>,
    events: EventQueue,
    sampler: Sampler,
    deadlocks: DeadlockWatch,
    recorder: Recorder<'a>,
    /// Priorities that a packet has had, a bit each.
    classes: u8,
    now: Picos,
    /// Frames that are crossing a wire.
    in_flight: u64,
    /// Frames that have crossed a wire.
    packet_hops: u64,
    flows_completed: u64,
    injected_losses: u64,
    /// PAUSE frames among them.
    injected_pause_losses: BTreeMap<u32, u64>,
    misdelivered: Vec<String>,
    /// Hop control frames that the last arrival made due; a field so that its memory is reused.
    orders: Orders,
    scratch: Vec<u8>,
}

/// What a run leaves: its record, to be finished, what the engine counted, and the fabric.
pub struct Finished<W> {
    /// Rows and frames, streamed.
    pub record: Record,
    /// When the run ended.
    pub end: Picos,
    /// Counters.
    pub counted: Summary,
    /// The wires, still up.
    pub wires: W,
    /// The switches as they were left.
    pub switches: Vec<Switch<FrameId>>,
}

impl<'a, W: Wires> Engine<'a, W> {
    /// A run of `scenario` on a configured fabric. `captured` are the wires of the capture, in order.
    pub fn new(
        scenario: &'a Scenario,
        fabric: Deployed<W>,
        record: Record,
        captured: &[(WireId, CaptureFilter)],
    ) -> Self {
        let Deployed { frames, wires: medium, tables } = fabric;
        let as_agreed = |tables: &SwitchTables| tables.is_mapped() == W::SHARED;
        assert!(
            tables.iter().all(as_agreed),
            "eBPF works on the tables of a datapath or it does not"
        );
        let fabric = scenario.fabric();
        let hosts =
            (0..fabric.host_count()).map(|host| HostNode::new(scenario, HostId(host))).collect();
        let switches: Vec<SwitchNode> = (0..)
            .zip(tables)
            .map(|(switch, tables)| SwitchNode::new(scenario, SwitchId(switch), tables))
            .collect();
        let transmitters = fabric
            .wire_ends()
            .into_iter()
            .zip(stations::addresses(fabric))
            .zip(fabric.wires())
            .enumerate()
            .map(|(id, ((ends, addresses), wire))| {
                let interfaces = (0..)
                    .zip(captured)
                    .filter(|(_, (captured, _))| captured.0 as usize == id)
                    .map(|(interface, (_, filter))| (interface, *filter))
                    .collect();
                Transmitter::new(ends, addresses, wire, scenario, id, interfaces)
            })
            .collect();
        // What a wire schedules lies at most two serialisations and a propagation ahead.
        let ahead = fabric.wires().iter().map(|wire| {
            let longest = scenario.longest_frame().0 + scenario.switch.wire_overhead.0;
            wire.delay + wire.rate.serialise(2 * longest)
        });
        let ahead = ahead.max().unwrap_or_default();
        let mut engine = Self {
            scenario,
            stream: scenario.flow_stream(),
            active: BTreeMap::new(),
            medium,
            frames,
            hosts,
            sampler: Sampler::new(&switches, switch_settings::spread_classes(scenario)),
            switches,
            transmitters,
            events: EventQueue::new(ahead, fabric.wires().len()),
            deadlocks: DeadlockWatch::new(fabric),
            recorder: Recorder::new(scenario, record),
            classes: host_settings::control_classes(scenario),
            now: Picos::ZERO,
            in_flight: 0,
            packet_hops: 0,
            flows_completed: 0,
            injected_losses: 0,
            injected_pause_losses: BTreeMap::new(),
            misdelivered: Vec::new(),
            orders: Vec::new(),
            scratch: Vec::new(),
        };
        if switch_settings::measures_links(scenario) {
            // Before the first flow, so that ports measure their links before they send packets.
            engine.events.schedule(Picos::ZERO, Event::LinkDelays);
        }
        engine.schedule_next_flow();
        engine.events.schedule(Picos::ZERO, Event::Sample);
        if let ThresholdUpdate::Period(period) = scenario.switch.thresholds {
            engine.events.schedule(period, Event::ControlPlane);
        }
        engine
    }

    /// Runs until every flow is done and the fabric has drained, the scenario's duration is over, or it
    /// asks to stop at a deadlock and there is one.
    pub fn run(mut self, watch: &mut Watch<'_>) -> Result<Finished<W>, RunError> {
        let mut handled = 0u64;
        let mut end = RunEnd::Duration;
        let stops_at_deadlock = self.scenario.stop == Stop::Deadlock;
        while let Some((time, event)) = self.events.pop() {
            if time > self.scenario.duration {
                // It never happens, and is among what remains.
                self.events.schedule(time, event);
                self.now = self.scenario.duration;
                break;
            }
            debug_assert!(time >= self.now, "time does not run backwards");
            self.now = time;
            self.handle(event)?;
            handled += 1;
            if handled.is_multiple_of(EVENTS_PER_LOOK) {
                if watch.interrupted.load(Ordering::Relaxed) {
                    return Err(RunError::Interrupted { at: self.now.to_nanos() });
                }
                (watch.progress)(self.progress());
            }
            if self.has_drained() {
                end = RunEnd::Drained;
                break;
            }
            if stops_at_deadlock && self.deadlocks.is_deadlocked() {
                end = RunEnd::Deadlock;
                break;
            }
        }
        (watch.progress)(self.progress());
        self.finish(end)
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now.to_nanos(),
            flows_completed: self.flows_completed,
            packet_hops: self.packet_hops,
        }
    }

    /// Whether no flow is left and no frame is on its way.
    fn has_drained(&self) -> bool {
        self.active.is_empty()
            && self.stream.next_start().is_none()
            && self.in_flight == 0
            && self.switches.iter().all(|node| node.switch.queues().total_packets() == 0)
            && self.hosts.iter().all(|node| node.host.is_idle())
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) -> Result<(), RunError> {
        match event {
            Event::Arrival { wire, frame } => self.arrive(wire, frame),
            Event::PortFree { wire } => {
                self.transmitters[wire as usize].free_scheduled = false;
                self.kick(wire)
            }
            Event::HostReady { host } => self.host_ready(host),
            Event::HostTimer { host } => self.host_timer(host),
            Event::FlowStart => self.start_next_flow(),
            Event::SwitchTimer { switch } => self.switch_timer(switch),
            Event::PauseSettled { wire, class } => {
                self.pause_settled(wire, class);
                Ok(())
            }
            Event::DeadlockLook => {
                self.look_for_deadlock();
                Ok(())
            }
            Event::LinkDelays => {
                let period = self.scenario.switch.headroom.measurement_period();
                self.measure_links(period.expect("only switches that measure links schedule it"))
            }
            Event::Sample => {
                let now = self.now.to_nanos();
                self.sampler.sample(
                    self.scenario.fabric(),
                    now,
                    &self.switches,
                    self.classes,
                    &mut self.recorder.record,
                )?;
                self.events.schedule(self.now + self.scenario.results.queue_period, Event::Sample);
                Ok(())
            }
            Event::ControlPlane => {
                for node in &mut self.switches {
                    node.switch.observe(self.now);
                }
                if let ThresholdUpdate::Period(period) = self.scenario.switch.thresholds {
                    self.events.schedule(self.now + period, Event::ControlPlane);
                }
                Ok(())
            }
        }
    }

    /// Lets the sender of a wire use it, if it is free.
    fn kick(&mut self, wire: u32) -> Result<(), RunError> {
        match self.transmitters[wire as usize].ends.from {
            NodeKind::Switch(SwitchId(switch)) => self.kick_switch_port(switch, wire),
            NodeKind::Host(HostId(host)) => self.kick_host(host),
        }
    }

    /// Puts a frame onto a free wire: it occupies the port for its serialisation, and arrives after the
    /// propagation delay, unless a fault drops it.
    #[inline(always)]
    fn transmit(&mut self, number: u32, frame: FrameId, length: u32) -> Result<(), RunError> {
        let transmitter = &mut self.transmitters[number as usize];
        let arrival = transmitter.start(self.now, length);
        if transmitter.is_watched && transmitter.loses(self.frames.kind(frame)) {
            return self.lose(number, frame, length);
        }
        self.in_flight += 1;
        self.events.schedule(arrival, Event::Arrival { wire: number, frame });
        Ok(())
    }

    /// A fault drops a frame that is being sent.
    #[cold]
    fn lose(&mut self, number: u32, frame: FrameId, length: u32) -> Result<(), RunError> {
        self.injected_losses += 1;
        let sender = self.scenario.fabric().wire(WireId(number)).from;
        if let (FrameKind::Pause, NodeKind::Switch(switch)) =
            (self.frames.kind(frame), self.scenario.fabric().node(sender).kind)
        {
            *self.injected_pause_losses.entry(switch.0).or_default() += 1;
        }
        self.transmitters[number as usize].lost += 1;
        let priority = self.frames.priority(frame);
        self.frames.discard(frame);
        self.recorder.record.drop_event(&DropRow {
            time: self.now.to_nanos(),
            node: &self.scenario.fabric().wire(WireId(number)).name,
            port: None,
            priority,
            reason: DropReason::InjectedLoss.name(),
            class: drop_class(DropReason::InjectedLoss),
            bytes: Bytes(u64::from(length)),
        })?;
        Ok(())
    }

    fn arrive(&mut self, number: u32, frame: FrameId) -> Result<(), RunError> {
        let transmitter = &mut self.transmitters[number as usize];
        let length = self.frames.length(frame);
        self.in_flight -= 1;
        transmitter.received += 1;
        self.packet_hops += 1;
        let now = self.now.to_nanos();
        let crossing = Crossing {
            wire: WireId(number),
            ends: transmitter.ends,
            length,
            started: transmitter.started(self.now, length).to_nanos(),
            now,
        };
        if transmitter.is_watched {
            self.capture(&crossing, frame)?;
        }
        match crossing.ends.to {
            NodeKind::Switch(SwitchId(switch)) => self.arrive_at_switch(switch, &crossing, frame),
            NodeKind::Host(HostId(host)) => self.arrive_at_host(host, &crossing, frame),
        }
    }

    /// Sends a frame over the datapath now, the instant at which its last bit arrives.
    #[inline(always)]
    fn send(&mut self, crossing: &Crossing, frame: FrameId) -> Result<(), DatapathError> {
        let tables = match crossing.ends.from {
            NodeKind::Switch(SwitchId(number)) => {
                Some(self.switches[number as usize].switch.tables())
            }
            NodeKind::Host(_) => None,
        };
        self.medium.send(&mut self.frames, crossing, tables, frame)
    }

    fn capture(&mut self, crossing: &Crossing, frame: FrameId) -> Result<(), RunError> {
        let kind = self.frames.kind(frame);
        for (interface, filter) in &self.transmitters[crossing.wire.0 as usize].captures {
            if captured_by(*filter, kind) {
                let bytes = self.frames.bytes(crossing.wire, frame, &mut self.scratch);
                self.recorder.record.capture(*interface, crossing.now, bytes)?;
            }
        }
        Ok(())
    }

    fn host_totals(&self) -> impl Iterator<Item = &HostCounters> {
        self.hosts.iter().map(|node| Host::counters(&node.host))
    }
}

/// A flow's row; `completion` is missing if it did not complete.
fn flow_row<'a>(
    scenario: &'a Scenario,
    flow: &'a Flow,
    completion: Option<Completion>,
) -> FlowRow<'a> {
    let fabric = scenario.fabric();
    FlowRow {
        flow: flow.id,
        label: &flow.label,
        src: &fabric.host(flow.source).name,
        dst: &fabric.host(flow.destination).name,
        priority: flow.priority,
        bytes: flow.bytes,
        start: flow.start.to_nanos(),
        fct: completion.map(|completion| completion.at.since(flow.start).to_nanos_ceil()),
        ideal: paths::ideal(scenario, flow).to_nanos_ceil(),
        retransmitted_packets: completion.map_or(0, |it| it.retransmitted_packets),
        cnps: completion.map_or(0, |it| it.notifications),
        long_lived: flow.long_lived,
    }
}

fn captured_by(filter: CaptureFilter, kind: FrameKind) -> bool {
    match filter {
        CaptureFilter::All => true,
        CaptureFilter::Pfc => matches!(kind, FrameKind::Pause | FrameKind::Resume),
        CaptureFilter::Cnp => kind == FrameKind::Cnp,
        CaptureFilter::Data => kind == FrameKind::Data,
    }
}
