//! The table of distributions of measures.

use crate::measurements::Measure;
use crate::share::Share;

tables! {
    /// Only with `results.distributions = true`. Distributions of headroom use, and of rates and pauses of paused
    /// ingress queues, over all switches: one row per value that occurred, ascending by measure and value. Values below
    /// 2048 are exact, larger values too low by less than 1/1024 (0.1 %).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DistributionRow in "distributions.csv" {
        /// `switch-headroom`: local maxima of the headroom in use in a switch, in 1/10000 of the headroom that the switch
        /// reserves (with adaptive headroom: reserves before the first measurement). A maximum counts when the use
        /// falls, or at the end of the run. `port-headroom`: local maxima of the headroom in use at a port, in 1/10000 of the reserve of
        /// all its ingress queues. `queue-headroom`: local maxima of the headroom in use by an ingress queue, in
        /// 1/10000 of its reserve, or under DSH of its port's insurance headroom. `queues-off`: lossless ingress queues
        /// of a switch in state OFF, weighted by the time for which the switch's headroom is in use; `port-queues-off`:
        /// lossless ingress queues of a port in state OFF, weighted by the time for which the port's headroom is in
        /// use. `arrival-rate`: Mbit/s of frames that arrive at a queue, from a decision to pause until the PAUSE must
        /// have taken effect: the time of two longest frames, of the PAUSE frame, of the response and of propagation in
        /// both directions. Headroom is dimensioned for this time; it counts in full even if the queue resumes earlier.
        /// `departure-rate`: Mbit/s of frames that leave the queue in this time. Both rates count frames with their
        /// headers when their last bit has arrived or their transmission begins, without the frame that triggers the
        /// PAUSE. `pause-duration`: nanoseconds from a decision to pause to the decision to resume, or to the run's
        /// end. All these measures count queues that are OFF themselves, also under DSH: each of these queues needs
        /// headroom of its own, and so the measures compare with schemes that reserve headroom by queue. A port that is
        /// OFF stops all its lossless priorities to protect its one insurance headroom, so it is measured as one unit.
        /// Under DSH only, `ports-off`, `port-arrival-rate`, `port-departure-rate` and `port-pause-duration` are the
        /// measures of ports; the rates add up all lossless priorities.
        pub measure: Measure,
        /// Value, in the unit of its measure.
        pub value: u64,
        /// Number of occurrences of the value. For `queues-off`, `port-queues-off` and `ports-off`: nanoseconds, summed
        /// over switches or ports.
        pub weight: u64,
        /// Share of the measure's weight in this row and all rows before it.
        cumulative: Share = |row| Share { part: row.up_to.into(), whole: row.total.into() },
        /// The weight of this row and all before it.
        pub up_to: u64 as _,
        /// The weight of all values.
        pub total: u64 as _,
    }
}
