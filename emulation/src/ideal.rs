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
mod tests;
