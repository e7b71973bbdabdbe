//! A running host: it receives commands, arrivals and timers in order, and its frames are sent on its wire.

use std::collections::VecDeque;

use fabric_core::hop_control::HopControl;
#[cfg(feature = "kernel")]
use fabric_core::map_abi::PRIORITIES;
#[cfg(feature = "kernel")]
use fabric_core::priority;
use fabric_core::queue::QueueSet;
use fabric_core::wire::Packet;
use host_agent::{FlowRequest, Host, HostCounters, HostEvent, ResponderRequest, SenderCounts, ns3};
use scenario::{CaptureFilter, Scenario};
use switch_user::switch::PfcSent;
use topology::{HostId, NodeId, WireId};
use units::Picos;

use super::arrivals::Arrival;
use super::core::Core;
use super::journal::Note;
#[cfg(feature = "kernel")]
use super::stack::ToStack;
use super::stack::{Stack, StackFrame};
use super::transmitter::{Receiver, Transmitter};
use crate::datapath::{DatapathError, FrameStore, HostArrival, Wires};
use crate::host_settings::HostSettings;
use crate::partition::Partition;
use crate::queue_pairs;

/// A command to a host about its flows and PFC storms.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Receives a flow.
    Open(ResponderRequest),
    /// Sends a flow.
    Start {
        /// The flow.
        request: FlowRequest,
        /// True if changes of the sender's state are noted.
        traced: bool,
    },
    /// Pauses the switch until `end`, regardless of the host's state.
    BeginStorm {
        /// The classes, one bit each.
        classes: u8,
        /// End of the storm; [`Picos::MAX`] for never.
        end: Picos,
    },
    /// Ends the storms of classes, one bit each.
    #[cfg(feature = "kernel")]
    EndStorm(u8),
    /// Ends a flow of `bytes` bytes whose sender has every ACK.
    Close {
        /// The flow.
        flow: u32,
        /// Its queue pair.
        qp: u32,
        /// Bytes that should have arrived.
        bytes: u64,
    },
}

/// A host and its wires.
pub struct HostNode {
    /// Earliest instant of the next packet.
    ready_at: Picos,
    /// Instant of the earliest command.
    pub(super) command_at: Picos,
    pub(super) out: Transmitter,
    pub(super) inward: Receiver,
    /// The host.
    pub host: Host,
    /// Commands by instant; commands of one instant in the order given.
    commands: VecDeque<(Picos, Command)>,
    node: NodeId,
    /// True if results follow deliveries.
    pub(super) follows_deliveries: bool,
    /// True if flows are traced: then a sent packet can be an event.
    traces: bool,
    /// True if results follow the packets held by pauses of queues.
    follows_held: bool,
    /// PFC frames sent in storms.
    pfc_sent: Option<Box<PfcSent>>,
    /// The kernel's network stack behind the NIC, in a live fabric.
    stack: Option<Box<Stack>>,
    /// Instant of the event that stands for [`next`](Self::next), with events in the order of insertion.
    pub(super) due_at: Picos,
    /// The host of a simulator that stands in for `host`, with events in the order of insertion.
    pub(super) simulated: Option<Box<ns3::Host>>,
}

impl HostNode {
    /// An idle host.
    pub fn new(
        settings: &HostSettings<'_>,
        scenario: &Scenario,
        host: HostId,
        partition: &Partition,
        captured: &[(WireId, CaptureFilter)],
    ) -> Self {
        let fabric = scenario.fabric();
        let wire = fabric.host(host).ports[0];
        let out = Transmitter::new(scenario, wire, partition.place(fabric.wire(wire).to), captured);
        Self {
            host: Host::new(settings.config(host), &settings.transports(host)),
            ready_at: Picos::MAX,
            command_at: Picos::MAX,
            out,
            inward: Receiver::new(scenario, wire.reverse(), captured),
            commands: VecDeque::new(),
            node: fabric.host_node(host),
            follows_deliveries: scenario.results.throughput.is_some(),
            traces: scenario.results.flow_trace.is_some(),
            follows_held: scenario.results.held_flows,
            pfc_sent: None,
            stack: None,
            due_at: Picos::MAX,
            simulated: settings.simulated(host).map(Box::new),
        }
    }

    /// Counters of the host since its start.
    pub fn counters(&self) -> &HostCounters {
        self.simulated.as_ref().map_or_else(|| self.host.counters(), |host| host.counters())
    }

