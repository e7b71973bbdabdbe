//! The completion time of a flow that has its path to itself, to the picosecond.
//!
//! Packets `i = 1..n` cross hops `j = 1..h`, each stored and forwarded. With `s(i, j)` the
//! serialisation time of packet `i` at hop `j` and `d(j)` the propagation delay, packet `i` has
//! left hop `j` at
//!
//! ```text
//! T(i, j) = max(T(i-1, j), T(i, j-1) + d(j-1)) + s(i, j)
//! ```
//!
//! A run of `m` equal packets needs no recurrence. `T` is the longest path through the grid of packets and
//! hops, and the longest path makes its `m - 1` steps from packet to packet at the slowest hop that it crosses.
//! So for times `T(k)` before the run,
//!
//! ```text
//! T'(j) = max over k <= j of  T(k) + (s(k) + d(k) + s(k+1) + .. + d(j-1) + s(j))
//!                                  + (m - 1) max(s(k), .., s(j))
//! ```
//!
//! A message is three such runs: its first packet, which always carries a RETH, its middle packets, and
//! its last. On hops of one rate and for one message this is `sum of s(1, j) + sum of d(j) + the
//! rest of the packets at line rate`.
//!
//! The flow ends when the last packet's ACK is back at the sender, and that ACK may wait behind
//! earlier ones. ACKs have equal lengths, so they wait only at the slowest hop of the way back. The last of `m`
//! ACKs, sent at `a(1) <= .. <= a(m)`, is back at
//!
//! ```text
//! sum of s_ack(j) + d(j)  +  max over k <= m of  a(k) + (m - k) max s_ack(j)
//! ```
//!
//! Within a run, the arrival time is a maximum of linear functions of the packet's number, and so convex. The
//! same holds for every `q`-th packet, which the receiver acknowledges. A convex function minus a linear one is
//! largest at one of its ends, so only the first and the last ACK of a run matter.

use fabric_core::wire::tcp;
pub use host_agent::Placement;
use host_agent::frame_length::{FrameLengths, ack_frame, data_frame};
use host_agent::{Message, Segmentation};
use units::{Bytes, Picos};

use topology::Hop;

use crate::wire_timing::PortTime;

/// Size and frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShape {
    /// Bytes that the flow carries, at least 1.
    pub bytes: Bytes,
    /// Payload bytes of a full packet, at least 1.
    pub payload: Bytes,
    /// Kind of its frames.
    pub frames: Frames,
    /// Packets of a message that are acknowledged together, at least 1; its last packet is
    /// acknowledged in any case.
    pub ack_interval: u32,
    /// Rules for the accounted lengths of these frames.
    pub lengths: FrameLengths,
    /// Computes how long frames occupy ports.
    pub port_time: PortTime,
}

impl FlowShape {
    /// Accounted length of a data frame. `first` is true for the first one of a message.
    fn data(&self, payload: Bytes, first: bool) -> u64 {
        self.lengths.packet(payload.0, self.frames.data(payload, first).0)
    }

    /// Accounted length of an ACK.
    fn ack(&self) -> u64 {
        self.lengths.packet(0, self.frames.ack().0)
    }
}

/// Kind of a flow's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// RoCEv2 packets.
    Roce {
        /// Packets that carry a RETH.
        placement: Placement,
        /// Stamps for which packets and their ACKs have room, 0 to 8.
        telemetry_hops: u8,
    },
    /// TCP segments.
    Tcp {
        /// True if SYNs come first.
        handshake: bool,
        /// Stamps for which data segments and their ACKs have room, 0 to 3.
        telemetry_hops: u8,
    },
}

impl Frames {
    /// Length of a data frame. `first` is true for the first one of a message.
    fn data(self, payload: Bytes, first: bool) -> Bytes {
        match self {
            Self::Roce { placement, telemetry_hops } => {
                let reth = first || placement == Placement::EveryPacket;
                data_frame(payload, reth, telemetry_hops)
            }
            Self::Tcp { telemetry_hops, .. } => Bytes(tcp::frame_length(payload.0, telemetry_hops)),
        }
    }

