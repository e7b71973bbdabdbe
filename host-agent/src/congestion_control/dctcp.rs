//! DCTCP (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257).
//!
//! The receiver reports which bytes were marked. The sender estimates their share alpha, and cuts its window by alpha /
//! 2 at most once a round trip. The congestion point, which marks above one threshold, is the switch.
//!
//! A sender that starts at line rate has a window of the bandwidth-delay product and no slow start, as the HPCC
//! simulator has it (`rdma-hw.cc`, there in terms of a rate); window / base RTT is then its rate, if it is paced. As
//! there, a new rate holds from the next packet on.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::checked::{SomeBytes, Weight};
use units::ratio::Ratio;
use units::schema::DefaultsInWords;
use units::{BitsPerSecond, Bytes, Picos};

use super::fraction::Fraction;
use super::rounds::Rounds;
use super::settings::{Complete, Needs, Signal};
use super::{
    Acknowledged, CongestionControl, CongestionFeedback, Ecn, Link, Loss, Transmitted, rate_of,
};

const fn in_words() -> DefaultsInWords {
    DefaultsInWords { except: &[] }
}

/// DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DctcpKeys", transform = in_words())]
pub struct Settings {
    /// g: weight of the newest round trip in alpha, a ratio up to 1. Default 1/16.
    pub g: Weight,
    /// Start of a flow. "line-rate": the first window is line rate x `base_rtt`, which is also the maximum.
    /// "slow-start": the first window is `initial_window`, doubled in each round trip until the first mark or loss.
    /// Default "line-rate" for RoCEv2, "slow-start" for TCP.
    pub start: Option<Start>,
    /// First window of a flow with `start = "slow-start"`, above zero. Default: ten times `host.payload` (RFC 6928).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<SomeBytes>,
    /// Growth of the window in a round trip without marks. Default: one `host.payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Bytes>,
    /// Minimum window after a cut, above zero. Default: one `host.payload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_window: Option<SomeBytes>,
    /// True if packets are paced at window / `base_rtt`. Default: true with start "line-rate".
    pub pacing: Option<bool>,
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// A window of the bandwidth-delay product, which is also the maximum.
    #[default]
    LineRate,
    /// A window of a few payloads, doubled in each round trip until the first mark or loss.
    SlowStart,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            g: Weight::within(Ratio::new(1, 16)),
            start: None,
            initial_window: None,
            additive_increase: None,
            minimum_window: None,
            pacing: None,
        }
    }
}

impl Complete for Settings {
    fn completed(self, usual: Start) -> Self {
        let start = self.start.unwrap_or(usual);
        let pacing = self.pacing.unwrap_or(start == Start::LineRate);
        Self { start: Some(start), pacing: Some(pacing), ..self }
    }
}

impl Settings {
    /// Returns the parameters on a link.
    pub(super) fn parameters(&self, link: &Link) -> Parameters {
        let start = self.start.unwrap_or_default();
        let pacing = self.completed(start).pacing.unwrap_or_default();
        let minimum_window = self.minimum_window.map_or(link.payload, SomeBytes::get);
        let (initial_window, maximum_window) = match start {
            Start::LineRate => {
                let whole = link.bandwidth_delay().max(minimum_window);
                (whole, whole)
            }
            Start::SlowStart => {
                let first = link.initial_window(self.initial_window).max(minimum_window);
                (first, Bytes(u64::MAX))
            }
        };
        Parameters {
            gain: Fraction::from_weight(self.g),
            initial_window,
            minimum_window,
            maximum_window,
            additive_increase: self.additive_increase.unwrap_or(link.payload),
            slow_start: start == Start::SlowStart,
            pacing: pacing.then_some(link.base_rtt),
        }
    }
}

