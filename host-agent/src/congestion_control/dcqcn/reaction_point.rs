//! The reaction point: the rate of one queue pair.
//!
//! Nothing here needs a timer event. The rate matters when a packet starts and when a CNP arrives,
//! alpha only when a CNP arrives. At these instants all timer expiries since the last call are made up for.

use units::{BitsPerSecond, Bytes, Picos};

use super::Parameters;
use crate::congestion_control::Fraction;

/// Reaction point of one queue pair.
#[derive(Clone, Copy, Debug)]
pub struct ReactionPoint {
    line_rate: BitsPerSecond,
    /// The queue pair's present rate (`R_C`).
    current_rate: BitsPerSecond,
    /// The rate to which fast recovery returns (`R_T`).
    target_rate: BitsPerSecond,
    /// Estimate of congestion, from 0 to 1 (alpha).
    alpha: Fraction,
    /// Start of the current alpha interval; `None` before the first CNP.
    alpha_interval_start: Option<Picos>,
    /// True if a CNP arrived in the current alpha interval.
    alpha_interval_notified: bool,
    /// Earliest instant of the next cut by a CNP; with clocked cuts, the clock's next tick.
    next_cut: Picos,
    /// True if the next tick cuts.
    cut_due: bool,
    cuts: u64,
    /// Instant at which the increase timer expires; `Picos::MAX` at line rate, where it does not run.
    next_increase: Picos,
    /// Expiries of the increase timer since the last cut (T).
    timer_stage: u32,
    /// Fills of the byte counter since the last cut (BC).
    byte_stage: u32,
    byte_counter: u64,
}

impl ReactionPoint {
    /// A queue pair that has seen no congestion: line rate, alpha 1.
    pub fn new(line_rate: BitsPerSecond) -> Self {
        Self {
            line_rate,
            current_rate: line_rate,
            target_rate: line_rate,
            alpha: Fraction::ONE,
            alpha_interval_start: None,
            alpha_interval_notified: false,
            next_cut: Picos::ZERO,
            cut_due: false,
            cuts: 0,
            next_increase: Picos::MAX,
            timer_stage: 0,
            byte_stage: 0,
            byte_counter: 0,
        }
    }

    /// The rate at `now`.
    #[inline]
    pub fn rate(&mut self, now: Picos, parameters: &Parameters) -> BitsPerSecond {
        if self.cut_due && self.next_cut <= now {
            self.cut_at_tick(parameters);
        }
        self.increase_until(now, parameters);
        self.current_rate
    }

    /// The estimate of congestion when it was brought up to date last.
    #[inline]
    pub fn alpha(&self) -> Fraction {
        self.alpha
    }

    /// Number of rate cuts.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    #[inline]
    fn increase_until(&mut self, now: Picos, parameters: &Parameters) {
        while self.next_increase <= now {
            self.next_increase += parameters.rate_increase_interval;
            self.increase(parameters);
            self.timer_stage = self.timer_stage.saturating_add(1);
            self.rest_at_line_rate();
            self.skip_idle_increases(now, parameters);
        }
    }

    /// Goes past expiries of the increase timer that change nothing but its stage: without a step, the rate stays where
    /// it was before the cut.
    #[inline]
    fn skip_idle_increases(&mut self, now: Picos, parameters: &Parameters) {
        let step = parameters.additive_increase.0 | parameters.hyper_increase.0;
        if step > 0 || self.current_rate != self.target_rate || self.next_increase > now {
            return;
        }
        let interval = parameters.rate_increase_interval.0;
        let missed = now.since(self.next_increase).0 / interval + 1;
        self.next_increase += Picos(missed * interval);
        let missed = u32::try_from(missed).unwrap_or(u32::MAX);
        self.timer_stage = self.timer_stage.saturating_add(missed);
    }

    #[cold]
    fn cut_at_tick(&mut self, parameters: &Parameters) {
        let tick = self.next_cut;
        self.increase_until(tick, parameters);
        self.update_alpha(tick, parameters);
        self.cut_due = false;
        self.cut(tick, parameters);
    }

    /// Handles `sent` bytes that started at `now`.
    #[inline]
    pub fn transmit(&mut self, now: Picos, sent: Bytes, parameters: &Parameters) {
        self.rate(now, parameters);
        let Some(period) = parameters.rate_increase_bytes else {
            return;
        };
        if self.current_rate == self.line_rate {
            return;
        }
        self.byte_counter += sent.0;
        while self.byte_counter >= period.0 && self.current_rate < self.line_rate {
            self.byte_counter -= period.0;
            self.increase(parameters);
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.rest_at_line_rate();
        }
    }

