//! The selective repeat responder of one queue pair (IRN, 3.1 and 5.3).

use fabric_core::wire::psn::Psn;
use fabric_core::wire::roce::{AethFields, Opcode, RocePacket, Syndrome};

use crate::packet_set::PacketSet;
use crate::reliability::{Answer, OUTSTANDING_PACKETS, Reception, ReliableReceiver};
use crate::responder::ResponderRequest;
use crate::segmentation::Segmentation;

/// Responder of one flow. Packets are numbered from 0, as at the requester.
#[derive(Debug)]
pub struct SelectiveRepeatResponder {
    initial_psn: Psn,
    /// Both ends know the flow's length and the path's payload from the set-up, and so which bytes a packet has.
    segmentation: Segmentation,
    /// Every packet before this one has arrived, and this one has not.
    expected: u64,
    /// Packets after it that have arrived.
    early: PacketSet,
    /// In-order packets per ACK, unless a packet requests an earlier ACK.
    ack_interval: u32,
    unacknowledged: u32,
}

impl SelectiveRepeatResponder {
    /// The responder of a flow of which nothing has arrived, in packets of at most `payload` bytes.
    pub fn new(request: &ResponderRequest, payload: u16, ack_interval: u32) -> Self {
        Self {
            initial_psn: request.initial_psn,
            segmentation: Segmentation::new(request.bytes, u64::from(payload)),
            expected: 0,
            early: PacketSet::default(),
            ack_interval,
            unacknowledged: 0,
        }
    }

    fn expected_psn(&self) -> Psn {
        self.initial_psn.add((self.expected % (1 << 24)) as u32)
    }

    /// The ACK for the present state. Each packet is a message.
    fn acknowledge(&mut self) -> Answer {
        self.unacknowledged = 0;
        let message_sequence_number = (self.expected % (1 << 24)) as u32;
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number };
        Answer { psn: Psn::new(self.expected_psn().value().wrapping_sub(1)), aeth }
    }

    /// Number of a packet that does not lie before the expected one; `None` if the flow has no such packet, or if its
    /// opcode, RETH or length contradict the flow (9.7.4.1.2 and 9.7.4.1.6).
    fn number_of(&self, packet: &RocePacket) -> Option<u64> {
        let ahead = u64::from(packet.psn.distance_from(self.expected_psn()));
        let number = self.expected + ahead;
        if ahead >= OUTSTANDING_PACKETS || number >= self.segmentation.packets() {
            return None;
        }
        let bytes = self.segmentation.payload_of(number);
        let placed = packet.reth.is_some_and(|reth| {
            reth.virtual_address == self.segmentation.bytes_before(number)
                && u64::from(reth.dma_length) == bytes
        });
        let right = packet.opcode == Opcode::WriteOnly && u64::from(packet.payload_length) == bytes;
        (placed && right).then_some(number)
    }
}

impl ReliableReceiver for SelectiveRepeatResponder {
    #[inline]
    fn receive(&mut self, packet: &RocePacket) -> (Reception, Option<Answer>) {
        if packet.psn.is_before(self.expected_psn()) {
            return (Reception::Duplicate, Some(self.acknowledge()));
        }
        let Some(number) = self.number_of(packet) else {
            return (Reception::Mismatch, None);
        };
        if number > self.expected {
            // The NAK acknowledges all before the expected packet as well.
            self.unacknowledged = 0;
            let aeth = AethFields::selective_nak(packet.psn);
            let negative = Some(Answer { psn: self.expected_psn(), aeth });
            let new = self.early.insert(number);
            return (if new { Reception::OutOfOrder } else { Reception::Duplicate }, negative);
        }
        let before = self.delivered_bytes();
        let repaired = !self.early.is_empty();
        self.expected = self.early.first_missing(number + 1);
        self.early.remove_before(self.expected);
        let bytes = self.delivered_bytes() - before;
        self.unacknowledged += 1;
        // The requester waits for a packet that it has sent again.
        let due = packet.ack_request || repaired || self.unacknowledged >= self.ack_interval;
        let answer = due.then(|| self.acknowledge());
        (Reception::InOrder { bytes, message_complete: true }, answer)
    }

