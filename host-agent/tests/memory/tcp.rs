//! TCP between two hosts over wires that lose and mark segments.

use fabric_core::wire::tcp::{Flags, SackBlock};
use fabric_core::wire::{Packet, TcpSegment};
use host_agent::tcp::Parameters;
use host_agent::{FirstRttMarks, HostConfig, Protocol, Transport};
use units::{Bytes, Picos};

use crate::testbed::{
    IdealWire, LosingWire, LossyWire, MarkingWire, TCP, Testbed, Wire, slow_dctcp,
};

fn with(parameters: Parameters) -> impl Fn(&mut HostConfig, &mut Transport) {
    move |_, transport| {
        let protocol = Protocol::Tcp(parameters);
        *transport = Transport { protocol, congestion_control: slow_dctcp(), ..*transport };
    }
}

fn tcp(packet: &Packet) -> TcpSegment {
    packet.tcp().expect("nothing else is carried")
}

fn is_data(packet: &Packet) -> bool {
    tcp(packet).payload_length > 0
}

fn is_ack(packet: &Packet) -> bool {
    !is_data(packet) && tcp(packet).syn.is_none()
}

fn opens(packet: &Packet) -> bool {
    tcp(packet).syn.is_some()
}

fn run(parameters: Parameters, wire: impl Wire + 'static, bytes: u64) -> Testbed {
    let mut testbed = Testbed::new(with(parameters), wire);
    testbed.start(0, 1, 3, bytes);
    testbed.run();
    testbed.assert_delivered(&[(0, 1, bytes)]);
    testbed
}

/// Timeouts and segments sent again.
fn repairs(testbed: &Testbed) -> [u64; 2] {
    let counters = testbed.hosts[0].counters();
    [counters.timeouts, counters.retransmitted_packets]
}

#[test]
fn a_connection_opens_carries_its_flow_and_ends() {
    let testbed = run(TCP, IdealWire, 2500);
    let flags: Vec<(usize, String, u16)> = testbed
        .sent
        .iter()
        .map(|(_, host, packet)| {
            let segment = tcp(packet);
            (*host, segment.flags.to_string(), segment.payload_length)
        })
        .collect();
    let expected = [
        (0, "SYN,ECE,CWR", 0),
        (1, "SYN,ACK,ECE", 0),
        (0, "ACK", 1000),
        (0, "ACK", 1000),
        (0, "FIN,PSH,ACK", 500),
        (1, "ACK", 0),
        (1, "ACK", 0),
        (1, "ACK", 0),
    ];
    let expected = expected.map(|(host, flags, bytes)| (host, flags.to_owned(), bytes));
    assert_eq!(flags, expected);
    let (syn, last) = (tcp(&testbed.sent[0].2), tcp(&testbed.sent[7].2));
    assert_eq!(last.acknowledgement, syn.sequence.wrapping_add(2502), "SYN, data and FIN");
    assert_eq!(repairs(&testbed), [0, 0]);
}

/// The first round trip ends within the second of the segments; the third is not part of it.
#[test]
fn segments_of_the_first_round_trip_are_marked_and_acks_if_asked() {
    for (acknowledgements, of_acks) in [(false, 0), (true, 2)] {
        let marked = move |config: &mut HostConfig, transport: &mut Transport| {
            with(TCP)(config, transport);
            config.ack_priority = None;
            transport.first_rtt = FirstRttMarks { limit: Bytes(1001), acknowledgements };
        };
        let mut testbed = Testbed::new(marked, IdealWire);
        testbed.start(0, 1, 3, 2500);
        testbed.run();
        let dscps: Vec<(usize, u8)> =
            testbed.sent.iter().map(|(_, host, packet)| (*host, tcp(packet).dscp)).collect();
        let ack = (1, 24 + of_acks);
        assert_eq!(dscps, [(0, 26), ack, (0, 26), (0, 26), (0, 24), ack, ack, ack]);
    }
}

