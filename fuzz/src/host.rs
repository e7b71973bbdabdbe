//! Frames that arrive at a host one after another, with any content: the host's answers are right, no timer outlives
//! its flow, and it never delivers more than was sent to it.
//!
//! An input is a list of frames, each behind a head of three bytes: the time since the previous frame in units of 64
//! ns, and the frame's length. Frames are repaired, because otherwise all would be refused for their CRC.

use emulation::datapath::HostArrival;
use fabric_core::priority::Priority;
use fabric_core::wire::tcp::{
    Direction, Flags, Ports, SackBlock, SackBlocks, SynOptions, Timestamps,
};
use fabric_core::wire::{
    AethFields, Opcode, Packet, Psn, RethFields, RocePacket, Syndrome, TcpSegment, TelemetryFields,
    roce, telemetry,
};
use host_agent::congestion_control::dcqcn::Parameters;
use host_agent::congestion_control::{Algorithm, cubic};
use host_agent::{
    FirstRttMarks, FlowRequest, Host, HostConfig, HostEvent, Protocol, Reliability,
    ResponderRequest, SelectiveRepeat, Transport, tcp,
};
use units::{BitsPerSecond, Bytes, Picos};

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

/// A conversation without faults, one with faults, and other frames at a port.
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
        packets.iter().map(|&packet| frame_of(&packet.into(), &ADDRESSES)).collect()
    };
    let segments: Vec<Vec<u8>> =
        segments().map(|segment| frame_of(&segment.into(), &ADDRESSES)).collect();
    let lists = [
        frames(&received),
        frames(&lossy),
        frames(&acknowledged),
        frames(&placed),
        frames(&repaired),
        packets::control_frames(),
        segments,
        [frames(&received), packets::control_frames(), frames(&acknowledged)].concat(),
    ];
    Seeds::from_bytes(lists.iter().map(|frames| input_of(frames)).collect())
}

