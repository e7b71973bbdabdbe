//! Packets that are not addressed to this host.

use super::*;

#[test]
fn packets_for_nobody_change_nothing_and_are_counted() {
    let (mut sender, mut receiver) = pair(Algorithm::LineRate, 2500);
    let data = sender.poll_roce(Picos::ZERO).expect("the first packet");
    let (sender_before, receiver_before) = (sender.next_timer(), receiver.next_timer());
    receiver.handle_packet(Picos(1), &RocePacket { destination: 9, ..data });
    receiver.handle_packet(Picos(1), &RocePacket { destination_qp: 8, ..data });
    receiver.handle_packet(Picos(1), &RocePacket { source: 9, ..data });
    receiver.handle_packet(Picos(1), &RocePacket { opcode: Opcode::WriteMiddle, ..data });
    let expected = HostCounters {
        misdelivered: 1,
        unknown_queue_pair: 2,
        data_packets_received: 1,
        message_mismatches: 1,
        ..HostCounters::default()
    };
    assert_eq!(*receiver.counters(), expected);

    let before = *sender.counters();
    let ack = acknowledgement(Syndrome::Ack, 10);
    sender.handle_packet(Picos(2), &RocePacket { source: 9, ..ack });
    sender.handle_packet(Picos(2), &RocePacket { destination_qp: 8, ..ack });
    sender.handle_packet(Picos(2), &RocePacket { aeth: None, ..ack });
    sender.handle_packet(Picos(2), &RocePacket { opcode: Opcode::Cnp, source: 9, ..ack });
    sender.handle_packet(Picos(2), &acknowledgement(Syndrome::Ack, 9));
    sender.handle_packet(Picos(2), &acknowledgement(Syndrome::Ack, 20));
    let expected = HostCounters {
        unknown_queue_pair: 3,
        missing_aeth: 1,
        acknowledgements_received: 2,
        stale_acknowledgements: 1,
        acknowledgements_beyond_sent: 1,
        ..before
    };
    assert_eq!(*sender.counters(), expected);
    assert_eq!((sender.next_timer(), receiver.next_timer()), (sender_before, receiver_before));
    assert_eq!((events(&mut sender), events(&mut receiver)), (vec![], vec![]));
}