#[test]
fn without_a_handshake_data_goes_at_once() {
    let testbed = run(Parameters { handshake: false, ..TCP }, IdealWire, 2500);
    assert!(testbed.sent.iter().all(|(_, _, packet)| !opens(packet)));
    assert_eq!(testbed.sent[0].0, Picos::ZERO);
    assert!(is_data(&testbed.sent[0].2));
}

/// Each packet of a short flow is lost in turn. If SACK can report the loss, no timeout is needed. No segment that has
/// arrived is sent again, because the path keeps the order.
#[test]
fn each_packet_of_a_short_flow_is_lost_in_turn() {
    for nth in 0..20 {
        let lost = LosingWire { inner: IdealWire, matches: is_data, nth };
        // No segment follows the last one, so no SACK can report its loss.
        let expected = if nth == 19 { [1, 1] } else { [0, 1] };
        assert_eq!(repairs(&run(TCP, lost, 20_000)), expected, "segment {nth}");
        let lost = LosingWire { inner: IdealWire, matches: is_ack, nth };
        // The next ACK covers the lost one.
        let expected = if nth == 19 { [1, 1] } else { [0, 0] };
        assert_eq!(repairs(&run(TCP, lost, 20_000)), expected, "ACK {nth}");
    }
    for nth in 0..2 {
        let lost = LosingWire { inner: IdealWire, matches: opens, nth };
        assert_eq!(repairs(&run(TCP, lost, 20_000)), [1, 1], "SYN {nth}");
    }
}

#[test]
fn a_probe_repairs_a_lost_tail_without_a_timeout() {
    let parameters = Parameters { tail_loss_probe: true, ..TCP };
    for (matches, nth) in [(is_data as fn(&Packet) -> bool, 19), (is_ack, 19)] {
        let lost = LosingWire { inner: IdealWire, matches, nth };
        assert_eq!(repairs(&run(parameters, lost, 20_000)), [0, 1]);
    }
    assert_eq!(repairs(&run(parameters, IdealWire, 20_000)), [0, 0]);
    // A tail of two: the probe shows that the other one is lost, too.
    let lost = LosingWire { inner: IdealWire, matches: is_data, nth: 18 };
    let lost = LosingWire { inner: lost, matches: is_data, nth: 18 };
    assert_eq!(repairs(&run(parameters, lost, 20_000)), [0, 2]);
}

#[test]
fn a_lost_retransmission_costs_a_timeout() {
    const FOURTH: u32 = (0x00ff_fff1 << 8) + 1 + 3000;
    let fourth = |packet: &Packet| is_data(packet) && tcp(packet).sequence == FOURTH;
    let lost = LosingWire { inner: IdealWire, matches: fourth, nth: 0 };
    let lost = LosingWire { inner: lost, matches: fourth, nth: 0 };
    assert_eq!(repairs(&run(TCP, lost, 20_000)), [1, 2]);
}

#[test]
fn random_losses_in_both_directions_are_repaired() {
    for (per_million, delayed_ack) in
        [(1000, 0), (10_000, 0), (50_000, 0), (50_000, 20_000_000), (200_000, 0)]
    {
        for seed in 0..10 {
            for tail_loss_probe in [false, true] {
                let delayed_ack = Picos(delayed_ack);
                let parameters = Parameters { delayed_ack, tail_loss_probe, ..TCP };
                let wire = LossyWire { inner: IdealWire, per_million, seed, drawn: 0 };
                let mut testbed = Testbed::new(with(parameters), wire);
                let flows = [(0, 1, 500_000), (0, 2, 1), (1, 3, 300_000), (0, 4, 0), (1, 5, 1000)];
                for (host, flow, bytes) in flows {
                    testbed.start(host, flow, 3, bytes);
                }
                testbed.run();
                testbed.assert_delivered(&flows);
            }
        }
    }
}

