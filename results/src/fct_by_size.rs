//! `fct_by_size.csv`.

use units::{Bytes, Nanos};

use super::column::Column;
use super::row::{Fields, Row};
use super::slowdown::Slowdown;

/// Flows of one label, or of all labels, in one bin of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FctBySizeRow {
    /// The label; `None` for the flows of all labels.
    pub label: Option<String>,
    /// Lower bound of the bin, exclusive.
    pub above: Bytes,
    /// Upper bound of the bin, inclusive; `None` for the last bin.
    pub up_to: Option<Bytes>,
    /// Flows, completed or not. Long-lived flows count only if completed.
    pub flows: u64,
    /// Completed flows.
    pub completed: u64,
    /// Times of the completed flows; `None` if no flow completed.
    pub times: Option<GroupTimes>,
}

/// Slowdowns and completion times of a group of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTimes {
    /// Mean slowdown, rounded half up.
    pub slowdown_mean: Slowdown,
    /// 50th, 95th and 99th percentile of the slowdown.
    pub slowdown_percentiles: [Slowdown; 3],
    /// Largest slowdown.
    pub slowdown_max: Slowdown,
    /// Mean completion time, rounded half up.
    pub fct_mean: Nanos,
    /// 99th percentile of the completion time.
    pub fct_p99: Nanos,
}

impl Row for FctBySizeRow {
    const FILE: &'static str = "fct_by_size.csv";
    const ABOUT: &'static str = "One row per bin of flow sizes (`results.flow_size_bins`) that has \
                                 flows: first for all flows, then label by label. Percentiles are \
                                 by nearest rank: exact in rows with up to 1024 completed flows, \
                                 too low by less than 1/1024 (0.1 %) in the others.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::text("label", "Label of the flows; empty in the rows for the flows of all labels.")
            .or_empty(),
        Column::integer("above_bytes", "The flows' payloads are larger than this,"),
        Column::integer(
            "up_to_bytes",
            "and at most this large. Empty in the last bin, which has no bound.",
        )
        .or_empty(),
        Column::integer(
            "flows",
            "Flows, completed or not; of the long-lived ones only those that completed.",
        ),
        Column::integer(
            "completed",
            "Those that completed. The other columns are about them, and empty without any.",
        ),
        Column::decimal("slowdown_mean", "Mean of `slowdown` in `flows.csv`, exact.").or_empty(),
        Column::decimal("slowdown_p50", "Median of the slowdown.").or_empty(),
        Column::decimal("slowdown_p95", "95th percentile of the slowdown.").or_empty(),
        Column::decimal("slowdown_p99", "99th percentile of the slowdown.").or_empty(),
        Column::decimal("slowdown_max", "Largest slowdown, exact.").or_empty(),
        Column::integer("fct_mean_ns", "Mean of `fct_ns` in `flows.csv`, exact.").or_empty(),
        Column::integer("fct_p99_ns", "99th percentile of the completion time.").or_empty(),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.label.as_deref()).add(self.above).add(self.up_to);
        row.add(self.flows).add(self.completed);
        row.add(self.times.map(|times| times.slowdown_mean));
        for place in 0..3 {
            row.add(self.times.map(|times| times.slowdown_percentiles[place]));
        }
        row.add(self.times.map(|times| times.slowdown_max));
        row.add(self.times.map(|times| times.fct_mean));
        row.add(self.times.map(|times| times.fct_p99));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn groups_with_and_without_completed_flows() {
        let times = GroupTimes {
            slowdown_mean: Slowdown(15_000),
            slowdown_percentiles: [Slowdown(10_000), Slowdown(20_000), Slowdown(21_000)],
            slowdown_max: Slowdown(22_000),
            fct_mean: Nanos(7000),
            fct_p99: Nanos(9000),
        };
        let row = FctBySizeRow {
            label: Some("a, b".into()),
            above: Bytes(1000),
            up_to: Some(Bytes(10_000)),
            flows: 3,
            completed: 2,
            times: Some(times),
        };
        let text = "\"a, b\",1000,10000,3,2,1.5000,1.0000,2.0000,2.1000,2.2000,7000,9000\n";
        assert_eq!(line(&row), text);
        let undone = FctBySizeRow { label: None, up_to: None, completed: 0, times: None, ..row };
        assert_eq!(line(&undone), ",1000,,3,0,,,,,,,\n");
    }
}
