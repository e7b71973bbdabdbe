//! Byte counters of switches that samples read.

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

#[cfg(test)]
mod tests {
    use units::{Bytes, Nanos};

    use super::*;
    use crate::csv::line;
    use crate::tables::QueueRow;

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
