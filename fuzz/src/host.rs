//! Frames that come to a host one after another, whatever is in them: what it sends for them is right, no timer
//! outlives its flow, and it never delivers more than was sent to it.
//!
//! An input is a list of frames, each behind a head of three bytes: the time since the one before in units of
//! 64 ns, and the frame's length. A frame is repaired, or else every one would be refused for its CRC.

use emulation::datapath::HostArrival;
use fabric_core::priority::Priority;
use fabric_core::wire::{
    AethFields, Opcode, Psn, RethFields, RocePacket, Syndrome, roce, telemetry,
};
use host_agent::congestion_control::Algorithm;
use host_agent::congestion_control::dcqcn::Parameters;
use host_agent::{
    FlowRequest, Host, HostConfig, HostEvent, Reliability, ResponderRequest, SelectiveRepeat,
};
use units::{BitsPerSecond, Picos};

use crate::packets::{self, ADDRESSES, DATA, frame_of};
use crate::seeds::Seeds;

const HEAD: usize = 3;
const TIME_UNIT: u64 = 64_000;
const LINK_RATE: BitsPerSecond = BitsPerSecond(100_000_000_000);
const ADDRESS: u32 = DATA.destination;
const PEER: u32 = DATA.source;
/// The queue pair that sends.
const SENDING: u32 = 8;
/// The queue pair that receives.
const RECEIVING: u32 = 9;
const BYTES: u64 = 5000;
/// Packets that the host sends after each frame at most.
const BURST: usize = 8;

/// A conversation that goes well, one that does not, and what a port gets besides.
pub fn seeds() -> Seeds {
    let data = |psn, opcode, payload_length| RocePacket {
        opcode,
        payload_length,
        psn: Psn::new(psn),
        destination_qp: RECEIVING,
        ack_request: opcode == Opcode::WriteLast,
        reth: (opcode == Opcode::WriteFirst).then_some(RethFields {
            virtual_address: 0,
            remote_key: RECEIVING,
            dma_length: 2500,
        }),
        ..DATA
    };
    let answer = |psn, syndrome| RocePacket {
        opcode: Opcode::Acknowledge,
        aeth: Some(AethFields { syndrome, message_sequence_number: 1 }),
        psn: Psn::new(psn),
        destination_qp: SENDING,
        payload_length: 0,
        ..DATA
    };
    let notification =
        RocePacket { opcode: Opcode::Cnp, destination_qp: SENDING, payload_length: 0, ..DATA };
    let marked =
        RocePacket { ecn: roce::Ecn::CongestionExperienced, ..data(1, Opcode::WriteMiddle, 1000) };
    let received = [data(0, Opcode::WriteFirst, 1000), marked, data(2, Opcode::WriteLast, 500)];
    let lossy = [received[0], received[2], received[1], received[0]];
    // Each packet places itself; the second comes last.
    let placed = [(0, 1000), (2000, 1000), (4000, 1000), (3000, 1000), (1000, 1000)].map(
        |(virtual_address, dma_length)| RocePacket {
            reth: Some(RethFields { virtual_address, remote_key: RECEIVING, dma_length }),
            ..data(virtual_address as u32 / 1000, Opcode::WriteOnly, 1000)
        },
    );
    let selective = |expected, arrived| RocePacket {
        aeth: Some(AethFields::selective_nak(Psn::new(arrived))),
        ..answer(expected, Syndrome::SelectiveNak)
    };
    let repaired = [selective(1, 2), selective(1, 4), selective(3, 4), answer(4, Syndrome::Ack)];
    let acknowledged = [
        answer(1, Syndrome::Ack),
        notification,
        answer(2, Syndrome::NakSequenceError),
        answer(4, Syndrome::Ack),
    ];
    let frames = |packets: &[RocePacket]| -> Vec<Vec<u8>> {
        packets.iter().map(|packet| frame_of(packet, &ADDRESSES)).collect()
    };
    let lists = [
        frames(&received),
        frames(&lossy),
        frames(&acknowledged),
        frames(&placed),
        frames(&repaired),
        packets::control_frames(),
        [frames(&received), packets::control_frames(), frames(&acknowledged)].concat(),
    ];
    Seeds::of_bytes(lists.iter().map(|frames| input_of(frames)).collect())
}

fn input_of(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut input = Vec::new();
    for frame in frames {
        let [high, low] = (frame.len() as u16).to_be_bytes();
        input.extend([10, high, low]);
        input.extend(frame);
    }
    input
}

