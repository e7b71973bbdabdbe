//! Pauses of classes by the neighbour, which end with a RESUME or by themselves.

use fabric_core::hop_control::ClassPauses;
use fabric_core::priority::{self, Priority};
use units::{Nanos, Picos};

use super::super::{Purpose, Timer};
use super::{Host, Reaction, Schedule};
use crate::host::HostEvent;

/// Duration of a pause that lasts until RESUME, longer than every run.
pub(super) const UNTIL_RESUME: Nanos = Nanos(1 << 53);

impl Host {
    /// Handles PAUSE and RESUME of a neighbour.
    pub fn handle_pauses(
        &mut self,
        now: Picos,
        pauses: &ClassPauses,
        schedule: &mut impl Schedule,
    ) -> Reaction {
        let mut reaction = Reaction::default();
        for class in priority::in_mask(pauses.named) {
            let quanta = pauses.quanta[class.index()];
            let mut until = now.to_nanos();
            self.pause_ends[class.index()] = 0;
            if quanta > 0 {
                self.paused |= class.bit();
                until.0 += self.link.pause.unwrap_or(UNTIL_RESUME).0;
                if self.link.pause.is_some() {
                    self.pause_ends[class.index()] = self.schedule_end(until, class, schedule);
                }
            } else {
                self.paused &= !class.bit();
                reaction.looks = true;
            }
            self.events.push_back(HostEvent::PauseReceived {
                priority: class,
                at: now,
                until,
                quanta,
            });
        }
        if pauses.paused() == 0 {
            self.counters.resumes_received += 1;
        } else {
            self.counters.pauses_received += 1;
        }
        reaction
    }

    /// Schedules the end of a pause. Returns the timer's number.
    fn schedule_end(&mut self, at: Nanos, class: Priority, schedule: &mut impl Schedule) -> u32 {
        self.timers = self.timers.wrapping_add(1).max(1);
        let timer =
            Timer { purpose: Purpose::PauseEnd, qp: class.number().into(), number: self.timers };
        schedule.schedule(at, timer);
        self.timers
    }

    /// Ends a pause, unless another frame has come for its class.
    pub(super) fn end_pause(&mut self, timer: Timer) -> Reaction {
        let class = Priority::from_bits(timer.qp);
        let is_current = self.pause_ends[class.index()] == timer.number;
        if is_current {
            self.pause_ends[class.index()] = 0;
            self.paused &= !class.bit();
        }
        Reaction { looks: is_current, ..Reaction::default() }
    }
}
