//! The go-back-N responder of one queue pair (InfiniBand Architecture 1.4, 9.7.4 and 9.7.5.1).

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Opcode, RocePacket, Syndrome};

use crate::reliability::{Answer, Reception, ReliableReceiver};

/// Responder of one flow.
#[derive(Debug)]
pub struct GoBackNResponder {
    expected_psn: Psn,
    /// True if the gap before the expected PSN was reported. InfiniBand allows one report per gap.
    gap_reported: bool,
    /// Bytes of the current message yet to come, while inside one.
    message_remaining: Option<u64>,
    /// Messages completed, modulo 2^24 (MSN).
    message_sequence_number: u32,
    /// In-order packets per ACK, unless a packet requests an earlier ACK.
    ack_interval: u32,
    unacknowledged: u32,
    delivered_bytes: u64,
}

impl GoBackNResponder {
    /// The responder of a flow of which nothing has arrived.
    pub fn new(initial_psn: Psn, ack_interval: u32) -> Self {
        Self {
            expected_psn: initial_psn,
            gap_reported: false,
            message_remaining: None,
            message_sequence_number: 0,
            ack_interval,
            unacknowledged: 0,
            delivered_bytes: 0,
        }
    }

    /// The ACK or NAK for the present state.
    fn answer(&self, syndrome: Syndrome) -> Answer {
        let psn = match syndrome {
            Syndrome::Ack => Psn::new(self.expected_psn.value().wrapping_sub(1)),
            Syndrome::NakSequenceError | Syndrome::SelectiveNak => self.expected_psn,
        };
        let message_sequence_number = self.message_sequence_number;
        Answer { psn, aeth: AethFields { syndrome, message_sequence_number } }
    }

    /// Bytes that remain of the message after `packet`: `Some(None)` if it ends, `None` if the
    /// packet's opcode or length contradicts the message (9.7.4.1.2 and 9.7.4.1.6).
    #[expect(clippy::option_option, reason = "a contradiction is not an end")]
    fn remaining_after(&self, packet: &RocePacket) -> Option<Option<u64>> {
        let length = u64::from(packet.payload_length);
        let announced = packet.reth.map(|reth| u64::from(reth.dma_length));
        match (packet.opcode, self.message_remaining, announced) {
            (Opcode::WriteOnly, None, Some(total)) if length == total => Some(None),
            (Opcode::WriteFirst, None, Some(total)) if length < total => Some(Some(total - length)),
            (Opcode::WriteMiddle, Some(left), None) if length < left => Some(Some(left - length)),
            (Opcode::WriteLast, Some(left), None) if length == left => Some(None),
            _ => None,
        }
    }
}

impl ReliableReceiver for GoBackNResponder {
    #[inline]
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>) {
        if packet.psn.is_before(self.expected_psn) {
            return (Reception::Duplicate, Some(self.answer(Syndrome::Ack)));
        }
        if packet.psn != self.expected_psn {
            let first = !self.gap_reported;
            self.gap_reported = true;
            let negative = first.then(|| self.answer(Syndrome::NakSequenceError));
            return (Reception::OutOfOrder, negative);
        }
        let Some(remaining) = self.remaining_after(packet) else {
            return (Reception::Mismatch, None);
        };
        self.message_remaining = remaining;
        self.expected_psn = self.expected_psn.next();
        self.gap_reported = false;
        let bytes = u64::from(packet.payload_length);
        self.delivered_bytes += bytes;
        let message_complete = remaining.is_none();
        if message_complete {
            self.message_sequence_number = (self.message_sequence_number + 1) & 0x00ff_ffff;
        }
        self.unacknowledged += 1;
        let due = packet.ack_request || self.unacknowledged >= self.ack_interval;
        if due {
            self.unacknowledged = 0;
        }
        let answer = due.then(|| self.answer(Syndrome::Ack));
        (Reception::InOrder { bytes, message_complete }, answer)
    }

    #[inline]
    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
}

#[cfg(test)]
mod tests {
    use fabric_core::wire::RemainingSize;
    use fabric_core::wire::roce::{Ecn, RethFields};

