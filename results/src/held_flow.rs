//! `held_flows.csv`.

use std::io::{self, Write};

use units::Nanos;

use super::column::Column;
use super::csv::{Row, Text};

/// A flow with something to send in a queue that a pause of that queue has stopped.
#[derive(Clone, Copy, Debug)]
pub struct HeldFlowRow<'a> {
    /// When the pause came in.
    pub time: Nanos,
    /// The switch or host whose queue it is.
    pub node: &'a str,
    /// The port of the queue.
    pub port: u16,
    /// Who paused it.
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
    const COLUMNS: &'static [Column] = &[
        Column { name: "time_ns", about: "Instant at which the pause came in." },
        Column { name: "node", about: "Switch or host whose queue it is." },
        Column { name: "port", about: "Port of the queue." },
        Column { name: "by", about: "Who paused it." },
        Column { name: "queue", about: "The queue, as in `queue_pauses.csv`." },
        Column {
            name: "flow",
            about: "Number of the flow: at a switch it has packets in the queue, at a host something left to send, and the \
                    queue is its own.",
        },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { time, node, port, by, queue, flow } = *self;
        writeln!(out, "{},{},{port},{},{queue},{flow}", time.0, Text(node), Text(by))
    }
}
