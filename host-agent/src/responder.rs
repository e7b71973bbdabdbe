//! The go-back-N responder of one queue pair (InfiniBand Architecture 1.4, 9.7.4 and 9.7.5.1).

use fabric_core::units::Picos;
use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Ecn, Opcode, RocePacket, Syndrome};

use crate::dcqcn::{NotificationPoint, Parameters};
use crate::requester::TIME_TO_LIVE;

/// The receiving end of a flow, whose set-up happened out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponderRequest {
    /// Queue pair number, the same at both ends, 24 bits.
    pub qp: u32,
    /// Address of the requester.
    pub peer: u32,
    /// PSN of the first packet.
    pub initial_psn: Psn,
    /// UDP source port of what this end sends.
    pub source_port: u16,
    /// Payload bytes that the flow carries.
    pub bytes: u64,
}

/// What became of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reception {
    /// In order; whether it ended a message.
    InOrder {
        /// Whether a message is complete.
        message_complete: bool,
    },
    /// Received before.
    Duplicate,
    /// An earlier one is missing.
    OutOfOrder,
    /// Contradicts the message being received.
    Mismatch,
}

/// Responder of one flow.
#[derive(Debug)]
pub(crate) struct Responder {
    request: ResponderRequest,
    expected_psn: Psn,
    /// Whether the gap before the expected PSN was reported: once is what InfiniBand allows.
    gap_reported: bool,
    /// Bytes of the current message yet to come, while inside one.
    message_remaining: Option<u64>,
    /// Messages completed, modulo 2^24 (MSN).
    message_sequence_number: u32,
    unacknowledged: u32,
    delivered_bytes: u64,
    notification_point: NotificationPoint,
}

impl Responder {
    pub fn new(request: &ResponderRequest) -> Self {
        Self {
            request: *request,
            expected_psn: request.initial_psn,
            gap_reported: false,
            message_remaining: None,
            message_sequence_number: 0,
            unacknowledged: 0,
            delivered_bytes: 0,
            notification_point: NotificationPoint::default(),
        }
    }

    pub fn request(&self) -> &ResponderRequest {
        &self.request
    }

    /// Payload bytes received in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Takes a data packet: what became of it, and the reply that is due.
    #[inline]
    pub fn receive(
        &mut self,
        packet: &RocePacket,
        ack_interval: u32,
    ) -> (Reception, Option<Syndrome>) {
        if packet.psn.is_before(self.expected_psn) {
            return (Reception::Duplicate, Some(Syndrome::Ack));
        }
        if packet.psn != self.expected_psn {
            let first = !self.gap_reported;
            self.gap_reported = true;
            return (Reception::OutOfOrder, first.then_some(Syndrome::NakSequenceError));
        }
        let Some(remaining) = self.remaining_after(packet) else {
            return (Reception::Mismatch, None);
        };
        self.message_remaining = remaining;
        self.expected_psn = self.expected_psn.next();
        self.gap_reported = false;
        self.delivered_bytes += u64::from(packet.payload_length);
        let message_complete = remaining.is_none();
        if message_complete {
            self.message_sequence_number = (self.message_sequence_number + 1) & 0x00ff_ffff;
        }
        self.unacknowledged += 1;
        let due = packet.ack_request || self.unacknowledged >= ack_interval;
        if due {
            self.unacknowledged = 0;
        }
        (Reception::InOrder { message_complete }, due.then_some(Syndrome::Ack))
    }

    /// Whether the marked packet that arrives at `now` calls for a CNP.
    pub fn receive_marked(&mut self, now: Picos, parameters: &Parameters) -> bool {
        self.notification_point.receive_marked(now, parameters)
    }

    /// The ACK or NAK for the present state.
    pub fn acknowledgement(&self, source: u32, priority: u8, syndrome: Syndrome) -> RocePacket {
        let psn = match syndrome {
            Syndrome::Ack => Psn::new(self.expected_psn.value().wrapping_sub(1)),
            Syndrome::NakSequenceError => self.expected_psn,
        };
        let message_sequence_number = self.message_sequence_number;
        RocePacket {
            opcode: Opcode::Acknowledge,
            psn,
            aeth: Some(AethFields { syndrome, message_sequence_number }),
            ..self.notification(source, priority)
        }
    }

    /// The CNP to the sender's queue pair. Its PSN is zero (`RoCEv2` annex, A17.9.3).
    pub fn notification(&self, source: u32, priority: u8) -> RocePacket {
        RocePacket {
            source,
            destination: self.request.peer,
            source_port: self.request.source_port,
            dscp: priority << 3,
            ecn: Ecn::NotCapable,
            ttl: TIME_TO_LIVE,
            opcode: Opcode::Cnp,
            ack_request: false,
            destination_qp: self.request.qp,
            psn: Psn::new(0),
            reth: None,
            aeth: None,
            payload_length: 0,
        }
    }

    /// What remains of the message after `packet`: `Some(None)` if it ends, `None` if the packet's
    /// opcode or length contradict it (9.7.4.1.2 and 9.7.4.1.6).
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

#[cfg(test)]
mod tests {
    use fabric_core::wire::roce::RethFields;

    use super::*;

    const ACK: Option<Syndrome> = Some(Syndrome::Ack);
    const NAK: Option<Syndrome> = Some(Syndrome::NakSequenceError);
    const IN_ORDER: Reception = Reception::InOrder { message_complete: false };

