//! TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015), and its patched
//! form (Zhu et al., "ECN or Delay", CoNEXT 2016).
//!
//! The rate follows the gradient of the round-trip time between two thresholds: Algorithm 1 of the paper. The patched
//! form, Algorithm 2 of the second paper, also uses the round-trip time itself between the thresholds, so that flows
//! converge to equal rates.
//!
//! Both papers compute at each completion of a segment of 16 to 64 KB. This computes once a round trip, as the HPCC
//! simulator (`rdma-hw.cc`) does. As there, hyper active increase begins after five round trips of increase in a row,
//! for whichever reason. A new rate holds from the next packet on: the simulator keeps the start that is set, and the
//! first paper computes a segment's delay when it is handed to the pacer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{Misfit, Period, Weight};
use units::quantity::{Increase, display};
use units::ratio::Ratio;
use units::refusal::Refusal;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Picos};

use super::dctcp::Start;
use super::fraction::Fraction;
use super::line_rate::LineRate;
use super::rounds::Rounds;
use super::settings::{Complete, Needs, Signal};
use super::{Acknowledged, CongestionControl, Link, Transmitted};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &["form"] }
}

/// TIMELY (Mittal et al., SIGCOMM 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "TimelyKeys", transform = in_words())]
pub struct Settings {
    /// Version: "original", or "patched" (Zhu et al., "ECN or Delay", CoNEXT 2016), in which the rate also follows the
    /// round-trip time between the thresholds. Default "original".
    pub form: Form,
    /// T_low: round-trip time below which the rate always grows; above zero. Default "50us".
    pub low: Period,
    /// T_high: round-trip time above which the rate always falls; at least `low`. Default "500us".
    pub high: Period,
    /// minRTT: divisor of differences of round-trip times; above zero. Default "20us".
    pub minimum_rtt: Period,
    /// alpha: weight of the newest difference, a ratio up to 1. Default 7/8.
    pub gain: Weight,
    /// beta: strength of a decrease, a ratio up to 1. Default 4/5; 1/125 with form "patched".
    pub decrease: Option<Weight>,
    /// delta: additive increase of the rate. Default: 1/1000 of the line rate, the paper's 10 Mbit/s at 10 Gbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Increase>,
    /// Increase of the rate after `hyper_after` increases in a row. Default: five times `additive_increase`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper_increase: Option<Increase>,
    /// N: number of increases in a row before `hyper_increase`. Default 5.
    pub hyper_after: u32,
    /// Minimum rate. Default "10Mbps"; the HPCC simulator has 1 Gbit/s at 100 Gbit/s.
    pub minimum_rate: BitsPerSecond,
}

/// Version of TIMELY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "TimelyForm")]
pub enum Form {
    /// Version of the TIMELY paper.
    #[default]
    Original,
    /// Version of Zhu et al., "ECN or Delay", CoNEXT 2016.
    Patched,
}

impl Default for Settings {
    fn default() -> Self {
        let microseconds = |count: u64| Period::within(Picos(count * 1_000_000));
        Self {
            form: Form::Original,
            low: microseconds(50),
            high: microseconds(500),
            minimum_rtt: microseconds(20),
            gain: Weight::within(Ratio::new(7, 8)),
            decrease: None,
            additive_increase: None,
            hyper_increase: None,
            hyper_after: 5,
            minimum_rate: BitsPerSecond(10_000_000),
        }
    }
}

impl Complete for Settings {
    fn check(&self) -> Result<(), Misfit> {
        let [low, high] = [self.low, self.high].map(Period::get);
        if high >= low {
            return Ok(());
        }
        let title = format!(
            "an upper threshold of {} below the lower one of {}",
            display(high),
            display(low)
        );
        let refusal = Refusal::sentence(title, "write `high` at least as long as `low`");
        Err(Misfit { keys: &["high", "low"], refusal })
    }