/// Parameters on a link, shared by a host's queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// g: the weight of the newest round trip in alpha.
    pub gain: Fraction,
    /// The window of a queue pair that has sent nothing.
    pub initial_window: Bytes,
    /// Min window after a cut, above zero.
    pub minimum_window: Bytes,
    /// Max window; at least the other two windows.
    pub maximum_window: Bytes,
    /// Growth of the window per round trip without marks.
    pub additive_increase: Bytes,
    /// True to double the window in each round trip until the first mark or loss.
    pub slow_start: bool,
    /// The base round-trip time if packets are paced at window / base RTT; above zero.
    pub pacing: Option<Picos>,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Control {
    parameters: Arc<Parameters>,
    window: u64,
    /// Estimate of the part of bytes that are marked.
    alpha: Fraction,
    /// Below it the window doubles in each round trip (ssthresh).
    slow_start_until: u64,
    /// Bytes acknowledged in this round trip, and the part of them that was marked.
    acknowledged: u64,
    marked: u64,
    /// Bytes sent at the last cut. Until more is acknowledged, the window is neither cut again nor grows.
    cut_at: Option<u64>,
    /// The window before a cut by a mark in this round trip, which a loss halves (RFC 8257, 3.5).
    before_mark: Option<u64>,
    /// True if the timer expired and nothing has been acknowledged since.
    timed_out: bool,
    /// Bytes in flight before the last ACK, or at the last time-out (`FlightSize` in RFC 5681).
    in_flight: u64,
    cuts: u64,
    rounds: Rounds,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            window: parameters.initial_window.0,
            alpha: Fraction::ONE,
            slow_start_until: if parameters.slow_start { u64::MAX } else { 0 },
            acknowledged: 0,
            marked: 0,
            cut_at: None,
            before_mark: None,
            timed_out: false,
            in_flight: 0,
            cuts: 0,
            rounds: Rounds::default(),
            parameters,
        }
    }

    /// alpha = (1 - g) alpha + g F (RFC 8257, 3.3); F is the part of the round trip's bytes that were marked.
    fn update_alpha(&mut self) {
        let gain = self.parameters.gain;
        if self.acknowledged > 0 {
            // Beyond 4 GB a round trip, nothing but the part counts.
            let bits = (u64::BITS - self.acknowledged.leading_zeros()).saturating_sub(u32::BITS);
            let scaled = |bytes: u64| u32::try_from(bytes >> bits).unwrap_or(u32::MAX);
            let part = Fraction::from_ratio(scaled(self.marked), scaled(self.acknowledged));
            self.alpha = self.alpha.times(gain.complement()).plus(gain.times(part));
        }
        (self.acknowledged, self.marked) = (0, 0);
    }

    fn cut(&mut self, part: Fraction) {
        self.cuts += 1;
        self.cut_at = Some(self.rounds.sent());
        let used = self.used();
        self.set(used - part.scale(used) / 2);
        self.slow_start_until = self.window;
    }

    /// The used part of the window, which cuts reduce (RFC 5681, equation 4). An unused window gives no information
    /// about the path.
    fn used(&self) -> u64 {
        if self.is_used() { self.window } else { self.in_flight }
    }

    /// Returns true if more than half of the window is in flight (RFC 7661, 4.2). A paced window always counts as used.
    fn is_used(&self) -> bool {
        self.parameters.pacing.is_some() || self.in_flight > self.window / 2
    }

    fn set(&mut self, window: u64) {
        let Parameters { minimum_window, maximum_window, .. } = *self.parameters;
        self.window = window.clamp(minimum_window.0, maximum_window.0);
    }
}

pub(super) const fn needs(_: &Settings) -> Needs {
    Needs { base_rtt: true, signal: Signal::Marks }
}

pub(super) fn ends(parameters: Parameters, _: BitsPerSecond) -> (Control, Feedback) {
    (Control::new(parameters.into()), Feedback::default())
}

impl CongestionControl for Control {
    #[inline]
    fn transmitted(&mut self, _: Picos, packet: &Transmitted) {
        self.rounds.transmitted(packet);
    }

    fn acknowledged(&mut self, _: Picos, acknowledged: &Acknowledged<'_>) {
        let bytes = acknowledged.bytes;
        self.acknowledged += bytes.0;
        if acknowledged.congestion_echo {
            self.marked += bytes.0;
        }
        self.in_flight = self.rounds.in_flight();
        let over = self.rounds.acknowledged(bytes);
        if over {
            self.update_alpha();
        }
        self.cut_at = self.cut_at.filter(|&mark| !self.rounds.is_past(mark));
        self.before_mark = self.before_mark.filter(|_| self.cut_at.is_some());
        self.timed_out &= bytes == Bytes(0);
        if acknowledged.congestion_echo && self.cut_at.is_none() {
            self.before_mark = Some(self.used());
            self.cut(self.alpha);
        } else if self.cut_at.is_some() || !self.is_used() {
            // The window stays.
        } else if self.window < self.slow_start_until {
            self.set(self.window.saturating_add(bytes.0).min(self.slow_start_until));
        } else if over {
            self.set(self.window.saturating_add(self.parameters.additive_increase.0));
        }
    }

