//! How punctual a live fabric was: whether programs saw it as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Punctuality is good if 99 of 100 deadlines are met within this much emulated time.
pub const GOOD_LATENESS: Duration = Duration::from_micros(250);

/// So many sleeps of the engine, or more, say whether the machine wakes it up in time. An idle fabric sleeps five times a second,
/// and of so few one that ends late would be the verdict.
pub const LEAST_SLEEPS: u64 = 100;

/// How late deadlines were met, in nanoseconds of emulated time. A deadline is what a node has to do in a window: it is
/// due at its first event, and met once the node has done all that it has to do in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// How many there were.
    pub deadlines: u64,
    /// How many were met later than [`GOOD_LATENESS`].
    pub late: u64,
    /// Half were met within this time, give or take 1/16.
    pub p50_ns: u64,
    /// 99 of 100 were.
    pub p99_ns: u64,
    /// All were.
    pub most_ns: u64,
}

impl Lateness {
    /// How many there were, and how many were late.
    pub const fn count(&self) -> DeadlineCount {
        DeadlineCount { deadlines: self.deadlines, late: self.late }
    }
}

/// How many deadlines there were, and how many were met later than [`GOOD_LATENESS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadlineCount {
    /// Deadlines.
    pub deadlines: u64,
    /// Those that were met too late.
    pub late: u64,
}

impl DeadlineCount {
    /// Whether at most one of 100 was met late.
    pub const fn is_good(self) -> bool {
        self.late.saturating_mul(100) <= self.deadlines
    }

    /// The same of sleeps of the engine, of which fewer than [`LEAST_SLEEPS`] tell nothing.
    pub const fn is_good_of_sleeps(self) -> bool {
        self.deadlines < LEAST_SLEEPS || self.is_good()
    }

    /// The sum.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { deadlines: self.deadlines + other.deadlines, late: self.late + other.late }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self { deadlines: self.deadlines - earlier.deadlines, late: self.late - earlier.late }
    }
}

/// Whether programs saw a fabric as it was: no time was `lost`, 99 of 100 deadlines were met soon enough, and 99 of 100 sleeps of
/// the engine ended soon enough, if there were enough of them.
pub const fn is_good(deadlines: DeadlineCount, sleeps: DeadlineCount, lost: Duration) -> bool {
    lost.is_zero() && deadlines.is_good() && sleeps.is_good_of_sleeps()
}

/// How punctual a live fabric was from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FidelitySummary {
    /// Whether programs saw the fabric as it was: see [`is_good`].
    pub is_good: bool,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: u32,
    /// All deadlines.
    #[serde(flatten)]
    pub lateness: Lateness,
    /// Sleeps of the engine, by how late they ended.
    pub sleeps: Lateness,
    /// How much the emulated clock was set back because the machine could not keep up, in nanoseconds of the wall clock.
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