    use super::*;

    const ACK: Option<Syndrome> = Some(Syndrome::Ack);
    const NAK: Option<Syndrome> = Some(Syndrome::NakSequenceError);
    const IN_ORDER: Reception = Reception::InOrder { bytes: 1000, message_complete: false };

    fn responder(ack_interval: u32) -> GoBackNResponder {
        GoBackNResponder::new(Psn::new(0x00ff_fffe), ack_interval)
    }

    /// Outcome of a packet, and the ACK or NAK that is due.
    fn receive(
        responder: &mut GoBackNResponder,
        packet: &RocePacket,
    ) -> (Reception, Option<Syndrome>) {
        let (reception, answer) = responder.receive(packet);
        (reception, answer.map(|answer| answer.aeth.syndrome))
    }

    /// Packet `number` of a write of 3500 bytes in packets of 1000.
    fn data(number: u32) -> RocePacket {
        let opcode = match number {
            0 => Opcode::WriteFirst,
            3 => Opcode::WriteLast,
            _ => Opcode::WriteMiddle,
        };
        let reth = RethFields { virtual_address: 0, remote_key: 9, dma_length: 3500 };
        RocePacket {
            source: 1,
            destination: 2,
            source_port: 50_000,
            dscp: 24,
            ecn: Ecn::Capable0,
            ttl: 64,
            opcode,
            ack_request: number == 3,
            congestion_echo: false,
            destination_qp: 9,
            psn: Psn::new(0x00ff_fffe + number),
            reth: (number == 0).then_some(reth),
            aeth: None,
            payload_length: if number == 3 { 500 } else { 1000 },
            telemetry: None,
            remaining: RemainingSize::UNKNOWN,
        }
    }

