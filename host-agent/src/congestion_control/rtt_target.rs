//! A window that keeps round trips near a target: Algorithm 1 of BFC (Goyal et al., NSDI 2022, Appendix A.1).
//!
//! Beneath BFC the window limits a flow's packets in the network to the number that switches can distinguish; it need
//! not share links or react to bursts. Each ACK of `b` bytes moves the window by `b (target - RTT) / RTT`, so that a
//! round trip moves it to `window x target / RTT`. The paper counts packets and states no bound. The window here has a
//! bound, because a flow whose round trips are short grows by `target / RTT` each time, however little of its window it
//! uses.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{Checked, Range, SomeBytes};
use units::ratio::Ratio;
use units::refusal::Refusal;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Picos};

use super::line_rate::LineRate;
use super::settings::{Complete, Needs, Signal};
use super::{Acknowledged, CongestionControl, Link};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &[] }
}

/// The simple end-to-end control that BFC can be combined with (Goyal et al., NSDI 2022, Appendix A.1, Algorithm 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "RttTargetKeys", transform = in_words())]
pub struct Settings {
    /// Target round-trip time, as a multiple of `base_rtt`, at least 1. Default 5/2.
    pub target: Checked<Ratio, FromOne>,
    /// First window, above zero. Default: line rate x `base_rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<SomeBytes>,
    /// Maximum window, above zero; the paper gives no value. Default: line rate x the target round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_window: Option<SomeBytes>,
}

/// Multiples of the base round-trip time, the shortest.
#[derive(Debug)]
pub enum FromOne {}

impl Range<Ratio> for FromOne {
    fn check(target: &Ratio) -> Result<(), Refusal> {
        if target.numerator < target.denominator {
            let help = "no round trip is shorter than the base RTT: write a ratio of at least 1, such as \"5/2\"";
            return Err(Refusal::sentence("a target below the base RTT", help));
        }
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        let target = Checked::within(Ratio::new(5, 2));
        Self { target, initial_window: None, maximum_window: None }
    }
}

impl Settings {
    /// Returns the parameters on a link.
    pub(super) fn parameters(&self, link: &Link) -> Parameters {
        let target = Picos(self.target.get().scale(link.base_rtt.0).max(1));
        let [initial_window, maximum_window] =
            [self.initial_window, self.maximum_window].map(|given| given.map(SomeBytes::get));
        Parameters {
            target,
            initial_window: initial_window.unwrap_or(link.bandwidth_delay()),
            maximum_window: maximum_window.unwrap_or(link.rate.bytes_in(target)),
        }
    }
}

/// Parameters on a link, shared by a host's queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The round-trip time that windows aim at, above zero.
    pub target: Picos,
    /// The window of a flow that has sent nothing.
    pub initial_window: Bytes,
    /// The window never grows beyond this.
    pub maximum_window: Bytes,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    window: u64,
    last: Option<Picos>,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        let window = parameters.initial_window.min(parameters.maximum_window).0;
        Self { parameters, window, last: None }
    }
}

impl Complete for Settings {}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: true, signal: Signal::Nothing }
}

pub(super) fn ends(parameters: Parameters, _: BitsPerSecond) -> (Control, LineRate) {
    (Control::new(parameters.into()), LineRate)
}

impl CongestionControl for Control {
    #[inline]
    fn acknowledged(&mut self, _: Picos, acknowledged: &Acknowledged<'_>) {
        let Some(round_trip) = acknowledged.round_trip.filter(|time| *time > Picos::ZERO) else {
            return;
        };
        self.last = Some(round_trip);
        let target = self.parameters.target;
        let part_of_a_round_trip = |span: Picos| {
            let part = u128::from(acknowledged.bytes.0) * u128::from(span.0);
            u64::try_from(part / u128::from(round_trip.0)).unwrap_or(u64::MAX)
        };
        self.window = if round_trip > target {
            self.window.saturating_sub(part_of_a_round_trip(round_trip.since(target)))
        } else {
            let grown = self.window.saturating_add(part_of_a_round_trip(target.since(round_trip)));
            grown.min(self.parameters.maximum_window.0)
        };
    }

    #[inline]
    fn window(&self, _: Picos) -> Option<Bytes> {
        Some(Bytes(self.window))
    }

    /// The last round trip, as a part of the target.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        let millionths =
            u128::from(self.last?.0) * 1_000_000 / u128::from(self.parameters.target.0);
        Some(i64::try_from(millionths).unwrap_or(i64::MAX))
    }

    #[inline]
    fn measures_round_trips(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> Control {
        let parameters = Parameters {
            target: Picos(20_000_000),
            initial_window: Bytes(100_000),
            maximum_window: Bytes(250_000),
        };
        Control::new(parameters.into())
    }

    impl Control {
        /// The window after an ACK, with its round trip in microseconds.
        fn acknowledge(&mut self, bytes: u64, round_trip: Option<u64>) -> u64 {
            let acknowledged = Acknowledged {
                bytes: Bytes(bytes),
                round_trip: round_trip.map(|micros| Picos(micros * 1_000_000)),
                congestion_echo: false,
                telemetry: &[],
                telemetry_exceeded: false,
            };
            self.acknowledged(Picos(0), &acknowledged);
            self.window
        }
    }

    #[test]
    fn an_ack_moves_the_window_by_its_part_of_a_round_trip() {
        let mut control = control();
        assert_eq!(control.acknowledge(1000, Some(25)), 99_800, "1000 x 5 / 25");
        assert_eq!(control.acknowledge(4000, Some(16)), 100_800, "4000 x 4 / 16");
        assert_eq!(control.acknowledge(1000, Some(20)), 100_800);
        assert_eq!(control.acknowledge(1000, None), 100_800);
        assert_eq!(control.congestion(), Some(1_000_000));
        assert_eq!(control.acknowledge(0, Some(80)), 100_800, "nothing is acknowledged");
        assert_eq!(control.congestion(), Some(4_000_000));
    }

    /// The text below Algorithm 1: a round trip takes a window w to w x target / RTT.
    #[test]
    fn a_round_trip_scales_the_window_by_the_target() {
        for (round_trip, expected) in [(40, 50_000), (25, 80_000), (16, 125_000)] {
            let mut control = control();
            for _ in 0..100 {
                control.acknowledge(1000, Some(round_trip));
            }
            assert_eq!(control.window, expected);
        }
    }

    #[test]
    fn the_window_stays_within_its_bounds() {
        let mut control = control();
        for _ in 0..1000 {
            control.acknowledge(1000, Some(1));
        }
        assert_eq!(control.window, 250_000);
        for _ in 0..1000 {
            control.acknowledge(1000, Some(1_000_000));
        }
        assert_eq!(control.window(Picos(0)), Some(Bytes(0)));
    }
}
