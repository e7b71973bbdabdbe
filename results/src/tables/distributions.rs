//! The table of distributions of measures.

use crate::measurements::Measure;
use crate::share::Share;

tables! {
    /// Only with `results.distributions = true`. How headroom is used and what happens to paused ingress queues, over
    /// all switches: one row per value that occurred, ascending by measure and value. Values below 2048 are exact, the
    /// others too low by less than 1/1024 (0.1 %).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DistributionRow in "distributions.csv" {
        /// `switch-headroom`: each local maximum of the headroom in use in a switch, in 1/10000 of all headroom that it
        /// reserves, with adaptive headroom before the first measurement (a maximum is passed when the use falls, or
        /// the run ends). `port-headroom`: the same for all ingress queues of a port, in 1/10000 of what they reserve
        /// together. `queue-headroom`: the same for one ingress queue, in 1/10000 of its own reserve, or under DSH of
        /// its port's insurance headroom. `queues-off`: lossless ingress queues of a switch in state OFF, weighted by
        /// the time for which its headroom is in use; `port-queues-off`: the same for a port. `arrival-rate`: Mbit/s of
        /// frames that come to a queue, from a decision to pause until the PAUSE must have taken effect: two longest
        /// frames, the PAUSE itself, the response time and both ways' propagation. That is the time for which its
        /// headroom is meant, and it counts whole, also if the queue resumes before. `departure-rate`: Mbit/s of frames
        /// that leave the queue in that time. Both count frames with their headers when their last bit has come in or
        /// their transmission begins, and not the one that triggers the PAUSE. `pause-duration`: nanoseconds from a
        /// decision to pause to the decision to resume, or to the run's end. All these are of queues that are OFF
        /// themselves, also under DSH: each is one that asks for headroom of its own, which is what is compared with
        /// the scheme that reserves it by queue. A port that is OFF stops all its lossless priorities for the sake of
        /// its one insurance headroom, however many of its queues ask for it. It is measured as one, under DSH only:
        /// `ports-off`, `port-arrival-rate`, `port-departure-rate` and `port-pause-duration` are the same of ports, the
        /// rates those of all lossless priorities together.
        pub measure: Measure,
        /// Value, in the unit of its measure.
        pub value: u64,
        /// How often it occurred; nanoseconds summed over switches or ports for `queues-off`, `port-queues-off` and
        /// `ports-off`.
        pub weight: u64,
        /// Share of the measure's weight in this row and those before it.
        cumulative: Share = |row| Share { part: row.up_to.into(), whole: row.total.into() },
        /// The weight of this row and all before it.
        pub up_to: u64 as _,
        /// The weight of all values.
        pub total: u64 as _,
    }
}
