//! The timers of one switch.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabric_core::priority::Priority;
use units::Picos;

use crate::watchdog::Change;

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// When a pause that a port received runs out, unless it was renewed.
    PauseExpiry {
        /// The port.
        port: u16,
    },
    /// When a queue may send that the scheme keeps back.
    Reopening {
        /// The port.
        port: u16,
    },
    /// When a pause that a port sent is about to run out.
    PauseRefresh {
        /// The port.
        port: u16,
        /// The class of a queue's pause, `None` of a pause of the whole port.
        priority: Option<Priority>,
        /// Which of the queue's or the port's pauses; an older one has been resumed since.
        pause: u32,
    },
    /// When a period ends of an ingress queue, or of its port, that is a victim.
    PeriodEnd {
        /// The port.
        port: u16,
        /// The priority of the queue.
        priority: Priority,
    },
    /// When the watchdog looks at all ports.
    WatchdogLook,
    /// Right after a look that has found it: a storm begins or is over.
    Storm {
        /// The port.
        port: u16,
        /// The priority.
        priority: Priority,
        /// What has been found.
        change: Change,
    },
}

/// Timers by their instants; equal ones in the order in which they were set.
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

    /// All deadlines, the first to come first.
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
