//! DCTCP as a rate.

use super::Feedback;
use crate::ns3::settings::Settings;
use crate::ns3::time::cut;

/// State of a sender.
#[derive(Debug)]
pub(crate) struct State {
    /// Bytes sent at the last update; 0 before the first.
    updated: u32,
    alpha: f64,
    /// Marked ACKs since the last update.
    marks: u32,
    /// Packets that the next update covers.
    batch: u32,
    /// True from a cut until what was sent before it is acknowledged.
    reduced: bool,
    /// Bytes sent at the last cut.
    high: u32,
}

impl Default for State {
    fn default() -> Self {
        Self { updated: 0, alpha: 1.0, marks: 0, batch: 0, reduced: false, high: 0 }
    }
}

impl State {
    /// Handles an ACK of a flow in packets of `payload` bytes. Returns the new rate, if it changes.
    pub fn acknowledged(
        &mut self,
        feedback: Feedback,
        payload: u32,
        (rate, line): (u64, u64),
        settings: &Settings,
    ) -> Option<u64> {
        let Feedback { number, sent, marked } = feedback;
        self.marks += u32::from(marked);
        let is_new = number > self.updated;
        if is_new {
            if self.updated == 0 {
                self.batch = sent / payload + 1;
            } else {
                let share = (f64::from(self.marks) / f64::from(self.batch)).min(1.0);
                let g = settings.gain();
                self.alpha = (1.0 - g).mul_add(self.alpha, g * share);
                self.marks = 0;
                self.batch = sent.wrapping_sub(number) / payload + 1;
            }
            self.updated = sent;
        }
        if self.reduced && number > self.high {
            self.reduced = false;
        }
        let mut changed = None;
        if marked && !self.reduced {
            let less = cut(rate as f64 * (1.0 - self.alpha / 2.0));
            changed = Some(less.max(settings.minimum_rate.0));
            self.reduced = true;
            self.high = sent;
        }
        if !self.reduced && is_new {
            changed = Some((rate + settings.additive_increase.0.0).min(line));
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use units::BitsPerSecond;
    use units::checked::Weight;
    use units::quantity::Increase;
    use units::ratio::Ratio;

    use super::*;

    #[test]
    fn marks_cut_once_a_round_trip_and_their_share_moves_alpha() {
        let of = Settings {
            gain: Weight::within(Ratio::new(1, 16)),
            minimum_rate: BitsPerSecond(1_000_000_000),
            additive_increase: Increase(BitsPerSecond(1_000_000_000)),
            ..Settings::default()
        };
        let mut state = State::default();
        let mut ack = |number, sent, marked, rate| {
            let feedback = Feedback { number, sent, marked };
            (state.acknowledged(feedback, 1000, (rate, 100_000_000_000), &of), state.alpha)
        };
        // The first ACK: five packets are sent, and the rate is at its limit.
        assert_eq!(ack(1000, 5000, false, 100_000_000_000), (Some(100_000_000_000), 1.0));
        assert_eq!(ack(2000, 6000, true, 100_000_000_000), (Some(50_000_000_000), 1.0));
        assert_eq!(ack(3000, 7000, true, 50_000_000_000), (None, 1.0), "once a round trip");
        assert_eq!(ack(5000, 8000, false, 50_000_000_000), (None, 1.0), "not above 5000");
        // Two marks of six packets.
        let alpha = (15.0f64 / 16.0).mul_add(1.0, 1.0 / 16.0 * (2.0 / 6.0));
        assert_eq!(ack(6000, 9000, false, 50_000_000_000), (None, alpha), "not above 6000");
        assert_eq!(ack(7000, 9500, false, 50_000_000_000), (None, alpha), "not a new round trip");
        let next = (15.0f64 / 16.0).mul_add(alpha, 0.0);
        assert_eq!(ack(9001, 9900, false, 50_000_000_000), (Some(51_000_000_000), next));
    }
}
