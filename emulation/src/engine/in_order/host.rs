//! A host under the driver.

use fabric_core::hop_control::HopControl;
use fabric_core::queue::QueueId;
use fabric_core::wire::Packet;
use host_agent::HostEvent;
use host_agent::ns3::{Flow, Host, Reaction};
use units::Picos;

use super::queue::{Event, What};
use super::{HostQueue, InOrder, Start, Starting};
use crate::datapath::{DatapathError, FrameStore, HostArrival, Wires};
use crate::engine::arrivals::Arrival;
use crate::engine::core::Core;
use crate::engine::host_node::HostNode;
use crate::engine::journal::Note;
use crate::queue_pairs;

impl HostNode {
    /// Creates the queue pair of a flow.
    pub(super) fn begin<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, start: &Start) {
        match &start.flow {
            Starting::Simulated(flow) => {
                self.simulated_mut().start(now.to_nanos(), *flow);
                self.look(core, now, start.host);
            }
            Starting::Own { request, traced, .. } => {
                self.start_flow(core, now, request, *traced);
                self.plan(core, start.host);
            }
        }
    }

    /// Begins no frame any more.
    pub(super) fn stop(&mut self) {
        self.out.busy_until = Picos::MAX;
    }

    /// Takes up queue pairs anew, and looks for a packet after each.
    pub(super) fn redistribute<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        (now, node): (Picos, u32),
        queue_pairs: impl Iterator<Item = u32>,
    ) {
        self.simulated_mut().empty_list();
        for qp in queue_pairs {
            self.simulated_mut().reassign(qp);
            self.look(core, now, node);
        }
    }

    /// Deletes the receiving end of a queue pair whose flow is complete.
    pub fn forget<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, flow: &Flow) {
        let delivered = self.simulated_mut().forget(flow.qp).unwrap_or(0);
        if delivered != flow.bytes {
            let what = Note::Misdelivered { flow: flow.flow, delivered, bytes: flow.bytes };
            core.journal.note(now, self.node(), what);
        }
    }

    fn simulated_mut(&mut self) -> &mut Host {
        self.simulated.as_deref_mut().expect("a host of the simulator")
    }

    /// Runs an event. Returns a flow of the simulator that it completes.
    pub fn run_event<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        event: &Event,
    ) -> Result<Option<Flow>, DatapathError> {
        if self.simulated.is_none() {
            self.run_own_event(core, order, event)?;
            return Ok(None);
        }
        let (now, node) = (event.at(), event.node);
        let reaction = match event.what {
            What::Free { .. } if order.is_dead(self.out.wire) => Reaction::default(),
            What::Free { .. } => {
                self.out.busy_until = now;
                Reaction { looks: true, ..Reaction::default() }
            }
            What::Timer(timer) => {
                let queue = &mut HostQueue { queue: core.queue(), node };
                self.simulated_mut().handle_timer(now.to_nanos(), timer, queue)
            }
            What::Arrival { frame, length, .. } => {
                let arrival = Arrival::new(now, 0, frame, length);
                self.arrive_in_order(core, order, node, arrival)?
            }
            What::Due
            | What::PauseEnd { .. }
            | What::OwnPauseEnd { .. }
            | What::LinkDown
            | What::Starts
            | What::Announced
            | What::Begins => unreachable!("not an event of a simulator's host"),
        };
        while let Some(event) = self.simulated_mut().poll_event() {
            debug_assert!(!matches!(event, HostEvent::FlowDelivered { .. }));
            core.journal.note(event.at(), self.node(), Note::Host(event));
        }
        if reaction.looks {
            self.look(core, now, node);
        }
        Ok(reaction.completed)
    }

    /// Runs an event of xoff's own host.
    fn run_own_event<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        event: &Event,
    ) -> Result<(), DatapathError> {
        let now = event.at();
        match event.what {
            What::Free { .. } => {
                self.out.busy_until = now;
                self.kick(core, now);
            }
            What::Arrival { frame, length, .. } => {
                core.landed(now);
                let arrival = Arrival::new(now, 0, frame, length);
                let (node, inward) = (self.node(), &mut self.inward);
                match order.loss(&arrival, inward.wire) {
                    Some(reason) => core.lose_arriving(now, node, inward, arrival, reason),
                    None => self.arrive(core, &arrival)?,
                }
            }
            What::Due => {
                self.due_at = Picos::MAX;
                self.run_due(core, now);
            }
            What::Timer(_)
            | What::PauseEnd { .. }
            | What::OwnPauseEnd { .. }
            | What::LinkDown
            | What::Starts
            | What::Announced
            | What::Begins => unreachable!("not an event of xoff's own host"),
        }
        self.plan(core, event.node);
        Ok(())
    }

    /// Executes commands and handles timers that are due, and sends if a packet may leave.
    fn run_due<W: Wires>(&mut self, core: &mut Core<W>, now: Picos) {
        while self.next() <= now {
            let timer = self.next_timer();
            if self.command_at <= now {
                self.obey(core);
            } else if timer <= now {
                self.host.handle_deadline(timer);
                self.kick(core, timer);
                self.take_events(core);
            } else {
                self.kick(core, now);
            }
        }
    }

    /// Adds an event at the instant of the next timer, command or transmission.
    fn plan<W: Wires>(&mut self, core: &mut Core<W>, node: u32) {
        let next = self.next();
        if next < self.due_at {
            self.due_at = next;
            core.queue().insert(next, node, What::Due);
        }
    }

    fn arrive_in_order<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        node: u32,
        arrival: Arrival,
    ) -> Result<Reaction, DatapathError> {
        let (now, frame, id) = (arrival.at(), arrival.frame(), self.node());
        core.landed(now);
        if let Some(reason) = order.loss(&arrival, self.inward.wire) {
            core.lose_arriving(now, id, &mut self.inward, arrival, reason);
            return Ok(Reaction::default());
        }
        let crossing = core.arrive(now, id, &mut self.inward, frame, arrival.length());
        let received = core.cross(&crossing, frame, |medium, frames, _| {
            medium.poll_host(frames, &crossing, frame)
        })?;
        let reaction = match &received {
            HostArrival::Packet(Packet::Roce(packet)) => {
                let stamps = packet.telemetry.map_or(&[][..], |_| core.frames.stamps(frame));
                let queue = core.queue.as_deref_mut().expect("events run in order");
                let queue = &mut HostQueue { queue, node };
                let reaction = self.simulated_mut().handle_packet(now, packet, stamps, queue);
                if self.follows_deliveries && reaction.delivered > 0 {
                    let flow = queue_pairs::flow_of_roce(packet);
                    let what = Note::Delivered { flow, bytes: reaction.delivered };
                    core.journal.note(now, id, what);
                }
                reaction
            }
            HostArrival::HopControl(HopControl::Classes(pauses)) => {
                let queue = core.queue.as_deref_mut().expect("events run in order");
                let queue = &mut HostQueue { queue, node };
                self.simulated_mut().handle_pauses(now, pauses, queue)
            }
            HostArrival::Packet(Packet::Tcp(_))
            | HostArrival::HopControl(_)
            | HostArrival::LinkDelay(_)
            | HostArrival::Foreign => unreachable!("no node of this fabric sends it"),
        };
        core.frames.discard(frame);
        Ok(reaction)
    }

    /// Sends the NIC's next packet, if the port is free and one may leave.
    fn look<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, node: u32) {
        if self.out.busy_until > now {
            return;
        }
        let host = self.simulated.as_deref_mut().expect("a host of the simulator");
        let queue = &mut HostQueue { queue: core.queue(), node };
        let Some(packet) = host.poll(now.to_nanos(), queue) else { return };
        let stamps = host.stamps_of(&packet);
        let packet = Packet::Roce(packet);
        let frame = core.frames.packet(self.out.wire, &packet, QueueId::CONTROL, stamps);
        let length = core.frames.length_of(&packet);
        if let Some(logger) = &mut core.wire_logger {
            logger.made(frame, host.ready_since());
            logger.left(frame, QueueId::CONTROL);
        }
        core.transmit(now, self.node(), &mut self.out, frame, length);
    }
}