    /// Length of the frame of an ACK.
    fn ack(self) -> Bytes {
        match self {
            Self::Roce { telemetry_hops, .. } => ack_frame(telemetry_hops),
            Self::Tcp { telemetry_hops, .. } => Bytes(tcp::frame_length(0, telemetry_hops)),
        }
    }
}

/// Time from the first bit of the first packet to the last bit of the last ACK, over idle wires.
///
/// `path` leads to the receiver and `back` to the sender. The sender sends at line rate and a receiver
/// answers at once. Nothing else holds the flow up: no PFC (which a fast link in front of a slow one may
/// cause all by itself), no congestion control, no retransmission timer, no bound on the packets in
/// flight. Spans beyond 2^64 ps (213 days) are cut there.
pub fn completion(path: &[Hop], back: &[Hop], flow: FlowShape) -> Picos {
    let segmentation = Segmentation::new(flow.bytes.0, flow.payload.0);
    let mut lone = LoneFlow::new(path, back, flow);
    match flow.frames {
        Frames::Roce { .. } => {
            for message in 0..segmentation.messages() {
                lone.send(segmentation.message(message));
            }
            lone.completion()
        }
        Frames::Tcp { handshake, .. } => {
            let packets = segmentation.packets();
            lone.send(Message { start: 0, bytes: flow.bytes.0, packets });
            let opening = if handshake { opening(path, back, &flow) } else { 0 };
            Picos(lone.completion().0.saturating_add(opening))
        }
    }
}

/// Time from the first bit of a SYN to the last bit of its answer, ps.
fn opening(path: &[Hop], back: &[Hop], flow: &FlowShape) -> u64 {
    let syn = flow.lengths.packet(0, tcp::SYN_FRAME_LENGTH);
    let time = |hop: &Hop| flow.port_time.serialise(hop.rate, syn).0 + hop.delay.0;
    path.iter().chain(back).fold(0, |sum: u64, hop| sum.saturating_add(time(hop)))
}

/// A flow on its way.
struct LoneFlow<'a> {
    there: Pipeline<'a>,
    /// Serialisation times of a full packet that does not start a message, by hop.
    full: Vec<u64>,
    flow: FlowShape,
    acks: AckTrain,
}

impl<'a> LoneFlow<'a> {
    fn new(path: &'a [Hop], back: &[Hop], flow: FlowShape) -> Self {
        let there = Pipeline::new(path, flow.port_time);
        let full = there.serialisation(flow.data(flow.payload, false));
        let acks = AckTrain::new(back, flow.ack(), flow.port_time);
        Self { there, full, flow, acks }
    }

    fn send(&mut self, message: Message) {
        let Message { bytes, packets, .. } = message;
        let interval = u64::from(self.flow.ack_interval);
        let payload = self.flow.payload.0;
        let first = self.flow.data(Bytes(bytes.min(payload)), true);
        let first = self.there.serialisation(first);
        self.there.send(&first, 1);
        if packets == 1 || interval == 1 {
            self.acks.send(1, self.there.arrival());
        }
        if packets == 1 {
            return;
        }
        let mut sent = 1;
        // The first and the last of the middle packets that are acknowledged.
        for number in [interval.max(2), (packets - 1) / interval * interval] {
            if sent < number && number < packets {
                self.there.send(&self.full, number - sent);
                self.acks.send(number / interval - sent / interval, self.there.arrival());
                sent = number;
            }
        }
        self.there.send(&self.full, packets - 1 - sent);
        let rest = Bytes(bytes - (packets - 1) * payload);
        let last = self.there.serialisation(self.flow.data(rest, false));
        self.there.send(&last, 1);
        self.acks.send(1, self.there.arrival());
    }