#[test]
fn gaps_are_reported_the_latest_first() {
    let lost = LosingWire { inner: IdealWire, matches: is_data, nth: 1 };
    let lost = LosingWire { inner: lost, matches: is_data, nth: 3 };
    let testbed = run(TCP, lost, 10_000);
    let first = tcp(&testbed.sent[0].2).sequence.wrapping_add(1);
    let blocks = |packet: &Packet| {
        let place = |sequence: u32| sequence.wrapping_sub(first);
        let block = |block: &SackBlock| (place(block.start), place(block.end));
        tcp(packet).sack.as_slice().iter().map(block).collect::<Vec<_>>()
    };
    let gaps: Vec<_> =
        testbed.sent.iter().filter(|(_, host, _)| *host == 1).map(|sent| blocks(&sent.2)).collect();
    // Segments 1 and 3 are missing: SYN, 0, 2, 4, 5, ..
    assert_eq!(
        gaps[..5],
        [
            vec![],
            vec![],
            vec![(2000, 3000)],
            vec![(4000, 5000), (2000, 3000)],
            vec![(4000, 6000), (2000, 3000)]
        ]
    );
    assert_eq!(repairs(&testbed), [0, 2]);
}

#[test]
fn an_ack_may_wait_for_a_second_segment() {
    let acks = |delayed_ack| {
        let testbed = run(Parameters { delayed_ack, ..TCP }, IdealWire, 9_000);
        testbed.sent.iter().filter(|(_, host, packet)| *host == 1 && is_ack(packet)).count()
    };
    assert_eq!(acks(Picos::ZERO), 9);
    assert_eq!(acks(Picos(40_000_000)), 5, "the last one, which ends the flow, does not wait");
    // Round trips are shorter than the time that an ACK waits, so a lone segment shows it.
    let parameters = Parameters { delayed_ack: Picos(40_000_000), ..TCP };
    let mut testbed = Testbed::new(
        |config, transport| {
            with(parameters)(config, transport);
            transport.window = Some(host_agent::WindowLimit { bytes: Bytes(1000), scales: false });
        },
        IdealWire,
    );
    testbed.start(0, 1, 3, 2000);
    testbed.run();
    let starts: Vec<Picos> =
        testbed.sent.iter().filter(|sent| is_data(&sent.2)).map(|sent| sent.0).collect();
    assert!(starts[1].since(starts[0]) > Picos(40_000_000), "{starts:?}");
    assert_eq!(repairs(&testbed), [0, 0]);
}

/// DCTCP's ACKs have ECE exactly if segments were marked, delayed or not, and the sender reports its reaction.
#[test]
fn marks_come_back_as_they_were() {
    for delayed_ack in [Picos::ZERO, Picos(40_000_000)] {
        let wire = MarkingWire { inner: IdealWire, remaining: 3 };
        let testbed = run(Parameters { delayed_ack, ..TCP }, wire, 20_000);
        let echoes = |packet: &Packet| tcp(packet).flags.contains(Flags::ECE);
        let acks: Vec<_> = testbed.sent.iter().filter(|sent| is_ack(&sent.2)).collect();
        let marked: Vec<_> = acks.iter().map(|sent| echoes(&sent.2)).collect();
        let ones = marked.iter().filter(|&&echo| echo).count();
        assert_eq!(ones, if delayed_ack == Picos::ZERO { 3 } else { 2 }, "{marked:?}");
        assert!(marked[..ones].iter().all(|&echo| echo));
        let reduced = testbed.sent.iter().filter(|(_, host, packet)| {
            *host == 0 && is_data(packet) && tcp(packet).flags.contains(Flags::CWR)
        });
        assert_eq!(reduced.count(), 1);
        assert_eq!(testbed.hosts[0].counters().rate_cuts, 1);
    }
}

#[test]
fn segments_for_nobody_are_counted() {
    let mut testbed = run(TCP, IdealWire, 1000);
    let data = tcp(&testbed.sent[2].2);
    let ack = tcp(&testbed.sent[3].2);
    let (sender, receiver) = testbed.hosts.split_at_mut(1);
    receiver[0].handle_segment(Picos(0), &data, &[]);
    sender[0].handle_segment(Picos(0), &ack, &[]);
    for host in [&sender[0], &receiver[0]] {
        assert_eq!(host.counters().unknown_queue_pair, 1);
    }
    sender[0].handle_segment(Picos(0), &TcpSegment { destination: 1, ..ack }, &[]);
    assert_eq!(sender[0].counters().misdelivered, 1);
}
