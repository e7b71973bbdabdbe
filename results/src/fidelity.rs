//! How punctual a live fabric was: whether programs saw it as it is.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Punctuality is good if 99 of 100 deadlines are met within this much emulated time.
pub const GOOD_LATENESS: Duration = Duration::from_micros(250);

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
    /// Whether 99 of 100 deadlines were met soon enough.
    pub const fn is_good(&self) -> bool {
        is_good(self.deadlines, self.late)
    }
}

/// Whether at most one of 100 deadlines was met late.
pub const fn is_good(deadlines: u64, late: u64) -> bool {
    late.saturating_mul(100) <= deadlines
}

/// How punctual a live fabric was from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FidelitySummary {
    /// Whether programs saw the fabric as it was: no time was lost, and 99 of 100 deadlines were met soon enough.
    pub is_good: bool,
    /// Seconds of the wall clock in an emulated second.
    pub dilation: u32,
    /// All deadlines.
    #[serde(flatten)]
    pub lateness: Lateness,
    /// How much the emulated clock was set back because the machine could not keep up, in nanoseconds of the wall clock.
    pub lost_ns: u64,
    /// Deadlines of each node, by its name.
    pub nodes: BTreeMap<String, Lateness>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_deadline_of_100_may_be_late() {
        let lateness = |deadlines, late| Lateness { deadlines, late, ..Lateness::default() };
        for (deadlines, late, expected) in
            [(0, 0, true), (100, 1, true), (99, 1, false), (1, 1, false), (1_000_000, 10_000, true)]
        {
            assert_eq!(lateness(deadlines, late).is_good(), expected, "{late} of {deadlines}");
        }
    }
}
