//! A part of a run that is reported separately, for example the time in which the fabric is fullest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::flow_statistics::LabelSummary;
use super::occupancy::OccupancySummary;
use super::pause_intervals::PausedByLevel;

/// The instants from `from` up to and without `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first.
    pub from: Nanos,
    /// The first that is too late.
    pub to: Nanos,
}

impl Window {
    /// Returns true if the window contains the instant.
    pub fn contains(self, time: Nanos) -> bool {
        (self.from..self.to).contains(&time)
    }

    /// Returns the window, cut at the run's end, or the whole run without a window.
    pub(super) fn or_whole(window: Option<Self>, end: Nanos) -> Self {
        let whole = Self { from: Nanos(0), to: end };
        window.map_or(whole, |window| Self { to: window.to.min(end), ..window })
    }

    /// Part of the time from `start` to `end` that lies in the window.
    pub fn overlap(self, start: Nanos, end: Nanos) -> Nanos {
        Nanos(end.min(self.to).0.saturating_sub(start.max(self.from).0))
    }
}

/// Numbers of a window in `summary.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSummary {
    /// See [`Window::from`].
    pub from_ns: u64,
    /// See [`Window::to`]; the run's end, if that is earlier.
    pub to_ns: u64,
    /// The flows that start in it, whenever they complete.
    #[serde(flatten)]
    pub flows: LabelSummary,
    /// Flows by their label.
    pub labels: BTreeMap<String, LabelSummary>,
    /// [`Summary::paused_ns`](super::Summary::paused_ns) for the time in the window.
    pub paused_ns: u64,
    /// [`Summary::pause_ordered_ns`](super::Summary::pause_ordered_ns) for the time in the window.
    pub pause_ordered_ns: u64,
    /// `pause_ordered_ns` by the scope of the occupancy that decided.
    pub pause_ordered_by_level: PausedByLevel,
    /// [`Summary::buffer_bytes`](super::Summary::buffer_bytes) for the time in the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<OccupancySummary>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_within_counts() {
        let window = Window { from: Nanos(10), to: Nanos(20) };
        assert_eq!(
            [9, 10, 19, 20].map(|at| window.contains(Nanos(at))),
            [false, true, true, false]
        );
        for ((start, end), within) in [
            ((0, 5), 0),
            ((0, 10), 0),
            ((0, 11), 1),
            ((12, 15), 3),
            ((5, 50), 10),
            ((19, 50), 1),
            ((20, 50), 0),
        ] {
            assert_eq!(window.overlap(Nanos(start), Nanos(end)), Nanos(within));
        }
    }
}