    fn completion(&self) -> Picos {
        Picos(self.acks.idle_at.saturating_add(self.acks.others))
    }
}

/// Instants at which the hops of a path are next idle.
struct Pipeline<'a> {
    hops: &'a [Hop],
    port_time: PortTime,
    /// T(i, j) of the latest packet, ps.
    idle_at: Vec<u64>,
}

impl<'a> Pipeline<'a> {
    fn new(hops: &'a [Hop], port_time: PortTime) -> Self {
        Self { hops, port_time, idle_at: vec![0; hops.len()] }
    }

    /// Time for which a frame occupies each hop, ps.
    fn serialisation(&self, frame: u64) -> Vec<u64> {
        serialisation(self.hops, frame, self.port_time).collect()
    }

    /// Sends `count` equal frames behind the earlier ones. `times` is the time for which a frame occupies each hop.
    fn send(&mut self, times: &[u64], count: u64) {
        if count == 0 {
            return;
        }
        // The last hop first: a hop's new value depends on the old values of the hops before it.
        for last in (0..times.len()).rev() {
            let (mut through, mut slowest, mut latest) = (0u64, 0, 0);
            for enter in (0..=last).rev() {
                if enter < last {
                    through = through.saturating_add(self.hops[enter].delay.0);
                }
                through = through.saturating_add(times[enter]);
                slowest = slowest.max(times[enter]);
                let queueing = (count - 1).saturating_mul(slowest);
                let left = self.idle_at[enter].saturating_add(through).saturating_add(queueing);
                latest = latest.max(left);
            }
            self.idle_at[last] = latest;
        }
    }

    /// Arrival of the last frame's last bit at the end of the path, ps.
    fn arrival(&self) -> u64 {
        let (Some(left), Some(hop)) = (self.idle_at.last(), self.hops.last()) else {
            return 0;
        };
        left.saturating_add(hop.delay.0)
    }
}

/// ACKs of a flow on their way back, which only the slowest hop delays.
struct AckTrain {
    /// Time for which an ACK occupies the slowest hop, ps.
    slowest: u64,
    /// Time that an ACK takes on all other hops and to propagate, ps.
    others: u64,
    /// Instant at which the slowest hop is next idle, if it comes first, ps.
    idle_at: u64,
}

impl AckTrain {
    fn new(hops: &[Hop], ack: u64, port_time: PortTime) -> Self {
        let (mut slowest, mut all) = (0, 0u64);
        for (hop, time) in hops.iter().zip(serialisation(hops, ack, port_time)) {
            slowest = time.max(slowest);
            all = all.saturating_add(time).saturating_add(hop.delay.0);
        }
        Self { slowest, others: all - slowest, idle_at: 0 }
    }

    /// Sends `count` ACKs, at least 1, the last of them at `now`. The send times of the others are on or below the
    /// line between the latest ACK of earlier calls and this one, so only these two matter.
    fn send(&mut self, count: u64, now: u64) {
        let queueing = (count - 1).saturating_mul(self.slowest);
        let start = self.idle_at.saturating_add(queueing).max(now);
        self.idle_at = start.saturating_add(self.slowest);
    }
}

/// Time for which a frame occupies each hop, ps.
fn serialisation(hops: &[Hop], frame: u64, port_time: PortTime) -> impl Iterator<Item = u64> {
    hops.iter().map(move |hop| port_time.serialise(hop.rate, frame).0)
}

#[cfg(test)]
mod tests {
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
        let placement =
            prop::sample::select(&[Placement::FirstOfMessage, Placement::EveryPacket][..]);
        let roce = (placement, 0..=8u8)
            .prop_map(|(placement, telemetry_hops)| Frames::Roce { placement, telemetry_hops });
        let tcp =
            (0..=3u8).prop_map(|telemetry_hops| Frames::Tcp { handshake: false, telemetry_hops });
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
}
