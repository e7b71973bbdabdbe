//! A switch under the driver.

use fabric_core::arrival::{Outcome, Queued};
use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::wire::RocePacket;
use host_agent::ns3::{Control, Hop, Settings};
use scenario::MarkAt;
use switch_user::switch::{ControlTransmission, Due, Transmission};
use units::{Bytes, Picos};

use super::InOrder;
use super::queue::{Event, What};
use crate::datapath::{Crossing, DatapathError, FrameId, FrameLabel, FrameStore, Wires};
use crate::engine::arrivals::Arrival;
use crate::engine::core::Core;
use crate::engine::switch_node::SwitchNode;

/// Queues of a port.
const QUEUES: u8 = 8;

/// Port by which a packet leaves.
fn egress_of(queued: &Queued) -> u16 {
    u16::try_from(queued.egress_port).expect("a port of the switch")
}

/// Bytes in a stamp of a frame of `length` bytes: those sent before it, or for `PowerTCP` those that the port's queues have
/// taken in, in 32 bits. `waiting` bytes are behind the frame.
pub(super) fn stamped_bytes(control: Control, sent: u64, length: u32, waiting: u64) -> u64 {
    if control.is_power() {
        (sent + u64::from(length) + waiting) & u64::from(u32::MAX)
    } else {
        sent
    }
}

