//! Expiry of a host's timers.

use units::Picos;

use super::Host;
use super::timers::TimerOf;
use crate::transport::ReceivingEnd;

impl Host {
    /// Runs the timers that are due at `now`.
    pub fn handle_deadline(&mut self, now: Picos) {
        if let Some(pauses) = self.storms.expire(now) {
            self.nic.queue_class_pauses(pauses);
        }
        while let Some(owner) = self.timers.pop_due(now) {
            match owner {
                TimerOf::Sender(slot) => self.expire_sender(now, slot),
                TimerOf::Receiver(slot) => self.expire_receiver(now, slot),
            }
        }
    }

    fn expire_sender(&mut self, now: Picos, slot: u32) {
        let sending = self.senders.occupant(slot);
        sending.timer_entry = None;
        match sending.end.deadline() {
            None => {}
            Some(deadline) if deadline > now => {
                self.timers.set(TimerOf::Sender(slot), &mut sending.timer_entry, deadline);
            }
            Some(_) => {
                let timeout = sending.end.expire(now);
                self.counters.timeouts += u64::from(timeout);
                self.counters.rate_cuts += sending.end.take_cuts();
                self.record_change(now, slot);
                self.update_timer(slot);
                self.schedule(now, slot);
            }
        }
    }

    fn expire_receiver(&mut self, now: Picos, slot: u32) {
        let receiving = self.receivers.occupant(slot);
        receiving.timer_entry = None;
        match (receiving.end.deadline(), &mut receiving.end) {
            (Some(deadline), _) if deadline > now => {
                self.timers.set(TimerOf::Receiver(slot), &mut receiving.timer_entry, deadline);
            }
            (Some(_), ReceivingEnd::Tcp(receiver)) => {
                let (acknowledgement, stamps) = receiver.expire(now);
                self.nic.queue_acknowledgement(acknowledgement.into(), &stamps);
            }
            _ => {}
        }
    }
}
