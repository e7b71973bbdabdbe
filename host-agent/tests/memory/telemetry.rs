//! Stamps go to the receiver with the data, and back with its answers.

use fabric_core::wire::roce::{Opcode, RocePacket, TelemetryFields};
use fabric_core::wire::telemetry::{Measured, RateCode, Stamp};
use host_agent::congestion_control::{Algorithm, Multiple, hpcc};
use host_agent::tcp::Parameters;
use host_agent::{FlowRequest, Host, HostEvent, Protocol, ResponderRequest, Transport};
use units::{BitsPerSecond, Bytes, Nanos, Picos};

use super::testbed::{LINE_RATE, ROCE, TCP, address, config, roce};
use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
use fabric_core::wire::TcpSegment;
use fabric_core::wire::psn::Psn;

const QP: u32 = 7;
const BYTES: u64 = 3000;

fn stamp(at: u64) -> Stamp {
    let rate = RateCode::nearest(LINE_RATE);
    Stamp::new(&Measured { rate, at: Nanos(at), transmitted: Bytes(0), queue: Bytes(0) })
}

fn with_room(telemetry_hops: u8) -> Transport {
    Transport { telemetry_hops, ..ROCE }
}

/// A host that has room for three stamps and sends three packets, and a host that receives them.
fn pair() -> (Host, Host) {
    pair_over(with_room(3))
}

fn pair_over(transport: Transport) -> (Host, Host) {
    let [mut sender, mut receiver] = [0, 1].map(|host| Host::new(config(host), &[transport]));
    let (initial_psn, source_port, priority) = (Psn::new(0), 50_000, Priority::new(3));
    let peer = address(0);
    let responder =
        ResponderRequest { qp: QP, transport: 0, peer, initial_psn, source_port, bytes: BYTES };
    receiver.open_responder(&responder);
    let (destination, bytes) = (address(1), BYTES);
    let request = FlowRequest {
        flow: 0,
        transport: 0,
        destination,
        qp: QP,
        initial_psn,
        source_port,
        priority,
        bytes,
        is_incast: false,
    };
    sender.start_traced_flow(Picos::ZERO, &request);
    (sender, receiver)
}

fn sent(host: &mut Host) -> Vec<(RocePacket, Vec<Stamp>)> {
    let packets = std::iter::from_fn(|| {
        let packet = host.poll_transmit(Picos(1))?;
        Some((roce(&packet), host.stamps_of(&packet).to_vec()))
    });
    packets.collect()
}

#[test]
fn each_answer_echoes_the_stamps_of_its_packet() {
    let (mut sender, mut receiver) = pair();
    let data = sent(&mut sender);
    let room = TelemetryFields::with_room(3);
    assert!(data.iter().all(|(packet, stamps)| packet.telemetry == room && stamps.is_empty()));
    assert_eq!(data[0].0.frame_length(), 1074 + 32);
    // Answers wait together, behind a pause of their priority, so that each has to keep its own stamps.
    receiver.handle_hop_control(Picos::ZERO, &HopControl::pfc(1 << 5, [0xffff; 8]));
    let stamped = [(1, false), (3, true), (0, false)];
    for ((packet, _), (hops, exceeded)) in data.iter().zip(stamped) {
        let telemetry = Some(TelemetryFields { room: 3, hops, echo: false, exceeded });
        let stamps: Vec<Stamp> = (0..hops).map(|hop| stamp(u64::from(10 * hops + hop))).collect();
        receiver.handle_stamped(Picos(1), &RocePacket { telemetry, ..*packet }, &stamps);
    }
    assert_eq!(sent(&mut receiver), []);
    receiver.handle_hop_control(Picos(1), &HopControl::pfc(1 << 5, [0; 8]));
    let answers = sent(&mut receiver);
    assert_eq!(answers.len(), 3);
    for ((answer, stamps), (hops, exceeded)) in answers.iter().zip(stamped) {
        assert_eq!(answer.opcode, Opcode::Acknowledge);
        let telemetry = Some(TelemetryFields { room: 3, hops, echo: true, exceeded });
        assert_eq!(answer.telemetry, telemetry);
        let expected: Vec<Stamp> = (0..hops).map(|hop| stamp(u64::from(10 * hops + hop))).collect();
        assert_eq!(*stamps, expected);
        assert_eq!(answer.frame_length(), 62 + 32);
    }
}

#[test]
fn a_nak_echoes_the_stamps_of_the_packet_that_is_out_of_order() {
    let (mut sender, mut receiver) = pair();
    let data = sent(&mut sender);
    let telemetry = Some(TelemetryFields { room: 3, hops: 1, echo: false, exceeded: false });
    receiver.handle_stamped(Picos(1), &RocePacket { telemetry, ..data[1].0 }, &[stamp(8)]);
    let answers = sent(&mut receiver);
    assert_eq!(answers.len(), 1);
    assert_eq!(receiver.counters().naks_sent, 1);
    assert_eq!(answers[0].1, [stamp(8)]);
}

#[test]
fn packets_that_answer_nothing_have_no_telemetry() {
    let (mut sender, mut receiver) = pair();
    let (packet, _) = sent(&mut sender)[0];
    receiver.handle_packet(Picos(1), &RocePacket { telemetry: None, ..packet });
    let answers = sent(&mut receiver);
    assert_eq!(answers.iter().map(|(answer, _)| answer.telemetry).collect::<Vec<_>>(), [None]);
}