    /// Halves the window, as TCP does (RFC 8257, 3.5; RFC 5681).
    fn lost(&mut self, _: Picos, loss: Loss) {
        match loss {
            Loss::Reported => match (self.before_mark.take(), self.cut_at) {
                (Some(before), _) => {
                    self.set(self.window.min(before / 2));
                    self.slow_start_until = self.window;
                }
                (None, Some(_)) => {}
                (None, None) => self.cut(Fraction::ONE),
            },
            // RFC 5681, 3.1: slow start, and the threshold stays if the same segment is lost again.
            Loss::Timeout => {
                self.in_flight = self.rounds.in_flight();
                if !self.timed_out {
                    self.cut(Fraction::ONE);
                }
                self.timed_out = true;
                (self.cut_at, self.before_mark) = (None, None);
                self.set(0);
            }
        }
    }

    #[inline]
    fn cuts(&self) -> u64 {
        self.cuts
    }

    /// alpha.
    #[inline]
    fn congestion(&self) -> Option<i64> {
        Some(self.alpha.millionths())
    }

    #[inline]
    fn rate(&mut self, _: Picos) -> BitsPerSecond {
        match self.parameters.pacing {
            Some(base_rtt) => rate_of(Bytes(self.window), base_rtt),
            None => BitsPerSecond(u64::MAX),
        }
    }

    #[inline]
    fn window(&self, _: Picos) -> Option<Bytes> {
        Some(Bytes(self.window))
    }

    #[inline]
    fn tcp_ecn(&self) -> Ecn {
        Ecn::Accurate
    }
}

/// The receiving end: reports in each answer whether packets were marked since the last answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    marked: bool,
}

impl CongestionFeedback for Feedback {
    #[inline]
    fn received(&mut self, _: Picos, marked: bool) -> bool {
        self.marked |= marked;
        false
    }

