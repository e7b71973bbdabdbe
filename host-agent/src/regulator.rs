//! Rate and window of one sender: its congestion control, and the separate window limit.

use units::{BitsPerSecond, Bytes, FrameTime, Picos};

use crate::congestion_control::{Acknowledged, CongestionControl, Loss, Transmitted};
use crate::flow_trace::{FlowTrace, SenderState};

/// Limit of unacknowledged bytes, in addition to congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowLimit {
    /// Limit at line rate, above zero.
    pub bytes: Bytes,
    /// True to shrink the limit in proportion to the rate that congestion control sets.
    pub scales: bool,
}

/// Limits one flow's window and rate.
#[derive(Debug)]
pub struct Regulator<C> {
    congestion_control: C,
    line_rate: BitsPerSecond,
    frame_time: FrameTime,
    limit: Option<WindowLimit>,
    /// True if a packet may exceed the window, unless the window is full.
    overrun: bool,
    /// The limit at the present rate.
    limited_to: Option<Bytes>,
    next_start: Picos,
    /// The start and the bytes on the wire of the last packet; kept where a new rate moves `next_start`.
    last: (Picos, u64),
    counted_cuts: u64,
    /// Trace of the flow, if it is traced.
    trace: Option<Box<FlowTrace>>,
}

impl<C: CongestionControl> Regulator<C> {
    /// Regulator of a flow that has sent nothing.
    pub fn new(
        congestion_control: C,
        limit: Option<WindowLimit>,
        overrun: bool,
        line_rate: BitsPerSecond,
        frame_time: FrameTime,
    ) -> Self {
        Self {
            congestion_control,
            line_rate,
            frame_time,
            limit,
            overrun,
            limited_to: limit.map(|limit| limit.bytes),
            next_start: Picos::ZERO,
            last: (Picos::ZERO, 0),
            counted_cuts: 0,
            trace: None,
        }
    }

    /// Traces the sender from now on. Call it before the first packet.
    pub fn trace(&mut self) {
        self.trace = Some(Box::default());
    }

    /// The sender's state at `now`, if the flow is traced and rate, window or congestion have changed since the last
    /// report. Polling does not affect transmission.
    #[inline]
    pub fn poll_trace(
        &mut self,
        now: Picos,
        outstanding: impl FnOnce() -> Bytes,
    ) -> Option<SenderState> {
        let round_trip = self.trace.as_ref()?.round_trip();
        let state = SenderState {
            rate: self.congestion_control.rate(now).min(self.line_rate),
            window: self.window(now),
            congestion_millionths: self.congestion_control.congestion(),
            round_trip,
            outstanding: outstanding(),
        };
        self.trace.as_mut()?.change(state)
    }

    /// Returns true if the algorithm or a trace uses [`Acknowledged::round_trip`].
    #[inline]
    pub fn measures_round_trips(&self) -> bool {
        self.trace.is_some() || self.congestion_control.measures_round_trips()
    }

    /// Earliest start of the next packet by pacing.
    #[inline]
    pub fn next_start(&self) -> Picos {
        self.next_start
    }

    /// The algorithm, for its read-only properties.
    #[inline]
    pub fn algorithm(&self) -> &C {
        &self.congestion_control
    }

    /// The algorithm, for tests.
    #[cfg(test)]
    pub fn algorithm_mut(&mut self) -> &mut C {
        &mut self.congestion_control
    }

    /// Another window limit, for tests.
    #[cfg(test)]
    pub fn set_limit(&mut self, limit: WindowLimit) {
        (self.limit, self.limited_to) = (Some(limit), Some(limit.bytes));
    }

    /// Bytes that may be unacknowledged; `None` for no limit.
    #[inline]
    pub fn window(&self, now: Picos) -> Option<Bytes> {
        match (self.congestion_control.window(now), self.limited_to) {
            (Some(window), Some(limit)) => Some(window.min(limit)),
            (window, limit) => window.or(limit),
        }
    }

