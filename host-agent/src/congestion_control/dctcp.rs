//! DCTCP (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257).
//!
//! The receiver says which bytes were marked, the sender keeps an estimate alpha of their part, and cuts its window by
//! alpha / 2 at most once a round trip. The congestion point, which marks from one threshold on, is the switch.
//!
//! A sender that starts at line rate has a window of the bandwidth-delay product and no slow start, as the HPCC
//! simulator has it (`rdma-hw.cc`, there in terms of a rate); window / base RTT is then its rate, if it is paced.

use std::sync::Arc;

use units::{BitsPerSecond, Bytes, Picos};

use super::fraction::Fraction;
use super::rounds::Rounds;
use super::{Acknowledged, CongestionControl, CongestionFeedback, Ecn, Loss, Transmitted, rate_of};

/// What can be tuned. A host's queue pairs share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// g: the weight of the newest round trip in alpha.
    pub gain: Fraction,
    /// The window of a queue pair that has sent nothing.
    pub initial_window: Bytes,
    /// No cut goes below it; above zero.
    pub minimum_window: Bytes,
    /// No growth goes above it; at least the others.
    pub maximum_window: Bytes,
    /// What the window grows by in a round trip without marks.
    pub additive_increase: Bytes,
    /// Whether it doubles in each round trip until the first mark or loss.
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
    slow_start: bool,
    /// Bytes acknowledged in this round trip, and those of them that were marked.
    acknowledged: u64,
    marked: u64,
    /// Until what was sent then is acknowledged, the window is neither cut again nor grows.
    cut_at: Option<u64>,
    cuts: u64,
    rounds: Rounds,
}

impl Control {
    /// A queue pair that has sent nothing.
    pub fn new(parameters: Arc<Parameters>) -> Self {
        Self {
            window: parameters.initial_window.0,
            alpha: Fraction::ONE,
            slow_start: parameters.slow_start,
            acknowledged: 0,
            marked: 0,
            cut_at: None,
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
        self.slow_start = false;
        self.cuts += 1;
        self.cut_at = Some(self.rounds.sent());
        self.set(self.window - part.of(self.window) / 2);
    }

    fn set(&mut self, window: u64) {
        let Parameters { minimum_window, maximum_window, .. } = *self.parameters;
        self.window = window.clamp(minimum_window.0, maximum_window.0);
    }
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
        let over = self.rounds.acknowledged(bytes);
        if over {
            self.update_alpha();
        }
        self.cut_at = self.cut_at.filter(|&mark| !self.rounds.is_past(mark));
        if acknowledged.congestion_echo && self.cut_at.is_none() {
            self.cut(self.alpha);
        } else if self.slow_start {
            self.set(self.window.saturating_add(bytes.0));
        } else if over && self.cut_at.is_none() {
            self.set(self.window.saturating_add(self.parameters.additive_increase.0));
        }
    }

    /// Halves the window, as TCP does (RFC 8257, 3.5; RFC 5681).
    fn lost(&mut self, _: Picos, loss: Loss) {
        match loss {
            Loss::Reported if self.cut_at.is_some() => {}
            Loss::Reported => self.cut(Fraction::ONE),
            Loss::Timeout => {
                self.cut(Fraction::ONE);
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

/// The receiving end: echoes whether packets were marked since the last answer.
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

        /// The window after ACKs of a packet each.
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
        control.send(53);
        assert_eq!(control.acknowledge(49, false), 53_125, "nor does the window grow");
        // Half of this round trip's 100 packets were marked: 15/16 x 15/16 + 1/16 x 1/2.
        assert_eq!(control.acknowledge(1, false), 54_125);
        assert_eq!(control.alpha, Fraction::from_ratio(233, 256));
        assert_eq!(control.congestion(), Some(910_156));
        assert_eq!(
            control.acknowledge(1, true),
            54_125 - 24_631,
            "54,125 x 233 / 512, rounded down"
        );
        assert_eq!(control.cuts(), 2);
    }

    #[test]
    fn alpha_of_a_path_that_marks_everything_or_nothing_goes_to_one_or_zero() {
        for (marked, expected) in [(true, 1.0), (false, 0.0)] {
            let mut control = Control::new(parameters().into());
            control.alpha = Fraction::from_ratio(1, 2);
            for _ in 0..200 {
                control.send(1);
                control.acknowledge(1, marked);
            }
            let alpha = control.alpha.of(1_000_000) as f64 / 1e6;
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
        assert_eq!(control.acknowledge(10, false), 20_000);
        control.send(20);
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.window, 10_000);
        control.lost(Picos(0), Loss::Reported);
        assert_eq!(control.acknowledge(20, false), 10_000, "all sent before the cut");
        control.send(10);
        assert_eq!(control.acknowledge(10, false), 11_000, "no slow start any more");
        control.lost(Picos(0), Loss::Timeout);
        assert_eq!(control.window, 1000);
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