    fn responder() -> Responder {
        Responder::new(&ResponderRequest {
            qp: 9,
            peer: 1,
            initial_psn: Psn::new(0x00ff_fffe),
            source_port: 50_000,
            bytes: 3500,
        })
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
            ecn: Ecn::Capable0,
            opcode,
            ack_request: number == 3,
            psn: Psn::new(0x00ff_fffe + number),
            reth: (number == 0).then_some(reth),
            payload_length: if number == 3 { 500 } else { 1000 },
            ..responder().notification(1, 3)
        }
    }

    #[test]
    fn acks_come_every_n_packets_and_where_requested() {
        let mut responder = responder();
        let replies = [0, 1, 2, 3].map(|number| responder.receive(&data(number), 2).1);
        assert_eq!(replies, [None, ACK, None, ACK]);
        assert_eq!(responder.delivered_bytes(), 3500);
        let ack = responder.acknowledgement(2, 5, Syndrome::Ack);
        assert_eq!((ack.psn, ack.dscp, ack.ecn), (Psn::new(1), 40, Ecn::NotCapable));
        assert_eq!(ack.aeth.map(|aeth| aeth.message_sequence_number), Some(1));
    }

    #[test]
    fn one_nak_per_gap_names_the_expected_psn() {
        let mut responder = responder();
        responder.receive(&data(0), 1);
        assert_eq!(responder.receive(&data(2), 1), (Reception::OutOfOrder, NAK));
        assert_eq!(responder.receive(&data(3), 1), (Reception::OutOfOrder, None));
        let nak = responder.acknowledgement(2, 5, Syndrome::NakSequenceError);
        assert_eq!(nak.psn, Psn::new(0x00ff_ffff));
        assert_eq!(responder.receive(&data(1), 1), (IN_ORDER, ACK));
        assert_eq!(responder.receive(&data(3), 1), (Reception::OutOfOrder, NAK), "a second gap");
    }

    #[test]
    fn a_duplicate_is_acknowledged_again_and_never_refused() {
        let mut responder = responder();
        for number in 0..3 {
            responder.receive(&data(number), 1);
        }
        assert_eq!(responder.receive(&data(0), 16), (Reception::Duplicate, ACK));
        assert_eq!(responder.acknowledgement(2, 5, Syndrome::Ack).psn, Psn::new(0));
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
        let mut responder = responder();
        for (length, packets) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (2000, 2), (2001, 3)] {
            let sequence_number = |responder: &Responder| {
                let ack = responder.acknowledgement(2, 5, Syndrome::Ack);
                ack.aeth.map(|aeth| aeth.message_sequence_number)
            };
            let (before, delivered) = (sequence_number(&responder), responder.delivered_bytes());
            let message = messages(&[length]);
            assert_eq!(message.len(), packets);
            for (place, packet) in (1..).zip(message) {
                let packet = RocePacket { psn: responder.expected_psn, ..packet };
                let message_complete = place == packets;
                let (reception, _) = responder.receive(&packet, 1);
                assert_eq!(reception, Reception::InOrder { message_complete }, "{length} bytes");
            }
            assert_eq!(sequence_number(&responder), before.map(|number| number + 1));
            assert_eq!(responder.delivered_bytes() - delivered, u64::from(length));
        }
    }

    #[test]
    fn the_message_sequence_number_has_24_bits() {
        let mut responder = responder();
        responder.message_sequence_number = 0x00ff_fffe;
        for expected in [0x00ff_ffff, 0, 1] {
            let packet = RocePacket { psn: responder.expected_psn, ..messages(&[7])[0] };
            assert_eq!(responder.receive(&packet, 1).1, ACK);
            assert_eq!(responder.message_sequence_number, expected);
        }
    }

    /// An ACK that is asked for covers all before it, so the count starts again.
    #[test]
    fn an_interval_begins_after_every_ack() {
        let mut responder = responder();
        let replies = messages(&[500, 4500]).into_iter().map(|packet| {
            let packet = RocePacket { ack_request: packet.opcode == Opcode::WriteOnly, ..packet };
            responder.receive(&packet, 3).1
        });
        assert_eq!(replies.collect::<Vec<_>>(), [ACK, None, None, ACK, None, None]);
    }

    #[test]
    fn a_reply_goes_back_to_the_requester() {
        let mut responder = responder();
        responder.receive(&data(0), 1);
        let notification = RocePacket {
            source: 2,
            destination: 1,
            source_port: 50_000,
            dscp: 48,
            ecn: Ecn::NotCapable,
            ttl: 64,
            opcode: Opcode::Cnp,
            ack_request: false,
            destination_qp: 9,
            psn: Psn::new(0),
            reth: None,
            aeth: None,
            payload_length: 0,
        };
        assert_eq!(responder.notification(2, 6), notification);
        for (syndrome, psn) in
            [(Syndrome::Ack, 0x00ff_fffe), (Syndrome::NakSequenceError, 0x00ff_ffff)]
        {
            let aeth = Some(AethFields { syndrome, message_sequence_number: 0 });
            let (opcode, psn) = (Opcode::Acknowledge, Psn::new(psn));
            let expected = RocePacket { opcode, psn, aeth, ..notification };
            assert_eq!(responder.acknowledgement(2, 6, syndrome), expected);
        }
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
            let mut responder = responder();
            for earlier in 0..number {
                responder.receive(&data(earlier), 1);
            }
            assert_eq!(responder.receive(&packet, 1), (Reception::Mismatch, None), "{description}");
            assert_eq!(responder.receive(&data(number), 1).0, IN_ORDER, "after {description}");
        }
    }
}
