use host_agent::frame_length::{RETH, ROCE_HEADERS};
use proptest::prelude::*;
use units::{BitsPerSecond, FrameTime};

use super::*;

const OVERHEAD: Bytes = Bytes(24);

fn port_time() -> PortTime {
    PortTime::from(FrameTime { overhead: OVERHEAD.0, whole_nanos: false })
}

fn hop(gigabits: u64, delay_ns: u64) -> Hop {
    Hop { rate: BitsPerSecond(gigabits * 1_000_000_000), delay: Picos(delay_ns * 1000) }
}

/// The recurrence of the module's description, packet by packet.
struct Recurrence<'a> {
    path: &'a [Hop],
    left: Vec<u64>,
}

impl<'a> Recurrence<'a> {
    fn new(path: &'a [Hop]) -> Self {
        Self { path, left: vec![0; path.len()] }
    }

    /// Sends a frame at `now`, or once the first hop is idle. Returns its arrival.
    fn send(&mut self, now: u64, frame: Bytes) -> u64 {
        let mut arrived = now;
        for (left, hop) in self.left.iter_mut().zip(self.path) {
            *left = arrived.max(*left) + hop.rate.serialise(frame.0 + OVERHEAD.0).0;
            arrived = *left + hop.delay.0;
        }
        arrived
    }
}

fn flow(bytes: u64, payload: u64, ack_interval: u32) -> FlowShape {
    let (bytes, payload) = (Bytes(bytes), Bytes(payload));
    FlowShape {
        bytes,
        payload,
        frames: Frames::Roce { placement: Placement::FirstOfMessage, telemetry_hops: 0 },
        ack_interval,
        lengths: FrameLengths::default(),
        port_time: port_time(),
    }
}

#[test]
fn equal_hops_give_the_sum_that_one_writes_by_hand() {
    let path = [hop(100, 1000); 4];
    let first = (1074 + 24) * 80;
    let full = (1058 + 24) * 80;
    let ack = (62 + 24) * 80;
    // The first packet is the longest, and the only one without a packet before it: it crosses all four hops,
    // and the other 999 follow it through one.
    let by_hand = 4 * first + 999 * full + 4 * 1_000_000 + 4 * (ack + 1_000_000);
    // Behind the longer first packet the last one still waits at no further hop.
    assert_eq!(completion(&path, &path, flow(1_000_000, 1000, 4)), Picos(by_hand));
}

#[test]
fn a_reth_in_each_packet_takes_its_time() {
    let path = [hop(100, 1000); 4];
    let (packet, ack) = ((1074 + 24) * 80, (62 + 24) * 80);
    let by_hand = 3 * packet + 1000 * packet + 4 * 1_000_000 + 4 * (ack + 1_000_000);
    let frames = Frames::Roce { placement: Placement::EveryPacket, telemetry_hops: 0 };
    let flow = FlowShape { frames, ..flow(1_000_000, 1000, 4) };
    assert_eq!(completion(&path, &path, flow), Picos(by_hand));
}

#[test]
fn telemetry_lengthens_packets_and_their_acks() {
    let path = [hop(100, 0)];
    let by_hand = (1074 + 48 + 24 + 2 * (1058 + 48 + 24) + 62 + 48 + 24) * 80;
    let frames = Frames::Roce { placement: Placement::FirstOfMessage, telemetry_hops: 5 };
    let flow = FlowShape { frames, ..flow(3000, 1000, 4) };
    assert_eq!(completion(&path, &path, flow), Picos(by_hand));
}

#[test]
fn one_byte_is_one_packet_with_a_reth() {
    let path = [hop(100, 500)];
    let by_hand = (78 + 24) * 80 + 500_000 + (62 + 24) * 80 + 500_000;
    assert_eq!(completion(&path, &path, flow(1, 1000, 4)), Picos(by_hand));
}

#[test]
fn a_flow_of_gigabytes_has_a_reth_for_each_message_that_its_sender_makes() {
    let path = [hop(100, 0)];
    // 1,073,741 whole packets make a message, which is 824 bytes less than a gibibyte.
    for (bytes, messages) in [(1_073_741_000, 1), (1_073_741_001, 2), (2_500_000_000, 3)] {
        let payload: u64 = bytes / 1000 * 1000 + (bytes % 1000_u64).next_multiple_of(4);
        let packets = bytes.div_ceil(1000);
        let wire = payload + packets * (ROCE_HEADERS + 24) + messages * RETH + 62 + 24;
        assert_eq!(completion(&path, &path, flow(bytes, 1000, 4)), Picos(wire * 80), "{bytes}");
    }
}

#[test]
fn the_last_ack_waits_behind_the_one_before_it_on_a_slow_way_back() {
    let path = [hop(100, 1000), hop(10, 1000), hop(100, 1000)];
    // Five packets, the last with one byte: its ACK follows the ACK of the first four.
    let first_four = (1074 + 24) * 80 + (1074 + 24 + 3 * (1058 + 24)) * 800 + 1082 * 80;
    let ack = (62 + 24) * (80 + 800 + 80);
    // The last packet is at the receiver before the slow hop has sent the first ACK.
    let by_hand = first_four + ack + (62 + 24) * 800 + 6 * 1_000_000;
    assert_eq!(completion(&path, &path, flow(4001, 1000, 4)), Picos(by_hand));
    // Without an ACK for the first four nothing waits.
    let by_hand = first_four + (62 + 24) * 80 + ack + 6 * 1_000_000;
    assert_eq!(completion(&path, &path, flow(4001, 1000, 5)), Picos(by_hand));
}

