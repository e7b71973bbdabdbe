//! The timers of one switch.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabric_core::priority::Priority;
use units::Picos;

use crate::watchdog::Change;

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Expiry of a received pause, unless it was renewed.
    PauseExpiry {
        /// The port.
        port: u16,
    },
    /// Time at which a queue held back by the scheme may send.
    Reopening {
        /// The port.
        port: u16,
    },
    /// Renewal of a sent pause that is about to expire.
    PauseRefresh {
        /// The port.
        port: u16,
        /// Class of a queue's pause; `None` for a pause of the whole port.
        priority: Option<Priority>,
        /// Number of the pause of the queue or port; an older pause has been resumed.
        pause: u32,
    },
    /// End of a period of an ingress queue, or of its port, that is a victim.
    PeriodEnd {
        /// The port.
        port: u16,
        /// The priority of the queue.
        priority: Priority,
    },
    /// Poll of all ports by the watchdog.
    WatchdogLook,
    /// Beginning or end of a storm, right after the poll that has found it.
    Storm {
        /// The port.
        port: u16,
        /// The priority.
        priority: Priority,
        /// The change found.
        change: Change,
    },
}

/// Timers ordered by time; equal times in the order in which they were set.
#[derive(Debug, Default)]
pub(super) struct Timers {
    waiting: BinaryHeap<Reverse<(Picos, u64, Timer)>>,
    set: u64,
}

impl Timers {
    pub(super) fn set(&mut self, at: Picos, timer: Timer) {
        self.waiting.push(Reverse((at, self.set, timer)));
        self.set += 1;
    }

    #[inline]
    pub(super) fn next(&self) -> Option<Picos> {
        self.waiting.peek().map(|Reverse((at, ..))| *at)
    }

    /// Returns all deadlines, earliest first.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Picos> {
        let mut all: Vec<Picos> = self.waiting.iter().map(|Reverse((at, ..))| *at).collect();
        all.sort();
        all
    }

    /// Takes the first timer that is due at `now`.
    pub(super) fn pop(&mut self, now: Picos) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.waiting.pop().map(|Reverse((_, _, timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_the_order_of_time_and_then_of_setting() {
        let mut timers = Timers::default();
        for (at, port) in [(7, 3), (5, 2), (7, 1), (9, 0)] {
            timers.set(Picos(at), Timer::PauseExpiry { port });
        }
        assert_eq!(timers.all(), [5, 7, 7, 9].map(Picos));
        assert_eq!(timers.next(), Some(Picos(5)));
        assert_eq!(timers.pop(Picos(4)), None);
        let due: Vec<Timer> = std::iter::from_fn(|| timers.pop(Picos(8))).collect();
        assert_eq!(due, [2, 3, 1].map(|port| Timer::PauseExpiry { port }));
        assert_eq!(timers.next(), Some(Picos(9)));
    }
}
