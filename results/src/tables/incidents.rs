//! Tables about drops, storms, faults and deadlocks.

use fabric_core::drop_reason::{DropClass, DropReason};
use fabric_core::watchdog::Traffic;
use units::{Bytes, Nanos};

use crate::deadlock::DeadlockMember;

tables! {
    /// One row per frame that went no further.
    #[derive(Clone, Copy, Debug)]
    pub struct DropRow<'a> in "drops.csv", counted {
        /// Instant of the drop.
        pub time: Nanos as time_ns,
        /// Switch or host that dropped it, or wire that lost it.
        pub node: &'a str,
        /// Ingress port; empty where there is none.
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

    /// Only with `switch.watchdog`. One row per PFC storm that a switch has detected, in the order in which they were
    /// over, and at the end those that the run's end found.
    #[derive(Clone, Copy, Debug)]
    pub struct WatchdogRow<'a> in "watchdog.csv", counted {
        /// When it was detected.
        pub detected: Nanos as detected_ns,
        /// When it was over; empty if it lasted until the run's end.
        pub restored: Option<Nanos> as restored_ns,
        /// The switch.
        pub node: &'a str,
        /// The port whose neighbour paused it without end.
        pub port: u16,
        /// The neighbour.
        pub peer: &'a str,
        /// The priority that was paused.
        pub priority: u8,
        /// What the watchdog did: `drop`, `forward` or `alert` (nothing).
        pub action: &'a str,
        /// Packets of the priority that waited at the port when it was detected.
        waiting_packets: u64 = |row| row.waiting.packets,
        /// Their bytes.
        waiting_bytes: u64 = |row| row.waiting.bytes,
        /// Packets of the priority that were to leave by the port and were dropped during the storm, those that waited
        /// included: `watchdog-egress` in `drops.csv`.
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

    /// Only with `[[faults]]`. What each fault has done: one row per wire that it is on.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FaultRow in "faults.csv" {
        /// Place of the fault in the scenario, from 0.
        pub fault: u32,
        /// Its kind: `loss`, `corrupt`, `delay`, `rate` or `down`.
        pub kind: &'static str,
        /// The wire.
        pub wire: String,
        /// Frames whose transmission began while the fault lasted (and the wire was down), and that its `match` is for.
        pub seen: u64,
        /// Those of them that it took, damaged, delayed or slowed. One that several faults take counts for the first of
        /// them; one that is lost does not count as damaged.
        pub frames: u64,
        /// What a `delay` added to the times of these frames on the wire, or a `rate` to the times for which they
        /// occupied the port; in all, rounded up. Waiting behind frames that are delayed is not in it.
        pub added: Nanos as added_ns,
        /// The most of it that one frame got.
        pub most_added: Nanos as most_added_ns,
    }

    /// One row per cycle of paused egress queues of switches, each of which waits for the next: the ingress queue that
    /// pauses it holds packets that lie in the next one. Where a port pauses it (DSH), that counts for packets of all
    /// lossless priorities that came in by the port, so that queues of several priorities may wait for each other. Rows
    /// come as cycles dissolve, at last those that the run's end found. A cycle counts from when the PAUSE frames
    /// have taken effect: response time, longest frame and propagation after they were received.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DeadlockRow<'a> in "deadlocks.csv", counted {
        /// Its number, from 0, in the order of their discovery.
        pub cycle: u32 as circle,
        /// When the cycle closed: the latest of the receptions of its PAUSE frames, those of ports included, and of
        /// the arrivals of the packets by which each queue waits for the next.
        pub onset: Nanos as onset_ns,
        /// When it was certain that this is a deadlock: every packet in the ingress queues that pause its members lies
        /// in a queue that is stuck like them, and nothing more is on its way to them, so that no packet will leave and
        /// none of them will resume. With `resume_test = "refresh"` a queue may also resume because its threshold has
        /// risen, so it must hold headroom of its own, or stay above X_on even after every queue that can drain has
        /// left the shared pool. Where only a port pauses a member, all this holds of all the port's lossless queues;
        /// and as it may also resume when the rest of the switch drains, it must stay above X_pon then, or have
        /// insurance headroom that cannot become empty. Looked at when a cycle is found, every 10 us and at the run's
        /// end. Empty of cycles that could still dissolve.
        pub confirmed: Option<Nanos> as confirmed_ns,
        /// When one of its queues resumed, or, in a cycle that was not confirmed, a port because of which a queue
        /// waited for the next; empty if it lasted until the run's end. A confirmed cycle ends only if a PAUSE runs
        /// out because its refreshes were lost or late, or if a watchdog acts (`switch.watchdog`).
        pub end: Option<Nanos> as end_ns,
        /// The wires that its egress queues send on, in the order of waiting, the last waiting for the first, separated
        /// by spaces.
        queues: String = |row| row.listed(|member| member.wire),
        /// Paused priority of each of them, in the same order.
        priorities: String = |row| row.listed(|member| member.priority),
        /// Why each of them waits for the next, in the same order: `queue` if the ingress queue that pauses it is OFF
        /// and holds packets there, `port` if the port pauses it (DSH); as of when the cycle was confirmed or last
        /// looked at. `flow-queue-5`: the switch at the wire's end has paused queue 5 by itself, and counts a packet
        /// for that which lies in the next one (`switch.scheme` of kind `bfc`). `flows`: it has paused flows, and more than
        /// X_on of its ingress queue are packets that never leave, some of them of flows paused in the next one. Of
        /// cycles with one of these two only deadlocks have a row; `onset_ns` is the look that found it.
        levels: String = |row| row.listed(|member| member.cause),
        /// 1 if it is a deadlock with `resume_test = "refresh"`, too, whatever the run has; 0 if it would dissolve, or
        /// could as far as was known when the row was written.
        pub survives_refresh: bool,
        /// The cycle's egress queues, in the order of waiting.
        pub members: &'a [DeadlockMember<'a>] as _,
    }
}
