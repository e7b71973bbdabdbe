//! Punctuality of a live fabric: the programs' view of the fabric is right only if deadlines are met.
//!
//! This module has the limits, `emulation/src/live/lateness.rs` the meters, and `RealClock::fidelity` in
//! `emulation/src/live/clock.rs` the verdict. docs/live.md and docs/reference explain them to users.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Punctuality is good if 99 of 100 deadlines are met within this much emulated time.
pub const GOOD_LATENESS: Duration = Duration::from_micros(250);

/// Min number of the engine's sleeps for a verdict on the machine's wake-ups. An idle fabric sleeps five times a
/// second, and among fewer sleeps a single late one would decide.
pub const MIN_SLEEPS: u64 = 100;

/// Delays of deadlines, in nanoseconds of emulated time. A deadline is the work of a node in a window: it is due at the
/// node's first event in the window, and met once the node has finished its work there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Deadlines.
    pub deadlines: u64,
    /// Deadlines met later than [`GOOD_LATENESS`].
    pub late: u64,
    /// Half were met within this time, give or take 1/16.
    pub p50_ns: u64,
    /// 99 of 100 were.
    pub p99_ns: u64,
    /// Max delay.
    pub most_ns: u64,
}

impl Lateness {
    /// Deadlines and late deadlines.
    pub const fn count(&self) -> DeadlineCount {
        DeadlineCount { deadlines: self.deadlines, late: self.late }
    }
}

/// Deadlines, and deadlines met later than [`GOOD_LATENESS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineCount {
    /// Deadlines.
    pub deadlines: u64,
    /// Deadlines met too late.
    pub late: u64,
}

impl DeadlineCount {
    /// Returns true if at most 1 in 100 deadlines was met late.
    pub const fn is_good(self) -> bool {
        self.late.saturating_mul(100) <= self.deadlines
    }

    /// Applies [`is_good`](Self::is_good) to sleeps of the engine; true for fewer than [`MIN_SLEEPS`] sleeps.
    pub const fn is_good_of_sleeps(self) -> bool {
        self.deadlines < MIN_SLEEPS || self.is_good()
    }

    /// The sum.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { deadlines: self.deadlines + other.deadlines, late: self.late + other.late }
    }

    /// Increments since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self { deadlines: self.deadlines - earlier.deadlines, late: self.late - earlier.late }
    }
}

/// Returns true if the programs' view of a fabric was right: no time was `lost`, 99 of 100 deadlines were met in time,
/// and 99 of 100 sleeps of the engine, if there were enough of them, ended in time.
pub const fn is_good(deadlines: DeadlineCount, sleeps: DeadlineCount, lost: Duration) -> bool {
    lost.is_zero() && deadlines.is_good() && sleeps.is_good_of_sleeps()
}

/// Punctuality of a live fabric from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FidelitySummary {
    /// True if the programs' view of the fabric was right: see [`is_good`].
    pub is_good: bool,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: u32,
    /// Delays of all deadlines.
    #[serde(flatten)]
    pub lateness: Lateness,
    /// Delays of the ends of the engine's sleeps.
    pub sleeps: Lateness,
    /// Total time by which the emulated clock was set back because the machine could not keep up, ns of the wall clock.
    pub lost_ns: u64,
    /// Deadlines of each node, by its name.
    pub nodes: BTreeMap<String, Lateness>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_100_may_be_late_and_no_time_may_be_lost() {
        let count = |(deadlines, late)| DeadlineCount { deadlines, late };
        let (now, later) = (Duration::ZERO, Duration::from_nanos(1));
        for (deadlines, sleeps, lost, expected) in [
            ((0, 0), (0, 0), now, true),
            ((100, 1), (0, 0), now, true),
            ((99, 1), (0, 0), now, false),
            ((1, 1), (0, 0), now, false),
            ((1_000_000, 10_000), (0, 0), now, true),
            ((100, 1), (0, 0), later, false),
            ((100, 1), (99, 99), now, true),
            ((100, 1), (100, 1), now, true),
            ((100, 1), (100, 2), now, false),
        ] {
            let good = is_good(count(deadlines), count(sleeps), lost);
            assert_eq!(good, expected, "{deadlines:?}, {sleeps:?}, {lost:?}");
        }
    }
}