/// Segments to the receiving connection: SYN, a gap, its repair, the end. Segments to the sending connection: the
/// answer to its SYN, an ACK, a gap, the end.
pub fn segments() -> impl Iterator<Item = TcpSegment> {
    let to = |connection, direction, sequence, acknowledgement: u32, flags: Flags| TcpSegment {
        source: PEER,
        destination: ADDRESS,
        ports: Ports::for_connection(connection, direction),
        sequence,
        acknowledgement,
        window: u16::MAX,
        payload_length: 0,
        timestamps: Timestamps { value: 1, echo: 1 },
        dscp: 24,
        ecn: roce::Ecn::NotCapable,
        ttl: 60,
        flags,
        syn: flags.contains(Flags::SYN).then_some(SynOptions { maximum_segment_size: 1000 }),
        sack: SackBlocks::NONE,
        telemetry: None,
    };
    let data = |number: u32| TcpSegment {
        payload_length: 1000,
        ..to(RECEIVING, Direction::FromClient, 1 + 1000 * number, 0, Flags::ACK)
    };
    let answer =
        |expected: u32| to(SENDING, Direction::FromServer, 0, 1 + 1000 * expected, Flags::ACK);
    let gap = [SackBlock { start: 2001, end: 4001 }].into_iter().collect();
    [
        to(RECEIVING, Direction::FromClient, 0, 0, Flags::SYN | Flags::ECE | Flags::CWR),
        data(0),
        data(2),
        TcpSegment { ecn: roce::Ecn::CongestionExperienced, ..data(1) },
        TcpSegment { telemetry: TelemetryFields::with_room(3), ..data(1) },
        data(3),
        TcpSegment { flags: Flags::ACK | Flags::FIN, ..data(4) },
        to(SENDING, Direction::FromServer, u32::MAX, 1, Flags::SYN | Flags::ACK | Flags::ECE),
        TcpSegment { flags: Flags::ACK | Flags::ECE, ..answer(1) },
        TcpSegment { sack: gap, ..answer(1) },
        answer(4),
        TcpSegment {
            telemetry: TelemetryFields::with_room(2).map(TelemetryFields::echoed),
            ..answer(4)
        },
        TcpSegment { acknowledgement: 5002, ..answer(5) },
    ]
    .into_iter()
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

/// Hands the frames to a host that sends one flow and receives another, with each reliability and with TCP.
pub fn check(input: &[u8]) {
    let selective = SelectiveRepeat { rto_low: Picos(1_000_000), rto_low_packets: 3 };
    for reliability in [Reliability::GoBackN, Reliability::SelectiveRepeat(selective)] {
        let protocol = Protocol::Roce { reliability };
        let congestion_control = Algorithm::Dcqcn(Parameters::hpcc(LINK_RATE));
        check_with(
            Transport {
                protocol,
                congestion_control,
                telemetry_hops: 3,
                window: None,
                window_overrun: false,
                first_rtt: FirstRttMarks::NONE,
            },
            input,
        );
    }
    for (handshake, delayed_ack) in [(true, 0), (false, 2_000_000)] {
        let protocol = Protocol::Tcp(tcp::Parameters {
            initial_timeout: Picos(4_000_000),
            minimum_timeout: Picos(4_000_000),
            maximum_timeout: Picos(64_000_000),
            loss_threshold: 3,
            tail_loss_probe: handshake,
            delayed_ack: Picos(delayed_ack),
            handshake,
        });
        let congestion_control = Algorithm::Cubic(cubic::Parameters {
            segment: Bytes(1000),
            scaling: (2, 5),
            decrease_millionths: 700_000,
            fast_convergence: true,
            reno_friendly: true,
            ecn: true,
            initial_window: Bytes(3000),
        });
        check_with(
            Transport {
                protocol,
                congestion_control,
                telemetry_hops: 3,
                window: None,
                window_overrun: false,
                first_rtt: FirstRttMarks::NONE,
            },
            input,
        );
    }
}

fn check_with(transport: Transport, mut input: &[u8]) {
    let delays = matches!(
        transport.protocol,
        Protocol::Tcp(tcp::Parameters { delayed_ack, .. }) if delayed_ack > Picos::ZERO
    );
    let mut host = Host::new(config(), &[transport]);
    let request = FlowRequest {
        flow: 0,
        transport: 0,
        destination: PEER,
        qp: SENDING,
        initial_psn: Psn::new(0),
        source_port: 50_000,
        priority: Priority::new(3),
        bytes: BYTES,
        is_incast: false,
    };
    host.start_flow(Picos::ZERO, &request);
    host.open_responder(&ResponderRequest {
        qp: RECEIVING,
        transport: 0,
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
        take_events(&mut host, offered, delays);
    }
    assert!(host.counters().delivered_bytes <= offered);
}

fn config() -> HostConfig {
    HostConfig {
        address: ADDRESS,
        mac: ADDRESSES.destination,
        link_rate: LINK_RATE,
        frame_time: units::FrameTime { overhead: 24, whole_nanos: false },
        frame_lengths: host_agent::frame_length::FrameLengths::default(),
        payload: 1000,
        ack_priority: Some(Priority::new(3)),
        ack_queue: None,
        cnp_priority: Priority::new(6),
        ack_interval: 2,
        retransmission_timeout: Picos(4_000_000),
        pause_response: Picos(1500),
        queues: fabric_core::queue::one_per_priority(None),
        names_queues: false,
        keeps_incast_queue: false,
        obeys_flow_pauses: false,
        pauses_until_resume: false,
        obeys_rates: true,
        scheduler: host_agent::Scheduler::RoundRobin,
        sends_remaining: false,
    }
}

/// Hands a frame to the host; bytes of payload in it.
fn receive(host: &mut Host, now: Picos, frame: &[u8]) -> u64 {
    let mut frame = frame.to_vec();
    let control = !matches!(HostArrival::parse(&frame), Err(_) | Ok(HostArrival::Packet(_)));
    if !control {
        packets::repair_packet(&mut frame);
    }
    match HostArrival::parse(&frame) {
        Ok(HostArrival::Packet(Packet::Roce(packet))) => {
            host.handle_stamped(now, &packet, telemetry::stamps(&frame));
            u64::from(packet.payload_length)
        }
        Ok(HostArrival::Packet(Packet::Tcp(segment))) => {
            host.handle_segment(now, &segment, telemetry::stamps(&frame));
            u64::from(segment.payload_length)
        }
        Ok(HostArrival::HopControl(control)) => {
            host.handle_hop_control(now, &control);
            0
        }
        Ok(HostArrival::LinkDelay(message)) => {
            host.handle_link_delay(now, &message);
            0
        }
        // No bytes parse as a frame that a program has sent.
        Ok(HostArrival::Foreign) | Err(_) => 0,
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
            let ends = match &packet {
                Packet::Roce(packet) => (packet.source, packet.destination),
                Packet::Tcp(segment) => (segment.source, segment.destination),
            };
            assert_eq!(ends, (ADDRESS, PEER));
            let frame = frame_of(&packet, &ADDRESSES);
            assert_eq!(Packet::parse(&frame), Ok(packet));
            now += LINK_RATE.serialise(frame.len() as u64 + 24);
        } else {
            break;
        }
    }
    now
}

/// Handles the host's events. `delays`: the receiving end has a timer, too.
fn take_events(host: &mut Host, offered: u64, delays: bool) {
    while let Some(event) = host.poll_event() {
        match event {
            HostEvent::FlowCompleted { flow, .. } => {
                assert_eq!(flow, 0);
                let timer = host.next_timer();
                assert!(delays || timer.is_none(), "a finished flow has no timer");
            }
            HostEvent::SenderChanged { .. } => unreachable!("no flow is traced"),
            HostEvent::PauseReceived { .. } => {}
            HostEvent::FlowDelivered { qp, bytes, .. } => {
                assert_eq!((qp, bytes), (RECEIVING, BYTES));
                assert!(offered >= bytes);
            }
        }
    }
}