    #[test]
    fn acks_come_every_n_packets_and_where_requested() {
        let mut responder = responder(2);
        let answers = [0, 1, 2, 3].map(|number| responder.receive(&data(number)).1);
        let ack = |psn, message_sequence_number| {
            let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number };
            Some(Answer { psn: Psn::new(psn), aeth })
        };
        assert_eq!(answers, [None, ack(0x00ff_ffff, 0), None, ack(1, 1)]);
        assert_eq!(responder.delivered_bytes(), 3500);
    }

    #[test]
    fn one_nak_per_gap_names_the_expected_psn() {
        let mut responder = responder(1);
        receive(&mut responder, &data(0));
        assert_eq!(receive(&mut responder, &data(2)), (Reception::OutOfOrder, NAK));
        assert_eq!(receive(&mut responder, &data(3)), (Reception::OutOfOrder, None));
        let nak = responder.answer(Syndrome::NakSequenceError);
        assert_eq!(nak.psn, Psn::new(0x00ff_ffff));
        assert_eq!(receive(&mut responder, &data(1)), (IN_ORDER, ACK));
        assert_eq!(receive(&mut responder, &data(3)), (Reception::OutOfOrder, NAK), "a second gap");
    }

    #[test]
    fn a_duplicate_is_acknowledged_again_and_never_refused() {
        let mut responder = responder(16);
        for number in 0..3 {
            receive(&mut responder, &data(number));
        }
        assert_eq!(receive(&mut responder, &data(0)), (Reception::Duplicate, ACK));
        assert_eq!(responder.answer(Syndrome::Ack).psn, Psn::new(0));
        assert_eq!(responder.delivered_bytes(), 3000);
    }

    /// Messages of `lengths` bytes in packets of up to 1000.
    fn messages(lengths: &[u16]) -> Vec<RocePacket> {
        let mut packets = Vec::new();
        for &length in lengths {
            let mut sent = 0;
            while sent < length || length == 0 {
                let payload_length = (length - sent).min(1000);
                let (opcode, reth) = match (sent == 0, sent + payload_length == length) {
                    (true, true) => (Opcode::WriteOnly, true),
                    (true, false) => (Opcode::WriteFirst, true),
                    (false, false) => (Opcode::WriteMiddle, false),
                    (false, true) => (Opcode::WriteLast, false),
                };
                let fields =
                    RethFields { virtual_address: 0, remote_key: 9, dma_length: length.into() };
                packets.push(RocePacket {
                    opcode,
                    psn: Psn::new(0x00ff_fffe + u32::try_from(packets.len()).unwrap()),
                    reth: reth.then_some(fields),
                    payload_length,
                    ..data(1)
                });
                sent += payload_length;
                if length == 0 {
                    break;
                }
            }
        }
        packets
    }

    #[test]
    fn each_message_is_complete_with_its_last_byte() {
        let mut responder = responder(1);
        for (length, packets) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (2000, 2), (2001, 3)] {
            let sequence_number = |responder: &GoBackNResponder| {
                responder.answer(Syndrome::Ack).aeth.message_sequence_number
            };
            let (before, delivered) = (sequence_number(&responder), responder.delivered_bytes());
            let message = messages(&[length]);
            assert_eq!(message.len(), packets);
            for (place, packet) in (1..).zip(message) {
                let packet = RocePacket { psn: responder.expected_psn, ..packet };
                let message_complete = place == packets;
                let bytes = u64::from(packet.payload_length);
                let (reception, _) = receive(&mut responder, &packet);
                assert_eq!(
                    reception,
                    Reception::InOrder { bytes, message_complete },
                    "{length} bytes"
                );
            }
            assert_eq!(sequence_number(&responder), before + 1);
            assert_eq!(responder.delivered_bytes() - delivered, u64::from(length));
        }
    }

    #[test]
    fn the_message_sequence_number_has_24_bits() {
        let mut responder = responder(1);
        responder.message_sequence_number = 0x00ff_fffe;
        for expected in [0x00ff_ffff, 0, 1] {
            let packet = RocePacket { psn: responder.expected_psn, ..messages(&[7])[0] };
            assert_eq!(receive(&mut responder, &packet).1, ACK);
            assert_eq!(responder.message_sequence_number, expected);
        }
    }

    /// A requested ACK covers all packets before it, so the count starts again.
    #[test]
    fn an_interval_begins_after_every_ack() {
        let mut responder = responder(3);
        let replies = messages(&[500, 4500]).into_iter().map(|packet| {
            let packet = RocePacket { ack_request: packet.opcode == Opcode::WriteOnly, ..packet };
            receive(&mut responder, &packet).1
        });
        assert_eq!(replies.collect::<Vec<_>>(), [ACK, None, None, ACK, None, None]);
    }

    #[test]
    fn contradictions_are_neither_delivered_nor_acknowledged() {
        let first = data(0);
        let middle = data(1);
        let wrong = [
            ("middle outside a message", 0, RocePacket { opcode: Opcode::WriteMiddle, ..first }),
            ("first without its RETH", 0, RocePacket { reth: None, ..first }),
            ("only shorter than its RETH", 0, RocePacket { opcode: Opcode::WriteOnly, ..first }),
            ("last before the end", 1, RocePacket { opcode: Opcode::WriteLast, ..middle }),
            ("middle beyond the end", 1, RocePacket { payload_length: 2501, ..middle }),
            ("middle that is the end", 1, RocePacket { payload_length: 2500, ..middle }),
            ("first that is the end", 0, RocePacket { payload_length: 3500, ..first }),
            ("first beyond the end", 0, RocePacket { payload_length: 3501, ..first }),
            ("first inside a message", 1, RocePacket { psn: middle.psn, ..first }),
            ("middle with a RETH", 1, RocePacket { reth: first.reth, ..middle }),
        ];
        for (description, number, packet) in wrong {
            let mut responder = responder(1);
            for earlier in 0..number {
                receive(&mut responder, &data(earlier));
            }
            assert_eq!(
                receive(&mut responder, &packet),
                (Reception::Mismatch, None),
                "{description}"
            );
            assert_eq!(receive(&mut responder, &data(number)).0, IN_ORDER, "after {description}");
        }
    }
}
