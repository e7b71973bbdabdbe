//! Pauses of single queues counted and timed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::tables::QueuePauseRow;

/// Pauses of single queues, by the decisions of the switches that paused them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePauseTotals {
    /// Pauses.
    pub pauses: u64,
    /// Queues, of all neighbours, that were ever paused.
    pub queues: u64,
    /// Time from each pause to its resume, or to the end of the run, summed over queues.
    pub ordered_ns: u64,
    /// The longest of these.
    pub longest_ns: u64,
}

/// Counts and times them.
#[derive(Clone, Debug, Default)]
pub(super) struct QueuePauses {
    totals: QueuePauseTotals,
    /// By switch, port and queue: since when it is paused, if it is.
    queues: BTreeMap<(String, u16, u8), Option<Nanos>>,
}

impl QueuePauses {
    pub(super) fn record(&mut self, row: &QueuePauseRow) {
        let since = self.queues.entry((row.node.to_owned(), row.port, row.queue)).or_default();
        if row.paused {
            self.totals.pauses += 1;
            since.get_or_insert(row.time);
        } else if let Some(since) = since.take() {
            self.totals.add(since, row.time);
        }
    }

    /// The totals of a run that ends at `end`.
    pub(super) fn finish(mut self, end: Nanos) -> QueuePauseTotals {
        for since in self.queues.values().flatten() {
            self.totals.add(*since, end);
        }
        QueuePauseTotals { queues: self.queues.len() as u64, ..self.totals }
    }
}

impl QueuePauseTotals {
    fn add(&mut self, since: Nanos, until: Nanos) {
        let span = until.0.saturating_sub(since.0);
        self.ordered_ns += span;
        self.longest_ns = self.longest_ns.max(span);
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;
    use crate::csv::line;

    #[test]
    fn a_pause_lasts_until_its_resume_or_the_end() {
        let mut pauses = QueuePauses::default();
        let row = |time, port, queue, paused| QueuePauseRow {
            time: Nanos(time),
            node: "leaf0",
            port,
            peer: "spine1",
            queue,
            paused,
            length: Bytes(3000),
            threshold: Bytes(2500),
        };
        let shown = "7,leaf0,2,spine1,9,xoff,3000,2500\n";
        assert_eq!(line(&row(7, 2, 9, true)), shown);
        for (time, port, queue, paused) in [
            (10, 0, 8, true),
            (20, 0, 9, true),
            (25, 0, 8, false),
            (30, 1, 8, true),
            (35, 1, 8, false),
            (40, 0, 8, true),
        ] {
            pauses.record(&row(time, port, queue, paused));
        }
        let expected =
            QueuePauseTotals { pauses: 4, queues: 3, ordered_ns: 15 + 80 + 5 + 60, longest_ns: 80 };
        assert_eq!(pauses.finish(Nanos(100)), expected);
    }
}
