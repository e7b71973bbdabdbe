//! The sending end of a queue pair: a flow, its reliability and its congestion control.

use fabric_core::wire::roce::{RocePacket, TelemetryFields};
use units::{BitsPerSecond, Bytes, Picos};

use crate::congestion_control::{Acknowledged, CongestionControl, HopTelemetry, Loss, Transmitted};
use crate::flow::{Flow, FlowRequest};
use crate::host::HostConfig;
use crate::reliability::{Answer, Outcome, ReliableSender};
use crate::round_trip::RoundTrips;

/// Bytes that may be unacknowledged, whatever congestion control says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    /// How many at line rate, above zero.
    pub bytes: Bytes,
    /// Whether it shrinks in proportion to the rate that congestion control sets.
    pub scales: bool,
}

/// Requester of one flow.
#[derive(Debug)]
pub struct Requester<R, C> {
    flow: Flow,
    reliability: R,
    congestion_control: C,
    limit: Option<WindowLimit>,
    /// What it allows at the present rate.
    limited_to: Option<Bytes>,
    /// When the pace allows the next packet.
    pub next_start: Picos,
    /// Whether the NIC knows this queue pair as one with something to send.
    pub scheduled: bool,
    /// Instant of its entry in the host's timer queue, if it has one.
    pub timer_entry: Option<Picos>,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// CNPs received.
    pub notifications: u64,
    counted_cuts: u64,
    round_trips: RoundTrips,
}

/// What an ACK or NAK says of the path, besides its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo<'a> {
    /// Whether packets were marked.
    pub congestion: bool,
    /// See [`Acknowledged::telemetry`].
    pub telemetry: &'a [HopTelemetry],
    /// See [`Acknowledged::telemetry_exceeded`].
    pub telemetry_exceeded: bool,
}

impl<'a> Echo<'a> {
    /// Of a packet with these stamps. Stamps that are not an echo are those of the way back, and mean nothing.
    #[inline]
    pub fn of(packet: &RocePacket, stamps: &'a [HopTelemetry]) -> Self {
        let echo = Self { congestion: packet.congestion_echo, ..Self::default() };
        match packet.telemetry {
            Some(TelemetryFields { echo: true, exceeded, .. }) => {
                Self { telemetry: stamps, telemetry_exceeded: exceeded, ..echo }
            }
            _ => echo,
        }
    }
}

impl<R: ReliableSender, C: CongestionControl> Requester<R, C> {
    /// A requester made of these parts, which has sent nothing.
    pub fn new(
        flow: Flow,
        reliability: R,
        congestion_control: C,
        limit: Option<WindowLimit>,
    ) -> Self {
        Self {
            flow,
            reliability,
            congestion_control,
            limit,
            limited_to: limit.map(|limit| limit.bytes),
            next_start: Picos::ZERO,
            scheduled: false,
            timer_entry: None,
            retransmitted_packets: 0,
            notifications: 0,
            counted_cuts: 0,
            round_trips: RoundTrips::default(),
        }
    }

    pub fn request(&self) -> &FlowRequest {
        self.flow.request()
    }

    /// Whether there is a packet to send and room for it, whatever the pace.
    #[inline]
    pub fn can_send(&self, now: Picos) -> bool {
        let Some(number) = self.reliability.next(&self.flow) else {
            return false;
        };
        let Some(window) = self.window(now) else {
            return true;
        };
        let outstanding = self.reliability.outstanding(&self.flow);
        // With a window below one packet, the flow would never go on.
        outstanding == Bytes(0) || outstanding.0 + self.flow.payload_of(number).0 <= window.0
    }

    /// Bytes that may be unacknowledged; `None` for no limit.
    #[inline]
    fn window(&self, now: Picos) -> Option<Bytes> {
        match (self.congestion_control.window(now), self.limited_to) {
            (Some(window), Some(limit)) => Some(window.min(limit)),
            (window, limit) => window.or(limit),
        }
    }

