//! Tables about flows.

use units::{BitsPerSecond, Bytes, Nanos};

use crate::fct_by_size::GroupTimes;
use crate::slowdown::Slowdown;

tables! {
    /// One row per flow.
    #[derive(Clone, Debug)]
    pub struct FlowRow<'a> in "flows.csv", counted {
        /// Number of the flow, from 0.
        pub flow: u32,
        /// Label of the scenario's entry that made the flow.
        pub label: &'a str,
        /// Sending host.
        pub src: &'a str,
        /// Receiving host.
        pub dst: &'a str,
        /// Priority of its data packets, 0 to 7.
        pub priority: u8,
        /// Payload bytes, headers not counted.
        pub bytes: Bytes,
        /// Instant at which the sender was given the flow.
        pub start: Nanos as start_ns,
        /// Flow completion time: from `start_ns` to the arrival of the last packet's ACK at the sender, rounded up.
        /// Empty if the flow did not complete.
        pub fct: Option<Nanos> as fct_ns,
        /// Ideal completion time: `fct_ns` of this flow alone in the fabric, without PAUSE, congestion control and
        /// retransmissions.
        pub ideal: Nanos as ideal_ns,
        /// `fct_ns / ideal_ns` with four decimals, rounded half up from integers. Empty if the flow did not complete.
        slowdown: Option<Slowdown> = |row| row.slowdown(),
        /// Data packets sent again, so far if it did not complete.
        pub retransmitted_packets: u64,
        /// Congestion notification packets its sender received, so far if it did not complete.
        pub cnps: u64,
        /// Transport of the flow: `roce-rc` or `tcp`.
        pub transport: &'static str,
        /// Congestion control of the flow, by its name in `transport.congestion_control`.
        pub congestion_control: &'static str,
        /// Nodes on the path of the flow's data, from the sender to the receiver, with `>` between them. The path is
        /// that of the run's start, before faults.
        pub path: String,
        /// True if the flow is meant to outlast the run: it then counts among the flows only if it completes.
        pub long_lived: bool as _,
        /// True if a switch has paused this flow at a neighbour. `None` if switches do not pause flows.
        pub congested: Option<bool> as _,
    }

    /// One row per bin of flow sizes (`results.flow_size_bins`) that has flows: first for all flows, then label by
    /// label. Percentiles are by nearest rank: exact in rows with up to 1024 completed flows, too low by less than
    /// 1/1024 (0.1 %) in the others.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FctBySizeRow in "fct_by_size.csv", counted {
        /// Label of the flows; empty in the rows for the flows of all labels.
        pub label: Option<String>,
        /// The flows' payloads are larger than this,
        pub above: Bytes as above_bytes,
        /// and at most this large. Empty in the last bin, which has no bound.
        pub up_to: Option<Bytes> as up_to_bytes,
        /// Number of flows, completed or not. Long-lived flows count only if they completed.
        pub flows: u64,
        /// Number of completed flows. The other columns describe these flows; they are empty if no flow completed.
        pub completed: u64,
        /// Mean of `slowdown` in `flows.csv`, exact.
        slowdown_mean: Option<Slowdown> = |row| row.times.map(|times| times.slowdown_mean),
        /// Median of the slowdown.
        slowdown_p50: Option<Slowdown> = |row| row.times.map(|times| times.slowdown_percentiles[0]),
        /// 95th percentile of the slowdown.
        slowdown_p95: Option<Slowdown> = |row| row.times.map(|times| times.slowdown_percentiles[1]),
        /// 99th percentile of the slowdown.
        slowdown_p99: Option<Slowdown> = |row| row.times.map(|times| times.slowdown_percentiles[2]),
        /// Largest slowdown, exact.
        slowdown_max: Option<Slowdown> = |row| row.times.map(|times| times.slowdown_max),
        /// Mean of `fct_ns` in `flows.csv`, exact.
        fct_mean_ns: Option<Nanos> = |row| row.times.map(|times| times.fct_mean),
        /// 99th percentile of the completion time.
        fct_p99_ns: Option<Nanos> = |row| row.times.map(|times| times.fct_p99),
        /// Times of the completed flows; `None` if no flow completed.
        pub times: Option<GroupTimes> as _,
    }

    /// Only with `results.throughput`. One row per interval and flow of which payload arrived in that interval; in
    /// order of time, then of flows. Intervals lie end to end from the run's start on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThroughputRow in "throughput.csv", counted {
        /// Start of the interval.
        pub start: Nanos as start_ns,
        /// Number of the flow, as in `flows.csv`.
        pub flow: u32,
        /// Payload bytes of the flow whose packets arrived at its receiver in the interval, whole and in order.
        /// Duplicates and packets behind a gap do not count.
        pub bytes: u64,
        /// `bytes` over the whole interval, rounded half up from integers, also where the flow or the run ended within
        /// it.
        pub rate: BitsPerSecond as bits_per_second,
    }

    /// Only with `results.flow_trace`. One row when a traced flow starts, and one per change of its `rate_bps`,
    /// `window_bytes` or `congestion`: after an ACK, NAK, CNP, loss, timeout or packet. A change by a timer appears at
    /// the next of these events, because nothing uses it earlier. In order of time; rows of a flow at one instant as
    /// they happened. At most `results.flow_trace.rows` rows: a trace that was cut there is named under `truncated` in
    /// `summary.json`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowTraceRow in "flow_trace.csv", counted {
        /// Instant of the change.
        pub time: Nanos as time_ns,
        /// Number of the flow, as in `flows.csv`.
        pub flow: u32,
        /// Rate at which the flow's packets may follow each other, in bits on the wire per second; the line rate where
        /// nothing is paced.
        pub rate: BitsPerSecond as rate_bps,
        /// Payload bytes that may be unacknowledged: the congestion control's window or the transport's `window`,
        /// whichever is less. Empty without either.
        pub window: Option<Bytes> as window_bytes,
        /// Last round trip that the sender's NIC measured, from the start of a packet to the arrival of its ACK,
        /// rounded up; of packets that were sent once or, over TCP, whose last transmission is answered. Empty before
        /// the first.
        pub round_trip: Option<Nanos> as rtt_ns,
        /// Congestion as the congestion control estimates it, in millionths, rounded down. DCQCN: alpha as of the last
        /// CNP, or with a clock of cuts as of its last cut; DCTCP: alpha; HPCC: the utilisation U; rtt-target: the last
        /// round trip as a part of the target; PowerTCP and theta-PowerTCP: the smoothed power, 1000000 of a link that
        /// is just full; TIMELY: the normalised gradient, which may be negative, rounded towards zero. Empty for
        /// others.
        pub congestion_millionths: Option<i64> as congestion,
        /// Payload bytes that count against the window. Go-back-N: sent since it last went back, and not acknowledged.
        /// Selective repeat: from the oldest unacknowledged packet to the newest sent, and 0 while one is to be sent
        /// again. TCP: segments in flight (`pipe` of RFC 6675), each as a full one.
        pub outstanding: Bytes as outstanding_bytes,
    }
}

impl FlowRow<'_> {
    /// `fct / ideal`, if it completed.
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.fct.map(|fct| Slowdown::new(fct, self.ideal))
    }
}
