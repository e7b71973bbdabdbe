//! The retransmission timer of a queue pair, which starts anew with each packet sent and each ACK that leaves packets under
//! way. Each start takes the place of an event in the order of insertion, but only one event is pending.

use units::Nanos;

use super::super::{Purpose, Timer};
use super::{Host, Reaction, Schedule};

impl Host {
    /// Starts the timer of a queue pair anew.
    pub(super) fn restart_timeout(&mut self, now: Nanos, slot: u32, schedule: &mut impl Schedule) {
        let Some(timeout) = self.settings.timeout else { return };
        let deadline = (Nanos(now.0 + timeout.get().to_nanos().0), schedule.reserve());
        let pair = self.queue_pairs.occupant(slot);
        pair.timeout.deadline = Some(deadline);
        if pair.timeout.pending.is_none() {
            self.await_timeout(slot, deadline, schedule);
        }
    }

    fn await_timeout(
        &mut self,
        slot: u32,
        (at, place): (Nanos, u64),
        schedule: &mut impl Schedule,
    ) {
        let pair = self.queue_pairs.occupant(slot);
        pair.timeout.pending = Some(place);
        let timer = Timer { purpose: Purpose::Timeout, qp: pair.flow.qp, number: 0 };
        schedule.schedule_as(place, at, timer);
    }

    /// Handles an event of the timer: the sender goes back, unless the timer has started anew since.
    pub(super) fn handle_timeout(
        &mut self,
        now: Nanos,
        slot: u32,
        schedule: &mut impl Schedule,
    ) -> Reaction {
        let pair = self.queue_pairs.occupant(slot);
        let passed = pair.timeout.pending.take();
        match pair.timeout.deadline {
            Some((at, place)) if Some(place) != passed => {
                debug_assert!(at >= now, "a deadline moves away");
                self.await_timeout(slot, (at, place), schedule);
                Reaction::default()
            }
            _ => {
                pair.timeout.deadline = None;
                pair.next = pair.acknowledged;
                pair.note_opening(now, self.link.rate, &self.settings);
                self.counters.timeouts += 1;
                Reaction { looks: true, ..Reaction::default() }
            }
        }
    }
}
