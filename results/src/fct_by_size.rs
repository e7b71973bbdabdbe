//! Times of groups of flows.

use units::Nanos;

use super::slowdown::Slowdown;

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

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::csv::line;
    use crate::tables::FctBySizeRow;

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
