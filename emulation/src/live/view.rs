//! How a live fabric is at one instant.

use std::collections::BTreeMap;
use std::fmt;

use results::{Lateness, counted, span};
use serde::{Deserialize, Serialize};
use switch_user::switch::Traffic;
use units::Nanos;

use super::clock::Fidelity;
use super::impairment::Impairment;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Emulated time since the fabric is up.
    pub emulated_ns: u64,
    /// How well it keeps up with the wall clock.
    pub fidelity: Fidelity,
    /// Flows that are under way.
    pub active_flows: u64,
    /// Flows that are done.
    pub completed_flows: u64,
    /// Frames that have crossed a wire.
    pub packet_hops: u64,
    /// Where results go at the end, if the fabric leaves some.
    pub results: Option<ResultsView>,
    /// In the order of the scenario.
    pub switches: Vec<SwitchView>,
    /// In the order of the scenario.
    pub hosts: Vec<HostView>,
    /// What watchdogs have told of PFC storms lately, the latest last.
    pub storm_events: Vec<StormEvent>,
}

/// What users and faults make of a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireView {
    /// Whether it carries frames.
    pub is_up: bool,
    /// Whether it goes down and comes up by itself.
    pub is_flapping: bool,
    /// Whether routes avoid its link.
    pub is_avoided: bool,
    /// What is set on it.
    pub impairment: Impairment,
    /// Frames that were lost on it.
    pub lost_frames: u64,
    /// Frames that arrived at its end with a wrong FCS.
    pub damaged_frames: u64,
}

/// The results that a fabric leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsView {
    /// The folder that they go to.
    pub folder: String,
    /// Why there will be none after all.
    pub stopped: Option<String>,
}

/// How punctual a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFidelity {
    /// Whether 99 of 100 deadlines were met soon enough in the last one or two seconds.
    pub is_good: bool,
    /// Deadlines in that time.
    pub recent: Lateness,
    /// Deadlines since the fabric is up.
    pub all: Lateness,
}

/// A switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchView {
    /// Its name.
    pub name: String,
    /// Bytes that it holds.
    pub buffer_bytes: u64,
    /// The most that it has held.
    pub most_buffer_bytes: u64,
    /// Bytes that it can hold.
    pub capacity_bytes: u64,
    /// Packets that were marked by ECN.
    pub ecn_marked: u64,
    /// Frames that were dropped, by reason.
    pub drops: BTreeMap<String, u64>,
    /// How punctual it is.
    pub fidelity: NodeFidelity,
    /// By number.
    pub ports: Vec<PortView>,
    /// The ports and priorities that have seen PFC storms; empty without a watchdog.
    pub storms: Vec<StormView>,
}

/// A port and a priority that have seen PFC storms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormView {
    /// The port.
    pub port: u16,
    /// The neighbour there.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// Whether there is a storm now.
    pub is_present: bool,
    /// Storms that were detected.
    pub detected: u64,
    /// Storms that are over.
    pub restored: u64,
    /// What all of them have cost.
    pub counts: StormCounts,
}

/// How long a host goes on pausing a priority, whatever it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormSpan {
    /// The priority.
    pub priority: u8,
    /// Emulated time, in picoseconds; none: until the storm is ended.
    pub left_ps: Option<u64>,
}

/// What has become of packets in storms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormCounts {
    /// Packets that were to leave by the port and were dropped.
    pub egress_dropped_packets: u64,
    /// Their bytes.
    pub egress_dropped_bytes: u64,
    /// Packets that came in by the port and were dropped.
    pub ingress_dropped_packets: u64,
    /// Their bytes.
    pub ingress_dropped_bytes: u64,
    /// Packets that were sent in spite of pauses.
    pub forwarded_packets: u64,
    /// Their bytes.
    pub forwarded_bytes: u64,
}

impl StormCounts {
    /// What was dropped on the way out and on the way in, and what was forwarded.
    pub(crate) const fn of([egress, ingress, forwarded]: [Traffic; 3]) -> Self {
        Self {
            egress_dropped_packets: egress.packets,
            egress_dropped_bytes: egress.bytes,
            ingress_dropped_packets: ingress.packets,
            ingress_dropped_bytes: ingress.bytes,
            forwarded_packets: forwarded.packets,
            forwarded_bytes: forwarded.bytes,
        }
    }
}

impl fmt::Display for StormCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packets = [
            (self.egress_dropped_packets, "dropped on the way out"),
            (self.ingress_dropped_packets, "dropped on the way in"),
            (self.forwarded_packets, "sent in spite of pauses"),
        ];
        let mut separator = "";
        for (packets, what) in packets.into_iter().filter(|(packets, _)| *packets > 0) {
            write!(f, "{separator}{} {what}", counted(packets, "packet"))?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("no packet dropped") } else { Ok(()) }
    }
}