    /// A limit that scales follows the rate.
    #[inline]
    fn adapt_limit(&mut self, rate: BitsPerSecond, line_rate: BitsPerSecond) {
        if let Some(WindowLimit { bytes, scales: true }) = self.limit {
            let part = u128::from(bytes.0) * u128::from(rate.0.min(line_rate.0));
            let part = u64::try_from(part / u128::from(line_rate.0)).unwrap_or(bytes.0);
            self.limited_to = Some(Bytes(part.max(1)));
        }
    }

    /// Whether the last packet is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.reliability.is_complete(&self.flow)
    }

    /// When the retransmission timer expires, if it runs.
    #[inline]
    pub fn retransmission_deadline(&self) -> Option<Picos> {
        self.reliability.retransmission_deadline()
    }

    /// The next packet, which starts at `now`, and whether it was sent before; it
    /// [can be sent](Self::can_send).
    #[inline]
    pub fn transmit(&mut self, now: Picos, config: &HostConfig) -> (RocePacket, bool) {
        let transmission = self.reliability.transmit(now, &self.flow);
        let mut packet = self.flow.packet(transmission.number);
        // Only ACKs move a window, and it may shrink to less than what a responder answers together.
        let clocked = self.window(now).is_some();
        packet.ack_request |= transmission.ack_request | clocked;
        packet.telemetry = TelemetryFields::with_room(config.telemetry_hops);
        self.retransmitted_packets += u64::from(transmission.again);
        if self.congestion_control.measures_round_trips() {
            self.round_trips.start(transmission.number, now);
        }
        let wire = packet.frame_length() as u64 + config.wire_overhead;
        let payload = Bytes(u64::from(packet.payload_length));
        let again = transmission.again;
        self.congestion_control
            .transmitted(now, &Transmitted { wire: Bytes(wire), payload, again });
        let rate = self.congestion_control.rate(now);
        self.adapt_limit(rate, config.link_rate);
        // At line rate the port itself limits the rate.
        if rate < config.link_rate {
            self.next_start = now + rate.serialise(wire);
        }
        (packet, again)
    }

    /// Takes an ACK or NAK.
    #[inline]
    pub fn receive_answer(
        &mut self,
        now: Picos,
        answer: &Answer,
        echo: &Echo<'_>,
        line_rate: BitsPerSecond,
    ) -> Outcome {
        let answered = self.reliability.receive(now, answer, &self.flow);
        if answered.outcome == Outcome::BeyondSent {
            return answered.outcome;
        }
        let round_trip = if self.congestion_control.measures_round_trips() {
            // A NAK answers a packet after those that it acknowledges.
            let answers_another = answered.loss || answer.aeth.arrived().is_some();
            self.round_trips.acknowledge(answered.first_open, now).filter(|_| !answers_another)
        } else {
            None
        };
        let bytes = answered.bytes;
        let Echo { congestion, telemetry, telemetry_exceeded } = *echo;
        let acknowledged = Acknowledged {
            bytes,
            round_trip,
            congestion_echo: congestion,
            telemetry,
            telemetry_exceeded,
        };
        self.congestion_control.acknowledged(now, &acknowledged);
        if answered.loss {
            self.congestion_control.lost(now, Loss::Reported);
        }
        self.follow_rate(now, line_rate);
        answered.outcome
    }

    /// Takes a CNP.
    pub fn receive_notification(&mut self, now: Picos, line_rate: BitsPerSecond) {
        self.notifications += 1;
        self.congestion_control.notified(now);
        self.follow_rate(now, line_rate);
    }

    #[inline]
    fn follow_rate(&mut self, now: Picos, line_rate: BitsPerSecond) {
        if self.limit.is_some_and(|limit| limit.scales) {
            let rate = self.congestion_control.rate(now);
            self.adapt_limit(rate, line_rate);
        }
    }

    /// Cuts of the rate that have not been counted yet.
    #[inline]
    pub fn take_cuts(&mut self) -> u64 {
        let cuts = self.congestion_control.cuts();
        cuts - std::mem::replace(&mut self.counted_cuts, cuts)
    }

    /// Takes note that the retransmission timer has expired.
    pub fn expire(&mut self, now: Picos) {
        self.reliability.expire(now);
        self.congestion_control.lost(now, Loss::Timeout);
    }
}

#[cfg(test)]
mod tests;