    fn completed(self, _: Start) -> Self {
        Self { decrease: Some(self.decrease()), ..self }
    }
}

impl Settings {
    fn decrease(&self) -> Weight {
        self.decrease.unwrap_or_else(|| {
            Weight::within(match self.form {
                Form::Original => Ratio::new(4, 5),
                Form::Patched => Ratio::new(1, 125),
            })
        })
    }

    /// Returns the parameters on a link.
    pub(super) fn parameters(&self, link: &Link) -> Parameters {
        let usual = BitsPerSecond((link.rate.0 / 1000).max(1));
        let additive_increase = self.additive_increase.map_or(usual, |increase| increase.0);
        let five_times = BitsPerSecond(additive_increase.0.saturating_mul(5));
        Parameters {
            low: self.low.get(),
            high: self.high.get(),
            minimum_rtt: self.minimum_rtt.get(),
            gain: Fraction::from_weight(self.gain),
            decrease: Fraction::from_weight(self.decrease()),
            additive_increase,
            hyper_increase: self.hyper_increase.map_or(five_times, |increase| increase.0),
            hyper_after: self.hyper_after,
            patched: self.form == Form::Patched,
            line_rate: link.rate,
            minimum_rate: self.minimum_rate.min(link.rate),
        }
    }
}

/// Parameters on a link, shared by a host's queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// T_low: below it the rate always grows.
    pub low: Picos,
    /// T_high: above it the rate always falls; at least `low`.
    pub high: Picos,
    /// minRTT: the span by which differences of round trips are divided; above zero.
    pub minimum_rtt: Picos,
    /// alpha: the weight of the newest difference.
    pub gain: Fraction,
    /// beta: strength of a decrease.
    pub decrease: Fraction,
    /// delta: step of a normal increase.
    pub additive_increase: BitsPerSecond,
    /// Step of an increase after [`hyper_after`](Self::hyper_after) increases in a row.
    pub hyper_increase: BitsPerSecond,
    /// N: see there.
    pub hyper_after: u32,
    /// True for the patched form.
    pub patched: bool,
    /// The rate at which a queue pair starts, and the highest.
    pub line_rate: BitsPerSecond,
    /// The lowest rate.
    pub minimum_rate: BitsPerSecond,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    rate: BitsPerSecond,
    /// The last round trip that was measured.
    last: Option<Picos>,
    /// The smoothed difference between round trips, in picoseconds.
    difference: i64,
    /// Increases in a row.
    increases: u32,
    cuts: u64,
    rounds: Rounds,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            rate: parameters.line_rate,
            last: None,
            difference: 0,
            increases: 0,
            cuts: 0,
            rounds: Rounds::default(),
            parameters,
        }
    }

    fn update(&mut self, before: Picos, round_trip: Picos) {
        let parameters = Arc::clone(&self.parameters);
        let Parameters { low, high, decrease, .. } = *parameters;
        self.smooth(before, round_trip);
        if round_trip < low {
            self.increase();
        } else if round_trip > high {
            // beta (1 - T_high / RTT)
            let excess = u128::from(round_trip.since(high).0);
            self.fall_by(part(decrease.scale(self.rate.0), excess, round_trip.0.into()));
        } else if parameters.patched {
            self.follow_round_trip(round_trip);
        } else if self.difference <= 0 {
            self.increase();
        } else {
            let gradient = u128::from(self.difference.unsigned_abs());
            let minimum_rtt = parameters.minimum_rtt.0.into();
            self.fall_by(part(decrease.scale(self.rate.0), gradient, minimum_rtt));
        }
    }

    /// `rtt_diff` = (1 - alpha) `rtt_diff` + alpha (RTT - last RTT), rounded towards zero.
    fn smooth(&mut self, before: Picos, round_trip: Picos) {
        let gain = self.parameters.gain;
        let weigh = |weight: Fraction, span: i64| {
            let size = i64::try_from(weight.scale(span.unsigned_abs())).unwrap_or(i64::MAX);
            if span < 0 { -size } else { size }
        };
        let new = if round_trip >= before {
            i64::try_from(round_trip.since(before).0).unwrap_or(i64::MAX)
        } else {
            -i64::try_from(before.since(round_trip).0).unwrap_or(i64::MAX)
        };
        self.difference =
            weigh(gain.complement(), self.difference).saturating_add(weigh(gain, new));
    }

    fn increase(&mut self) {
        let Parameters { additive_increase, hyper_increase, hyper_after, .. } = *self.parameters;
        let step = if self.increases < hyper_after { additive_increase } else { hyper_increase };
        self.increases = self.increases.saturating_add(1);
        self.set(self.rate.0.saturating_add(step.0));
    }

    fn fall_by(&mut self, loss: u64) {
        self.increases = 0;
        self.cuts += 1;
        self.set(self.rate.0.saturating_sub(loss));
    }

    /// The patched form between the thresholds: rate = delta (1 - w) + rate (1 - beta w error), where the error is
    /// (RTT - T_low) / T_low, and the weight w goes from 0 at a gradient of -1/4 to 1 at 1/4.
    fn follow_round_trip(&mut self, round_trip: Picos) {
        let Parameters { low, minimum_rtt, decrease, additive_increase, .. } = *self.parameters;
        // w = 2 gradient + 1/2, of minRTT.
        let whole = i128::from(minimum_rtt.0);
        let weight = (2 * i128::from(self.difference) + whole / 2).clamp(0, whole).unsigned_abs();
        let whole = whole.unsigned_abs();
        let grows = part(additive_increase.0, whole - weight, whole);
        let error = u128::from(round_trip.since(low).0);
        let falls =
            part(part(decrease.scale(self.rate.0), weight, whole), error, low.0.max(1).into());
        self.increases = 0;
        self.set(self.rate.0.saturating_add(grows).saturating_sub(falls));
    }

    fn set(&mut self, rate: u64) {
        let Parameters { minimum_rate, line_rate, .. } = *self.parameters;
        self.rate = BitsPerSecond(rate).clamp(minimum_rate, line_rate);
    }
}