/// The completion time by the recurrence alone: every packet, and an ACK for every `ack_interval`-th
/// of a message and for its last.
fn packet_by_packet(path: &[Hop], back: &[Hop], flow: FlowShape, messages: &[u64]) -> Picos {
    let (payload, interval) = (flow.payload.0, u64::from(flow.ack_interval));
    let (mut there, mut acks) = (Recurrence::new(path), Recurrence::new(back));
    let mut completion = 0;
    for &bytes in messages {
        let packets = bytes.div_ceil(payload);
        for number in 1..=packets {
            let carried = payload.min(bytes - (number - 1) * payload);
            let frame = flow.frames.data(Bytes(carried), number == 1);
            let arrival = there.send(0, frame);
            if number == packets || number.is_multiple_of(interval) {
                completion = acks.send(arrival, flow.frames.ack());
            }
        }
    }
    Picos(completion)
}

fn any_hop() -> impl Strategy<Value = Hop> {
    let usual = prop::sample::select(&[1u64, 10, 25, 100, 400][..])
        .prop_map(|gigabits| gigabits * 1_000_000_000);
    (prop_oneof![usual, 1u64..1_000_000_000_000], 0u64..5_000_000)
        .prop_map(|(rate, delay)| Hop { rate: BitsPerSecond(rate), delay: Picos(delay) })
}

fn any_path() -> impl Strategy<Value = Vec<Hop>> {
    prop::collection::vec(any_hop(), 1..7)
}

fn any_flow() -> impl Strategy<Value = FlowShape> {
    let payload = prop_oneof![1u64..8, 64u64..3072];
    let placement = prop::sample::select(&[Placement::FirstOfMessage, Placement::EveryPacket][..]);
    let roce = (placement, 0..=8u8)
        .prop_map(|(placement, telemetry_hops)| Frames::Roce { placement, telemetry_hops });
    let tcp = (0..=3u8).prop_map(|telemetry_hops| Frames::Tcp { handshake: false, telemetry_hops });
    let frames = prop_oneof![3 => roce, 1 => tcp];
    let ack_interval = prop_oneof![1u32..9, Just(u32::MAX)];
    (payload, frames, ack_interval).prop_map(|(payload, frames, ack_interval)| FlowShape {
        bytes: Bytes(0),
        payload: Bytes(payload),
        frames,
        ack_interval,
        lengths: FrameLengths::default(),
        port_time: port_time(),
    })
}

/// SYN and its answer are frames of 74 B, data frames 66 B longer than their payload.
#[test]
fn a_handshake_comes_before_the_first_segment() {
    let hops = [hop(100, 1000), hop(10, 500)];
    let of = |handshake, telemetry_hops| {
        let frames = Frames::Tcp { handshake, telemetry_hops };
        completion(&hops, &hops, FlowShape { frames, ..flow(2500, 1000, 1) }).0
    };
    let round_trip = 2 * ((74 + 24) * (80 + 800) + 1_500_000);
    assert_eq!(of(true, 0) - of(false, 0), round_trip);
    let data: u64 = [1066, 1066, 566].iter().map(|frame| (frame + 24) * 800).sum();
    let there = (1066 + 24) * 80 + 1_500_000 + data;
    let back = (66 + 24) * (80 + 800) + 1_500_000;
    assert_eq!(of(false, 0), there + back);
    // Room for three stamps takes the place of padding: 28 bytes more in each of three segments, and in the ACK.
    let longer = 28 * (80 + 3 * 800 + 80 + 800);
    assert_eq!(of(false, 3) - of(false, 0), longer);
}

proptest! {
    #[test]
    fn runs_equal_the_recurrence(
        path in any_path(),
        runs in prop::collection::vec((60u64..3200, 1u64..40), 1..7),
    ) {
        let mut pipeline = Pipeline::new(&path, port_time());
        let mut hops = Recurrence::new(&path);
        for (frame, count) in runs {
            pipeline.send(&pipeline.serialisation(frame), count);
            let arrival = (0..count).map(|_| hops.send(0, Bytes(frame))).last();
            prop_assert_eq!(Some(pipeline.arrival()), arrival);
        }
    }

    #[test]
    fn messages_equal_the_recurrence_however_slow_the_way_back(
        path in any_path(),
        back in any_path(),
        flow in any_flow(),
        messages in prop::collection::vec((1u64..40, 0u64..3072), 1..4),
    ) {
        // Whole packets and what the last of them lacks.
        let payload = flow.payload.0;
        let messages: Vec<u64> = messages
            .into_iter()
            .map(|(packets, missing)| packets * payload - missing % payload)
            .collect();
        let mut lone = LoneFlow::new(&path, &back, flow);
        for &bytes in &messages {
            lone.send(Message { start: 0, bytes, packets: bytes.div_ceil(payload) });
        }
        let expected = packet_by_packet(&path, &back, flow, &messages);
        prop_assert_eq!(lone.completion(), expected);
    }
}