    #[inline]
    fn delivered_bytes(&self) -> u64 {
        self.segmentation.bytes_before(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use Reception::{Duplicate, OutOfOrder};
    use fabric_core::wire::roce::RethFields;

    use super::*;
    use crate::flow::tests::placed;
    use crate::flow::{Flow, Placement};
    use crate::responder::tests::request;

    const INITIAL_PSN: u32 = 0x00ff_fffe;

    /// The responder of a flow of 6500 bytes, 7 packets, and the flow.
    fn responder(ack_interval: u32) -> (SelectiveRepeatResponder, Flow) {
        let (initial_psn, bytes) = (Psn::new(INITIAL_PSN), 6500);
        let request = request(initial_psn, bytes);
        let responder = SelectiveRepeatResponder::new(&request, 1000, ack_interval);
        (responder, placed(bytes, INITIAL_PSN, Placement::EveryPacket))
    }

    /// ACK of all packets before this one.
    fn ack(first_open: u32) -> Answer {
        let aeth = AethFields { syndrome: Syndrome::Ack, message_sequence_number: first_open };
        Answer { psn: Psn::new(INITIAL_PSN + first_open - 1), aeth }
    }

    /// NAK: all packets before `expected` and packet `arrived` have arrived.
    fn nak(expected: u32, arrived: u32) -> Answer {
        let aeth = AethFields::selective_nak(Psn::new(INITIAL_PSN + arrived));
        Answer { psn: Psn::new(INITIAL_PSN + expected), aeth }
    }

    fn in_order(bytes: u64) -> Reception {
        Reception::InOrder { bytes, message_complete: true }
    }

    /// Rows: number of the packet, its outcome, the answer, bytes delivered then.
    #[test]
    fn each_early_packet_is_kept_and_reported() {
        let (mut responder, flow) = responder(1);
        for (number, reception, answer, delivered) in [
            (0, in_order(1000), ack(1), 1000),
            (2, OutOfOrder, nak(1, 2), 1000),
            (3, OutOfOrder, nak(1, 3), 1000),
            (2, Duplicate, nak(1, 2), 1000),
            (5, OutOfOrder, nak(1, 5), 1000),
            (0, Duplicate, ack(1), 1000),
            (1, in_order(3000), ack(4), 4000),
            (1, Duplicate, ack(4), 4000),
            (6, OutOfOrder, nak(4, 6), 4000),
            (4, in_order(2500), ack(7), 6500),
            (6, Duplicate, ack(7), 6500),
        ] {
            let answered = responder.receive(&flow.packet(number));
            assert_eq!(answered, (reception, Some(answer)), "packet {number}");
            assert_eq!(responder.delivered_bytes(), delivered, "packet {number}");
        }
    }

    #[test]
    fn acks_come_every_n_packets_where_requested_and_at_once_for_a_repair() {
        let (mut responder, flow) = responder(3);
        for (number, answer) in [
            (0, None),
            (1, None),
            (2, Some(ack(3))),
            (3, None),
            (5, Some(nak(4, 5))),
            // The NAK has acknowledged packet 3.
            (4, Some(ack(6))),
            (6, Some(ack(7))),
        ] {
            assert_eq!(responder.receive(&flow.packet(number)).1, answer, "packet {number}");
        }
    }

    #[test]
    fn what_contradicts_the_set_up_is_refused() {
        let (mut responder, flow) = responder(1);
        let good = flow.packet(2);
        let reth = good.reth.expect("each packet has one");
        let refused = [
            RocePacket { opcode: Opcode::WriteMiddle, reth: None, ..good },
            RocePacket { opcode: Opcode::WriteFirst, ..good },
            RocePacket { payload_length: 999, ..good },
            RocePacket { psn: good.psn.next(), ..good },
            // Behind the end of the flow, and as far ahead as a PSN can be.
            RocePacket { psn: Psn::new(INITIAL_PSN + 7), ..good },
            RocePacket { psn: Psn::new(INITIAL_PSN + (1 << 23)), ..good },
        ];
        let refused = refused.into_iter().chain([(2001, 1000), (2000, 1001)].map(
            |(virtual_address, dma_length)| {
                let reth = Some(RethFields { virtual_address, dma_length, ..reth });
                RocePacket { reth, ..good }
            },
        ));
        for packet in refused {
            assert_eq!(responder.receive(&packet), (Reception::Mismatch, None), "{packet}");
        }
        assert_eq!(responder.receive(&good), (OutOfOrder, Some(nak(0, 2))));
    }

    #[test]
    fn an_empty_flow_is_one_empty_packet() {
        let initial_psn = Psn::new(0);
        let request = request(initial_psn, 0);
        let mut responder = SelectiveRepeatResponder::new(&request, 1000, 4);
        let packet = placed(0, 0, Placement::EveryPacket).packet(0);
        let (reception, answer) = responder.receive(&packet);
        assert_eq!(reception, in_order(0));
        assert_eq!(answer.map(|answer| answer.psn), Some(Psn::new(0)));
    }
}
