//! Schedule on which the buffer management of lossy priorities counts congested queues.

use units::Picos;

/// Counts are due once per period while packets wait, and once more after that. A switch without waiting packets
/// sleeps, and its next packet finds no congested queue.
#[derive(Debug)]
pub struct Counting {
    period: Option<Picos>,
    due: Picos,
    /// True if no packet has waited since the last count.
    rests: bool,
}

impl Counting {
    /// Counts once in `period`, or never.
    pub const fn new(period: Option<Picos>) -> Self {
        Self { period, due: Picos::ZERO, rests: false }
    }

    /// True if a count is due now. `is_idle` returns true if no packet waits.
    pub fn is_due(&mut self, now: Picos, is_idle: impl FnOnce() -> bool) -> bool {
        let Some(period) = self.period else { return false };
        let is_idle = is_idle();
        self.rests &= is_idle;
        if self.rests || now < self.due {
            return false;
        }
        (self.due, self.rests) = (now + period, is_idle);
        true
    }

    /// Instant of the next count; `None` if no count is due.
    pub fn next(&self, is_idle: bool) -> Option<Picos> {
        (self.period.is_some() && !(self.rests && is_idle)).then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_due_while_something_waits_and_once_after() {
        let mut counting = Counting::new(Some(Picos(10)));
        assert!(counting.is_due(Picos(3), || false));
        assert_eq!(counting.next(false), Some(Picos(13)));
        assert!(!counting.is_due(Picos(12), || false));
        // A process that wakes up late counts once.
        assert!(counting.is_due(Picos(40), || false));
        assert_eq!(counting.next(true), Some(Picos(50)));
        assert!(counting.is_due(Picos(50), || true));
        assert_eq!(counting.next(true), None);
        assert!(!counting.is_due(Picos(90), || true));
        assert_eq!(counting.next(false), Some(Picos(60)));
        assert!(counting.is_due(Picos(95), || false));
    }

    #[test]
    fn without_a_period_nothing_is_due() {
        let mut counting = Counting::new(None);
        assert!(!counting.is_due(Picos(3), || false));
        assert_eq!(counting.next(false), None);
    }
}
