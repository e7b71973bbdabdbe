//! Faults in `summary.json`.

use serde::{Deserialize, Serialize};

use super::tables::FaultRow;

/// Effects of all faults in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTotals {
    /// Frames that vanished.
    pub lost: u64,
    /// Frames that arrived with a wrong FCS, or were on their way with one.
    pub corrupted: u64,
    /// Frames that were sent while their wire was down, or lost when it went down.
    pub sent_while_down: u64,
    /// Delays of frames.
    pub delayed: u64,
    /// Frames that a slower port sent.
    pub slowed: u64,
    /// Times that switches received new routes.
    pub reroutes: u64,
}

impl FaultTotals {
    /// Adds a row.
    pub fn add(&mut self, row: &FaultRow) {
        *match row.kind {
            "loss" => &mut self.lost,
            "corrupt" => &mut self.corrupted,
            "down" => &mut self.sent_while_down,
            "delay" => &mut self.delayed,
            _ => &mut self.slowed,
        } += row.frames;
    }
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;
    use crate::csv::line;

    fn row(kind: &'static str, frames: u64) -> FaultRow {
        let (added, most_added) = (Nanos(70), Nanos(40));
        FaultRow { fault: 3, kind, wire: "h0->s0".into(), seen: 9, frames, added, most_added }
    }

    #[test]
    fn a_row_says_which_fault_and_where() {
        assert_eq!(line(&row("delay", 2)), "3,delay,h0->s0,9,2,70,40\n");
    }

    #[test]
    fn totals_are_by_kind() {
        let mut totals = FaultTotals::default();
        let kinds = ["loss", "corrupt", "down", "delay", "rate", "delay"];
        for (power, kind) in (0..).zip(kinds) {
            totals.add(&row(kind, 10u64.pow(power)));
        }
        let expected = FaultTotals {
            lost: 1,
            corrupted: 10,
            sent_while_down: 100,
            delayed: 101_000,
            slowed: 10_000,
            reroutes: 0,
        };
        assert_eq!(totals, expected);
    }
}