impl SwitchNode {
    /// Runs an event.
    pub fn run_event<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        event: &Event,
    ) -> Result<(), DatapathError> {
        let (now, node) = (event.at(), event.node);
        self.followed.is_sampled = order.samples.taken == Some(now);
        match event.what {
            What::Free { port } => {
                if order.is_dead(self.out_of(port).wire) {
                    return Ok(());
                }
                self.out_of(port).busy_until = now;
                self.look(core, order, (now, node), port);
            }
            What::Arrival { port, frame, length } => {
                self.arrive_in_order(core, order, node, Arrival::new(now, port, frame, length))?;
            }
            What::Due => self.run_timers(core, order, (now, node)),
            What::PauseEnd { port, .. } => {
                if order.pauses.ends(event) {
                    self.look(core, order, (now, node), port);
                }
            }
            What::OwnPauseEnd { port, class, pause } => {
                let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
                self.switch.end_pause(now, port, Priority::new(class), pause, &mut observer);
            }
            What::Timer(_) | What::LinkDown | What::Starts | What::Announced | What::Begins => {
                unreachable!("not an event of a switch")
            }
        }
        let due = self.switch.next_deadline().unwrap_or(Picos::MAX);
        if due < self.timers_at && order.pauses.last_until_frames() {
            self.timers_at = due;
            core.queue().insert(due, node, What::Due);
        }
        Ok(())
    }

    fn run_timers<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        (now, node): (Picos, u32),
    ) {
        self.timers_at = Picos::MAX;
        while self.switch.next_deadline().is_some_and(|due| due <= now) {
            let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
            let due = self.switch.handle_deadline(now, &mut observer);
            let Some(Due { port, pauses_changed }) = due else { continue };
            if pauses_changed {
                self.note_changed_pauses(&mut core.journal, now, port);
            }
            self.look(core, order, (now, node), port);
            self.look_where_woken(core, order, (now, node));
        }
    }

    fn arrive_in_order<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        node: u32,
        arrival: Arrival,
    ) -> Result<(), DatapathError> {
        let (now, port, frame) = (arrival.at(), arrival.port(), arrival.frame());
        core.landed(now);
        let id = self.node();
        let inward = self.inward_of(port);
        if let Some(reason) = order.loss(&arrival, inward.wire) {
            core.lose_arriving(now, id, inward, arrival, reason);
            return Ok(());
        }
        let crossing = core.arrive(now, id, inward, frame, arrival.length());
        core.orders.clear();
        let mut outcome = Outcome::UNKNOWN;
        self.cross_by_routes(core, &crossing, frame, &mut outcome)?;
        order.skip(core.orders.len());
        let queue = core.queue.as_deref_mut().expect("events run in order");
        order.pauses.note_sent(queue, (now, node, port), &core.orders);
        if let Some(turns) = &mut order.turns {
            turns.frames_join((node, port), core.orders.len());
            if let Outcome::Queued(queued) = &outcome
                && queued.queue == QueueId::CONTROL
            {
                turns.packet_joins((node, egress_of(queued)));
            }
        }
        if let Outcome::ControlReceived(HopControl::Classes(pauses)) = &outcome {
            order.pauses.note_received(queue, (now, node, port), pauses);
        }
        let packet = (frame, crossing.length);
        let Outcome::Queued(queued) = outcome else {
            if let Some(port) = self.take_unqueued(core, (now, port), packet, &outcome) {
                self.look(core, order, (now, node), port);
            }
            return Ok(());
        };
        self.draw_mark(
            core,
            order,
            MarkAt::Enqueue,
            (frame, crossing.length),
            (egress_of(&queued), queued.queue),
        );
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let woken = self.switch.on_queued(now, port, packet, queued, &core.orders, &mut observer);
        if woken[0].is_some() {
            self.take_discarded(core, now);
        }
        for port in woken.into_iter().flatten() {
            self.look(core, order, (now, node), port);
        }
        Ok(())
    }

    /// Passes a frame to the switch with the port that routes of ns-3 choose, if there are any, and writes the result to
    /// `outcome`. Not in one function with the way of other switches, which is inlined once.
    #[inline(never)]
    pub(in crate::engine) fn cross_by_routes<W: Wires>(
        &self,
        core: &mut Core<W>,
        crossing: &Crossing,
        frame: FrameId,
        outcome: &mut Outcome,
    ) -> Result<(), DatapathError> {
        let tables = self.switch.tables();
        core.cross(crossing, frame, |medium, frames, orders| {
            let is_done = match &self.routes {
                None => medium.poll_switch(frames, crossing, tables, frame, &mut *outcome, orders),
                Some(routes) => {
                    let route = |packet: &RocePacket| routes.port(self.id, packet);
                    let ways = (tables, &route);
                    medium.poll_routed(frames, crossing, ways, frame, &mut *outcome, orders)
                }
            };
            Ok(is_done?.then_some(()))
        })
    }

    /// Sends the next frame of a port, if the port is free and a frame may leave.
    fn look<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        (now, node): (Picos, u32),
        port: u16,
    ) {
        if self.out_of(port).busy_until > now {
            return;
        }
        let is_packets = order.turns.as_ref().is_some_and(|it| it.is_packets((node, port)));
        if !is_packets && let Some(control) = self.switch.poll_control(now, port) {
            if let Some(turns) = &mut order.turns {
                turns.frame_leaves((node, port));
            }
            let frame = match control {
                ControlTransmission::Built(frame) => frame,
                ControlTransmission::HopControl { source, control } => {
                    core.frames.hop_control(source, &control)
                }
                ControlTransmission::LinkDelay(message) => core.frames.link_delay(&message),
            };
            let length = self.switch.control_length();
            self.stamp(core, now, port, frame, length, None);
            return self.transmit(core, now, port, frame, length, false);
        }
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let sent = self.switch.poll_transmit::<W, _>(now, port, &mut observer);
        let has_news = self.switch.has_news();
        let Some(Transmission { frame, length, queue, mark, .. }) = sent else { return };
        if let Some(turns) = order.turns.as_mut().filter(|_| queue == QueueId::CONTROL) {
            turns.packet_leaves((node, port));
        }
        if mark {
            core.frames.mark(frame);
        }
        self.draw_mark(core, order, MarkAt::Dequeue, (frame, 0), (port, queue));
        if has_news {
            self.look_where_woken(core, order, (now, node));
        }
        if let Some(logger) = &mut core.wire_logger {
            logger.left(frame, queue);
        }
        match order.simulated.as_ref().map(|simulated| &simulated.settings) {
            None => self.stamp(core, now, port, frame, length, Some(queue)),
            Some(settings) if settings.control.has_telemetry() => {
                self.stamp_as_simulator(core, settings, now, port, (frame, length));
            }
            Some(_) => {}
        }
        self.transmit(core, now, port, frame, length, false);
    }

    /// Sends the frames of ports at which PFC frames have been queued.
    fn look_where_woken<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        order: &mut InOrder,
        (now, node): (Picos, u32),
    ) {
        self.take_discarded(core, now);
        while let Some(woken) = self.switch.poll_woken() {
            order.skip(1);
            if let Some(turns) = &mut order.turns {
                turns.frames_join((node, woken), 1);
            }
            self.look(core, order, (now, node), woken);
        }
    }

    /// Decides about a mark of a frame, of which `length` bytes count, in a queue of a port, if marks are drawn at this instant.
    /// Decides for an ACK, too, on which it has no effect.
    fn draw_mark<W: Wires>(
        &self,
        core: &mut Core<W>,
        order: &mut InOrder,
        instant: MarkAt,
        (frame, length): (FrameId, u32),
        (port, queue): (u16, QueueId),
    ) {
        let Some(draws) = order.draws.as_mut().filter(|draws| draws.mark_at == instant) else {
            return;
        };
        if core.frames.priority(frame) == Some(0) {
            return;
        }
        let bytes = self.switch.queues().queue_bytes(port.into(), queue) + u64::from(length);
        if draws.marks(self.id.0, port, bytes) && core.frames.is_ecn_capable(frame) {
            self.mark_in_order(core, frame);
        }
    }

    /// Marks congestion in a packet, and counts the mark if it is the packet's first.
    fn mark_in_order<W: Wires>(&self, core: &mut Core<W>, frame: FrameId) {
        if let FrameLabel::Packet { marked: false, .. } = core.frames.label(frame) {
            self.switch.tables().state().ecn_marked.add::<W>(1);
        }
        core.frames.mark(frame);
    }

    /// Adds the port's telemetry to a frame: bytes of all queues behind it, and bytes sent before it; for `PowerTCP` bytes that
    /// the queues have taken in so far, in 32 bits.
    fn stamp_as_simulator<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        settings: &Settings,
        now: Picos,
        port: u16,
        (frame, length): (FrameId, u32),
    ) {
        let queues = self.switch.queues();
        let bytes = |queue| queues.queue_bytes(port.into(), QueueId::data(queue));
        let waiting: u64 = (0..QUEUES).map(bytes).sum();
        let out = self.out_of(port);
        let (rate, sent) = (out.timing.rate, out.sent_bytes);
        let counted = stamped_bytes(settings.control, sent, length, waiting);
        let hop =
            Hop::new(rate, now.to_nanos(), Bytes(counted), Bytes(waiting), settings.stamp_multiple);
        core.frames.stamp(frame, hop.to_stamp());
    }
}
