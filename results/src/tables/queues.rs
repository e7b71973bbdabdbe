//! Tables of samples of queues and of flows in queues.

use units::{Bytes, Nanos};

use crate::queue::QueueKind;
use crate::row::Decimal;

tables! {
    /// One row per counter that a sample found changed. A counter starts at 0 and keeps its value until its next row.
    #[derive(Clone, Copy, Debug)]
    pub struct QueueRow<'a> in "queues.csv", counted {
        /// Instant of the sample.
        pub time: Nanos as time_ns,
        /// Switch.
        pub node: &'a str,
        /// `buffer` (all bytes the switch holds) and its parts `shared`, `private`, `headroom` and, where lossy packets
        /// have a pool of their own, `lossy`; `ingress` (all bytes charged to an ingress port and priority) and its
        /// part `ingress-headroom`; `egress` (bytes waiting at an egress port in a priority, over all of its queues).
        /// Under DSH headroom is insurance headroom, `insurance` is that of an ingress port, and
        /// `ingress-shared-headroom` is tau, the shared headroom allocated to an ingress queue (an allocation, not an
        /// occupancy). With `results.thresholds` also `threshold`: X_off of a lossless ingress queue; of a victim
        /// (SPFC) all of the shared pool, under DSH less tau.
        pub kind: QueueKind,
        /// Port; empty for counters of the whole switch.
        pub port: Option<u16>,
        /// Priority; empty for counters of a switch or port.
        pub priority: Option<u8>,
        /// Value.
        pub bytes: Bytes,
    }

    /// Only with `switch.flow_queues`, or `switch.scheme` of kind `bfc` or `ofc`. One row per egress queue of a spread
    /// priority that a sample found changed: together these queues are the `egress` counter of the priority in
    /// `queues.csv`, at the same instants. A queue starts at 0 and keeps its value until its next row.
    #[derive(Clone, Copy, Debug)]
    pub struct EgressQueueRow<'a> in "egress_queues.csv" {
        /// Instant of the sample.
        pub time: Nanos as time_ns,
        /// Switch.
        pub node: &'a str,
        /// Egress port.
        pub port: u16,
        /// Priority whose flows the queue has.
        pub priority: u8,
        /// Number of the queue at the port. Queues of the scheme, then queues of `switch.flow_queues` are numbered from
        /// 0 on, in the order of its priorities or entries; the queue of any other priority has 128 and its number.
        pub queue: u8,
        /// Bytes waiting in it.
        pub bytes: Bytes,
    }

    /// Only with `switch.scheme` of kind `bfc`. One row per port of a switch that a sample found changed, at the
    /// instants of `queues.csv`. A port starts with zeros and keeps its values until its next row. While `flows`
    /// exceeds `queues`, flows share queues.
    #[derive(Clone, Copy, Debug)]
    pub struct FlowQueuesRow<'a> in "flow_queues.csv", counted {
        /// Instant of the sample.
        pub time: Nanos as time_ns,
        /// Switch.
        pub node: &'a str,
        /// Port.
        pub port: u16,
        /// Flows with packets that leave by it: entries of its flow table with packets. Flows that share an entry count
        /// once, labelled incasts not at all.
        pub flows: u32,
        /// Queues of the paused priorities that hold packets.
        pub queues: u32,
        /// Its queues that the neighbour has paused.
        pub paused: u32,
        /// Queues of the neighbour that the switch has paused.
        pub pausing: u32,
        /// Number of times since the run's start that a flow came to have packets here.
        pub activations: u32,
        /// Number of these activations at which the flow's queue held other packets. With `sampling` only packets that
        /// are counted make a flow active, so these may be its own.
        pub collisions: u32,
    }

    /// Only with `results.thresholds`. One row per lossy egress queue of a switch that holds packets and whose length
    /// or threshold a sample found changed, and one when the queue is empty again; at the instants of `queues.csv`. A
    /// queue starts empty. Thresholds apply to packets that are not at the start of their flow.
    #[derive(Clone, Copy, Debug)]
    pub struct LossyQueueRow<'a> in "lossy_queues.csv" {
        /// Instant of the sample.
        pub time: Nanos as time_ns,
        /// Switch.
        pub node: &'a str,
        /// Egress port.
        pub port: u16,
        /// Priority whose packets it has.
        pub priority: u8,
        /// Its number at the port; 128 and the priority's where the priority has one queue beside others with several,
        /// as in `egress_queues.csv`.
        pub queue: u8,
        /// Bytes waiting in it.
        pub bytes: Bytes,
        /// Threshold of the queue, bytes; empty where the queue may fill all free buffer (CS, BSHARE).
        pub threshold: Option<Bytes> as threshold_bytes,
        /// Maximum queueing delay of a packet: theta of BSHARE. Empty elsewhere.
        pub longest_wait: Option<Nanos> as longest_wait_ns,
        /// Congested queues of its priority at the switch as last counted, with three decimals: `c_p` of BSHARE, `n_p`
        /// of ABM. Less than one counts as one. 0 elsewhere.
        congested: Decimal = |row| Decimal::new(row.congested_thousandths, 3),
        /// Congested queues of its priority at the switch, in thousandths.
        pub congested_thousandths: u32 as _,
    }

    /// Only with `results.held_flows`. One row per received pause of a single queue and flow in this queue at that
    /// instant. A pause of a queue that is already paused or empty has no rows, nor do flows whose packets arrive at
    /// the queue later.
    #[derive(Clone, Copy, Debug)]
    pub struct HeldFlowRow<'a> in "held_flows.csv" {
        /// Instant at which the pause came in.
        pub time: Nanos as time_ns,
        /// Switch or host whose queue it is.
        pub node: &'a str,
        /// Port of the queue.
        pub port: u16,
        /// Neighbour that paused it.
        pub by: &'a str,
        /// The queue, as in `queue_pauses.csv`.
        pub queue: u8,
        /// Number of the flow: at a switch it has packets in the queue; at a host the queue is its own, and it has data
        /// left to send.
        pub flow: u32,
    }
}
