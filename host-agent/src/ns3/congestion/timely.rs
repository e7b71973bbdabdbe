//! TIMELY, once a round trip.

use super::Feedback;
use crate::ns3::settings::Settings;
use crate::ns3::time::cut;

/// Round-trip times in nanoseconds, and constants of the simulator.
const LOW: u64 = 50_000;
const HIGH: u64 = 500_000;
const MINIMUM: f64 = 20_000.0;
const ALPHA: f64 = 0.875;
const BETA: f64 = 0.8;
/// Increases in a row before hyper increase.
const STAGES: u32 = 5;

/// State of a sender.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Bytes sent at the last update; 0 before the first.
    updated: u32,
    last_rtt: u64,
    difference: f64,
    stage: u32,
}

impl State {
    /// Handles an ACK whose packet took `rtt` nanoseconds. Returns the new rate, if it changes.
    pub fn acknowledged(
        &mut self,
        feedback: Feedback,
        rtt: u64,
        (rate, line): (u64, u64),
        settings: &Settings,
    ) -> Option<u64> {
        if feedback.number <= self.updated {
            return None;
        }
        let changed = (self.updated != 0).then(|| self.update(rtt, (rate, line), settings));
        if feedback.sent > self.updated {
            self.updated = feedback.sent;
            self.last_rtt = rtt;
        }
        changed
    }

    fn update(&mut self, rtt: u64, (rate, line): (u64, u64), settings: &Settings) -> u64 {
        let change = rtt.cast_signed() - self.last_rtt.cast_signed();
        self.difference = (1.0 - ALPHA).mul_add(self.difference, ALPHA * change as f64);
        let gradient = self.difference / MINIMUM;
        let factor = if rtt < LOW {
            None
        } else if rtt > HIGH {
            Some((-BETA).mul_add(1.0 - HIGH as f64 / rtt as f64, 1.0))
        } else if gradient <= 0.0 {
            None
        } else {
            let factor = (-BETA).mul_add(gradient, 1.0);
            Some(if factor < 0.0 { 0.0 } else { factor })
        };
        if let Some(factor) = factor {
            self.stage = 0;
            return cut(rate as f64 * factor).max(settings.minimum_rate.0);
        }
        let step =
            if self.stage < STAGES { settings.additive_increase } else { settings.hyper_increase };
        self.stage = self.stage.saturating_add(1);
        (rate + step.0.0).min(line)
    }
}

#[cfg(test)]
mod tests {
    use units::BitsPerSecond;
    use units::quantity::Increase;

    use super::*;

    #[test]
    fn the_rate_follows_the_gradient_between_the_thresholds() {
        let of = Settings {
            minimum_rate: BitsPerSecond(1_000_000_000),
            additive_increase: Increase(BitsPerSecond(100_000_000)),
            hyper_increase: Increase(BitsPerSecond(500_000_000)),
            ..Settings::default()
        };
        let mut state = State::default();
        let mut sent = 0;
        let mut ack = |rtt, rate| {
            sent += 10;
            let feedback = Feedback { number: sent - 5, sent, marked: false };
            state.acknowledged(feedback, rtt, (rate, 100_000_000_000), &of)
        };
        assert_eq!(ack(60_000, 7), None, "the first leaves its round trip");
        // 0.875 x 4000 = 3500 ns: a gradient of 0.175, and 1 - 0.8 x 0.175 of the rate.
        assert_eq!(ack(64_000, 50_000_000_000), Some(43_000_000_000));
        // 0.125 x 3500 - 0.875 x 4000 is negative.
        assert_eq!(ack(60_000, 43_000_000_000), Some(43_100_000_000));
        assert_eq!(ack(40_000, 43_000_000_000), Some(43_100_000_000));
        assert_eq!(ack(1_000_000, 50_000_000_000), Some(30_000_000_000));
        for _ in 0..5 {
            assert_eq!(ack(1000, 50_000_000_000), Some(50_100_000_000));
        }
        assert_eq!(ack(1000, 50_000_000_000), Some(50_500_000_000), "hyper increase");
        assert_eq!(ack(1000, 99_999_999_999), Some(100_000_000_000));
        assert_eq!(ack(u64::MAX >> 2, 2_000_000_000), Some(1_000_000_000));
    }

    #[test]
    fn an_ack_of_the_same_round_trip_changes_nothing() {
        let (mut state, of) = (State::default(), Settings::default());
        let feedback = |number, sent| Feedback { number, sent, marked: false };
        assert_eq!(state.acknowledged(feedback(1000, 9000), 1, (5, 9), &of), None);
        assert_eq!(state.acknowledged(feedback(9000, 12_000), 1, (5, 9), &of), None);
        assert!(state.acknowledged(feedback(9001, 12_000), 1, (5, 9), &of).is_some());
    }
}