/// Hands the frames to a host that sends one flow and receives another, with each reliability.
pub fn check(input: &[u8]) {
    let selective = SelectiveRepeat { rto_low: Picos(1_000_000), rto_low_packets: 3 };
    for reliability in [Reliability::GoBackN, Reliability::SelectiveRepeat(selective)] {
        check_with(reliability, input);
    }
}

fn check_with(reliability: Reliability, mut input: &[u8]) {
    let mut host = Host::new(HostConfig { reliability, ..config() });
    let request = FlowRequest {
        flow: 0,
        destination: PEER,
        qp: SENDING,
        initial_psn: Psn::new(0),
        source_port: 50_000,
        priority: Priority::new(3),
        bytes: BYTES,
    };
    host.start_flow(Picos::ZERO, &request);
    host.open_responder(&ResponderRequest {
        qp: RECEIVING,
        peer: PEER,
        initial_psn: Psn::new(0),
        source_port: 50_001,
        bytes: BYTES,
    });
    let mut now = Picos::ZERO;
    let mut offered = 0;
    while let Some((head, rest)) = input.split_first_chunk::<HEAD>() {
        let [time, high, low] = *head;
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (frame, rest) = rest.split_at(length);
        input = rest;
        now += Picos(u64::from(time) * TIME_UNIT);
        host.handle_deadline(now);
        assert!(host.next_timer().is_none_or(|timer| timer > now), "what is due has been done");
        offered += receive(&mut host, now, frame);
        now = send(&mut host, now);
        take_events(&mut host, offered);
    }
    assert!(host.counters().delivered_bytes <= offered);
}

fn config() -> HostConfig {
    HostConfig {
        address: ADDRESS,
        station: ADDRESSES.destination,
        link_rate: LINK_RATE,
        wire_overhead: 24,
        payload: 1000,
        ack_priority: Priority::new(3),
        cnp_priority: Priority::new(6),
        ack_interval: 2,
        telemetry_hops: 3,
        retransmission_timeout: Picos(4_000_000),
        pause_response: Picos(1500),
        reliability: Reliability::GoBackN,
        congestion_control: Algorithm::Dcqcn(Parameters::hpcc(LINK_RATE)),
        window: None,
    }
}

/// Hands a frame to the host; bytes of payload in it.
fn receive(host: &mut Host, now: Picos, frame: &[u8]) -> u64 {
    let mut frame = frame.to_vec();
    let control = !matches!(HostArrival::parse(&frame), Err(_) | Ok(HostArrival::Roce(_)));
    if !control {
        packets::repair_packet(&mut frame);
    }
    match HostArrival::parse(&frame) {
        Ok(HostArrival::Roce(packet)) => {
            host.handle_stamped(now, &packet, telemetry::stamps(&frame));
            u64::from(packet.payload_length)
        }
        Ok(HostArrival::HopControl(control)) => {
            host.handle_hop_control(now, &control);
            0
        }
        Ok(HostArrival::LinkDelay(message)) => {
            host.handle_link_delay(now, &message);
            0
        }
        Err(_) => 0,
    }
}

/// Lets the port send; when it is free again.
fn send(host: &mut Host, mut now: Picos) -> Picos {
    for _ in 0..BURST {
        if host.next_transmission(now) != Some(now) {
            break;
        }
        if let Some(answer) = host.poll_link_delay(now) {
            assert_eq!(answer.source, ADDRESSES.destination);
            now += LINK_RATE.serialise(84);
        } else if let Some(packet) = host.poll_transmit(now) {
            assert_eq!((packet.source, packet.destination), (ADDRESS, PEER));
            let frame = frame_of(&packet, &ADDRESSES);
            assert_eq!(RocePacket::parse(&frame), Ok(packet));
            now += LINK_RATE.serialise(frame.len() as u64 + 24);
        } else {
            break;
        }
    }
    now
}

fn take_events(host: &mut Host, offered: u64) {
    while let Some(event) = host.poll_event() {
        match event {
            HostEvent::FlowCompleted { flow, .. } => {
                assert_eq!((flow, host.next_timer()), (0, None), "a finished flow has no timer");
            }
            HostEvent::FlowDelivered { qp, bytes, .. } => {
                assert_eq!((qp, bytes), (RECEIVING, BYTES));
                assert!(offered >= bytes);
            }
        }
    }
}
