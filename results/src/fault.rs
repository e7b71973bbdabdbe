//! `faults.csv`, and faults in `summary.json`.

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::column::Column;
use super::row::{Fields, Row};

/// Effects of a fault on a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRow {
    /// Index of the fault in the scenario, from 0.
    pub fault: u32,
    /// Kind of the fault.
    pub kind: &'static str,
    /// The wire.
    pub wire: String,
    /// Frames that it was for.
    pub seen: u64,
    /// Frames to which it did something.
    pub frames: u64,
    /// Total time that the fault added to these frames.
    pub added: Nanos,
    /// Max time that the fault added to a frame.
    pub most_added: Nanos,
}

impl Row for FaultRow {
    const FILE: &'static str = "faults.csv";
    const ABOUT: &'static str =
        "Only with `[[faults]]`. What each fault has done: one row per wire that it is on.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("fault", "Place of the fault in the scenario, from 0."),
        Column::text("kind", "Its kind: `loss`, `corrupt`, `delay`, `rate` or `down`."),
        Column::text("wire", "The wire."),
        Column::integer(
            "seen",
            "Frames whose transmission began while the fault lasted (and the wire was down), and that its `match` is \
                    for.",
        ),
        Column::integer(
            "frames",
            "Those of them that it took, damaged, delayed or slowed. One that several faults take counts for the first \
                    of them; one that is lost does not count as damaged.",
        ),
        Column::integer(
            "added_ns",
            "What a `delay` added to the times of these frames on the wire, or a `rate` to the times for which they \
                    occupied the port; in all, rounded up. Waiting behind frames that are delayed is not in it.",
        ),
        Column::integer("most_added_ns", "The most of it that one frame got."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.fault).add(self.kind).add(&*self.wire).add(self.seen);
        row.add(self.frames).add(self.added).add(self.most_added);
    }
}

/// Effects of all faults in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTotals {
    /// Frames that vanished.
    pub lost: u64,
    /// Frames that arrived with a wrong FCS, or were on their way with one.
    pub corrupted: u64,
    /// Frames that were sent while their wire was down.
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
