//! `egress_queues.csv`.

use std::io::{self, Write};

use units::{Bytes, Nanos};

use super::column::Column;
use super::csv::{Row, Text};

/// One of the egress queues over which a priority is spread, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct EgressQueueRow<'a> {
    /// When it was read.
    pub time: Nanos,
    /// The switch.
    pub node: &'a str,
    /// The egress port.
    pub port: u16,
    /// The priority whose packets it holds.
    pub priority: u8,
    /// Its number at the port.
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
    const COLUMNS: &'static [Column] = &[
        Column { name: "time_ns", about: "Instant of the sample." },
        Column { name: "node", about: "Switch." },
        Column { name: "port", about: "Egress port." },
        Column { name: "priority", about: "Priority whose flows the queue has." },
        Column {
            name: "queue",
            about: "Its number at the port. Those of `switch.backpressure`, then those of `switch.flow_queues` \
                    are numbered from 0 on, in the order of its priorities or entries; the queue of any other \
                    priority has 128 and its number.",
        },
        Column { name: "bytes", about: "Bytes waiting in it." },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { time, node, port, priority, queue, bytes } = *self;
        writeln!(out, "{},{},{port},{priority},{queue},{}", time.0, Text(node), bytes.0)
    }
}
