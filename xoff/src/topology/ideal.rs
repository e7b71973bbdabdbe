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
//! A run of `m` equal packets needs no recurrence: of all ways through the (packet, hop) grid, the
//! longest spends its `m - 1` steps down in the slowest hop that it touches. So for times `T(k)`
//! before the run,
//!
//! ```text
//! T'(j) = max over k <= j of  T(k) + (s(k) + d(k) + s(k+1) + .. + d(j-1) + s(j))
//!                                  + (m - 1) max(s(k), .., s(j))
//! ```
//!
//! A message is three such runs: its first packet, which carries a RETH, its middle packets, and
//! its last. On hops of one rate and for one message this is `sum of s(1, j) + sum of d(j) + the
//! rest of the packets at line rate`. The flow ends when the last packet's ACK is back at the
//! sender.

use fabric_core::units::{BitsPerSecond, Bytes, Picos};

/// Ethernet, IPv4, UDP and BTH before the payload, and the ICRC behind it.
const ROCE_HEADERS: u64 = 14 + 20 + 8 + 12 + 4;
/// RDMA extended transport header.
const RETH: u64 = 16;
/// ACK extended transport header.
const AETH: u64 = 4;
/// Shortest Ethernet frame, without FCS.
const SHORTEST_FRAME: u64 = 60;

/// Frame length of an ACK or a NAK, without FCS.
pub const ACK_FRAME: Bytes = Bytes(ROCE_HEADERS + AETH);

/// Longest RDMA message: InfiniBand allows 2^31 bytes; flows are cut at half of that.
pub const MESSAGE_LIMIT: Bytes = Bytes(1 << 30);

/// One wire of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Line rate.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Picos,
}

/// Length of a data frame without FCS: `payload` is padded to four bytes, and a message's first
/// packet carries a RETH.
pub const fn data_frame(payload: Bytes, first_of_message: bool) -> Bytes {
    let length =
        ROCE_HEADERS + payload.0.next_multiple_of(4) + if first_of_message { RETH } else { 0 };
    Bytes(if length < SHORTEST_FRAME { SHORTEST_FRAME } else { length })
}

/// What a flow is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowShape {
    /// Bytes that the flow carries, at least 1.
    pub bytes: Bytes,
    /// Payload bytes of a full packet, at least 1.
    pub payload: Bytes,
    /// Preamble, FCS and inter-frame gap: bytes on the wire beyond the frame.
    pub wire_overhead: Bytes,
}

/// From the first bit of the first packet to the last bit of the last ACK, over idle wires.
///
/// `path` leads to the receiver and `back` to the sender; a receiver answers at once, and an ACK
/// waits for no other. Spans beyond 2^64 ps (213 days) are cut there.
pub fn completion(path: &[Hop], back: &[Hop], flow: FlowShape) -> Picos {
    let mut pipeline = Pipeline::new(path, flow.wire_overhead);
    let mut left = flow.bytes.0;
    while left > 0 {
        let message = left.min(MESSAGE_LIMIT.0);
        send_message(&mut pipeline, message, flow.payload.0);
        left -= message;
    }
    let mut ack = Pipeline::new(back, flow.wire_overhead);
    ack.send(ACK_FRAME, 1);
    Picos(pipeline.arrival().0.saturating_add(ack.arrival().0))
}

fn send_message(pipeline: &mut Pipeline, bytes: u64, payload: u64) {
    let packets = bytes.div_ceil(payload);
    pipeline.send(data_frame(Bytes(bytes.min(payload)), true), 1);
    if packets > 1 {
        pipeline.send(data_frame(Bytes(payload), false), packets - 2);
        pipeline.send(data_frame(Bytes(bytes - (packets - 1) * payload), false), 1);
    }
}

/// When each hop of a path is next idle.
struct Pipeline<'a> {
    hops: &'a [Hop],
    wire_overhead: u64,
    /// T(i, j) of the latest packet, in picoseconds.
    idle_at: Vec<u64>,
}

impl<'a> Pipeline<'a> {
    fn new(hops: &'a [Hop], wire_overhead: Bytes) -> Self {
        Self { hops, wire_overhead: wire_overhead.0, idle_at: vec![0; hops.len()] }
    }

