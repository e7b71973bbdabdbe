//! `queues.csv`.

use units::{Bytes, Nanos};

use super::column::Column;
use super::row::{Fields, Row};

/// Byte counters of a switch that samples read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// All bytes in the switch.
    Buffer,
    /// The part of them in the shared pool.
    Shared,
    /// The part of them in private pools.
    Private,
    /// The part of them in headroom.
    Headroom,
    /// The part of them in a pool of lossy packets' own.
    Lossy,
    /// All bytes charged to one (ingress port, priority).
    Ingress,
    /// The part of them in that queue's headroom.
    IngressHeadroom,
    /// Distance of that queue's pause threshold below its allocation: tau in DSH.
    IngressSharedHeadroom,
    /// Bytes of one ingress port in its insurance headroom (DSH).
    Insurance,
    /// X_off of that queue.
    Threshold,
    /// Bytes waiting in the egress queues of one (egress port, priority).
    Egress,
}

impl QueueKind {
    /// Name in `queues.csv`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Shared => "shared",
            Self::Private => "private",
            Self::Headroom => "headroom",
            Self::Lossy => "lossy",
            Self::Ingress => "ingress",
            Self::IngressHeadroom => "ingress-headroom",
            Self::IngressSharedHeadroom => "ingress-shared-headroom",
            Self::Insurance => "insurance",
            Self::Threshold => "threshold",
            Self::Egress => "egress",
        }
    }
}

/// A counter at the instant of a sample.
#[derive(Clone, Copy, Debug)]
pub struct QueueRow<'a> {
    /// Instant of the sample.
    pub time: Nanos,
    /// The switch.
    pub node: &'a str,
    /// The counter.
    pub kind: QueueKind,
    /// The port, for counters of a port.
    pub port: Option<u16>,
    /// The priority or queue, for counters of one.
    pub priority: Option<u8>,
    /// Value of the counter.
    pub bytes: Bytes,
}

impl Row for QueueRow<'_> {
    const FILE: &'static str = "queues.csv";
    const ABOUT: &'static str = "One row per counter that a sample found changed. A counter starts \
                                 at 0 and keeps its value until its next row.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer("time_ns", "Instant of the sample."),
        Column::text("node", "Switch."),
        Column::text(
            "kind",
            "`buffer` (all bytes the switch holds) and its parts `shared`, `private`, \
                    `headroom` and, where lossy packets have a pool of their own, `lossy`; `ingress` (all bytes charged to an ingress port and priority) and \
                    its part `ingress-headroom`; `egress` (bytes waiting at an egress port in a priority, over all of its queues). Under DSH \
                    headroom is insurance headroom, `insurance` is that of an ingress port, and \
                    `ingress-shared-headroom` is tau, the shared headroom that an ingress queue is \
                    allocated (no bytes that it holds). With `results.thresholds` also `threshold`: X_off of a lossless \
                    ingress queue; of a victim (SPFC) all of the shared pool, under DSH less tau.",
        ),
        Column::integer("port", "Port; empty for counters of the whole switch.").or_empty(),
        Column::integer("priority", "Priority; empty for counters of a switch or port.").or_empty(),
        Column::integer("bytes", "Value."),
    ];

    fn fields(&self, row: &mut impl Fields) {
        row.add(self.time).add(self.node).add(self.kind.name()).add(self.port);
        row.add(self.priority).add(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

    #[test]
    fn counters_of_a_switch_have_no_port() {
        let (time, node, bytes) = (Nanos(1), "s0", Bytes(9));
        let whole =
            QueueRow { time, node, kind: QueueKind::Buffer, port: None, priority: None, bytes };
        assert_eq!(line(&whole), "1,s0,buffer,,,9\n");
        let kind = QueueKind::IngressHeadroom;
        let queue = QueueRow { kind, port: Some(2), priority: Some(3), ..whole };
        assert_eq!(line(&queue), "1,s0,ingress-headroom,2,3,9\n");
    }
}
