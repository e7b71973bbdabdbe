//! `lossy_queues.csv`.

use std::io::{self, Write};

use units::{Bytes, Nanos};

use super::column::Column;
use super::csv::{Row, Text};

/// A lossy egress queue and what its buffer management says of it, at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct LossyQueueRow<'a> {
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
    /// Bytes that it may hold, if that is limited.
    pub threshold: Option<Bytes>,
    /// How long a packet may wait in it, if that is limited.
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
    const COLUMNS: &'static [Column] = &[
        Column { name: "time_ns", about: "Instant of the sample." },
        Column { name: "node", about: "Switch." },
        Column { name: "port", about: "Egress port." },
        Column { name: "priority", about: "Priority whose packets it has." },
        Column {
            name: "queue",
            about: "Its number at the port; 128 and the priority's where the priority has one queue beside \
                    others with several, as in `egress_queues.csv`.",
        },
        Column { name: "bytes", about: "Bytes waiting in it." },
        Column {
            name: "threshold_bytes",
            about: "Bytes that it may hold; empty where it may hold all that is free (CS, BSHARE).",
        },
        Column {
            name: "longest_wait_ns",
            about: "How long a packet may wait in it: theta of BSHARE. Empty elsewhere.",
        },
        Column {
            name: "congested",
            about: "Congested queues of its priority at the switch as last counted, with three decimals: `c_p` of BSHARE, \
                    `n_p` of ABM. Less than one counts as one. 0 elsewhere.",
        },
    ];

    fn write_fields(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { time, node, port, priority, queue, bytes, .. } = *self;
        write!(out, "{},{},{port},{priority},{queue},{},", time.0, Text(node), bytes.0)?;
        if let Some(Bytes(threshold)) = self.threshold {
            write!(out, "{threshold}")?;
        }
        out.write_all(b",")?;
        if let Some(Nanos(wait)) = self.longest_wait {
            write!(out, "{wait}")?;
        }
        let congested = self.congested_thousandths;
        writeln!(out, ",{}.{:03}", congested / 1000, congested % 1000)
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