/// What a watchdog tells of a PFC storm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormEvent {
    /// When, in nanoseconds of emulated time.
    pub time_ns: u64,
    /// The switch.
    pub switch: String,
    /// The port.
    pub port: u16,
    /// The neighbour there, who pauses it without end.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// "drop", "forward" or "alert".
    pub action: String,
    /// Whether the storm is over; otherwise it has been detected.
    pub is_over: bool,
    /// What waited when it was detected.
    pub waiting_packets: u64,
    /// What it has cost so far.
    pub counts: StormCounts,
}

impl fmt::Display for StormEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time_ns, switch, peer, priority, action, waiting_packets, counts, .. } = self;
        let time = span(Nanos(*time_ns));
        if self.is_over {
            write!(
                f,
                "{time}: {switch}: the storm of {peer} in priority {priority} is over: {counts}"
            )
        } else {
            let waited = counted(*waiting_packets, "packet");
            write!(
                f,
                "{time}: {switch}: PFC storm of {peer} in priority {priority}, action {action}: {waited} waited, {counts}"
            )
        }
    }
}

/// A port of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortView {
    /// The node at the other end.
    pub peer: String,
    /// The name of the wire out of the port.
    pub wire: String,
    /// Line rate in bit/s.
    pub rate_bps: u64,
    /// Frames whose transmission has begun.
    pub sent_frames: u64,
    /// Frames that have come in.
    pub received_frames: u64,
    /// The wire out of the port.
    #[serde(flatten)]
    pub wire_state: WireView,
    /// The time that frames out of the port have taken, in bytes: their own, and those around them on the wire.
    pub sent_bytes: u64,
    /// The same of frames that have come in.
    pub received_bytes: u64,
    /// Packets that wait to be sent.
    pub queued_packets: u64,
    /// Bytes that wait to be sent, by priority.
    pub queued_bytes: [u64; 8],
    /// Bytes in the buffer that came in at the port, by priority.
    pub ingress_bytes: [u64; 8],
    /// Priorities that the neighbour has paused.
    pub paused: Vec<u8>,
    /// PAUSE frames of the neighbour, by the priorities that they stop; renewals count.
    pub pause_frames: [u64; 8],
    /// How long they have stopped each priority, in nanoseconds of emulated time.
    pub paused_ns: [u64; 8],
    /// If the scheme has victims (SPFC), the lossless priorities in which what comes in is a victim's: all or none of them,
    /// unless each has a state of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<Vec<u8>>,
}

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// The switch at the other end of its link.
    pub peer: String,
    /// The name of the wire to it.
    pub wire: String,
    /// The link's rate in bit/s.
    pub rate_bps: u64,
    /// Frames that its NIC has sent.
    pub sent_frames: u64,
    /// Frames that came in.
    pub received_frames: u64,
    /// The wire to its switch.
    #[serde(flatten)]
    pub wire_state: WireView,
    /// The time that frames of its NIC have taken, in bytes: their own, and those around them on the wire.
    pub sent_bytes: u64,
    /// The same of frames that came in.
    pub received_bytes: u64,
    /// Frames that programs have sent.
    pub program_frames_sent: u64,
    /// Frames that programs were handed.
    pub program_frames_received: u64,
    /// Frames of programs that wait for the port.
    pub program_frames_waiting: u64,
    /// Frames of programs that were dropped because they are longer than any of the fabric.
    pub program_frames_too_long: u64,
    /// Frames of programs that were dropped while their priority was paused, because too many waited.
    pub program_frames_dropped: u64,
    /// How punctual it is.
    pub fidelity: NodeFidelity,
    /// Priorities that the switch has paused.
    pub paused: Vec<u8>,
    /// PAUSE frames of the switch, by the priorities that they stop; renewals count.
    pub pause_frames: [u64; 8],
    /// How long they have stopped each priority, in nanoseconds of emulated time.
    pub paused_ns: [u64; 8],
    /// Priorities that the host pauses without end.
    pub storms: Vec<u8>,
    /// PFC frames that it has sent for storms.
    pub pfc_frames_sent: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_what_happened_where() {
        let counts = StormCounts { egress_dropped_packets: 12, ..StormCounts::default() };
        let detected = StormEvent {
            time_ns: 1_600_000,
            switch: "leaf1".into(),
            port: 1,
            peer: "h3".into(),
            priority: 3,
            action: "drop".into(),
            is_over: false,
            waiting_packets: 12,
            counts,
        };
        assert_eq!(
            detected.to_string(),
            "1.6 ms: leaf1: PFC storm of h3 in priority 3, action drop: 12 packets waited, 12 packets dropped on the way out"
        );
        let counts = StormCounts { ingress_dropped_packets: 1, ..counts };
        let over = StormEvent { time_ns: 6_600_000, is_over: true, counts, ..detected };
        assert_eq!(
            over.to_string(),
            "6.6 ms: leaf1: the storm of h3 in priority 3 is over: 12 packets dropped on the way out, 1 packet dropped on the way in"
        );
        assert_eq!(StormCounts::default().to_string(), "no packet dropped");
    }
}