    /// Counters of a queue pair's sender so far; `None` once it has completed.
    pub fn sender_counts(&mut self, qp: u32) -> Option<SenderCounts> {
        let simulated = self.simulated.as_mut();
        simulated.map_or_else(|| self.host.sender_counts(qp), |host| host.sender_counts(qp))
    }

    /// True if nothing is left to send or to be acknowledged.
    pub fn is_idle(&self) -> bool {
        self.host.is_idle() && self.simulated.as_ref().is_none_or(|host| host.is_idle())
    }

    /// Its number among nodes.
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// PFC frames sent in storms.
    pub fn pfc_sent(&self) -> PfcSent {
        self.pfc_sent.as_deref().copied().unwrap_or_default()
    }

    /// Its wires: the leaving one and the arriving one.
    pub fn wires(&self) -> (&Transmitter, &Receiver) {
        (&self.out, &self.inward)
    }

    /// The arriving wire, for changes.
    #[cfg(feature = "kernel")]
    pub fn inward_mut(&mut self) -> &mut Receiver {
        &mut self.inward
    }

    /// Connects the kernel's network stack to the NIC.
    #[cfg(feature = "kernel")]
    pub fn connect_stack(&mut self, to_stack: ToStack) {
        self.stack = Some(Box::new(Stack::new(to_stack)));
    }

    /// The stack behind the NIC.
    #[cfg(feature = "kernel")]
    pub fn stack(&self) -> Option<&Stack> {
        self.stack.as_deref()
    }

    /// Counts a program's frame that is too long.
    #[cfg(feature = "kernel")]
    pub fn refuse_of_stack(&mut self) {
        if let Some(stack) = &mut self.stack {
            stack.counters.too_long += 1;
        }
    }

