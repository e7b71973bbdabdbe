//! Stamps go to the receiver with the data, and back with its answers.

use fabric_core::wire::roce::{Opcode, RocePacket, TelemetryFields};
use fabric_core::wire::telemetry::{Measured, RateCode, Stamp};
use host_agent::{FlowRequest, Host, ResponderRequest, Transport};
use units::{Bytes, Nanos, Picos};

use super::testbed::{LINE_RATE, ROCE, address, config, roce};
use fabric_core::hop_control::HopControl;
use fabric_core::priority::Priority;
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

/// A host that has room for three stamps and sends three packets, and one that receives them.
fn pair() -> (Host, Host) {
    let [mut sender, mut receiver] = [0, 1].map(|host| Host::new(config(host), &[with_room(3)]));
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
    };
    sender.start_flow(Picos::ZERO, &request);
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

#[test]
#[should_panic(expected = "a packet has room for its stamps")]
fn room_for_more_stamps_than_a_packet_has() {
    Host::new(config(0), &[with_room(9)]);
}
