//! `flow_queues.csv`, and the totals of flows that came to share a queue.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::column::Column;
use super::csv::{Row, Text};

/// How flows are spread over the queues of a port, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct FlowQueuesRow<'a> {
    /// When it was read.
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
    /// Since the start: how often a flow came to have packets here.
    pub activations: u32,
    /// How often its queue held packets of others then.
    pub collisions: u32,
}

impl Row for FlowQueuesRow<'_> {
    const FILE: &'static str = "flow_queues.csv";
    const ABOUT: &'static str = "Only with `switch.backpressure`. One row per port of a switch that a sample found \
                                 changed, at the instants of `queues.csv`. A port starts with zeros and \
                                 keeps its values until its next row. While `flows` exceeds `queues`, flows share queues.";
    const COLUMNS: &'static [Column] = &[
        Column { name: "time_ns", about: "Instant of the sample." },
        Column { name: "node", about: "Switch." },
        Column { name: "port", about: "Port." },
        Column {
            name: "flows",
            about: "Flows with packets that leave by it: entries of its flow table that count some. Flows with one \
                    entry are one, labelled incasts none.",
        },
        Column { name: "queues", about: "Queues of the paused priorities that hold packets." },
        Column { name: "paused", about: "Its queues that the neighbour has paused." },
        Column { name: "pausing", about: "Queues of the neighbour that the switch has paused." },
        Column {
            name: "activations",
            about: "Since the run's start: how often a flow came to have packets here.",
        },
        Column {
            name: "collisions",
            about: "Of these, how often its queue held other packets then. With `sampling` only packets that are counted \
                    make a flow active, so these may be its own.",
        },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { time, node, port, flows, queues, paused, pausing, activations, collisions } =
            *self;
        writeln!(
            out,
            "{},{},{port},{flows},{queues},{paused},{pausing},{activations},{collisions}",
            time.0,
            Text(node)
        )
    }
}

/// How often flows came to share a queue, at all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowQueueTotals {
    /// How often a flow came to have packets in a switch.
    pub activations: u64,
    /// How often its queue held packets of others then.
    pub collisions: u64,
}