    /// Handles a CNP; true if it has cut the rate at once.
    pub fn receive_notification(&mut self, now: Picos, parameters: &Parameters) -> bool {
        self.rate(now, parameters);
        let is_first = self.alpha_interval_start.is_none();
        self.update_alpha(now, parameters);
        if parameters.clocked_cuts {
            self.await_tick(now, is_first, parameters);
            return false;
        }
        self.alpha_interval_notified = true;
        if now < self.next_cut {
            return false;
        }
        self.cut(now, parameters);
        true
    }

    /// The next tick cuts. The clock started a nanosecond after the first CNP, so that alpha is updated before.
    fn await_tick(&mut self, now: Picos, is_first: bool, parameters: &Parameters) {
        let interval = parameters.rate_decrease_interval;
        if is_first {
            self.next_cut = now + Picos(1000) + interval;
        } else {
            self.alpha_interval_notified = true;
            let missed = now.since(self.next_cut).0.div_ceil(interval.0);
            self.next_cut += Picos(missed * interval.0);
        }
        self.cut_due = true;
    }

    /// Catches up with the alpha intervals that ended. Section 3.1 of the paper, Eq. 1 for an interval with a CNP and
    /// Eq. 2 for an interval without; only the first of the ended intervals can have had a CNP.
    fn update_alpha(&mut self, now: Picos, parameters: &Parameters) {
        let Some(start) = self.alpha_interval_start else {
            self.alpha_interval_start = Some(now);
            return;
        };
        let intervals = now.since(start).0 / parameters.alpha_interval.0;
        if intervals == 0 {
            return;
        }
        let keep = parameters.alpha_gain.complement();
        self.alpha = self.alpha.times(keep);
        if self.alpha_interval_notified {
            self.alpha = self.alpha.plus(parameters.alpha_gain);
        }
        self.alpha = self.alpha.times(keep.power(intervals - 1));
        self.alpha_interval_start = Some(start + Picos(intervals * parameters.alpha_interval.0));
        self.alpha_interval_notified = false;
    }

    /// `R_T = R_C`, `R_C = R_C (1 - alpha / 2)`, Eq. 1 of the paper.
    fn cut(&mut self, now: Picos, parameters: &Parameters) {
        if parameters.clamp_target_rate || self.timer_stage != 0 || self.byte_stage != 0 {
            self.target_rate = self.current_rate;
        }
        let loss = self.alpha.scale(self.current_rate.0) / 2;
        self.current_rate = BitsPerSecond(self.current_rate.0 - loss).max(parameters.minimum_rate);
        self.cuts += 1;
        self.next_cut = now + parameters.rate_decrease_interval;
        self.next_increase = now + parameters.rate_increase_interval;
        self.restart_stages();
        self.rest_at_line_rate();
    }

    /// Fast recovery below F, hyper increase once both counters are above it, additive increase
    /// between. Rounded up, so that the line rate is reached and not only approached.
    fn increase(&mut self, parameters: &Parameters) {
        let (low, high) = match parameters.rate_increase_bytes {
            None => (self.timer_stage, self.timer_stage),
            Some(_) => {
                (self.timer_stage.min(self.byte_stage), self.timer_stage.max(self.byte_stage))
            }
        };
        let step = if high < parameters.fast_recovery_stages {
            0
        } else if low > parameters.fast_recovery_stages {
            parameters.hyper_increase.0
        } else {
            parameters.additive_increase.0
        };
        self.target_rate = BitsPerSecond(self.target_rate.0 + step).min(self.line_rate);
        self.current_rate = BitsPerSecond((self.target_rate.0 + self.current_rate.0).div_ceil(2));
    }

    fn rest_at_line_rate(&mut self) {
        if self.current_rate >= self.line_rate {
            self.current_rate = self.line_rate;
            self.target_rate = self.line_rate;
            self.next_increase = Picos::MAX;
            self.restart_stages();
        }
    }

