//! `held_flows.csv`.

use units::Nanos;

use super::column::Column;
use super::row::{Fields, Row};

/// A flow with something to send in a queue that a pause of that queue has stopped.
#[derive(Clone, Copy, Debug)]
pub struct HeldFlowRow<'a> {
    /// Arrival of the pause.
    pub time: Nanos,
    /// Switch or host of the queue.
    pub node: &'a str,
    /// The port of the queue.
    pub port: u16,
    /// The neighbour that paused it.
    pub by: &'a str,
    /// The queue.
    pub queue: u8,
    /// The flow.
    pub flow: u32,
}

impl Row for HeldFlowRow<'_> {
    const FILE: &'static str = "held_flows.csv";
    const ABOUT: &'static str = "Only with `results.held_flows`. For each pause of a single queue that came in, one row per \
                                 flow that it held then. A pause that comes while the queue is paused, or that finds it empty, has none, nor have flows whose packets come to the queue later.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant at which the pause came in."),
        Column::text("node", "Switch or host whose queue it is."),
        Column::integer("port", "Port of the queue."),
        Column::text("by", "Who paused it."),
        Column::integer("queue", "The queue, as in `queue_pauses.csv`."),
        Column::integer(
            "flow",
            "Number of the flow: at a switch it has packets in the queue, at a host something left to send, and the \
                    queue is its own.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.by);
        row.add(self.queue).add(self.flow);
    }
}
