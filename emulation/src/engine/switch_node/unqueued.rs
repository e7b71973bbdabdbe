//! Arrivals that are not queued: hop control frames, messages about the link, and dropped frames.

use std::collections::BTreeSet;

use fabric_core::arrival::Outcome;
use fabric_core::priority::{self, Priority};
use switch_user::switch::Arrival;
use units::Picos;

use super::{Core, Journal, Note, Port, SwitchNode};
use crate::datapath::{FrameId, FrameStore, Wires};

impl SwitchNode {
    /// Passes a frame that was not queued to the switch's control plane, and handles its reaction.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_unqueued<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        (now, port): (Picos, u16),
        packet: (FrameId, u32),
        outcome: &Outcome,
    ) {
        if let Some(port) = self.take_unqueued(core, (now, port), packet, outcome) {
            self.kick(core, now, port);
        }
    }

    /// Passes a frame that was not queued to the switch's control plane. Returns the port that may have frames to send.
    pub(in super::super) fn take_unqueued<W: Wires>(
        &mut self,
        core: &mut Core<W>,
        (now, port): (Picos, u16),
        (frame, length): (FrameId, u32),
        outcome: &Outcome,
    ) -> Option<u16> {
        let (mut link_delay, mut priority) = (None, None);
        match *outcome {
            Outcome::LinkDelayReceived => link_delay = Some(core.frames.read_link_delay(frame)),
            Outcome::Dropped(reason) => {
                let inward = &self.ports[usize::from(port)].inward;
                core.capture_dropped(now, self.node, inward, (frame, inward.wire), reason);
                core.log_dropped(now, [inward.wire; 2], frame);
                priority =
                    core.frames.priority(frame).map(|class| Priority::from_bits(class.into()));
            }
            Outcome::ControlReceived(_) => {}
            Outcome::Queued(_) => unreachable!("the switch keeps the frame of a queued packet"),
        }
        let (orders, link_delay) = (&core.orders[..], link_delay.as_ref());
        let arrival = Arrival { frame, at: now, length, outcome, orders, link_delay, priority };
        let mut observer = self.followed.recorder(&mut core.journal, &mut core.measured);
        let reaction = self.switch.on_arrival(now, port, &arrival, &mut observer);
        debug_assert!(!reaction.keeps_frame && reaction.wake[1].is_none());
        core.frames.discard(frame);
        if matches!(outcome, Outcome::ControlReceived(_)) {
            self.note_held(core, now, port);
        }
        if reaction.wake[0].is_some() {
            self.take_discarded(core, now);
            if reaction.pauses_changed {
                self.note_changed_pauses(&mut core.journal, now, port);
            }
        }
        reaction.wake[0]
    }

    /// Notes the packets held by pauses of queues that began with a hop control frame at a port.
    fn note_held<W: Wires>(&mut self, core: &mut Core<W>, now: Picos, port: u16) {
        let Some(before) = self.paused.get_mut(usize::from(port)) else { return };
        let paused = self.switch.paused_queues(port, now);
        let begun = paused.without(std::mem::replace(before, paused));
        for queue in begun.and(self.switch.queues().non_empty(port.into())).iter() {
            let waiting = self.switch.waiting(port, queue);
            let flows: BTreeSet<u32> =
                waiting.filter_map(|&frame| core.frames.flow(frame)).collect();
            for flow in flows {
                let what = Note::Held { port, queue: queue.number(), flow };
                core.journal.note(now, self.node, what);
            }
        }
    }

    /// Notes that pauses at a port have changed: a PFC frame was received, or a pause expired.
    pub(in super::super) fn note_changed_pauses(
        &self,
        journal: &mut Journal,
        now: Picos,
        port: u16,
    ) {
        let Port { out, watched, .. } = &self.ports[usize::from(port)];
        if *watched == 0 {
            return;
        }
        let nanos = now.to_nanos();
        let tables = self.switch.tables();
        let paused = priority::in_mask(*watched)
            .filter(|&class| tables.pause_expiry(port.into(), class) > nanos)
            .fold(0, |paused, class| paused | 1 << class.number());
        journal.note(now, self.node, Note::PausesChanged { wire: out.wire.0, paused });
    }
}
