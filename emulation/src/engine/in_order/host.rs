//! A host under the driver.

use fabric_core::hop_control::HopControl;
use fabric_core::queue::QueueId;
use fabric_core::wire::Packet;
use host_agent::HostEvent;
use host_agent::ns3::{Flow, Host, Reaction};
use units::Picos;

use super::queue::{Event, What};
use super::{HostQueue, InOrder, Start};
use crate::datapath::{DatapathError, FrameStore, HostArrival, Wires};
use crate::engine::arrivals::Arrival;
use crate::engine::core::Core;
use crate::engine::host_node::HostNode;
use crate::engine::journal::Note;
use crate::queue_pairs;

impl HostNode {
    /// Creates the queue pair of a flow.
    pub(super) fn begin<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        now: Picos,
        start: Start,
    ) {
        let Start { host: node, flow, .. } = start;
        self.simulated_mut().start(now.to_nanos(), flow);
        self.look(core, order, now, node);
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
        self.simulated.as_deref_mut().expect("the order needs these hosts")
    }

    /// Runs an event. Returns a flow that it completes.
    pub fn run_event<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        event: &Event,
    ) -> Result<Option<Flow>, DatapathError> {
        let (now, node) = (event.at(), event.node);
        let reaction = match event.what {
            What::Free { .. } => {
                self.out.busy_until = now;
                Reaction { looks: true, ..Reaction::default() }
            }
            What::Timer(timer) => {
                let queue = &mut HostQueue { queue: &mut order.queue, node };
                self.simulated_mut().handle_timer(now.to_nanos(), timer, queue)
            }
            What::Arrival { frame, length, .. } => {
                let arrival = Arrival::new(now, 0, frame, length);
                self.arrive_in_order(core, order, node, arrival)?
            }
            What::SwitchTimers
            | What::PauseEnd { .. }
            | What::OwnPauseEnd { .. }
            | What::Starts
            | What::Announced
            | What::Begins => unreachable!("not an event of a host"),
        };
        while let Some(event) = self.simulated_mut().poll_event() {
            debug_assert!(!matches!(event, HostEvent::FlowDelivered { .. }));
            core.journal.note(event.at(), self.node(), Note::Host(event));
        }
        if reaction.looks {
            self.look(core, order, now, node);
        }
        Ok(reaction.completed)
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
        if order.loses(self.inward.wire) {
            core.drop_damaged(now, id, &mut self.inward, arrival);
            return Ok(Reaction::default());
        }
        let crossing = core.arrive(now, id, &mut self.inward, frame, arrival.length());
        let received = core.cross(&crossing, frame, |medium, frames, _| {
            medium.poll_host(frames, &crossing, frame)
        })?;
        let reaction = match &received {
            HostArrival::Packet(Packet::Roce(packet)) => {
                let stamps = packet.telemetry.map_or(&[][..], |_| core.frames.stamps(frame));
                let queue = &mut HostQueue { queue: &mut order.queue, node };
                let reaction = self.simulated_mut().handle_packet(now, packet, stamps, queue);
                if self.follows_deliveries && reaction.delivered > 0 {
                    let flow = queue_pairs::flow_of_roce(packet);
                    let what = Note::Delivered { flow, bytes: reaction.delivered };
                    core.journal.note(now, id, what);
                }
                reaction
            }
            HostArrival::HopControl(HopControl::Classes(pauses)) => {
                let queue = &mut HostQueue { queue: &mut order.queue, node };
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
    fn look<W: Wires>(&mut self, core: &mut Core<W>, order: &mut InOrder, now: Picos, node: u32) {
        if self.out.busy_until > now {
            return;
        }
        let host = self.simulated.as_deref_mut().expect("the order needs these hosts");
        let queue = &mut HostQueue { queue: &mut order.queue, node };
        let Some(packet) = host.poll(now.to_nanos(), queue) else { return };
        let stamps = host.stamps_of(&packet);
        let packet = Packet::Roce(packet);
        let frame = core.frames.packet(self.out.wire, &packet, QueueId::CONTROL, stamps);
        let length = core.frames.length_of(&packet);
        if let Some(logger) = &mut core.wire_logger {
            logger.made(frame, None);
            logger.left(frame, QueueId::CONTROL);
        }
        core.transmit_in_order((now, node, 0), &mut self.out, frame, length, &mut order.queue);
    }
}
