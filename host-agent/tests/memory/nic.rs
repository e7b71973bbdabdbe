//! Turns, pauses and pace at a host's port.

use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::wire::roce::{Opcode, RocePacket};
use fabric_core::wire::{LinkDelayFrame, Psn};
use host_agent::congestion_control::Algorithm;
use host_agent::congestion_control::dcqcn::Parameters;
use host_agent::{FlowRequest, Host, HostConfig, Transport};
use units::{BitsPerSecond, Nanos, Picos};

use crate::testbed::{
    IdealWire, LINE_RATE, LosingWire, MarkingWire, OVERHEAD, Pfc, ROCE, Testbed, address, config,
    opcode, roce,
};

fn data(testbed: &Testbed) -> impl Iterator<Item = (Picos, RocePacket)> {
    let sent = testbed.sent.iter();
    sent.filter(|sent| sent.2.payload_length() > 0).map(|(at, _, packet)| (*at, roce(packet)))
}

#[test]
fn a_thousand_queue_pairs_share_the_port_packet_by_packet() {
    let mut testbed = Testbed::new(|_, _| {}, IdealWire);
    let flows: Vec<_> = (0..1000).map(|flow| (0, flow, 5000)).collect();
    for &(host, flow, bytes) in &flows {
        testbed.start(host, flow, (flow % 3) as u8, bytes);
    }
    testbed.run();
    let order: Vec<_> = data(&testbed).map(|(_, packet)| packet.destination_qp).collect();
    let round: Vec<_> = (0..1000).collect();
    assert!(order.chunks(1000).all(|turns| turns == round));
    testbed.assert_delivered(&flows);
}

#[test]
fn a_pause_stops_its_priority_until_it_expires() {
    let mut testbed = Testbed::new(|_, _| {}, IdealWire);
    testbed.start(0, 1, 3, 100_000);
    testbed.start(0, 2, 4, 100_000);
    let frame = Pfc { class_enable: 1 << 3, quanta: [2000; 8] };
    let (from, until) = (Picos(1_000_000), Picos(1_000_000 + 2000 * 5120));
    testbed.pfc(from, 0, frame);
    testbed.run();
    let paused =
        data(&testbed).filter(|(at, packet)| packet.dscp == 24 && *at >= from && *at < until);
    assert_eq!(paused.count(), 0);
    assert!(data(&testbed).any(|(at, packet)| packet.dscp == 24 && at == until));
    assert_eq!(testbed.hosts[0].counters().pauses_received, 1);
    testbed.assert_delivered(&[(0, 1, 100_000), (0, 2, 100_000)]);
}

#[test]
fn a_pause_longer_than_the_timer_costs_duplicates_but_no_bytes() {
    let mut testbed =
        Testbed::new(|config, _| config.retransmission_timeout = Picos(10_000_000), IdealWire);
    testbed.start(0, 1, 3, 100_000);
    // The responder's ACKs are held for 52 us.
    testbed.pfc(Picos(0), 1, Pfc { class_enable: 1 << 5, quanta: [10_000; 8] });
    testbed.run();
    assert!(testbed.hosts[0].counters().timeouts > 0);
    assert!(testbed.hosts[1].counters().duplicate_packets > 0);
    testbed.assert_delivered(&[(0, 1, 100_000)]);
}

#[test]
fn zero_quanta_and_frames_without_class() {
    let mut testbed = Testbed::new(|_, _| {}, IdealWire);
    testbed.start(0, 1, 3, 10_000);
    testbed.pfc(Picos(0), 0, Pfc { class_enable: 0xff, quanta: [u16::MAX; 8] });
    testbed.pfc(Picos(1), 0, Pfc { class_enable: 0, quanta: [u16::MAX; 8] });
    testbed.pfc(Picos(5_000_000), 0, Pfc { class_enable: 1 << 3, quanta: [0; 8] });
    testbed.run();
    assert_eq!(data(&testbed).nth(1).map(|(at, _)| at), Some(Picos(5_000_000)));
    let counters = *testbed.hosts[0].counters();
    assert_eq!(
        (counters.pauses_received, counters.resumes_received, counters.pauses_without_class),
        (1, 1, 1)
    );
}

fn dcqcn(_: &mut HostConfig, transport: &mut Transport) {
    transport.congestion_control = Algorithm::Dcqcn(Parameters::paper(LINE_RATE));
}

