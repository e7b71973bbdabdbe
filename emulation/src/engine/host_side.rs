//! How the engine drives hosts.

use fabric_core::hop_control::HopControl;
use fabric_core::priority;
use fabric_core::wire::link_delay;
use fabric_core::wire::pfc::quantum_duration;
use host_agent::{Host, HostEvent};
use results::FlowStart;
use scenario::Scenario;
use topology::{HostId, WireId};
use units::Picos;

use super::event::Event;
use super::{Engine, RunError, flow_row};
use crate::datapath::{Crossing, FrameId, FrameStore, HostArrival, Wires};
use crate::host_settings;
use crate::queue_pairs;

/// A host and the wire that it sends on. The first cache line has what the engine reads at each event.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct HostNode {
    wire: u32,
    /// When the next packet may go, if an event is scheduled for it.
    ready_at: Option<Picos>,
    /// The earliest timer for which an event is scheduled.
    timer_at: Option<Picos>,
    /// The host.
    pub host: Host,
}

/// How a flow ended.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// When its last ACK arrived.
    pub at: Picos,
    /// Data packets that were sent again.
    pub retransmitted_packets: u64,
    /// CNPs that its sender received.
    pub notifications: u64,
}

impl HostNode {
    /// An idle host.
    pub fn new(scenario: &Scenario, host: HostId) -> Self {
        Self {
            host: Host::new(host_settings::host_config(scenario, host)),
            wire: scenario.fabric().host(host).ports[0].0,
            ready_at: None,
            timer_at: None,
        }
    }
}