    #[inline]
    fn echo(&mut self) -> bool {
        std::mem::take(&mut self.marked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_RTT: Picos = Picos(4_160_000);

    fn parameters() -> Parameters {
        Parameters {
            gain: Fraction::from_ratio(1, 16),
            initial_window: Bytes(100_000),
            minimum_window: Bytes(1000),
            maximum_window: Bytes(100_000),
            additive_increase: Bytes(1000),
            slow_start: false,
            pacing: None,
        }
    }

    impl Control {
        fn send(&mut self, packets: u64) {
            let packet = Transmitted { wire: Bytes(1098), payload: Bytes(1000), again: false };
            (0..packets).for_each(|_| self.transmitted(Picos(0), &packet));
        }

        /// The window after ACKs of a packet each, with each of which another packet goes out.
        fn acknowledge(&mut self, packets: u64, congestion_echo: bool) -> u64 {
            for _ in 0..packets {
                let bytes = Bytes(1000);
                let round_trip = None;
                let acknowledged = Acknowledged {
                    bytes,
                    round_trip,
                    congestion_echo,
                    telemetry: &[],
                    telemetry_exceeded: false,
                };
                self.acknowledged(Picos(0), &acknowledged);
                self.send(1);
            }
            self.window
        }
    }

    #[test]
    fn a_window_is_cut_by_half_of_alpha_once_a_round_trip() {
        let mut control = Control::new(parameters().into());
        control.send(100);
        assert_eq!(control.acknowledge(1, false), 100_000);
        assert_eq!(control.alpha, Fraction::from_ratio(15, 16));
        // 100,000 (1 - 15/32); the other marks of the round trip do not cut.
        assert_eq!(control.acknowledge(1, true), 53_125);
        assert_eq!(control.acknowledge(49, true), 53_125);
        // Half of this round trip's 100 packets were marked: 15/16 x 15/16 + 1/16 x 1/2.
        assert_eq!(control.acknowledge(50, false), 53_125, "nor does the window grow");
        assert_eq!(control.alpha, Fraction::from_ratio(233, 256));
        assert_eq!(control.congestion(), Some(910_156));
        let cut = control.acknowledge(1, true);
        assert_eq!(cut, 53_125 - 24_176, "53,125 x 233 / 512, rounded down");
        assert_eq!(control.acknowledge(102, false), cut, "all sent before the cut");
        assert_eq!(control.acknowledge(102, false), cut + 1000, "once a round trip");
        assert_eq!(control.cuts(), 2);
    }

    #[test]
    fn alpha_of_a_path_that_marks_everything_or_nothing_goes_to_one_or_zero() {
        for (marked, expected) in [(true, 1.0), (false, 0.0)] {
            let mut control = Control::new(parameters().into());
            control.alpha = Fraction::from_ratio(1, 2);
            control.send(1);
            control.acknowledge(200, marked);
            let alpha = control.alpha.scale(1_000_000) as f64 / 1e6;
            assert!((alpha - expected).abs() < 1e-4, "{alpha}");
        }
    }

    #[test]
    fn slow_start_doubles_until_a_loss_and_a_loss_halves() {
        let slow = Parameters {
            initial_window: Bytes(10_000),
            maximum_window: Bytes(u64::MAX),
            slow_start: true,
            ..parameters()
        };
        let mut control = Control::new(slow.into());
        control.send(10);
        for window in 11..=20 {
            assert_eq!(control.acknowledge(1, false), window * 1000);
            control.send(1);
        }
        control.lost(Picos(0), Loss::Reported);
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.window, 10_000);
        assert_eq!(control.acknowledge(20, false), 10_000, "all sent before the cut");
        assert_eq!(control.acknowledge(21, false), 12_000, "two round trips, no slow start");
    }

    /// RFC 5681, 3.1: the threshold is half of the bytes in flight; a second time-out in a row does not halve it again.
    #[test]
    fn a_timeout_starts_slowly_again() {
        let mut control = Control::new(parameters().into());
        control.send(100);
        for _ in 0..2 {
            control.lost(Picos(0), Loss::Timeout);
            assert_eq!((control.window, control.slow_start_until), (1000, 50_000));
        }
        assert_eq!(control.acknowledge(1, false), 2000);
        assert_eq!(control.acknowledge(60, false), 50_000);
        assert_eq!(control.cuts(), 1);
    }

    /// RFC 8257, 3.5: alpha has no part in the reaction to a loss, be it after a mark.
    #[test]
    fn a_loss_after_a_mark_halves_what_the_window_was() {
        let mut control = Control::new(parameters().into());
        control.alpha = Fraction::from_ratio(1, 10);
        control.send(100);
        let cut = control.acknowledge(1, true);
        assert!(cut > 90_000, "{cut}");
        for _ in 0..2 {
            control.lost(Picos(0), Loss::Reported);
            assert_eq!(control.window, 50_000);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_and_the_part_that_is_used_is_cut() {
        let slow = Parameters { slow_start: true, maximum_window: Bytes(u64::MAX), ..parameters() };
        let mut control = Control::new(slow.into());
        control.send(100);
        assert_eq!(control.acknowledge(1, false), 101_000);
        control.window = 200_000;
        assert_eq!(control.acknowledge(1, false), 200_000, "half of it is in flight");
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.window, 50_000);
    }

    #[test]
    fn pacing_spreads_a_window_over_the_base_round_trip() {
        let paced =
            Parameters { initial_window: Bytes(52_000), pacing: Some(BASE_RTT), ..parameters() };
        let mut control = Control::new(paced.into());
        assert_eq!(control.rate(Picos(0)), BitsPerSecond(100_000_000_000));
        let mut unpaced = Control::new(parameters().into());
        assert_eq!(unpaced.rate(Picos(0)), BitsPerSecond(u64::MAX));
    }

    #[test]
    fn an_answer_echoes_the_marks_since_the_one_before() {
        let mut feedback = Feedback::default();
        assert!(!feedback.echo());
        for marked in [false, true, false] {
            assert!(!feedback.received(Picos(0), marked), "DCTCP has no CNP");
        }
        assert!(feedback.echo());
        assert!(!feedback.echo());
    }
}
