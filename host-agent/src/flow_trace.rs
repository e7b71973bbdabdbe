//! Trace of a flow's sender: its rate, window and congestion whenever one of them changes.

use units::{BitsPerSecond, Bytes, Picos};

/// State of a sender at an instant: its limits, and the bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// The rate at which its packets may follow each other, at most the line rate.
    pub rate: BitsPerSecond,
    /// Payload bytes that may be unacknowledged; `None` for no limit.
    pub window: Option<Bytes>,
    /// The algorithm's [`congestion`](crate::congestion_control::CongestionControl::congestion).
    pub congestion_millionths: Option<i64>,
    /// The last round trip that was measured.
    pub round_trip: Option<Picos>,
    /// Payload bytes that count against the window.
    pub outstanding: Bytes,
}

impl SenderState {
    /// Returns true if rate, window and congestion equal those of `other`.
    fn is_governed_as(&self, other: &Self) -> bool {
        let Self { rate, window, congestion_millionths, round_trip: _, outstanding: _ } = *self;
        (rate, window, congestion_millionths)
            == (other.rate, other.window, other.congestion_millionths)
    }
}

/// Follows one sender.
#[derive(Debug, Default)]
pub struct FlowTrace {
    /// The state that was reported last.
    recorded: Option<SenderState>,
    /// The last round trip that was measured.
    round_trip: Option<Picos>,
}

impl FlowTrace {
    /// Records a round trip, if one was measured.
    pub fn measured(&mut self, round_trip: Option<Picos>) {
        self.round_trip = round_trip.or(self.round_trip);
    }

    /// The last round trip that was measured.
    pub fn round_trip(&self) -> Option<Picos> {
        self.round_trip
    }

    /// The state, if rate, window or congestion have changed since the last report.
    pub fn change(&mut self, state: SenderState) -> Option<SenderState> {
        if self.recorded.is_some_and(|recorded| recorded.is_governed_as(&state)) {
            return None;
        }
        self.recorded = Some(state);
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_window_and_congestion_are_changes_and_the_rest_is_not() {
        let state = SenderState {
            rate: BitsPerSecond(100),
            window: None,
            congestion_millionths: None,
            round_trip: None,
            outstanding: Bytes(0),
        };
        let mut trace = FlowTrace::default();
        assert_eq!(trace.change(state), Some(state), "the first state is recorded");
        let rows = [
            (state, false),
            (SenderState { round_trip: Some(Picos(1)), outstanding: Bytes(9), ..state }, false),
            (SenderState { rate: BitsPerSecond(99), ..state }, true),
            (state, true),
            (SenderState { window: Some(Bytes(1)), ..state }, true),
            (SenderState { window: Some(Bytes(1)), outstanding: Bytes(1), ..state }, false),
            (SenderState { congestion_millionths: Some(-1), ..state }, true),
        ];
        for (row, (state, recorded)) in rows.into_iter().enumerate() {
            assert_eq!(trace.change(state), recorded.then_some(state), "row {row}");
        }
        trace.measured(Some(Picos(7)));
        trace.measured(None);
        assert_eq!(trace.round_trip(), Some(Picos(7)), "the last that there was");
    }
}
