//! Tables about drops, storms, faults and deadlocks.

use fabric_core::drop_reason::{DropClass, DropReason};
use fabric_core::watchdog::Traffic;
use units::{Bytes, Nanos};

use crate::deadlock::DeadlockMember;

tables! {
    /// One row per dropped or lost frame.
    #[derive(Clone, Copy, Debug)]
    pub struct DropRow<'a> in "drops.csv", counted {
        /// Instant of the drop.
        pub time: Nanos as time_ns,
        /// Switch or host that dropped it, or wire that lost it.
        pub node: &'a str,
        /// Ingress port; empty for a frame that a host or a wire has lost.
        pub port: Option<u16>,
        /// Priority; empty where it was not known.
        pub priority: Option<u8>,
        /// Name of the reason.
        reason: &'static str = |row| row.reason.name(),
        /// `policy` (the buffer's rules), `frame` (malformed, or not for this switch), `ignored` (a control frame
        /// without effect: not a loss), `substrate` (the machine below the emulation), `injected` (a fault the scenario
        /// asked for) or `watchdog` (`switch.watchdog`, in a PFC storm).
        class: DropClass = |row| row.reason.class(),
        /// Frame length, FCS not counted.
        pub bytes: Bytes,
        /// Reason of the drop.
        pub reason: DropReason as _,
    }

    /// Only with `switch.watchdog`. One row per PFC storm that a switch has detected, in the order in which the storms
    /// ended; storms that lasted until the run's end come last.
    #[derive(Clone, Copy, Debug)]
    pub struct WatchdogRow<'a> in "watchdog.csv", counted {
        /// Instant of the detection.
        pub detected: Nanos as detected_ns,
        /// End of the storm; empty if it lasted until the run's end.
        pub restored: Option<Nanos> as restored_ns,
        /// The switch.
        pub node: &'a str,
        /// Port that its neighbour paused without end.
        pub port: u16,
        /// The neighbour.
        pub peer: &'a str,
        /// The priority that was paused.
        pub priority: u8,
        /// Action of the watchdog: `drop`, `forward` or `alert` (none).
        pub action: &'a str,
        /// Packets of the priority that waited at the port at the detection.
        waiting_packets: u64 = |row| row.waiting.packets,
        /// Their bytes.
        waiting_bytes: u64 = |row| row.waiting.bytes,
        /// Packets of the priority that were to leave by the port and were dropped during the storm, including the
        /// waiting packets: `watchdog-egress` in `drops.csv`.
        egress_dropped_packets: u64 = |row| row.egress_dropped.packets,
        /// Their bytes.
        egress_dropped_bytes: u64 = |row| row.egress_dropped.bytes,
        /// Packets of the priority that came in by the port and were dropped during the storm: `watchdog-ingress` in
        /// `drops.csv`.
        ingress_dropped_packets: u64 = |row| row.ingress_dropped.packets,
        /// Their bytes.
        ingress_dropped_bytes: u64 = |row| row.ingress_dropped.bytes,
        /// Packets of the priority that the port sent during the storm in spite of pauses.
        forwarded_packets: u64 = |row| row.forwarded.packets,
        /// Their bytes.
        forwarded_bytes: u64 = |row| row.forwarded.bytes,
        /// Packets that waited at the detection.
        pub waiting: Traffic as _,
        /// Packets dropped that were to leave by the port.
        pub egress_dropped: Traffic as _,
        /// Packets dropped that came in by the port.
        pub ingress_dropped: Traffic as _,
        /// Packets sent in spite of the storm.
        pub forwarded: Traffic as _,
    }

    /// Only with `[[faults]]`. One row per fault and wire: the frames that the fault affected.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FaultRow in "faults.csv" {
        /// Place of the fault in the scenario, from 0.
        pub fault: u32,
        /// Its kind: `loss`, `corrupt`, `delay`, `rate` or `down`.
        pub kind: &'static str,
        /// The wire.
        pub wire: String,
        /// Frames that the fault's `match` selects and whose transmission began while the fault lasted (and the wire
        /// was down). With `numbers` of ns-3 losses are drawn for frames that arrive. Under `dialect = "hpcc-ns3"` a
        /// `down` has the frames that it lost, waiting ones among them.
        pub seen: u64,
        /// Frames that the fault lost, damaged, delayed or slowed. A frame that several faults lose counts for the
        /// first of them; a lost frame does not count as damaged.
        pub frames: u64,
        /// Time that a `delay` added to these frames on the wire, or that a `rate` added to their transmission; the
        /// sum, rounded up. Time spent waiting behind delayed frames does not count.
        pub added: Nanos as added_ns,
        /// Maximum time that was added to one frame.
        pub most_added: Nanos as most_added_ns,
    }

    /// One row per cycle of paused egress queues of switches, each of which waits for the next: the ingress queue that
    /// pauses it holds packets that lie in the next one. Where a port pauses it (DSH), packets of all lossless
    /// priorities that came in by the port count, so queues of several priorities may wait for each other. Rows are in
    /// the order in which cycles dissolve; cycles that lasted until the run's end come last. A cycle begins once its
    /// PAUSE frames have taken effect: response time, longest frame and propagation after their reception.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeadlockRow<'a> in "deadlocks.csv", counted {
        /// Number of the cycle, from 0, in the order of discovery.
        pub cycle: u32 as circle,
        /// Instant at which the cycle closed: the latest reception of one of its PAUSE frames (of queues or ports), or
        /// the latest arrival of one of the packets for which its queues wait.
        pub onset: Nanos as onset_ns,
        /// Instant at which the deadlock is proven. Then every packet of the ingress queues that pause the cycle's members
        /// waits in a stuck egress queue, and no further packet is on its way to these ingress queues. So no packet will leave,
        /// and no queue will resume. With `resume_test = "refresh"` a queue may also resume because its threshold has
        /// risen, so it must hold headroom of its own, or stay above X_on even after every queue that can drain has
        /// left the shared pool. Where only a port pauses a member, all this must hold for all lossless queues of the
        /// port. The port may also resume when the rest of the switch drains, so it must stay above X_pon then, or have
        /// insurance headroom that cannot become empty. The test runs when a cycle is found, every 10 us and at the
        /// run's end. Empty for cycles that could still dissolve.
        pub confirmed: Option<Nanos> as confirmed_ns,
        /// Instant at which a queue of the cycle resumed, or, in a cycle that was not confirmed, a port that made a
        /// queue wait; empty if the cycle lasted until the run's end. A confirmed cycle ends only if a PAUSE runs out
        /// because its refreshes were lost or late, or if a watchdog acts (`switch.watchdog`).
        pub end: Option<Nanos> as end_ns,
        /// Wires of the egress queues, in the order of waiting: each queue waits for the next, and the last for the
        /// first. Separated by spaces.
        queues: String = |row| row.listed(|member| member.wire),
        /// Paused priority of each queue, in the order of `queues`.
        priorities: String = |row| row.listed(|member| member.priority),
        /// Reason why each queue waits for the next, in the order of `queues`, as of the confirmation or the last test.
        /// `queue`: the ingress queue that pauses it is OFF and holds packets in the next queue. `port`: the port
        /// pauses it (DSH). `flow-queue-5`: the switch at the wire's end has paused queue 5 by itself, and counts a
        /// packet for queue 5 that lies in the next queue (`switch.scheme` of kind `bfc`). `flows`: the switch at the
        /// wire's end has paused flows, and more than X_on of its ingress queue are packets that never leave, some of
        /// them packets of flows paused in the next queue. Cycles with `flow-queue` or `flows` have a row only if they
        /// are deadlocks; their `onset_ns` is the instant of the test that found them.
        levels: String = |row| row.listed(|member| member.cause),
        /// 1 if the cycle would also be a deadlock with `resume_test = "refresh"`, whatever the run's setting; 0 if it
        /// would dissolve, or could when the row was written.
        pub survives_refresh: bool,
        /// The cycle's egress queues, in the order of waiting.
        pub members: &'a [DeadlockMember<'a>] as _,
    }
}
