//! Arrival of TCP segments at a host.

use fabric_core::wire::TcpSegment;
use fabric_core::wire::roce::Ecn;
use fabric_core::wire::tcp::Direction;
use fabric_core::wire::telemetry::Stamp;
use units::Picos;

use super::timers::TimerOf;
use super::{Host, HostEvent, Receiving};
use crate::transport::{ReceivingEnd, SendingEnd};

impl Host {
    /// Handles a TCP segment with its stamps, first hop first, whose last bit arrived at `now`.
    pub fn handle_segment(&mut self, now: Picos, segment: &TcpSegment, stamps: &[Stamp]) {
        if segment.destination != self.config.address {
            self.counters.misdelivered += 1;
            return;
        }
        match segment.ports.connection() {
            Some((connection, Direction::FromClient)) => {
                self.handle_tcp_data(now, connection, segment, stamps);
            }
            Some((connection, Direction::FromServer)) => {
                self.handle_tcp_acknowledgement(now, connection, segment, stamps);
            }
            None => self.counters.unknown_queue_pair += 1,
        }
    }

    fn handle_tcp_data(
        &mut self,
        now: Picos,
        connection: u32,
        segment: &TcpSegment,
        stamps: &[Stamp],
    ) {
        let Self { receivers, counters, events, nic, timers, .. } = self;
        let slot = receivers.slot_of(connection);
        let Some(slot) = slot else {
            counters.unknown_queue_pair += 1;
            return;
        };
        let Receiving { end: ReceivingEnd::Tcp(receiver), timer_entry } = receivers.occupant(slot)
        else {
            counters.unknown_queue_pair += 1;
            return;
        };
        if receiver.request().peer != segment.source {
            counters.unknown_queue_pair += 1;
            return;
        }
        counters.count_data(segment.ecn == Ecn::CongestionExperienced);
        let (reception, answers) = receiver.receive(now, segment, stamps);
        let delivered = reception.is_some_and(|reception| counters.count_reception(reception));
        if delivered {
            events.push_back(HostEvent::delivered(now, receiver.request()));
        }
        for answer in answers.into_iter().flatten() {
            nic.queue_acknowledgement(answer.into(), stamps);
        }
        if let (Some(deadline), None) = (receiver.deadline(), &timer_entry) {
            timers.set(TimerOf::Receiver(slot), timer_entry, deadline);
        }
    }

    fn handle_tcp_acknowledgement(
        &mut self,
        now: Picos,
        connection: u32,
        segment: &TcpSegment,
        stamps: &[Stamp],
    ) {
        let Some(slot) = self.sending_to(connection, segment.source) else {
            return;
        };
        let SendingEnd::Tcp(sender) = &mut self.senders.occupant(slot).end else {
            self.counters.unknown_queue_pair += 1;
            return;
        };
        self.counters.acknowledgements_received += 1;
        let outcome = sender.receive(now, segment, stamps);
        self.counters.rate_cuts += sender.take_cuts();
        self.act_on(now, slot, outcome);
    }
}