impl<W: Wires> Engine<'_, W> {
    pub(super) fn schedule_next_flow(&mut self) {
        if let Some(start) = self.stream.next_start() {
            self.events.schedule(start, Event::FlowStart);
        }
    }

    pub(super) fn start_next_flow(&mut self) -> Result<(), RunError> {
        let flow = self.stream.next().expect("the event stands for a flow");
        self.schedule_next_flow();
        self.classes |= 1 << flow.priority;
        let (request, responder) = queue_pairs::queue_pair(self.scenario, &flow);
        self.hosts[flow.destination.0 as usize].host.open_responder(&responder);
        let source = flow.source.0;
        self.hosts[source as usize].host.start_flow(self.now, &request);
        let fabric = self.scenario.fabric();
        self.recorder.record.flow_started(&FlowStart {
            flow: flow.id,
            label: &flow.label,
            src: &fabric.host(flow.source).name,
            dst: &fabric.host(flow.destination).name,
        });
        self.active.insert(flow.id, flow);
        self.kick_host(source)
    }

    pub(super) fn host_timer(&mut self, host: u32) -> Result<(), RunError> {
        let node = &mut self.hosts[host as usize];
        if node.timer_at == Some(self.now) {
            node.timer_at = None;
        }
        node.host.handle_deadline(self.now);
        self.kick_host(host)?;
        self.take_host_events(host)
    }

    pub(super) fn host_ready(&mut self, host: u32) -> Result<(), RunError> {
        let node = &mut self.hosts[host as usize];
        // Otherwise this event is out of date: the transmission was moved and has another event.
        if node.ready_at != Some(self.now) {
            return Ok(());
        }
        node.ready_at = None;
        self.kick_host(host)
    }

    pub(super) fn arrive_at_host(
        &mut self,
        host: u32,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<(), RunError> {
        let arrival = self.cross_to_host(crossing, frame)?;
        let agent = &mut self.hosts[host as usize].host;
        match arrival {
            HostArrival::Roce(packet) => {
                let before = agent.counters().delivered_bytes;
                agent.handle_packet(self.now, &packet);
                let delivered = agent.counters().delivered_bytes - before;
                if delivered > 0 {
                    let flow = queue_pairs::flow_of(packet.destination_qp);
                    self.recorder.record.delivered(self.now, flow, delivered)?;
                }
            }
            HostArrival::LinkDelay(frame) => agent.handle_link_delay(self.now, &frame),
            HostArrival::HopControl(control) => {
                agent.handle_hop_control(self.now, &control);
                self.record_pauses(crossing, &control)?;
            }
        }
        self.kick_host(host)?;
        self.take_host_events(host)
    }

    /// Hands a frame to the host at the end of its wire.
    fn cross_to_host(
        &mut self,
        crossing: &Crossing,
        frame: FrameId,
    ) -> Result<HostArrival, RunError> {
        self.send(crossing, frame)?;
        let mut attempts = 0;
        loop {
            if let Some(arrival) = self.medium.poll_host(&mut self.frames, crossing, frame)? {
                return Ok(arrival);
            }
            self.medium.wait(crossing, attempts)?;
            attempts += 1;
        }
    }

    /// Writes down the pauses that a host has received.
    fn record_pauses(&mut self, crossing: &Crossing, control: &HopControl) -> Result<(), RunError> {
        let HopControl::Classes(pauses) = control else { return Ok(()) };
        let rate = self.transmitters[crossing.wire.0 as usize].rate;
        for class in priority::of_mask(pauses.named) {
            let until = self.now + quantum_duration(rate, pauses.quanta[class.index()]);
            let (wire, until) = (crossing.wire, until.to_nanos());
            self.recorder.pause_received(crossing.now, wire, class.number(), until)?;
        }
        Ok(())
    }

    /// Lets a host send if its port is free, and sees to it that it is woken when it next has to be.
    pub(super) fn kick_host(&mut self, host: u32) -> Result<(), RunError> {
        let node = &mut self.hosts[host as usize];
        let number = node.wire;
        if self.transmitters[number as usize].busy_until <= self.now {
            if let Some(response) = node.host.poll_link_delay(self.now) {
                let frame = self.frames.link_delay(&response);
                self.transmit(number, frame, link_delay::LEN as u32)?;
            } else if let Some(packet) = node.host.poll_transmit(self.now) {
                let frame = self.frames.roce(WireId(number), &packet);
                self.transmit(number, frame, packet.frame_length() as u32)?;
            }
        }
        let node = &mut self.hosts[host as usize];
        let free = Picos(self.transmitters[number as usize].busy_until.0.max(self.now.0));
        if let Some(at) = node.host.next_transmission(free)
            && node.ready_at != Some(at)
        {
            node.ready_at = Some(at);
            self.events.schedule(at, Event::HostReady { host });
        }
        if let Some(at) = node.host.next_timer()
            && node.timer_at.is_none_or(|scheduled| at < scheduled)
        {
            let at = Picos(at.0.max(self.now.0));
            node.timer_at = Some(at);
            self.events.schedule(at, Event::HostTimer { host });
        }
        Ok(())
    }

    fn take_host_events(&mut self, host: u32) -> Result<(), RunError> {
        while let Some(event) = self.hosts[host as usize].host.poll_event() {
            if let HostEvent::FlowCompleted { flow, at, retransmitted_packets, notifications } =
                event
            {
                let completion = Completion { at, retransmitted_packets, notifications };
                self.complete_flow(flow, completion)?;
            }
        }
        Ok(())
    }

    fn complete_flow(&mut self, number: u32, completion: Completion) -> Result<(), RunError> {
        let flow = self.active.remove(&number).expect("a flow that completes has started");
        let (request, _) = queue_pairs::queue_pair(self.scenario, &flow);
        let receiver = &mut self.hosts[flow.destination.0 as usize].host;
        let delivered = receiver.close_responder(request.qp);
        if delivered != Some(flow.bytes.0) {
            self.misdelivered.push(format!(
                "flow {number} completed, but its receiver has {} of {} bytes",
                delivered.unwrap_or(0),
                flow.bytes.0
            ));
        }
        self.flows_completed += 1;
        self.recorder.record.flow(&flow_row(self.scenario, &flow, Some(completion)))?;
        Ok(())
    }
}
