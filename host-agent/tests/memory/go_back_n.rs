//! Reliable delivery between two hosts over wires that lose packets.

use fabric_core::wire::Packet;
use fabric_core::wire::roce::{Opcode, RocePacket, Syndrome};
use host_agent::{HostEvent, SenderCounts};
use units::Picos;

use crate::testbed::{
    IdealWire, LINE_RATE, LosingWire, LossyWire, OVERHEAD, PROPAGATION, Testbed, opcode, roce,
};

fn serialise(frame_length: u64) -> Picos {
    LINE_RATE.serialise(frame_length + OVERHEAD)
}

fn is_nak(packet: &Packet) -> bool {
    roce(packet).aeth.is_some_and(|aeth| aeth.syndrome == Syndrome::NakSequenceError)
}

#[test]
fn the_completion_time_on_an_ideal_wire_is_a_closed_form() {
    let mut testbed = Testbed::new(|_, _| {}, IdealWire);
    testbed.start(0, 1, 3, 10_000);
    testbed.run();
    let mut data = serialise(1074);
    for _ in 1..10 {
        data += serialise(1058);
    }
    let delivered = data + PROPAGATION;
    let completed = delivered + serialise(62) + PROPAGATION;
    assert_eq!(
        testbed.events,
        [
            HostEvent::FlowDelivered { qp: 1, bytes: 10_000, at: delivered },
            HostEvent::FlowCompleted { flow: 1, at: completed, counts: SenderCounts::default() },
        ]
    );
    testbed.assert_delivered(&[(0, 1, 10_000)]);
    assert_eq!(testbed.hosts[0].counters().timeouts, 0);
    assert_eq!(testbed.hosts[1].counters().acknowledgements_sent, 10);
}

#[test]
fn coalesced_acks_are_one_per_interval_and_one_at_the_end() {
    let mut testbed = Testbed::new(|config, _| config.ack_interval = 4, IdealWire);
    testbed.start(0, 1, 3, 10_000);
    testbed.run();
    testbed.assert_delivered(&[(0, 1, 10_000)]);
    assert_eq!(testbed.hosts[1].counters().acknowledgements_sent, 3);
}

#[test]
fn any_single_loss_is_repaired() {
    type Matches = fn(&Packet) -> bool;
    // Description, matching packets, index among them, timeouts until repaired.
    let losses: [(&str, Matches, usize, u64); 7] = [
        ("first data packet", |packet| opcode(packet) == Opcode::WriteFirst, 0, 0),
        ("middle data packet", |packet| opcode(packet) == Opcode::WriteMiddle, 7, 0),
        ("last data packet", |packet| opcode(packet) == Opcode::WriteLast, 0, 1),
        ("first ACK", |packet| roce(packet).aeth.is_some(), 0, 0),
        ("last ACK", |packet| roce(packet).aeth.is_some(), 19, 1),
        ("the only data packet", |packet| opcode(packet) == Opcode::WriteOnly, 0, 1),
        ("no packet", |_| false, 0, 0),
    ];
    for (description, matches, nth, timeouts) in losses {
        let bytes = if description == "the only data packet" { 7 } else { 20_000 };
        let mut testbed = Testbed::new(|_, _| {}, LosingWire { inner: IdealWire, matches, nth });
        testbed.start(0, 1, 3, bytes);
        testbed.run();
        testbed.assert_delivered(&[(0, 1, bytes)]);
        assert_eq!(testbed.hosts[0].counters().timeouts, timeouts, "{description}");
        assert!(testbed.hosts[1].counters().naks_sent <= 1, "{description}");
    }
}

#[test]
fn a_lost_nak_is_repaired_by_the_timer() {
    let first = |packet: &Packet| opcode(packet) == Opcode::WriteFirst;
    let wire = LosingWire { inner: IdealWire, matches: first, nth: 0 };
    let mut testbed = Testbed::new(|_, _| {}, LosingWire { inner: wire, matches: is_nak, nth: 0 });
    testbed.start(0, 1, 3, 20_000);
    testbed.run();
    testbed.assert_delivered(&[(0, 1, 20_000)]);
    assert_eq!(testbed.hosts[0].counters().timeouts, 1);
    assert_eq!(testbed.hosts[1].counters().naks_sent, 1);
}

