//! Pauses counted and timed.

use units::Nanos;

use super::pause::PauseEvent;

/// Pauses of one sender in one priority, as they were decided or as they were in effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseTotal {
    /// Pauses, refreshes not counted.
    pub pauses: u64,
    /// Refreshes that were decided.
    pub refreshes: u64,
    /// RESUMEs that were decided.
    pub resumes: u64,
    /// Their time, summed.
    pub paused: Nanos,
    /// The longest of them.
    pub longest: Nanos,
}

/// One direction of a link in one priority, by the decisions of the switch that it ends at: from each PAUSE to
/// its RESUME.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PauseMeter {
    total: PauseTotal,
    since: Option<Nanos>,
}

impl PauseMeter {
    pub(super) fn record(&mut self, time: Nanos, event: PauseEvent) {
        match event {
            PauseEvent::Xoff => {
                self.total.pauses += 1;
                self.since.get_or_insert(time);
            }
            PauseEvent::XoffRefresh => self.total.refreshes += 1,
            PauseEvent::Xon => {
                self.total.resumes += 1;
                self.close(time);
            }
        }
    }

    /// The total of a run that ends at `end`; who is still paused counts until then.
    pub(super) fn finish(mut self, end: Nanos) -> PauseTotal {
        self.close(end);
        self.total
    }

    fn close(&mut self, time: Nanos) {
        if let Some(since) = self.since.take() {
            let span = Nanos(time.0.saturating_sub(since.0));
            self.total.paused.0 += span.0;
            self.total.longest = self.total.longest.max(span);
        }
    }
}

impl PauseTotal {
    /// Adds another link's total.
    pub fn merge(&mut self, other: Self) {
        self.pauses += other.pauses;
        self.refreshes += other.refreshes;
        self.resumes += other.resumes;
        self.paused.0 += other.paused.0;
        self.longest = self.longest.max(other.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PauseEvent::{Xoff, XoffRefresh, Xon};

    /// The total as (pauses, refreshes, resumes, paused, longest).
    fn total(events: &[(u64, PauseEvent)], end: u64) -> (u64, u64, u64, u64, u64) {
        let mut state = PauseMeter::default();
        for &(time, event) in events {
            state.record(Nanos(time), event);
        }
        let total = state.finish(Nanos(end));
        (total.pauses, total.refreshes, total.resumes, total.paused.0, total.longest.0)
    }

    #[test]
    fn intervals_end_with_resume_or_run() {
        let events = [(10, Xoff), (15, XoffRefresh), (30, Xon), (90, Xoff)];
        assert_eq!(total(&events, 100), (2, 1, 1, 30, 20));
    }

    #[test]
    fn a_second_pause_extends_and_a_stray_resume_only_counts() {
        assert_eq!(total(&[(0, Xon), (10, Xoff), (20, Xoff)], 40), (2, 0, 1, 30, 30));
    }
}
