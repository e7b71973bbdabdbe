//! Arrival of RoCEv2 packets at a host.

use fabric_core::wire::roce::{Ecn, Opcode, RocePacket, Syndrome};
use fabric_core::wire::telemetry::Stamp;
use units::Picos;

use super::{Host, HostEvent};
use crate::congestion_control::Echo;
use crate::reliability::Answer;
use crate::transport::{ReceivingEnd, SendingEnd};

impl Host {
    /// Handles a RoCEv2 packet without stamps whose last bit arrived at `now`.
    pub fn handle_packet(&mut self, now: Picos, packet: &RocePacket) {
        self.handle_stamped(now, packet, &[]);
    }

    /// Handles a RoCEv2 packet with its stamps, first hop first, whose last bit arrived at `now`.
    pub fn handle_stamped(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        if packet.destination != self.config.address {
            self.counters.misdelivered += 1;
            return;
        }
        match packet.opcode {
            Opcode::WriteFirst | Opcode::WriteMiddle | Opcode::WriteLast | Opcode::WriteOnly => {
                self.handle_data(now, packet, stamps);
            }
            Opcode::Acknowledge => self.handle_acknowledgement(now, packet, stamps),
            Opcode::Cnp => self.handle_notification(now, packet),
        }
    }

    fn handle_data(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        let Self { config, receivers, counters, events, nic, .. } = self;
        let slot = receivers.slot_of(packet.destination_qp);
        let end = slot.map(|slot| &mut receivers.occupant(slot).end);
        let Some(ReceivingEnd::Roce(responder)) = end else {
            counters.unknown_queue_pair += 1;
            return;
        };
        if responder.request().peer != packet.source {
            counters.unknown_queue_pair += 1;
            return;
        }
        let marked = packet.ecn == Ecn::CongestionExperienced;
        counters.count_data(marked);
        if responder.calls_for_notification(now, marked) {
            nic.queue_notification(responder.notification(config));
        }
        let (reception, answer) = responder.receive(packet);
        let delivered = counters.count_reception(reception);
        if delivered && responder.delivered_bytes() == responder.request().bytes {
            events.push_back(HostEvent::delivered(now, responder.request()));
        }
        if let Some(answer) = answer {
            let answer = responder.acknowledgement(config, &answer, packet);
            nic.queue_acknowledgement(answer.into(), stamps);
        }
    }

    fn handle_acknowledgement(&mut self, now: Picos, packet: &RocePacket, stamps: &[Stamp]) {
        let Some(slot) = self.sending_to(packet.destination_qp, packet.source) else {
            return;
        };
        let SendingEnd::Roce(requester) = &mut self.senders.occupant(slot).end else {
            self.counters.unknown_queue_pair += 1;
            return;
        };
        let Some(aeth) = packet.aeth else {
            self.counters.missing_aeth += 1;
            return;
        };
        match aeth.syndrome {
            Syndrome::Ack => self.counters.acknowledgements_received += 1,
            Syndrome::NakSequenceError | Syndrome::SelectiveNak => {
                self.counters.naks_received += 1;
            }
        }
        let answer = Answer { psn: packet.psn, aeth };
        let echo = Echo::new(packet.congestion_echo, packet.telemetry, stamps);
        let outcome = requester.receive_answer(now, &answer, &echo);
        self.counters.rate_cuts += requester.take_cuts();
        self.act_on(now, slot, outcome);
    }

    fn handle_notification(&mut self, now: Picos, packet: &RocePacket) {
        let Some(slot) = self.sending_to(packet.destination_qp, packet.source) else {
            return;
        };
        let SendingEnd::Roce(requester) = &mut self.senders.occupant(slot).end else {
            self.counters.unknown_queue_pair += 1;
            return;
        };
        self.counters.cnps_received += 1;
        requester.receive_notification(now);
        self.counters.rate_cuts += requester.take_cuts();
        self.record_change(now, slot);
        self.schedule(now, slot);
    }
}
