//! The sending end of a queue pair: a flow, its reliability and its congestion control.

use fabric_core::wire::RemainingSize;
use fabric_core::wire::roce::{RocePacket, TelemetryFields};
use units::{Bytes, Picos};

use crate::congestion_control::{CongestionControl, Echo, Transmitted};
use crate::first_rtt::FirstRtt;
use crate::flow::{Flow, FlowRequest};
use crate::flow_trace::SenderState;
use crate::host::{HostConfig, SenderCounts};
use crate::regulator::Regulator;
use crate::reliability::{Answer, Outcome, ReliableSender};
use crate::round_trip::RoundTrips;

/// Requester of one flow.
#[derive(Debug)]
pub struct Requester<R, C> {
    flow: Flow,
    reliability: R,
    regulator: Regulator<C>,
    /// Stamps for which packets have room.
    telemetry_hops: u8,
    first_rtt: FirstRtt,
    counts: SenderCounts,
    round_trips: RoundTrips,
}

impl<R: ReliableSender, C: CongestionControl> Requester<R, C> {
    /// A requester made of these parts, which has sent nothing.
    pub fn new(
        flow: Flow,
        reliability: R,
        regulator: Regulator<C>,
        telemetry_hops: u8,
        first_rtt: FirstRtt,
    ) -> Self {
        Self {
            flow,
            reliability,
            regulator,
            telemetry_hops,
            first_rtt,
            counts: SenderCounts::default(),
            round_trips: RoundTrips::default(),
        }
    }

    pub fn request(&self) -> &FlowRequest {
        self.flow.request()
    }

    /// Returns true if a packet is ready and the window has room for it. Pacing is not considered.
    #[inline]
    pub fn can_send(&self, now: Picos) -> bool {
        let Some(number) = self.reliability.next(&self.flow) else {
            return false;
        };
        let payload = self.flow.payload_of(number);
        self.regulator.allows(now, || self.reliability.outstanding(&self.flow), payload)
    }

    /// Bytes left to send from the next packet on.
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.reliability.next(&self.flow).map_or(0, |number| self.flow.remaining_from(number))
    }

    /// Earliest start of the next packet by pacing.
    #[inline]
    pub fn next_start(&self) -> Picos {
        self.regulator.next_start()
    }

    /// Counters of the flow's sender.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }

    /// Returns true if the last packet is acknowledged.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.reliability.is_complete(&self.flow)
    }

    /// Instant at which the retransmission timer expires, if it runs.
    #[inline]
    pub fn retransmission_deadline(&self) -> Option<Picos> {
        self.reliability.retransmission_deadline()
    }

    /// Returns the next packet, which starts at `now`, and true if it is a retransmission. Requires
    /// [`can_send`](Self::can_send).
    #[inline]
    pub fn transmit(&mut self, now: Picos, config: &HostConfig) -> (RocePacket, bool) {
        let transmission = self.reliability.transmit(now, &self.flow);
        let mut packet = self.flow.packet(transmission.number);
        // Only ACKs move a window, and it may shrink below the number of packets that a responder answers together.
        let clocked = self.regulator.window(now).is_some();
        packet.ack_request |= transmission.ack_request | clocked;
        packet.telemetry = TelemetryFields::with_room(self.telemetry_hops);
        if config.sends_remaining {
            packet.remaining =
                RemainingSize::from_bytes(self.flow.remaining_from(transmission.number));
        }
        self.counts.retransmitted_packets += u64::from(transmission.again);
        if self.regulator.measures_round_trips() {
            self.round_trips.start(transmission.number, now);
        }
        let payload = Bytes(u64::from(packet.payload_length));
        packet.dscp |= self.first_rtt.next(payload);
        let length = config.frame_lengths.packet(payload.0, packet.frame_length() as u64);
        let wire = config.frame_time.on_the_wire(length);
        let again = transmission.again;
        self.regulator.transmitted(now, &Transmitted { wire: Bytes(wire), payload, again });
        (packet, again)
    }

    /// Handles an ACK or NAK.
    #[inline]
    pub fn receive_answer(&mut self, now: Picos, answer: &Answer, echo: &Echo<'_>) -> Outcome {
        let answered = self.reliability.receive(now, answer, &self.flow);
        if answered.outcome == Outcome::BeyondSent {
            return answered.outcome;
        }
        let round_trip = if self.regulator.measures_round_trips() {
            // A NAK answers a packet behind the packets that it acknowledges.
            let answers_another = answered.loss || answer.aeth.arrived().is_some();
            self.round_trips
                .acknowledge(answered.first_open, now, |_| false)
                .filter(|_| !answers_another)
        } else {
            None
        };
        let acknowledged = echo.acknowledged(answered.bytes, round_trip);
        self.regulator.acknowledged(now, &acknowledged, answered.loss);
        answered.outcome
    }

    /// Handles a CNP.
    pub fn receive_notification(&mut self, now: Picos) {
        self.counts.notifications += 1;
        self.regulator.notified(now);
    }

    /// Traces the flow from now on, before its first packet.
    pub fn trace(&mut self) {
        self.regulator.trace();
    }

    /// See [`Regulator::poll_trace`].
    #[inline]
    pub fn poll_trace(&mut self, now: Picos) -> Option<SenderState> {
        self.regulator.poll_trace(now, || self.reliability.outstanding(&self.flow))
    }

    /// Cuts of the rate that have not been counted yet.
    #[inline]
    pub fn take_cuts(&mut self) -> u64 {
        self.regulator.take_cuts()
    }

    /// Handles an expiry of the retransmission timer.
    pub fn expire(&mut self, now: Picos) {
        self.reliability.expire(now);
        self.regulator.expired(now);
    }
}

#[cfg(test)]
mod tests;