/// Open connections under HPCC, whose ACKs wait up to `delayed_ack` for a second segment.
fn connected(delayed_ack: Picos) -> (Host, Host) {
    let hpcc = hpcc::Parameters {
        fast_reaction: true,
        base_rtt: Picos(4_000_000),
        utilisation: Multiple::from_millionths(950_000),
        stages: 5,
        additive_increase: Bytes(80),
        line_rate: LINE_RATE,
        minimum_rate: BitsPerSecond(1_000_000_000),
    };
    pair_over(Transport {
        protocol: Protocol::Tcp(Parameters { handshake: false, delayed_ack, ..TCP }),
        congestion_control: Algorithm::Hpcc(hpcc),
        ..with_room(3)
    })
}

fn segments(host: &mut Host, at: u64) -> Vec<(TcpSegment, Vec<Stamp>)> {
    let packets = std::iter::from_fn(|| {
        let packet = host.poll_transmit(Picos(at))?;
        Some((packet.tcp().expect("nothing else is sent"), host.stamps_of(&packet).to_vec()))
    });
    packets.collect()
}

/// The segment with telemetry and stamps of `hops` hops.
fn stamped(segment: TcpSegment, hops: u8) -> (TcpSegment, Vec<Stamp>) {
    let telemetry = Some(TelemetryFields { room: 3, hops, echo: false, exceeded: false });
    let stamps = (0..hops).map(|hop| stamp(u64::from(10 * hops + hop))).collect();
    (TcpSegment { telemetry, ..segment }, stamps)
}

/// The second segment comes last: the ACKs of the third have SACK blocks.
#[test]
fn acks_of_segments_echo_their_stamps_unless_they_have_sack_blocks() {
    let (mut sender, mut receiver) = connected(Picos::ZERO);
    let data: Vec<TcpSegment> =
        (1..=3).flat_map(|at| segments(&mut sender, 200_000 * at)).map(|(it, _)| it).collect();
    assert!(data.iter().all(|segment| segment.telemetry == TelemetryFields::with_room(3)));
    assert_eq!((data.len(), data[0].frame_length()), (3, 1066 + 28));
    for (number, hops) in [(0, 1), (2, 2), (1, 3)] {
        let (segment, stamps) = stamped(data[number], hops);
        receiver.handle_segment(Picos(1), &segment, &stamps);
    }
    let acks = segments(&mut receiver, 1);
    let echo = |hops| Some(TelemetryFields { room: 3, hops, echo: true, exceeded: false });
    let echoed: Vec<_> = acks.iter().map(|(ack, stamps)| (ack.telemetry, stamps.clone())).collect();
    let expected =
        [(echo(1), stamped(data[0], 1).1), (None, vec![]), (echo(3), stamped(data[1], 3).1)];
    assert_eq!(echoed, expected);
    assert_eq!(acks[1].0.sack.as_slice().len(), 1);
    // Telemetry that arrives as an echo belongs to another path, and is not echoed.
    let (mut another, mut receiver) = connected(Picos::ZERO);
    let (segment, _) = segments(&mut another, 1)[0];
    receiver.handle_segment(Picos(1), &TcpSegment { telemetry: echo(0), ..segment }, &[]);
    assert_eq!(segments(&mut receiver, 1)[0].0.telemetry, None);
}

#[test]
fn an_ack_that_has_waited_echoes_the_stamps_of_its_segment() {
    let (mut sender, mut receiver) = connected(Picos(5_000_000));
    let (segment, stamps) = stamped(segments(&mut sender, 1)[0].0, 2);
    receiver.handle_segment(Picos(1), &segment, &stamps);
    assert_eq!(segments(&mut receiver, 1), []);
    let due = Picos(5_000_001);
    receiver.handle_deadline(due);
    let acks = segments(&mut receiver, due.0);
    let echo = TelemetryFields { room: 3, hops: 2, echo: true, exceeded: false };
    assert_eq!((acks[0].0.telemetry, &acks[0].1), (Some(echo), &stamps));
}

/// HPCC shrinks its window once it has seen a hop that was more than busy.
#[test]
fn stamps_of_segments_reach_the_congestion_control() {
    let (mut sender, mut receiver) = connected(Picos::ZERO);
    let busy = |number: u64| {
        let rate = RateCode::nearest(LINE_RATE);
        let (at, transmitted) = (Nanos(1000 * number), Bytes(12_500 * number));
        vec![Stamp::new(&Measured { rate, at, transmitted, queue: Bytes(500_000) })]
    };
    let data = segments(&mut sender, 1);
    for (number, (segment, _)) in (1..).zip(&data[..2]) {
        let telemetry = Some(TelemetryFields { room: 3, hops: 1, echo: false, exceeded: false });
        let segment = TcpSegment { telemetry, ..*segment };
        receiver.handle_segment(Picos(1), &segment, &busy(number));
        let (ack, stamps) = segments(&mut receiver, 1).remove(0);
        sender.handle_segment(Picos(1_000_000 * number), &ack, &stamps);
    }
    let windows = std::iter::from_fn(|| sender.poll_event()).filter_map(|event| match event {
        HostEvent::SenderChanged { state, .. } => state.window,
        _ => None,
    });
    let windows: Vec<u64> = windows.map(|window| window.0).collect();
    assert!(windows.last() < windows.first(), "{windows:?}");
}

#[test]
#[should_panic(expected = "a packet has room for its stamps")]
fn room_for_more_stamps_than_a_segment_has() {
    let protocol = Protocol::Tcp(TCP);
    Host::new(config(0), &[Transport { protocol, ..with_room(4) }]);
}

#[test]
#[should_panic(expected = "a packet has room for its stamps")]
fn room_for_more_stamps_than_a_packet_has() {
    Host::new(config(0), &[with_room(9)]);
}
