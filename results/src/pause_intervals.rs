//! Pauses counted and timed.

use fabric_core::hop_control::{PauseEvent, PauseLevel};
use serde::{Deserialize, Serialize};
use units::Nanos;

use super::window::Window;

/// Pauses of one sender in one priority, as they were decided or as they were in effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseTotal {
    /// Pauses, refreshes not counted.
    pub pauses: u64,
    /// Refreshes that were decided.
    pub refreshes: u64,
    /// RESUMEs that were decided.
    pub resumes: u64,
    /// Total time of these pauses.
    pub paused: Nanos,
    /// The longest of them.
    pub longest: Nanos,
}

/// Time in which classes were paused, by the scope of the occupancy that decided last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PausedByLevel {
    /// An ingress queue's.
    pub queue_ns: u64,
    /// A port's: all its lossless classes are paused.
    pub port_ns: u64,
}

impl PausedByLevel {
    fn add(&mut self, level: PauseLevel, span: Nanos) {
        match level {
            PauseLevel::Queue => self.queue_ns += span.0,
            PauseLevel::Port => self.port_ns += span.0,
        }
    }

    /// Both, of another link, too.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { queue_ns: self.queue_ns + other.queue_ns, port_ns: self.port_ns + other.port_ns }
    }

    /// Both together.
    pub const fn sum_ns(self) -> u64 {
        self.queue_ns + self.port_ns
    }
}

/// The decisions of one switch on one direction of a link in one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// From each PAUSE to its RESUME.
    pub total: PauseTotal,
    /// Time of `total`, by scope.
    pub by_level: PausedByLevel,
    /// The part of `by_level` that lies in the window.
    pub in_window: PausedByLevel,
}

/// One direction of a link in one priority, by the decisions of the switch that it ends at: from each PAUSE to
/// its RESUME.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PauseMeter {
    ordered: Ordered,
    /// Start of the present pause, if there is one.
    since: Option<Nanos>,
    /// Scope of the present pause, and since when.
    level: Option<(PauseLevel, Nanos)>,
}

impl PauseMeter {
    /// Follows a decision. Returns the level whose pause it takes over, if the one before was another's.
    pub(super) fn record(
        &mut self,
        time: Nanos,
        event: PauseEvent,
        level: PauseLevel,
        window: Option<Window>,
    ) -> Option<PauseLevel> {
        let total = &mut self.ordered.total;
        match event {
            PauseEvent::Pause => {
                total.pauses += 1;
                self.since.get_or_insert(time);
            }
            PauseEvent::Refresh => total.refreshes += 1,
            PauseEvent::Resume => {
                total.resumes += 1;
                self.close(time, window);
            }
        }
        let before = self.level.map(|(before, _)| before);
        if self.since.is_none() || before == Some(level) {
            return None;
        }
        self.close_level(time, window);
        self.level = Some((level, time));
        before
    }

    /// Totals of a run that ends at `end`, which also ends the pauses still in effect.
    pub(super) fn finish(mut self, end: Nanos, window: Option<Window>) -> Ordered {
        self.close(end, window);
        self.ordered
    }

    fn close(&mut self, time: Nanos, window: Option<Window>) {
        self.close_level(time, window);
        if let Some(since) = self.since.take() {
            let span = Nanos(time.0.saturating_sub(since.0));
            let total = &mut self.ordered.total;
            total.paused.0 += span.0;
            total.longest = total.longest.max(span);
        }
    }

    fn close_level(&mut self, time: Nanos, window: Option<Window>) {
        if let Some((level, since)) = self.level.take() {
            self.ordered.by_level.add(level, Nanos(time.0.saturating_sub(since.0)));
            if let Some(window) = window {
                self.ordered.in_window.add(level, window.overlap(since, time));
            }
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
    use PauseEvent::{Pause, Refresh, Resume};

    /// The total as (pauses, refreshes, resumes, paused, longest).
    fn total(events: &[(u64, PauseEvent)], end: u64) -> (u64, u64, u64, u64, u64) {
        let mut state = PauseMeter::default();
        for &(time, event) in events {
            state.record(Nanos(time), event, PauseLevel::Queue, None);
        }
        let ordered = state.finish(Nanos(end), None);
        let total = ordered.total;
        assert_eq!(ordered.by_level, PausedByLevel { queue_ns: total.paused.0, port_ns: 0 });
        (total.pauses, total.refreshes, total.resumes, total.paused.0, total.longest.0)
    }

    #[test]
    fn intervals_end_with_resume_or_run() {
        let events = [(10, Pause), (15, Refresh), (30, Resume), (90, Pause)];
        assert_eq!(total(&events, 100), (2, 1, 1, 30, 20));
    }

    #[test]
    fn a_second_pause_extends_and_a_stray_resume_only_counts() {
        assert_eq!(total(&[(0, Resume), (10, Pause), (20, Pause)], 40), (2, 0, 1, 30, 30));
    }

    /// A queue's pause from 10, taken over by its port from 20 to 50, then its own again until 60.
    #[test]
    fn each_level_has_its_part_of_a_pause_and_a_window_its_part_of_each() {
        use PauseLevel::{Port, Queue};
        let mut meter = PauseMeter::default();
        let window = Some(Window { from: Nanos(15), to: Nanos(55) });
        let taken_over = [
            (10, Pause, Queue),
            (20, Pause, Port),
            (40, Refresh, Port),
            (50, Refresh, Queue),
            (60, Resume, Queue),
        ]
        .map(|(time, event, level)| meter.record(Nanos(time), event, level, window));
        assert_eq!(taken_over, [None, Some(Queue), None, Some(Port), None]);
        let Ordered { total, by_level, in_window } = meter.finish(Nanos(100), window);
        assert_eq!((total.paused, total.longest), (Nanos(50), Nanos(50)));
        assert_eq!(by_level, PausedByLevel { queue_ns: 20, port_ns: 30 });
        assert_eq!(in_window, PausedByLevel { queue_ns: 10, port_ns: 30 });
    }
}