/// `numerator / denominator` of `value`; saturates.
fn part(value: u64, numerator: u128, denominator: u128) -> u64 {
    let product = u128::from(value).saturating_mul(numerator);
    u64::try_from(product / denominator).unwrap_or(u64::MAX)
}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: false, signal: Signal::Nothing }
}

pub(super) fn ends(parameters: Parameters, _: BitsPerSecond) -> (Control, LineRate) {
    (Control::new(parameters.into()), LineRate)
}

impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, _: Picos, packet: &Transmitted) {
        self.rounds.transmitted(packet);
    }

    fn acknowledged(&mut self, _: Picos, acknowledged: &Acknowledged<'_>) {
        let over = self.rounds.acknowledged(acknowledged.bytes);
        let Some(round_trip) = acknowledged.round_trip.filter(|_| over) else { return };
        if let Some(before) = self.last.replace(round_trip) {
            self.update(before, round_trip);
        }
    }

    #[inline]
    fn cuts(&self) -> u64 {
        self.cuts
    }

    /// The normalised gradient, rounded towards zero.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        let gradient =
            i128::from(self.difference) * 1_000_000 / i128::from(self.parameters.minimum_rtt.0);
        let furthest = if gradient < 0 { i64::MIN } else { i64::MAX };
        Some(i64::try_from(gradient).unwrap_or(furthest))
    }

    #[inline]
    fn rate(&mut self, _: Picos) -> BitsPerSecond {
        self.rate
    }

    #[inline]
    fn measures_round_trips(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;
    const MBPS: u64 = 1_000_000;

    fn parameters() -> Parameters {
        Parameters {
            low: Picos(50 * US),
            high: Picos(500 * US),
            minimum_rtt: Picos(20 * US),
            gain: Fraction::from_ratio(7, 8),
            decrease: Fraction::from_ratio(4, 5),
            additive_increase: BitsPerSecond(10 * MBPS),
            hyper_increase: BitsPerSecond(50 * MBPS),
            hyper_after: 5,
            patched: false,
            line_rate: BitsPerSecond(10_000 * MBPS),
            minimum_rate: BitsPerSecond(10 * MBPS),
        }
    }

    impl Control {
        /// A packet and its ACK, which ends a round trip of `microseconds`: the rate in Mbit/s, rounded down.
        fn round_trip(&mut self, microseconds: u64) -> u64 {
            let packet =
                Transmitted { wire: units::Bytes(1098), payload: units::Bytes(1000), again: false };
            self.transmitted(Picos(0), &packet);
            let acknowledged = Acknowledged {
                bytes: units::Bytes(1000),
                round_trip: Some(Picos(microseconds * US)),
                congestion_echo: false,
                telemetry: &[],
                telemetry_exceeded: false,
            };
            self.acknowledged(Picos(0), &acknowledged);
            self.rate(Picos(0)).0 / MBPS
        }
    }

    #[test]
    fn the_papers_algorithm_step_by_step() {
        let mut control = Control::new(parameters().into());
        for (row, (round_trip, expected)) in [
            (100, 10_000), // the first one has nothing to be compared with
            (120, 3000),   // difference 17.5 us, gradient 0.875: 10,000 (1 - 0.8 x 0.875)
            (120, 2737),   // 2.1875 us: 3000 (1 - 0.8 x 0.109375)
            (100, 2747),   // below zero: + 10
            (40, 2757),    // below T_low
            (600, 2389),   // above T_high: 2757.5 (1 - 0.8 / 6)
            (40, 2399),
            (40, 2409),
            (40, 2419),
            (40, 2429),
            (40, 2439),
            (40, 2489), // the sixth increase in a row
            (40, 2539),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(control.round_trip(round_trip), expected, "row {row}");
        }
        assert_eq!(control.cuts(), 3);
    }

    #[test]
    fn the_gradient_has_a_sign() {
        let mut control = Control::new(parameters().into());
        // 7/8 of 20 us of a minimum of 20 us; then 1/8 of that less 7/8.
        for (round_trip, gradient) in [(100, 0), (120, 875_000), (100, -765_625)] {
            control.round_trip(round_trip);
            assert_eq!(control.congestion(), Some(gradient), "{round_trip} us");
        }
    }

    #[test]
    fn the_rate_stays_between_its_bounds() {
        let mut control = Control::new(parameters().into());
        for _ in 0..3 {
            assert_eq!(control.round_trip(10), 10_000);
        }
        for step in 1..200 {
            control.round_trip(600 + 100 * step);
        }
        assert_eq!(control.round_trip(40_000), 10);
    }

    /// Between the thresholds the weight goes from 0 to 1, and the rate falls by beta x weight x error.
    #[test]
    fn the_patched_form_follows_the_round_trip_itself() {
        let patched =
            Parameters { patched: true, decrease: Fraction::from_ratio(1, 125), ..parameters() };
        for (round_trips, expected) in [
            (&[100, 100][..], 9965),  // weight 1/2, error 1: 10,000 (1 - 0.004) + 5
            (&[100, 90][..], 10_000), // gradient -0.4375: weight 0, + 10, at line rate already
            (&[100, 110][..], 9904),  // gradient 0.4375: weight 1, error 1.2: 10,000 (1 - 0.0096)
            (&[40, 40][..], 10_000),
        ] {
            let mut control = Control::new(patched.into());
            let rates: Vec<u64> =
                round_trips.iter().map(|&round_trip| control.round_trip(round_trip)).collect();
            assert_eq!(rates.last(), Some(&expected), "{round_trips:?}");
        }
    }
}