    /// Sends a program's frame now. Returns the instant of the host's next event.
    #[cfg(feature = "kernel")]
    pub fn send_of_stack<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        now: Picos,
        frame: StackFrame,
    ) -> Picos {
        let refused = match &mut self.stack {
            Some(stack) => stack.enqueue(now, &self.host, frame),
            None => Some(frame.frame),
        };
        if let Some(frame) = refused {
            core.frames.discard(frame);
        }
        self.kick(core, now);
        self.next()
    }

    /// The leaving wire, for changes.
    #[cfg(any(test, feature = "kernel"))]
    pub fn out_mut(&mut self) -> &mut Transmitter {
        &mut self.out
    }

    /// Adds a command for `at`.
    pub fn command(&mut self, at: Picos, command: Command) {
        let place = self.commands.partition_point(|(other, _)| *other <= at);
        self.commands.insert(place, (at, command));
        self.command_at = self.commands[0].0;
    }

    /// Returns the end of the host's storm by class, with all commands up to `at` carried out. Zero: no storm.
    /// [`Picos::MAX`]: the storm lasts until a user ends it.
    #[cfg(feature = "kernel")]
    pub fn storm_ends(&self, at: Picos) -> [Picos; PRIORITIES] {
        let mut ends = self.host.storm_ends();
        for (_, command) in self.commands.iter().filter(|(due, _)| *due <= at) {
            let of = |classes| priority::in_mask(classes).map(priority::Priority::index);
            match *command {
                Command::BeginStorm { classes, end } => {
                    of(classes).for_each(|class| ends[class] = ends[class].max(end));
                }
                Command::EndStorm(classes) => {
                    of(classes).for_each(|class| ends[class] = Picos::ZERO);
                }
                _ => {}
            }
        }
        ends.map(|end| if end > at { end } else { Picos::ZERO })
    }

    /// Instant of the next event.
    pub fn next(&self) -> Picos {
        self.command_at.min(self.ready_at).min(self.next_timer())
    }

    #[inline]
    pub(super) fn next_timer(&self) -> Picos {
        self.host.next_timer().unwrap_or(Picos::MAX)
    }

    /// Runs all events before `end`, and returns the instant of the next one. At one instant commands come first,
    /// then the arrival, timers and transmissions. Not inlined, so that it has all registers.
    #[inline(never)]
    pub fn run<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        index: u32,
        end: Picos,
    ) -> Result<Picos, DatapathError> {
        let (due, later) = core.take_due(index, end);
        let mut arrivals = due.iter();
        let mut arrival = arrivals.next();
        loop {
            let timer = self.next_timer();
            let first = self.ready_at.min(timer);
            match arrival {
                Some(frame) if frame.at() <= first && frame.at() < self.command_at => {
                    self.arrive(core, frame)?;
                    arrival = arrivals.next();
                    if let Some(following) = arrivals.as_slice().first() {
                        core.frames.prefetch(following.frame());
                    }
                }
                _ if first.min(self.command_at) >= end => break,
                _ if self.command_at <= first => self.obey(core),
                _ if timer <= self.ready_at => {
                    self.host.handle_deadline(timer);
                    self.kick(core, timer);
                    self.take_events(core);
                }
                _ => self.kick(core, self.ready_at),
            }
        }
        core.give_back(index, due);
        Ok(later.min(self.next()))
    }

    /// Executes the first command.
    #[cold]
    pub(super) fn obey<W: Wires>(&mut self, core: &mut Core<W>) {
        let Some((now, command)) = self.commands.pop_front() else { return };
        self.command_at = self.commands.front().map_or(Picos::MAX, |(at, _)| *at);
        match command {
            Command::Open(request) => self.host.open_responder(&request),
            Command::Start { request, traced } => self.start_flow(core, now, &request, traced),
            Command::BeginStorm { classes, end } => {
                self.host.begin_storm(now, classes, end);
                self.kick(core, now);
            }
            #[cfg(feature = "kernel")]
            Command::EndStorm(classes) => {
                self.host.end_storm(classes);
                self.kick(core, now);
            }
            Command::Close { flow, qp, bytes } => {
                let delivered = self.host.close_responder(qp).unwrap_or(0);
                if delivered != bytes {
                    let what = Note::Misdelivered { flow, delivered, bytes };
                    core.journal.note(now, self.node, what);
                }
            }
        }
    }

    /// Sends a flow; changes of the sender's state are noted if it is `traced`.
    pub(super) fn start_flow<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        now: Picos,
        request: &FlowRequest,
        traced: bool,
    ) {
        if traced {
            self.host.start_traced_flow(now, request);
            self.take_events(core);
        } else {
            self.host.start_flow(now, request);
        }
        self.kick(core, now);
    }

    /// Closes the receiving ends of completed flows at the end of a run.
    pub fn close_all<W: Wires>(&mut self, core: &mut Core<W>) {
        self.commands.retain(|(_, command)| matches!(command, Command::Close { .. }));
        while !self.commands.is_empty() {
            self.obey(core);
        }
    }

    #[inline(always)]
    pub(super) fn arrive<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        arrival: &Arrival,
    ) -> Result<(), DatapathError> {
        let (now, frame) = (arrival.at(), arrival.frame());
        if arrival.is_damaged() {
            core.drop_damaged(now, self.node, &mut self.inward, *arrival);
            return Ok(());
        }
        let crossing = core.arrive(now, self.node, &mut self.inward, frame, arrival.length());
        let arrival = core.cross(&crossing, frame, |medium, frames, _| {
            medium.poll_host(frames, &crossing, frame)
        })?;
        match &arrival {
            HostArrival::Packet(packet) => {
                let before = self.host.counters().delivered_bytes;
                let stamps = packet.telemetry().map_or(&[][..], |_| core.frames.stamps(frame));
                match packet {
                    Packet::Roce(packet) => self.host.handle_stamped(now, packet, stamps),
                    Packet::Tcp(segment) => self.host.handle_segment(now, segment, stamps),
                }
                let bytes = self.host.counters().delivered_bytes - before;
                if self.follows_deliveries && bytes > 0 {
                    let flow = queue_pairs::flow_of_packet(packet);
                    core.journal.note(now, self.node, Note::Delivered { flow, bytes });
                }
            }
            HostArrival::LinkDelay(frame) => self.host.handle_link_delay(now, frame),
            HostArrival::Foreign => {
                if let Some(stack) = &mut self.stack {
                    let mut buffer = Vec::new();
                    stack.deliver(core.frames.bytes(crossing.wire, frame, &mut buffer));
                }
            }
            HostArrival::HopControl(control) => {
                let before = self.follows_held.then(|| self.host.paused_queues());
                self.host.handle_hop_control(now, control);
                self.take_events(core);
                if let Some(before) = before {
                    self.note_held(core, now, before);
                }
            }
        }
        core.frames.discard(frame);
        if now >= self.ready_at || self.host.has_news() {
            self.kick(core, now);
        } else {
            let free = self.out.busy_until.max(now);
            debug_assert!(
                self.stack.is_some()
                    || self.ready_at == self.host.next_transmission(free).unwrap_or(Picos::MAX)
            );
        }
        self.take_events(core);
        Ok(())
    }

    /// Notes the packets held by pauses of queues that have just begun. `before` are the queues paused before.
    fn note_held<W: Wires>(&self, core: &mut Core<W>, now: Picos, before: QueueSet) {
        for queue in self.host.paused_queues().without(before).iter() {
            for flow in self.host.flows_of(queue) {
                let what = Note::Held { port: 0, queue: queue.number(), flow };
                core.journal.note(now, self.node, what);
            }
        }
    }

    /// Forgets pauses of flows that the switch has not repeated.
    pub fn forget_flow_pauses<W: Wires>(&mut self, now: Picos, core: &mut Core<W>) {
        if self.host.forget_flow_pauses(now) {
            self.kick(core, now);
            self.take_events(core);
        }
    }

    /// Forgets pauses that nothing repeats, after the link has gone down or come up.
    pub fn relinked<W: Wires>(&mut self, now: Picos, core: &mut Core<W>) {
        if self.host.forget_all_flow_pauses(now) {
            self.kick(core, now);
            self.take_events(core);
        }
    }

    /// Sends if the port is free, and computes the instant at which it may send next.
    pub(super) fn kick<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        if self.out.busy_until <= now {
            if let Some(pauses) = self.host.poll_class_pauses() {
                self.pfc_sent.get_or_insert_default().count(&pauses);
                let control = HopControl::Classes(pauses);
                let frame = core.frames.hop_control(self.host.mac_address(), &control);
                let length = core.frames.length(frame);
                core.transmit(now, self.node, &mut self.out, frame, length);
            } else if let Some(response) = self.host.poll_link_delay(now) {
                let frame = core.frames.link_delay(&response);
                let length = core.frames.length(frame);
                core.transmit(now, self.node, &mut self.out, frame, length);
            } else if self.stack.is_none() {
                self.send_packet(core, now);
            } else {
                self.send_in_turn(core, now);
            }
        }
        let free = self.out.busy_until.max(now);
        self.ready_at = self.host.plan_transmission(free).unwrap_or(Picos::MAX);
        if let Some(stack) = &self.stack {
            self.ready_at = self.ready_at.min(stack.next_transmission(free, &self.host));
        }
    }

    /// Sends the NIC's next packet, if one may leave.
    #[inline(always)]
    fn send_packet<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) -> bool {
        let Some(packet) = self.host.poll_transmit(now) else { return false };
        let stamps = self.host.stamps_of(&packet);
        let queue = self.host.named_queue();
        let frame = core.frames.packet(self.out.wire, &packet, queue, stamps);
        let length = core.frames.length_of(&packet);
        if let Some(logger) = &mut core.wire_logger {
            logger.made(frame, self.host.ready_since());
            logger.left(frame, queue);
        }
        core.transmit(now, self.node, &mut self.out, frame, length);
        if self.traces {
            self.take_events(core);
        }
        true
    }

    /// Sends a packet of the NIC or a frame of the stack, in turns if both may leave.
    #[cold]
    fn send_in_turn<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        let is_first = self.stack.as_ref().is_some_and(|stack| stack.is_first());
        if is_first && self.send_of_programs(core, now) {
            return;
        }
        if self.send_packet(core, now) {
            if let Some(stack) = &mut self.stack {
                stack.let_pass();
            }
        } else if !is_first {
            self.send_of_programs(core, now);
        }
    }

    /// Sends the stack's next frame, if one may leave.
    fn send_of_programs<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) -> bool {
        let next = self.stack.as_mut().and_then(|stack| stack.pop(now, &self.host));
        let Some(StackFrame { frame, length, .. }) = next else { return false };
        core.transmit(now, self.node, &mut self.out, frame, length);
        true
    }

    #[inline(always)]
    pub(super) fn take_events<W: Wires>(&mut self, core: &mut Core<W>) {
        if self.host.has_events() {
            self.note_events(core);
        }
    }

    #[inline(never)]
    fn note_events<W: Wires>(&mut self, core: &mut Core<W>) {
        while let Some(event) = self.host.poll_event() {
            // The sender's event completes a flow.
            if !matches!(event, HostEvent::FlowDelivered { .. }) {
                core.journal.note(event.at(), self.node, Note::Host(event));
            }
        }
    }
}