#[test]
fn dcqcn_without_marks_is_line_rate() {
    let run = |configure: fn(&mut HostConfig, &mut Transport)| {
        let mut testbed = Testbed::new(configure, IdealWire);
        testbed.start(0, 1, 3, 100_000);
        testbed.start(0, 2, 3, 50_000);
        testbed.run();
        testbed.sent
    };
    assert_eq!(run(|_, _| {}), run(dcqcn));
}

#[test]
fn a_notification_halves_the_pace() {
    let wire = MarkingWire { inner: IdealWire, remaining: 1 };
    let mut testbed = Testbed::new(dcqcn, wire);
    testbed.start(0, 1, 3, 100_000);
    testbed.run();
    assert_eq!(testbed.hosts[1].counters().cnps_sent, 1);
    assert_eq!(testbed.hosts[0].counters().rate_cuts, 1);
    let starts: Vec<_> = data(&testbed).map(|(at, _)| at).collect();
    let at_half = BitsPerSecond(LINE_RATE.0 / 2).serialise(1058 + OVERHEAD);
    assert!(starts[99] < Picos(55_000_000), "the increase timer has not expired");
    assert_eq!(starts[99] - starts[98], at_half);
    testbed.assert_delivered(&[(0, 1, 100_000)]);
}

#[test]
fn cnps_are_as_frequent_as_the_interval_allows() {
    let wire = MarkingWire { inner: IdealWire, remaining: u64::MAX };
    let mut testbed = Testbed::new(dcqcn, wire);
    testbed.start(0, 1, 3, 1_000_000);
    testbed.run();
    let arrivals: Vec<_> = testbed
        .sent
        .iter()
        .filter(|(_, _, packet)| opcode(packet) == Opcode::Cnp)
        .map(|(at, _, _)| *at)
        .collect();
    assert!(arrivals.len() > 3);
    // A CNP may wait for one ACK on its way out.
    let slack = LINE_RATE.serialise(62 + OVERHEAD);
    assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] + slack >= Picos(50_000_000)));
    testbed.assert_delivered(&[(0, 1, 1_000_000)]);
}

#[test]
fn a_lost_cnp_costs_a_cut_and_nothing_else() {
    let wire = LosingWire {
        inner: MarkingWire { inner: IdealWire, remaining: 1 },
        matches: |packet| opcode(packet) == Opcode::Cnp,
        nth: 0,
    };
    let mut testbed = Testbed::new(dcqcn, wire);
    testbed.start(0, 1, 3, 100_000);
    testbed.run();
    assert_eq!(testbed.hosts[1].counters().cnps_sent, 1);
    assert_eq!(testbed.hosts[0].counters().cnps_received, 0);
    testbed.assert_delivered(&[(0, 1, 100_000)]);
}

/// The response goes ahead of data that is ready, paused or not, and its stamp is the departure of its last bit.
#[test]
fn a_question_for_the_link_delay_is_answered_first() {
    let mut config = config(0);
    config.pause_response = Picos(1_500);
    let mut host = Host::new(config, &[ROCE]);
    let request = |destination| FlowRequest {
        flow: 0,
        transport: 0,
        destination,
        qp: 0,
        initial_psn: Psn::new(0),
        source_port: 0xc000,
        priority: Priority::new(3),
        bytes: 1000,
        is_incast: false,
    };
    host.start_flow(Picos::ZERO, &request(address(1)));
    host.handle_hop_control(Picos::ZERO, &HopControl::pfc(0xff, [100; 8]));
    let mut question = LinkDelayFrame::request([2, 2, 0, 0, 0, 1], 7);
    question.stamp(Nanos(5));
    host.handle_link_delay(Picos(10_900), &question);
    assert!(!host.is_idle());
    assert_eq!(host.next_transmission(Picos(20_000)), Some(Picos(20_000)));
    let mut expected = question.answer(config.mac, Nanos(10), Nanos(2));
    // 84 bytes of the wire take 6.72 ns.
    expected.stamp(Nanos(26));
    assert_eq!(host.poll_link_delay(Picos(20_000)), Some(expected));
    assert_eq!(host.poll_link_delay(Picos(20_000)), None);
    host.handle_link_delay(Picos(30_000), &expected);
    assert_eq!(host.poll_link_delay(Picos(30_000)), None, "a host asks nothing");
    assert_eq!(host.counters().link_delay_requests, 1);
}
