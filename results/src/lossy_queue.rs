//! `lossy_queues.csv`.

use units::{Bytes, Nanos};

use super::column::Column;
use super::row::{Decimal, Fields, Row};

/// A lossy egress queue and its limits by buffer management, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct LossyQueueRow<'a> {
    /// Instant of the sample.
    pub time: Nanos,
    /// The switch.
    pub node: &'a str,
    /// The egress port.
    pub port: u16,
    /// Priority of the packets in the queue.
    pub priority: u8,
    /// Number of the queue at the port.
    pub queue: u8,
    /// Bytes that wait in it.
    pub bytes: Bytes,
    /// Bytes that it may hold, if that is limited.
    pub threshold: Option<Bytes>,
    /// Max time that a packet may wait in it, if limited.
    pub longest_wait: Option<Nanos>,
    /// Congested queues of its priority at the switch, in thousandths.
    pub congested_thousandths: u32,
}

impl Row for LossyQueueRow<'_> {
    const FILE: &'static str = "lossy_queues.csv";
    const ABOUT: &'static str = "Only with `results.thresholds`. One row per lossy egress queue of a switch that holds \
                                 packets and that a sample found changed, in what it holds or may hold, and one when it is \
                                 empty again; at the instants of `queues.csv`. A queue starts empty. What it may hold is for \
                                 packets that are not at the start of their flow.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant of the sample."),
        Column::text("node", "Switch."),
        Column::integer("port", "Egress port."),
        Column::integer("priority", "Priority whose packets it has."),
        Column::integer(
            "queue",
            "Its number at the port; 128 and the priority's where the priority has one queue beside \
                    others with several, as in `egress_queues.csv`.",
        ),
        Column::integer("bytes", "Bytes waiting in it."),
        Column::integer(
            "threshold_bytes",
            "Bytes that it may hold; empty where it may hold all that is free (CS, BSHARE).",
        )
        .or_empty(),
        Column::integer(
            "longest_wait_ns",
            "How long a packet may wait in it: theta of BSHARE. Empty elsewhere.",
        )
        .or_empty(),
        Column::decimal(
            "congested",
            "Congested queues of its priority at the switch as last counted, with three decimals: `c_p` of BSHARE, \
                    `n_p` of ABM. Less than one counts as one. 0 elsewhere.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.priority).add(self.queue);
        row.add(self.bytes).add(self.threshold).add(self.longest_wait);
        row.add(Decimal::new(self.congested_thousandths, 3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn what_is_not_limited_is_empty() {
        let (time, node, bytes) = (Nanos(1), "s0", Bytes(9));
        let row = LossyQueueRow {
            time,
            node,
            port: 2,
            priority: 3,
            queue: 4,
            bytes,
            threshold: Some(Bytes(10)),
            longest_wait: None,
            congested_thousandths: 0,
        };
        assert_eq!(line(&row), "1,s0,2,3,4,9,10,,0.000\n");
        let (threshold, longest_wait) = (None, Some(Nanos(11)));
        let row = LossyQueueRow { threshold, longest_wait, congested_thousandths: 12_034, ..row };
        assert_eq!(line(&row), "1,s0,2,3,4,9,,11,12.034\n");
    }
}
