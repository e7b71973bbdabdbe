//! `flow_queues.csv`, and the totals of flows that came to share a queue.

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::column::Column;
use super::row::{Fields, Row};

/// Distribution of flows over the queues of a port, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct FlowQueuesRow<'a> {
    /// Instant of the sample.
    pub time: Nanos,
    /// The switch.
    pub node: &'a str,
    /// The egress port.
    pub port: u16,
    /// Active flows.
    pub flows: u32,
    /// Queues that hold packets.
    pub queues: u32,
    /// Queues that the neighbour has paused.
    pub paused: u32,
    /// Queues of the neighbour that are paused.
    pub pausing: u32,
    /// Activations since the start: times that a flow without packets here got one.
    pub activations: u32,
    /// Activations in which the flow's queue held packets of other flows.
    pub collisions: u32,
}

impl Row for FlowQueuesRow<'_> {
    const FILE: &'static str = "flow_queues.csv";
    const ABOUT: &'static str = "Only with `switch.backpressure` of kind `bfc`. One row per port of a switch that a sample found \
                                 changed, at the instants of `queues.csv`. A port starts with zeros and \
                                 keeps its values until its next row. While `flows` exceeds `queues`, flows share queues.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant of the sample."),
        Column::text("node", "Switch."),
        Column::integer("port", "Port."),
        Column::integer(
            "flows",
            "Flows with packets that leave by it: entries of its flow table that count some. Flows with one \
                    entry are one, labelled incasts none.",
        ),
        Column::integer("queues", "Queues of the paused priorities that hold packets."),
        Column::integer("paused", "Its queues that the neighbour has paused."),
        Column::integer("pausing", "Queues of the neighbour that the switch has paused."),
        Column::integer(
            "activations",
            "Since the run's start: how often a flow came to have packets here.",
        ),
        Column::integer(
            "collisions",
            "Of these, how often its queue held other packets then. With `sampling` only packets that are counted \
                    make a flow active, so these may be its own.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.port).add(self.flows).add(self.queues);
        row.add(self.paused).add(self.pausing).add(self.activations).add(self.collisions);
    }
}

/// Shared queues of flows, at all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowQueueTotals {
    /// Activations: times that a flow without packets in a switch got one there.
    pub activations: u64,
    /// Activations in which the flow's queue held packets of other flows.
    pub collisions: u64,
}
