//! Means and percentiles over flows, in integers.

use fabric_core::units::Nanos;
use serde::{Deserialize, Serialize};

use super::flow::FlowRow;
use super::slowdown::Slowdown;

/// Completion times of the flows that completed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FctSummary {
    /// Mean, rounded half up.
    pub mean: u64,
    /// Median by nearest rank.
    pub p50: u64,
    /// 99th percentile by nearest rank.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

/// Slowdowns of the flows that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowdownSummary {
    /// Mean, rounded half up.
    pub mean: Slowdown,
    /// Median by nearest rank.
    pub p50: Slowdown,
    /// 99th percentile by nearest rank.
    pub p99: Slowdown,
}

/// Collects flows: 16 bytes for each.
#[derive(Clone, Debug, Default)]
pub struct FlowStatistics {
    total: u64,
    fct_ns: Vec<u64>,
    slowdowns: Vec<u64>,
}

impl FlowStatistics {
    /// Counts a flow, done or not.
    pub fn record(&mut self, flow: &FlowRow) {
        self.total += u64::from(flow.fct.is_some() || !flow.long_lived);
        if let (Some(Nanos(fct)), Some(Slowdown(slowdown))) = (flow.fct, flow.slowdown()) {
            self.fct_ns.push(fct);
            self.slowdowns.push(slowdown);
        }
    }

    /// Flows counted.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Those of them that completed.
    pub const fn completed(&self) -> u64 {
        self.fct_ns.len() as u64
    }

    /// Completion times and slowdowns; `None` if no flow completed.
    pub fn finish(mut self) -> Option<(FctSummary, SlowdownSummary)> {
        self.fct_ns.sort_unstable();
        self.slowdowns.sort_unstable();
        let (fct, slowdown) = (&self.fct_ns, &self.slowdowns);
        let fct_summary = FctSummary {
            mean: mean(fct)?,
            p50: nearest_rank(fct, 50),
            p99: nearest_rank(fct, 99),
            max: *fct.last()?,
        };
        let slowdown_summary = SlowdownSummary {
            mean: Slowdown(mean(slowdown)?),
            p50: Slowdown(nearest_rank(slowdown, 50)),
            p99: Slowdown(nearest_rank(slowdown, 99)),
        };
        Some((fct_summary, slowdown_summary))
    }
}

fn mean(values: &[u64]) -> Option<u64> {
    let count = values.len() as u128;
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    (sum * 2 + count).checked_div(count * 2).map(|mean| mean as u64)
}

/// The smallest value that at least `percent` of the sorted, non-empty `values` do not exceed.
fn nearest_rank(values: &[u64], percent: usize) -> u64 {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values[rank - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric_core::units::Bytes;

    #[test]
    fn nearest_ranks() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (values, percent, expected) in [
            (&hundred[..], 50, 50),
            (&hundred[..], 99, 99),
            (&hundred[..10], 50, 5),
            (&hundred[..10], 99, 10),
            (&hundred[..3], 50, 2),
            (&hundred[..1], 50, 1),
            (&hundred[..], 0, 1),
        ] {
            assert_eq!(nearest_rank(values, percent), expected);
        }
    }

    #[test]
    fn means_round_half_up_and_do_not_overflow() {
        assert_eq!(mean(&[1, 2]), Some(2));
        assert_eq!(mean(&[1, 1, 2]), Some(1));
        assert_eq!(mean(&[u64::MAX; 3]), Some(u64::MAX));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn order_does_not_matter_and_the_undone_do_not_count() {
        let flow = |fct| FlowRow {
            flow: 0,
            label: "",
            src: "h0",
            dst: "h1",
            priority: 3,
            bytes: Bytes(1),
            start: Nanos(0),
            fct,
            ideal: Nanos(100),
            retransmitted_packets: 0,
            cnps: 0,
            long_lived: false,
        };
        let statistics = |order: [u64; 3]| {
            let mut statistics = FlowStatistics::default();
            statistics.record(&flow(None));
            for fct in order {
                statistics.record(&flow(Some(Nanos(fct))));
            }
            assert_eq!((statistics.total(), statistics.completed()), (4, 3));
            statistics.finish().unwrap()
        };
        let (fct, slowdown) = statistics([300, 100, 150]);
        assert_eq!(fct, FctSummary { mean: 183, p50: 150, p99: 300, max: 300 });
        assert_eq!(slowdown.mean, Slowdown(18_333));
        assert_eq!((fct, slowdown), statistics([100, 150, 300]));
        assert_eq!(FlowStatistics::default().finish(), None);
    }
}