/// 2 MB take 169 us, longer than the timer of 100 us.
#[test]
fn the_timer_expires_while_a_flow_still_sends() {
    let first = |packet: &Packet| opcode(packet) == Opcode::WriteFirst;
    let wire = LosingWire { inner: IdealWire, matches: first, nth: 0 };
    let mut testbed = Testbed::new(|_, _| {}, LosingWire { inner: wire, matches: is_nak, nth: 0 });
    testbed.start(0, 1, 3, 2_000_000);
    testbed.run();
    testbed.assert_delivered(&[(0, 1, 2_000_000)]);
    assert_eq!(testbed.hosts[0].counters().timeouts, 1);
    let starts: Vec<_> =
        testbed.sent.iter().filter(|sent| first(&sent.2)).map(|sent| sent.0).collect();
    let again = starts[1];
    assert!(again >= Picos(100_000_000) && again < Picos(100_000_000) + serialise(1058));
}

#[test]
fn the_timer_runs_from_the_oldest_packet_and_from_progress() {
    let lost = |packet: &Packet| opcode(packet) == Opcode::WriteLast;
    let mut testbed =
        Testbed::new(|_, _| {}, LosingWire { inner: IdealWire, matches: lost, nth: 0 });
    testbed.start(0, 1, 3, 20_000);
    testbed.run();
    let mut last_ack_arrives = serialise(1074) + serialise(62) + PROPAGATION + PROPAGATION;
    for _ in 0..18 {
        last_ack_arrives += serialise(1058);
    }
    let starts: Vec<_> =
        testbed.sent.iter().filter(|sent| lost(&sent.2)).map(|sent| sent.0).collect();
    assert_eq!(starts[1], last_ack_arrives + Picos(100_000_000));
}

#[test]
fn random_loss_in_both_directions_ends_with_every_byte_delivered() {
    for (per_million, ack_interval) in [(1_000, 1), (10_000, 1), (1_000, 16), (10_000, 16)] {
        for seed in 0..10 {
            let wire = LossyWire { inner: IdealWire, per_million, seed, drawn: 0 };
            let mut testbed = Testbed::new(|config, _| config.ack_interval = ack_interval, wire);
            let flows = [
                (0, 1, 500_000),
                (0, 2, 1),
                (1, 3, 300_000),
                (0, 4, 0),
                (1, 5, 1000),
                (1, 6, 77_777),
            ];
            for (host, flow, bytes) in flows {
                testbed.start(host, flow, 3, bytes);
            }
            testbed.run();
            testbed.assert_delivered(&flows);
        }
    }
}

#[test]
fn a_run_with_loss_repeats_itself_exactly() {
    let run = || {
        let wire = LossyWire { inner: IdealWire, per_million: 10_000, seed: 4, drawn: 0 };
        let mut testbed = Testbed::new(|_, _| {}, wire);
        for flow in 1..50 {
            testbed.start(0, flow, (flow % 8) as u8, 20_000 + u64::from(flow));
        }
        testbed.run();
        (testbed.sent, testbed.events)
    };
    assert_eq!(run(), run());
}

#[test]
fn packets_for_nobody_are_counted() {
    let mut testbed = Testbed::new(|_, _| {}, IdealWire);
    testbed.start(0, 1, 3, 1000);
    testbed.run();
    let packet = roce(&testbed.sent[0].2);
    let host = &mut testbed.hosts[1];
    host.close_responder(1);
    host.handle_packet(Picos(0), &packet);
    assert_eq!(host.counters().unknown_queue_pair, 1);
    host.handle_packet(Picos(0), &RocePacket { destination: 1, ..packet });
    assert_eq!(host.counters().misdelivered, 1);
    assert_eq!(host.poll_transmit(Picos(0)), None);
}
