//! Selective repeat between two hosts over wires that lose packets.

use fabric_core::wire::Packet;
use fabric_core::wire::roce::{Opcode, Syndrome};
use host_agent::{HostConfig, Protocol, Reliability, SelectiveRepeat, Transport};
use units::Picos;

use crate::testbed::{
    IdealWire, LosingWire, LossyWire, OVERHEAD, PROPAGATION, Testbed, opcode, roce,
};

const RTO_LOW: Picos = Picos(20_000_000);

/// `RTO_high` is 100 us.
fn selective_repeat(_: &mut HostConfig, transport: &mut Transport) {
    let parameters = SelectiveRepeat { rto_low: RTO_LOW, rto_low_packets: 3 };
    let reliability = Reliability::SelectiveRepeat(parameters);
    transport.protocol = Protocol::Roce { reliability };
}

fn is_data(packet: &Packet) -> bool {
    opcode(packet) == Opcode::WriteOnly
}

fn is_nak(packet: &Packet) -> bool {
    roce(packet).aeth.is_some_and(|aeth| aeth.syndrome == Syndrome::SelectiveNak)
}

fn is_ack(packet: &Packet) -> bool {
    roce(packet).aeth.is_some_and(|aeth| aeth.syndrome == Syndrome::Ack)
}

/// Rows: the lost packet, then timeouts and retransmissions until repaired.
#[test]
fn any_single_loss_is_repaired() {
    type Matches = fn(&Packet) -> bool;
    let mut losses: Vec<(&str, Matches, usize, [u64; 2])> = vec![
        ("the last data packet", is_data, 19, [1, 1]),
        ("the last ACK", is_ack, 19, [1, 1]),
        ("nothing", |_| false, 0, [0, 0]),
    ];
    losses.extend((0..19).map(|nth| ("a data packet", is_data as Matches, nth, [0, 1])));
    losses.extend((0..19).map(|nth| ("an ACK", is_ack as Matches, nth, [0, 0])));
    for (description, matches, nth, expected) in losses {
        let wire = LosingWire { inner: IdealWire, matches, nth };
        let mut testbed = Testbed::new(selective_repeat, wire);
        testbed.start(0, 1, 3, 20_000);
        testbed.run();
        testbed.assert_delivered(&[(0, 1, 20_000)]);
        let counters = testbed.hosts[0].counters();
        let found = [counters.timeouts, counters.retransmitted_packets];
        assert_eq!(found, expected, "{description}, {nth}");
    }
}

#[test]
fn a_lost_nak_costs_one_packet_and_no_timeout() {
    let lost = LosingWire { inner: IdealWire, matches: is_data, nth: 4 };
    let mut testbed =
        Testbed::new(selective_repeat, LosingWire { inner: lost, matches: is_nak, nth: 0 });
    testbed.start(0, 1, 3, 20_000);
    testbed.run();
    testbed.assert_delivered(&[(0, 1, 20_000)]);
    let counters = testbed.hosts[0].counters();
    assert_eq!((counters.timeouts, counters.retransmitted_packets), (0, 2));
}

/// With 20 packets in flight the timer is set to `RTO_high`. The ACK of the last but one makes it the earlier `RTO_low`.
#[test]
fn the_timer_moves_to_an_earlier_instant_as_packets_are_acknowledged() {
    let lost = LosingWire { inner: IdealWire, matches: is_data, nth: 19 };
    let mut testbed = Testbed::new(selective_repeat, lost);
    testbed.start(0, 1, 3, 20_000);
    testbed.run();
    let packet = crate::testbed::LINE_RATE.serialise(1074 + OVERHEAD);
    let ack = crate::testbed::LINE_RATE.serialise(62 + OVERHEAD);
    let mut last_ack_arrives = ack + PROPAGATION + PROPAGATION;
    for _ in 0..19 {
        last_ack_arrives += packet;
    }
    let starts: Vec<Picos> =
        testbed.sent.iter().filter(|sent| is_data(&sent.2)).map(|sent| sent.0).collect();
    assert_eq!(starts.len(), 21);
    assert_eq!(starts[20], last_ack_arrives + RTO_LOW);
}

#[test]
fn random_loss_in_both_directions_ends_with_every_byte_delivered() {
    for (per_million, ack_interval) in
        [(1_000, 1), (10_000, 1), (50_000, 1), (1_000, 16), (10_000, 16), (50_000, 16)]
    {
        for seed in 0..10 {
            let wire = LossyWire { inner: IdealWire, per_million, seed, drawn: 0 };
            let configure = |config: &mut HostConfig, transport: &mut Transport| {
                selective_repeat(config, transport);
                config.ack_interval = ack_interval;
            };
            let mut testbed = Testbed::new(configure, wire);
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
