//! `egress_queues.csv`.

use units::{Bytes, Nanos};

use super::column::Column;
use super::row::{Fields, Row};

/// One of the egress queues over which a priority is spread, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct EgressQueueRow<'a> {
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
}

impl Row for EgressQueueRow<'_> {
    const FILE: &'static str = "egress_queues.csv";
    const ABOUT: &'static str = "Only with `switch.flow_queues` or `switch.backpressure`. One row per egress queue of a spread \
                                 priority that a sample found changed: the parts of what `queues.csv` \
                                 has as `egress` of the priority, at the same instants. A queue starts \
                                 at 0 and keeps its value until its next row.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant of the sample."),
        Column::text("node", "Switch."),
        Column::integer("port", "Egress port."),
        Column::integer("priority", "Priority whose flows the queue has."),
        Column::integer(
            "queue",
            "Its number at the port. Those of `switch.backpressure`, then those of `switch.flow_queues` \
                    are numbered from 0 on, in the order of its priorities or entries; the queue of any other \
                    priority has 128 and its number.",
        ),
        Column::integer("bytes", "Bytes waiting in it."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.priority);
        row.add(self.queue).add(self.bytes);
    }
}
