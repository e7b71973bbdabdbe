//! The flows of the report's table.

use crate::report::{ReportedFlow, TABLE_ROWS};
use crate::slowdown::Slowdown;
use crate::tables::FlowRow;

/// Worst flows of a run, at most as many as the table has rows: incomplete flows, then those with the largest
/// slowdowns.
#[derive(Default)]
pub(super) struct WorstFlows(pub(super) Vec<ReportedFlow>);

impl WorstFlows {
    /// Adds a flow, if it is one of the worst so far.
    pub(super) fn add(&mut self, row: &FlowRow) {
        let place = self.0.partition_point(|other| rank(other) <= row_rank(row));
        if place < TABLE_ROWS {
            self.0.truncate(TABLE_ROWS - 1);
            self.0.insert(place, reported(row));
        }
    }
}

/// The order of the report's table: flows not done, then by slowdown, then by number.
type Rank = (u64, u32);

pub(super) fn rank(flow: &ReportedFlow) -> Rank {
    let Slowdown(slowdown) =
        flow.fct.map_or(Slowdown(u64::MAX), |fct| Slowdown::new(fct, flow.ideal));
    (u64::MAX - slowdown, flow.flow)
}

fn row_rank(row: &FlowRow) -> Rank {
    let Slowdown(slowdown) = row.slowdown().unwrap_or(Slowdown(u64::MAX));
    (u64::MAX - slowdown, row.flow)
}

fn reported(row: &FlowRow) -> ReportedFlow {
    ReportedFlow {
        flow: row.flow,
        label: row.label.to_owned(),
        src: row.src.to_owned(),
        dst: row.dst.to_owned(),
        priority: row.priority,
        bytes: row.bytes,
        start: row.start,
        fct: row.fct,
        ideal: row.ideal,
    }
}
