//! Timers of a host: its wake-up, ends of pauses, and DCQCN's clocks.

use units::Nanos;

use super::super::congestion::Congestion;
use super::super::settings::Settings;
use super::super::{Purpose, Timer};
use super::{Host, Reaction, Schedule};

/// DCQCN's first look for a cut comes this much later.
pub(super) const FIRST_DECREASE: u64 = 1;

impl Host {
    /// Starts a clock of DCQCN anew, `later` nanoseconds late. Returns its number.
    pub(super) fn clock(
        &mut self,
        now: Nanos,
        purpose: Purpose,
        qp: u32,
        later: u64,
        schedule: &mut impl Schedule,
    ) -> u32 {
        let Settings { alpha_update_interval, rate_decrease_interval, rate_increase_timer, .. } =
            self.settings;
        let period = match purpose {
            Purpose::Alpha => alpha_update_interval,
            Purpose::Decrease => rate_decrease_interval,
            Purpose::Increase => rate_increase_timer,
            Purpose::Wake | Purpose::Timeout | Purpose::PauseEnd => {
                unreachable!("it has no period of DCQCN")
            }
        };
        self.timers = self.timers.wrapping_add(1);
        let timer = Timer { purpose, qp, number: self.timers };
        schedule.schedule(Nanos(now.0 + period.get().to_nanos().0 + later), timer);
        self.timers
    }

    /// Handles a timer at its instant. A cancelled timer does nothing.
    pub fn handle_timer(
        &mut self,
        now: Nanos,
        timer: Timer,
        schedule: &mut impl Schedule,
    ) -> Reaction {
        let Timer { purpose, qp, number } = timer;
        if purpose == Purpose::Wake {
            let is_pending = self.wake.is_some_and(|(_, pending)| pending == number);
            if is_pending {
                self.wake = None;
            }
            return Reaction { looks: is_pending, ..Reaction::default() };
        }
        if purpose == Purpose::PauseEnd {
            return self.end_pause(timer);
        }
        let Some(slot) = self.queue_pairs.slot_of(qp) else { return Reaction::default() };
        if purpose == Purpose::Timeout {
            return self.handle_timeout(now, slot, schedule);
        }
        let (settings, line) = (self.settings, self.link.rate.0);
        if purpose == Purpose::Decrease {
            self.clock(now, purpose, qp, 0, schedule);
        }
        let pair = self.queue_pairs.occupant(slot);
        let Congestion::Dcqcn(state) = &mut pair.congestion else { return Reaction::default() };
        match purpose {
            Purpose::Alpha => {
                state.update_alpha(&settings);
                self.clock(now, purpose, qp, 0, schedule);
            }
            Purpose::Decrease => {
                if let Some(rate) = state.decrease(pair.rate, &settings) {
                    pair.rate = rate;
                    self.counters.rate_cuts += 1;
                    self.start_increases(now, slot, schedule);
                }
            }
            Purpose::Increase if state.increase_timer == number => {
                pair.rate = state.increase(pair.rate, line, &settings);
                self.start_increases(now, slot, schedule);
            }
            Purpose::Increase | Purpose::Wake | Purpose::Timeout | Purpose::PauseEnd => {}
        }
        self.note_opening(now, slot);
        Reaction::default()
    }
}
