//! Tables about hop control other than PFC: pauses of queues and of flows, and rates.

use units::{BitsPerSecond, Bytes, Nanos};

tables! {
    /// Only with `switch.scheme` of kind `bfc`. One row per decision to pause or to resume a queue of a neighbour.
    #[derive(Clone, Copy, Debug)]
    pub struct QueuePauseRow<'a> in "queue_pauses.csv", counted {
        /// Instant of the decision. The frame leaves when the port is free.
        pub time: Nanos as time_ns,
        /// Switch that decided.
        pub node: &'a str,
        /// Port to the neighbour.
        pub port: u16,
        /// The neighbour.
        pub peer: &'a str,
        /// The neighbour's queue, as in `egress_queues.csv`; of a host, its NIC's.
        pub queue: u8,
        /// `xoff` (stop) or `xon` (go on).
        event: &'static str = |row| event(row.paused),
        /// Of an `xoff`, length of the switch's egress queue that a packet of the neighbour's queue has joined, this
        /// packet included. Of an `xon`, length of the queue that the last such packet has left.
        pub length: Bytes as length_bytes,
        /// Pause threshold of that queue at that instant.
        pub threshold: Bytes as threshold_bytes,
        /// True for a pause, false for a resume.
        pub paused: bool as _,
    }

    /// Only with `switch.scheme` of kind `ofc`. One row per flow and decision to pause or to resume it at a
    /// neighbour. Repetitions (`repeat`) have no rows.
    #[derive(Clone, Copy, Debug)]
    pub struct FlowPauseRow<'a> in "flow_pauses.csv" {
        /// Instant of the decision. The frame leaves when the port is free.
        pub time: Nanos as time_ns,
        /// Switch that decided.
        pub node: &'a str,
        /// Ingress port from the neighbour.
        pub port: u16,
        /// The neighbour.
        pub peer: &'a str,
        /// Priority of the flow, 0 to 7.
        pub priority: u8,
        /// Name of the flow in the frame: 32 bits of a hash of its five-tuple.
        pub name: u32,
        /// Flow as in `flows.csv`; if several have this name, the last that started. Empty if the name belongs to
        /// packets other than a flow's data, such as ACKs.
        pub flow: Option<u32>,
        /// `xoff` (stop) or `xon` (go on).
        event: &'static str = |row| event(row.paused),
        /// Bytes of the ingress queue in the shared pool and in headroom; for an `xoff` including the packet that
        /// arrived.
        pub occupancy: Bytes as occupancy_bytes,
        /// Of an `xoff` X_off^c, of an `xon` X_on at that instant.
        pub threshold: Bytes as threshold_bytes,
        /// True for a pause, false for a resume.
        pub paused: bool as _,
    }

    /// Only with `switch.scheme` of kind `gfc` or `gfc-ofc`. One row per rate that a switch sends to a neighbour. At
    /// first all send at the rate of their links.
    #[derive(Clone, Copy, Debug)]
    pub struct RateRow<'a> in "rates.csv" {
        /// Instant of the decision. The frame leaves when the port is free.
        pub time: Nanos as time_ns,
        /// Switch that decided.
        pub node: &'a str,
        /// Its ingress port.
        pub port: u16,
        /// Receiver: the neighbour at that port.
        pub peer: &'a str,
        /// Priority that the rate is for, 0 to 7.
        pub priority: u8,
        /// Rate from then on, in bits on the wire per second. Empty for the rate of the link.
        pub rate: Option<BitsPerSecond> as rate_bps,
        /// Bytes of the ingress queue in the shared pool and in headroom.
        pub occupancy: Bytes as occupancy_bytes,
        /// Bytes in the shared pool at which this rate begins; 0 for the rate of the link.
        pub threshold: Bytes as threshold_bytes,
    }
}

const fn event(paused: bool) -> &'static str {
    if paused { "xoff" } else { "xon" }
}