    /// Returns true if the window lets a packet with this payload start while `outstanding` bytes are unacknowledged.
    /// Pacing is not considered.
    #[inline]
    pub fn allows(&self, now: Picos, outstanding: impl FnOnce() -> Bytes, payload: Bytes) -> bool {
        let Some(window) = self.window(now) else {
            return true;
        };
        let outstanding = outstanding();
        let whole = if self.overrun { 1 } else { payload.0 };
        // With a window below one packet, the flow would never go on.
        outstanding == Bytes(0) || outstanding.0 + whole <= window.0
    }

    /// Updates rate, window and pacing for a packet that starts at `now`.
    #[inline]
    pub fn transmitted(&mut self, now: Picos, packet: &Transmitted) {
        self.congestion_control.transmitted(now, packet);
        let rate = self.congestion_control.rate(now);
        self.adapt_limit(rate);
        if self.congestion_control.moves_next_start() {
            self.last = (now, packet.wire.0);
        }
        // At line rate the port itself limits the rate.
        if rate < self.line_rate {
            self.next_start = now + self.gap(rate, packet.wire.0);
        }
    }

    /// Handles an ACK or NAK; `loss` if it reports a loss.
    #[inline]
    pub fn acknowledged(&mut self, now: Picos, acknowledged: &Acknowledged<'_>, loss: bool) {
        if let Some(trace) = &mut self.trace {
            trace.measured(acknowledged.round_trip);
        }
        self.congestion_control.acknowledged(now, acknowledged);
        if loss {
            self.congestion_control.lost(now, Loss::Reported);
        }
        self.follow_rate(now);
    }

    /// Handles a CNP.
    pub fn notified(&mut self, now: Picos) {
        self.congestion_control.notified(now);
        self.follow_rate(now);
    }

    /// Handles an expiry of the retransmission timer.
    pub fn expired(&mut self, now: Picos) {
        self.congestion_control.lost(now, Loss::Timeout);
        self.follow_rate(now);
    }

    /// Cuts of the rate that have not been counted yet.
    #[inline]
    pub fn take_cuts(&mut self) -> u64 {
        let cuts = self.congestion_control.cuts();
        cuts - std::mem::replace(&mut self.counted_cuts, cuts)
    }

    /// A limit that scales follows the rate.
    #[inline]
    fn adapt_limit(&mut self, rate: BitsPerSecond) {
        if let Some(WindowLimit { bytes, scales: true }) = self.limit {
            let part = u128::from(bytes.0) * u128::from(rate.0.min(self.line_rate.0));
            let part = u64::try_from(part / u128::from(self.line_rate.0)).unwrap_or(bytes.0);
            self.limited_to = Some(Bytes(part.max(1)));
        }
    }

    /// The time from a packet's start to the next one's at a rate.
    #[inline]
    fn gap(&self, rate: BitsPerSecond, wire: u64) -> Picos {
        self.frame_time.rounded(rate.serialise(wire))
    }

    /// The limit and, with some algorithms, the start of the next packet follow a rate that may be new.
    #[inline]
    fn follow_rate(&mut self, now: Picos) {
        let moves = self.congestion_control.moves_next_start();
        if !moves && self.limit.is_none_or(|limit| !limit.scales) {
            return;
        }
        let rate = self.congestion_control.rate(now);
        self.adapt_limit(rate);
        if moves {
            let (start, wire) = self.last;
            let gap = if rate < self.line_rate { self.gap(rate, wire) } else { Picos::ZERO };
            self.next_start = start + gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion_control::line_rate::LineRate;

    /// With a window of 2500 B, for several amounts outstanding.
    #[test]
    fn a_packet_fits_the_window_or_starts_before_it_is_full() {
        for (overrun, allowed) in [
            (false, [true, true, false, false, false, false]),
            (true, [true, true, true, true, true, false]),
        ] {
            let limit = WindowLimit { bytes: Bytes(2500), scales: false };
            let regulator = Regulator::new(
                LineRate,
                Some(limit),
                overrun,
                BitsPerSecond(1),
                FrameTime::default(),
            );
            let outstanding = [0, 1500, 1501, 2000, 2499, 2500].map(Bytes);
            let found = outstanding.map(|bytes| regulator.allows(Picos(0), || bytes, Bytes(1000)));
            assert_eq!(found, allowed, "overrun: {overrun}");
        }
    }
}
