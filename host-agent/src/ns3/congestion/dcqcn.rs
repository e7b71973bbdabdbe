//! DCQCN with clocks that run from the first marked ACK to the flow's end.

use crate::ns3::settings::Settings;
use crate::ns3::time::cut;

/// State of a sender. Timers have numbers, so that a cancelled one is recognised.
#[derive(Debug, Default)]
pub(crate) struct State {
    alpha: f64,
    target: u64,
    /// True once a marked ACK has come.
    pub runs: bool,
    alpha_due: bool,
    decrease_due: bool,
    stage: u32,
    /// Number of the current increase timer; 0 before the first.
    pub increase_timer: u32,
}

impl State {
    /// Handles a marked ACK. Returns true for the first one, which starts the clocks.
    pub fn notified(&mut self, rate: u64) -> bool {
        self.alpha_due = true;
        self.decrease_due = true;
        if self.runs {
            return false;
        }
        self.runs = true;
        self.alpha = 1.0;
        self.alpha_due = false;
        self.target = rate;
        true
    }

    /// A tick of alpha's clock.
    pub fn update_alpha(&mut self, settings: &Settings) {
        let g = settings.gain();
        let kept = (1.0 - g) * self.alpha;
        self.alpha = if std::mem::take(&mut self.alpha_due) { kept + g } else { kept };
    }

    /// A tick of the clock of cuts. Returns the new rate if it cuts.
    pub fn decrease(&mut self, rate: u64, settings: &Settings) -> Option<u64> {
        if !std::mem::take(&mut self.decrease_due) {
            return None;
        }
        if settings.clamp_target_rate || self.stage != 0 {
            self.target = rate;
        }
        self.stage = 0;
        let less = cut(rate as f64 * (1.0 - self.alpha / 2.0));
        Some(less.max(settings.minimum_rate.0))
    }

    /// A tick of the clock of increases. Returns the new rate.
    pub fn increase(&mut self, rate: u64, line: u64, settings: &Settings) -> u64 {
        let stages = settings.fast_recovery_stages;
        let step = match self.stage.cmp(&stages) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(settings.additive_increase),
            std::cmp::Ordering::Greater => Some(settings.hyper_increase),
        };
        if let Some(step) = step {
            self.target = (self.target + step.0.0).min(line);
        }
        self.stage = self.stage.saturating_add(1);
        rate / 2 + self.target / 2
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the arithmetic is the simulator's to the last bit")]
mod tests {
    use units::BitsPerSecond;
    use units::checked::Weight;
    use units::quantity::Increase;
    use units::ratio::Ratio;

    use super::*;

    const LINE: u64 = 100_000_000_000;

    fn settings() -> Settings {
        Settings {
            gain: Weight::within(Ratio::new(1, 256)),
            fast_recovery_stages: 1,
            minimum_rate: BitsPerSecond(1_000_000_000),
            additive_increase: Increase(BitsPerSecond(20_000_000)),
            hyper_increase: Increase(BitsPerSecond(200_000_000)),
            ..Settings::default()
        }
    }

    #[test]
    fn the_first_mark_starts_the_clocks_and_a_cut_halves_the_rate() {
        let (mut state, of) = (State::default(), settings());
        assert!(state.notified(LINE));
        state.update_alpha(&of);
        assert_eq!(state.alpha, 255.0 / 256.0, "no mark since");
        assert_eq!(state.decrease(LINE, &of), Some(50_195_312_500));
        assert_eq!(state.decrease(50_195_312_500, &of), None, "no mark since");
        assert!(!state.notified(50_195_312_500));
        state.update_alpha(&of);
        assert_eq!(state.alpha, 255.0 / 256.0 * (255.0 / 256.0) + 1.0 / 256.0);
        for _ in 0..40 {
            state.notified(0);
            assert!(state.decrease(1_000_000_001, &of) >= Some(1_000_000_000));
        }
    }

    #[test]
    fn increases_go_from_recovery_over_additive_to_hyper() {
        let (mut state, of) = (State::default(), settings());
        state.notified(80_000_000_000);
        let mut rate = 40_000_000_001;
        rate = state.increase(rate, LINE, &of);
        assert_eq!(rate, 20_000_000_000 + 40_000_000_000);
        rate = state.increase(rate, LINE, &of);
        assert_eq!((rate, state.target), (70_010_000_000, 80_020_000_000));
        rate = state.increase(rate, LINE, &of);
        assert_eq!((rate, state.target), (75_115_000_000, 80_220_000_000));
        state.target = LINE - 1;
        state.increase(rate, LINE, &of);
        assert_eq!(state.target, LINE, "at most the line's rate");
    }

    #[test]
    fn a_second_cut_in_a_row_keeps_the_target_unless_it_is_clamped() {
        for (clamp_target_rate, expected) in [(false, LINE), (true, 60_000_000_000)] {
            let of = Settings { clamp_target_rate, ..settings() };
            let mut state = State::default();
            state.notified(LINE);
            state.decrease(60_000_000_000, &of);
            assert_eq!(state.target, expected, "no increase came before");
        }
    }
}