    fn restart_stages(&mut self) {
        self.timer_stage = 0;
        self.byte_stage = 0;
        self.byte_counter = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;
    const GBPS: u64 = 1_000_000_000;
    const MBPS: u64 = 1_000_000;
    const LINE_RATE: BitsPerSecond = BitsPerSecond(40 * GBPS);

    enum Step {
        Cnp,
        Idle,
    }

    /// Runs `steps` (instant in us, what happens, then `R_C` and `R_T` in Mbit/s, floored).
    fn follow(parameters: &Parameters, steps: &[(u64, Step, u64, u64)]) -> ReactionPoint {
        let mut point = ReactionPoint::new(LINE_RATE);
        for (row, (at, step, current, target)) in steps.iter().enumerate() {
            let now = Picos(at * US);
            match step {
                Step::Cnp => drop(point.receive_notification(now, parameters)),
                Step::Idle => {}
            }
            let rates = (point.rate(now, parameters).0 / MBPS, point.target_rate.0 / MBPS);
            assert_eq!(rates, (*current, *target), "row {row} at {at} us");
        }
        point
    }

    #[test]
    fn the_papers_equations_step_by_step() {
        let parameters = Parameters::paper(LINE_RATE);
        // g = 1/256, F = 5, timer 55 us, AI 40 Mbit/s. Alpha is 1 at the first CNP; the interval
        // that began with it had one, so alpha stays 1 at 55 us; each later interval takes 1/256 of
        // it.
        follow(
            &parameters,
            &[
                (0, Step::Cnp, 20_000, 40_000),    // 40 (1 - 1/2), target 40
                (10, Step::Cnp, 20_000, 40_000),   // within 50 us of the cut: ignored
                (54, Step::Idle, 20_000, 40_000),  // timer not yet expired
                (55, Step::Idle, 30_000, 40_000),  // T = 1: (20 + 40) / 2
                (110, Step::Idle, 35_000, 40_000), // T = 2
                (165, Step::Idle, 37_500, 40_000), // T = 3
                (166, Step::Cnp, 18_896, 37_500), // alpha (255/256)^2 = 0.99220; 37.5 (1 - 0.49610)
                (221, Step::Idle, 28_198, 37_500), // (18.896 + 37.5) / 2
                (441, Step::Idle, 36_918, 37_500), // five rises: 37.5 - 18.604 / 32
                (496, Step::Idle, 37_229, 37_540), // additive: target + 40 Mbit/s
                (551, Step::Idle, 37_404, 37_580),
            ],
        );
    }

    #[test]
    fn bytes_raise_the_rate_like_the_timer_and_both_beyond_f_make_it_hyper() {
        let parameters = Parameters::paper(LINE_RATE);
        let mut point = ReactionPoint::new(LINE_RATE);
        for at in [0, 50, 100] {
            assert!(point.receive_notification(Picos(at * US), &parameters));
        }
        // 40, 20, 10, 5 Gbit/s, but alpha decayed not at all: every interval had a CNP.
        assert_eq!((point.current_rate.0, point.target_rate.0), (5 * GBPS, 10 * GBPS));
        point.transmit(Picos(101 * US), Bytes(9_999_999), &parameters);
        assert_eq!(point.current_rate.0, 5 * GBPS);
        point.transmit(Picos(102 * US), Bytes(1), &parameters);
        assert_eq!(point.current_rate.0, 7500 * MBPS);
        point.transmit(Picos(103 * US), Bytes(40_000_000), &parameters);
        assert_eq!((point.byte_stage, point.target_rate.0), (5, 10 * GBPS));
        point.transmit(Picos(104 * US), Bytes(20_000_000), &parameters);
        assert_eq!((point.byte_stage, point.target_rate.0), (7, 10 * GBPS + 80 * MBPS));
        // The timer's first six expiries are additive (BC is above F, T is not), the seventh is
        // hyper.
        point.rate(Picos((100 + 6 * 55) * US), &parameters);
        assert_eq!((point.timer_stage, point.target_rate.0), (6, 10 * GBPS + 320 * MBPS));
        point.rate(Picos((100 + 7 * 55) * US), &parameters);
        assert_eq!((point.timer_stage, point.target_rate.0), (7, 10 * GBPS + 720 * MBPS));
    }

    #[test]
    fn the_simulators_clock_cuts_at_its_ticks_and_keeps_the_target_in_the_first_stage() {
        let parameters = Parameters::hpcc(LINE_RATE);
        let point = follow(
            &parameters,
            &[
                (0, Step::Cnp, 40_000, 40_000), // alpha = 1; ticks at 4.001, 8.001, .. us
                (3, Step::Cnp, 40_000, 40_000),
                (4, Step::Idle, 40_000, 40_000),
                // alpha: three intervals without, one with a CNP: 0.98837; 40 (1 - 0.49419)
                (5, Step::Idle, 20_232, 40_000),
                (9, Step::Idle, 20_232, 40_000), // no CNP since the tick before
                (10, Step::Cnp, 20_232, 40_000),
                // alpha: six intervals without, one with, one without: 0.96181; 20.232 (1 - 0.48091)
                (13, Step::Idle, 10_502, 40_000),
                (312, Step::Idle, 10_502, 40_000),
                (313, Step::Idle, 25_251, 40_000), // stage 0: fast recovery
                (613, Step::Idle, 32_625, 40_000), // stage 1 = F: additive, target capped
            ],
        );
        assert_eq!(point.cuts(), 2);
    }

    #[test]
    fn a_long_silence_ends_at_line_rate_with_no_timer_and_no_alpha() {
        for parameters in [Parameters::paper, Parameters::hpcc, Parameters::conweave] {
            let parameters = parameters(LINE_RATE);
            let mut point = ReactionPoint::new(LINE_RATE);
            let interval = parameters.rate_decrease_interval;
            for cut in 0..200 {
                point.receive_notification(Picos(cut * interval.0), &parameters);
            }
            point.rate(Picos(200 * interval.0 + 1000), &parameters);
            // The first tick is for two of them.
            let cuts = if parameters.clocked_cuts { 199 } else { 200 };
            assert_eq!((point.current_rate, point.cuts()), (parameters.minimum_rate, cuts));
            let later = Picos(1_000_000 * US);
            assert_eq!(point.rate(later, &parameters), LINE_RATE);
            assert_eq!(point.next_increase, Picos::MAX);
            point.receive_notification(later, &parameters);
            let after_the_cut = later + interval + interval;
            assert_eq!(
                point.rate(after_the_cut, &parameters),
                LINE_RATE,
                "alpha has decayed to nothing"
            );
            assert_eq!((point.next_increase, point.cuts()), (Picos::MAX, cuts + 1));
        }
    }

    #[test]
    fn catching_up_once_or_often_is_the_same() {
        let parameters = Parameters::paper(LINE_RATE);
        let mut often = ReactionPoint::new(LINE_RATE);
        let mut once = often;
        for point in [&mut often, &mut once] {
            point.receive_notification(Picos(0), &parameters);
        }
        for at in 1..2000 {
            often.rate(Picos(at * US), &parameters);
        }
        assert_eq!(once.rate(Picos(1999 * US), &parameters), often.current_rate);
        assert_eq!(once.target_rate, often.target_rate);
    }

    /// Any rise counts, by bytes or by the timer: the rate before the cut is worth returning to.
    #[test]
    fn without_clamping_a_cut_keeps_the_target_until_the_rate_has_risen() {
        let parameters = Parameters { clamp_target_rate: false, ..Parameters::paper(LINE_RATE) };
        for (bytes, expected) in [(9_999_999, 40 * GBPS), (10_000_000, 30 * GBPS)] {
            let mut point = ReactionPoint::new(LINE_RATE);
            point.receive_notification(Picos(0), &parameters);
            point.transmit(Picos(US), Bytes(bytes), &parameters);
            assert!(point.receive_notification(Picos(50 * US), &parameters));
            assert_eq!(point.target_rate.0, expected, "{bytes} bytes sent");
        }
        for (at, expected) in [(54, 40 * GBPS), (55, 30 * GBPS)] {
            let mut point = ReactionPoint::new(LINE_RATE);
            point.receive_notification(Picos(0), &parameters);
            assert!(point.receive_notification(Picos(at * US), &parameters));
            assert_eq!(point.target_rate.0, expected, "at {at} us");
        }
    }

    /// At line rate there is nothing to raise, so bytes sent before a cut do not count after it.
    #[test]
    fn bytes_at_line_rate_are_not_counted() {
        let parameters = Parameters::paper(LINE_RATE);
        let mut point = ReactionPoint::new(LINE_RATE);
        point.transmit(Picos(0), Bytes(9_999_999), &parameters);
        assert_eq!(point.byte_counter, 0);
        // A small cut: a few fills of the counter make up for it.
        point.alpha = Fraction::from_ratio(1, u32::MAX);
        assert!(point.receive_notification(Picos(US), &parameters));
        assert!(point.current_rate < LINE_RATE);
        point.transmit(Picos(2 * US), Bytes(35_000_000), &parameters);
        assert_eq!((point.current_rate, point.byte_counter), (LINE_RATE, 0));
        assert_eq!(point.next_increase, Picos::MAX);
    }

    #[test]
    fn a_cut_restarts_the_byte_counter() {
        let parameters = Parameters::paper(LINE_RATE);
        let mut point = ReactionPoint::new(LINE_RATE);
        let cuts = [0, 50];
        assert!(point.receive_notification(Picos(cuts[0] * US), &parameters));
        point.transmit(Picos(10 * US), Bytes(9_900_000), &parameters);
        assert!(point.receive_notification(Picos(cuts[1] * US), &parameters));
        let cut = point.current_rate;
        point.transmit(Picos(51 * US), Bytes(200_000), &parameters);
        assert_eq!(point.current_rate, cut, "10.1 MB, but only 0.2 since the cut");
        point.transmit(Picos(52 * US), Bytes(9_799_999), &parameters);
        assert_eq!(point.current_rate, cut);
        point.transmit(Picos(53 * US), Bytes(1), &parameters);
        assert!(point.current_rate > cut);
    }
}