    /// Sends `count` equal frames behind those before.
    fn send(&mut self, frame: Bytes, count: u64) {
        if count == 0 {
            return;
        }
        let serialisation = |hop: &Hop| hop.rate.serialise(frame.0 + self.wire_overhead).0;
        let times: Vec<u64> = self.hops.iter().map(serialisation).collect();
        // The last hop first: what a hop becomes depends on the hops before it only.
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

    /// When the last frame's last bit is at the end of the path.
    fn arrival(&self) -> Picos {
        let (Some(left), Some(hop)) = (self.idle_at.last(), self.hops.last()) else {
            return Picos::ZERO;
        };
        Picos(left.saturating_add(hop.delay.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OVERHEAD: Bytes = Bytes(24);

    fn hop(gigabits: u64, delay_ns: u64) -> Hop {
        Hop { rate: BitsPerSecond(gigabits * 1_000_000_000), delay: Picos(delay_ns * 1000) }
    }

    /// The recurrence as it stands in the module's description, packet by packet.
    fn recurrence(path: &[Hop], frames: &[Bytes]) -> Picos {
        let mut left = vec![0; path.len()];
        for frame in frames {
            let mut arrived = 0;
            for (left, hop) in left.iter_mut().zip(path) {
                *left = arrived.max(*left) + hop.rate.serialise(frame.0 + OVERHEAD.0).0;
                arrived = *left + hop.delay.0;
            }
        }
        Picos(left[path.len() - 1] + path[path.len() - 1].delay.0)
    }

    #[test]
    fn frames_are_as_long_as_their_headers_say() {
        assert_eq!(data_frame(Bytes(1000), true), Bytes(1074));
        assert_eq!(data_frame(Bytes(1000), false), Bytes(1058));
        assert_eq!(data_frame(Bytes(1), false), Bytes(62));
        assert_eq!(ACK_FRAME, Bytes(62));
    }

    #[test]
    fn equal_hops_give_the_sum_that_one_writes_by_hand() {
        let path = [hop(100, 1000); 4];
        let flow =
            FlowShape { bytes: Bytes(1_000_000), payload: Bytes(1000), wire_overhead: OVERHEAD };
        let first = (1074 + 24) * 80;
        let full = (1058 + 24) * 80;
        let ack = (62 + 24) * 80;
        // The first packet is the longest and is alone in waiting for nobody: it crosses all four
        // hops, and the other 999 follow it through one.
        let by_hand = 4 * first + 999 * full + 4 * 1_000_000 + 4 * (ack + 1_000_000);
        // Behind the longer first packet the last one still waits at no further hop.
        assert_eq!(completion(&path, &path, flow), Picos(by_hand));
    }

    #[test]
    fn one_byte_is_one_packet_with_a_reth() {
        let path = [hop(100, 500)];
        let flow = FlowShape { bytes: Bytes(1), payload: Bytes(1000), wire_overhead: OVERHEAD };
        let by_hand = (78 + 24) * 80 + 500_000 + (62 + 24) * 80 + 500_000;
        assert_eq!(completion(&path, &path, flow), Picos(by_hand));
    }

    #[test]
    fn a_flow_of_three_gigabytes_has_a_reth_for_each_message() {
        let path = [hop(100, 0)];
        let bytes = Bytes(3 * MESSAGE_LIMIT.0);
        let flow = FlowShape { bytes, payload: Bytes(1 << 10), wire_overhead: OVERHEAD };
        let packets = bytes.0 >> 10;
        let wire = packets * (1024 + ROCE_HEADERS + 24) + 3 * RETH + 62 + 24;
        assert_eq!(completion(&path, &path, flow), Picos(wire * 80));
    }

    fn any_path() -> impl Strategy<Value = Vec<Hop>> {
        let any_hop = (1u64..1_000_000_000_000, 0u64..5_000_000)
            .prop_map(|(rate, delay)| Hop { rate: BitsPerSecond(rate), delay: Picos(delay) });
        prop::collection::vec(any_hop, 1..7)
    }

    proptest! {
        #[test]
        fn runs_equal_the_recurrence(
            path in any_path(),
            runs in prop::collection::vec((60u64..3200, 1u64..40), 1..7),
        ) {
            let mut pipeline = Pipeline::new(&path, OVERHEAD);
            let mut frames = Vec::new();
            for (frame, count) in runs {
                pipeline.send(Bytes(frame), count);
                frames.extend((0..count).map(|_| Bytes(frame)));
            }
            prop_assert_eq!(pipeline.arrival(), recurrence(&path, &frames));
        }

        #[test]
        fn a_message_equals_the_recurrence(
            path in any_path(),
            bytes in 1u64..100_000,
            payload in 64u64..3072,
        ) {
            let packets = bytes.div_ceil(payload);
            let frames: Vec<Bytes> = (0..packets)
                .map(|i| data_frame(Bytes(payload.min(bytes - i * payload)), i == 0))
                .collect();
            let there = recurrence(&path, &frames);
            let back = recurrence(&path, &[ACK_FRAME]);
            let flow =
                FlowShape { bytes: Bytes(bytes), payload: Bytes(payload), wire_overhead: OVERHEAD };
            prop_assert_eq!(completion(&path, &path, flow), there + back);
        }
    }
}
