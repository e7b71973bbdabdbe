//! Tables about links, ports and buffers over the whole run.

use units::{BitsPerSecond, Bytes, Nanos, Picos};

use crate::counter::Counter;
use crate::queue::QueueKind;
use crate::share::Share;

tables! {
    /// One row per wire, which is one direction of a link.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LinkRow in "links.csv" {
        /// The wire, as captures and faults name it.
        pub wire: String,
        /// Host or switch that sends on it.
        pub from: String,
        /// Host or switch at its other end.
        pub to: String,
        /// Rate of the wire, bits per second.
        pub rate: BitsPerSecond as rate_bps,
        /// Frames whose transmission began, of all kinds.
        pub frames: u64,
        /// Sum of the frames' lengths, bytes without FCS.
        pub bytes: u64,
        /// Bytes with preamble, FCS and gap, if the scenario counts these (`frames`).
        pub wire_bytes: u64,
        /// `wire_bytes` as a share of what the wire carries until the run's end, which counts in picoseconds here
        /// (`emulated_ns` in `summary.json` is rounded down), six decimals, rounded down. A frame in transmission at
        /// the run's end counts in full.
        utilisation: Share = |row| utilisation(row.wire_bytes, row.rate, row.end),
        /// Frames that `[[faults]]` lost.
        pub lost: u64,
        /// Frames that arrived with a wrong FCS, by `[[faults]]`.
        pub damaged: u64,
        /// The run's end.
        pub end: Picos as _,
    }

    /// Only with `results.link_priorities`. One row per wire and priority with frames; the rows of a wire add up to its
    /// row in `links.csv`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LinkPriorityRow in "link_priorities.csv" {
        /// The wire, as captures and faults name it.
        pub wire: String,
        /// Host or switch that sends on it.
        pub from: String,
        /// Host or switch at its other end.
        pub to: String,
        /// Priority of the packets; empty for frames between neighbours, such as PAUSE, which have no priority.
        pub priority: Option<u8>,
        /// Frames whose transmission began.
        pub frames: u64,
        /// Sum of the frames' lengths, bytes without FCS.
        pub bytes: u64,
        /// Bytes with preamble, FCS and gap, if the scenario counts these (`frames`).
        pub wire_bytes: u64,
        /// `wire_bytes` as a share of what the wire carries in the run, as in `links.csv`.
        utilisation: Share = |row| utilisation(row.wire_bytes, row.rate, row.end),
        /// Packets that carried an ECN mark (CE), whichever switch set it.
        pub marked: u64 as ecn_marked,
        /// Frames that `[[faults]]` lost.
        pub lost: u64,
        /// Frames that arrived with a wrong FCS, by `[[faults]]`.
        pub damaged: u64,
        /// Packets that came by the wire and that the switch at its end dropped, at arrival or later.
        pub dropped: u64,
        /// The wire's rate.
        pub rate: BitsPerSecond as _,
        /// The run's end.
        pub end: Picos as _,
    }

    /// One row per node, port, priority and counter; a counter that is 0 has no row. Names are SAI's names of
    /// statistics, as SONiC shows them; `n` is the priority. `PFC_n_TX_PKTS` and `PFC_n_RX_PKTS`: PFC frames that the
    /// port sent and received in full and that paused the priority, refreshes included. `PFC_n_TX_XON_PKTS` and
    /// `PFC_n_RX_XON_PKTS`: PFC frames that resumed the priority. A frame may name several priorities. Decisions
    /// (`pauses.csv`) that were superseded before their frame was sent are not counted. `PFC_n_TX_PAUSE_DURATION_NS`:
    /// time for which the port paused its neighbour (`ordered_ns` in `pause_time.csv`); `PFC_n_RX_PAUSE_DURATION_NS`:
    /// time for which the neighbour paused the port (`paused_ns`). `PG_n_DROPPED_PACKETS`: received frames of the
    /// priority that were dropped (`drops.csv`). With `results.queue_counters` of switches also `QUEUE_n_PACKETS` and
    /// `QUEUE_n_BYTES`: packets that left the queues of the priority, including packets dropped at their departure, and
    /// their bytes; `QUEUE_n_WRED_ECN_MARKED_PACKETS`: packets that this switch marked first (`ecn_marked` in
    /// `summary.json` is the sum); `QUEUE_n_SHARED_WATERMARK_BYTES`: maximum of the bytes that waited in these queues;
    /// `PG_n_SHARED_WATERMARK_BYTES` and `PG_n_XOFF_ROOM_WATERMARK_BYTES`: maximum of the bytes of the shared pool and
    /// of headroom that packets of the priority from this port held. Watermarks are exact, not sampled.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CounterRow in "counters.csv", counted {
        /// Host or switch.
        pub node: String,
        /// Its port.
        pub port: u16,
        /// The neighbour there.
        pub peer: String,
        /// Priority, 0 to 7.
        pub priority: u8,
        /// Name of the counter.
        counter: String = |row| row.counter.name(row.priority),
        /// Frames, bytes or nanoseconds, as the name says.
        pub value: u64,
        /// The counter.
        pub counter: Counter as _,
    }

    /// Only with `results.occupancy`. Buffer occupancy of each switch, weighted by time over the whole run: each level
    /// counts for its duration, from one arrival or departure to the next. Nothing is sampled. Percentiles below 256 B
    /// are exact, larger ones too low by less than 1/128 (0.8 %).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OccupancyRow in "occupancy.csv", counted {
        /// Switch.
        pub node: String,
        /// `buffer` (all bytes the switch holds) or its parts `shared` and `headroom`.
        pub kind: QueueKind,
        /// Mean, rounded half up from an exact sum.
        pub mean: Bytes as mean_bytes,
        /// Level that was not exceeded half of the time.
        p50_bytes: Bytes = |row| row.percentiles[0],
        /// Level that was not exceeded 90 % of the time.
        p90_bytes: Bytes = |row| row.percentiles[1],
        /// Level that was not exceeded 99 % of the time.
        p99_bytes: Bytes = |row| row.percentiles[2],
        /// Level that was not exceeded 99.9 % of the time.
        p999_bytes: Bytes = |row| row.percentiles[3],
        /// Highest level, exact, however short.
        pub max: Bytes as max_bytes,
        /// Levels that were not exceeded for 50, 90, 99 and 99.9 % of the time.
        pub percentiles: [Bytes; 4] as _,
    }

    /// Only with headroom of kind `adaptive` and a lossless priority. One row per exchange of link delay frames that
    /// ended with a response, and one per request that follows ten or more exchanges in a row without one.
    #[derive(Clone, Copy, Debug)]
    pub struct LinkDelayRow<'a> in "link_delay.csv", counted {
        /// Arrival of the response; instant of the request, if there was none.
        pub time: Nanos as time_ns,
        /// Switch that measured.
        pub node: &'a str,
        /// Its port.
        pub port: u16,
        /// The neighbour at that port.
        pub peer: &'a str,
        /// Measured delay of the link: the mean of both ways without the neighbour's own time, rounded up. Stamps are
        /// whole nanoseconds, so the error is at most 1 ns. Empty without a response: the queues then return to the
        /// configured headroom.
        pub link_delay: Option<Nanos> as link_delay_ns,
        /// Response time to a PAUSE that the neighbour declares. Empty without a response.
        pub response: Option<Nanos> as response_ns,
        /// Headroom of each lossless ingress queue of the port from now on. It exceeds the measured need while a queue
        /// holds more, and is below it while the shared pool has too few free bytes.
        pub headroom: Bytes as headroom_bytes,
    }
}

/// Share of the bits that a wire carries in the run.
fn utilisation(wire_bytes: u64, rate: BitsPerSecond, end: Picos) -> Share {
    Share {
        part: u128::from(wire_bytes) * 8_000_000_000_000,
        whole: u128::from(rate.0) * u128::from(end.0),
    }
}
