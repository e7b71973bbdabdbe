//! The state of a live fabric at one instant.
//!
//! A new value is filled in `engine/live_view.rs`. `xoff inspect NAME` shows it in `report.rs` of the live commands;
//! `xoff top` and `xoff watch` compare two views in `glance.rs`, and show the result in `screen/draw.rs` and
//! `watch.rs`.

use std::collections::BTreeMap;
use std::fmt;

use fabric_core::watchdog::Traffic;
use results::{Lateness, counted, span};
use serde::{Deserialize, Serialize};
use units::Nanos;

use super::clock::Fidelity;
use super::impairment::Impairment;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Emulated time since the fabric came up, ns.
    pub emulated_ns: u64,
    /// Punctuality of the fabric.
    pub fidelity: Fidelity,
    /// Number of flows in progress.
    pub active_flows: u64,
    /// Number of completed flows.
    pub completed_flows: u64,
    /// Number of frames that have crossed a wire, counted on each wire.
    pub packet_hops: u64,
    /// Results that the fabric will write, if any.
    pub results: Option<ResultsView>,
    /// Switches in the order of the scenario.
    pub switches: Vec<SwitchView>,
    /// Hosts in the order of the scenario.
    pub hosts: Vec<HostView>,
    /// Recent events of PFC storms, the latest last.
    pub storm_events: Vec<StormEvent>,
}

/// State of a wire, as set by users and faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireView {
    /// True if it carries frames.
    pub is_up: bool,
    /// True if it goes down and up periodically.
    pub is_flapping: bool,
    /// True if routes avoid its link.
    pub is_avoided: bool,
    /// Impairments of the wire.
    pub impairment: Impairment,
    /// Number of frames lost on it.
    pub lost_frames: u64,
    /// Number of frames that arrived at its end with a wrong FCS.
    pub damaged_frames: u64,
}

/// Results that a fabric will write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsView {
    /// Folder for the results.
    pub folder: String,
    /// Reason why there will be no results, if writing failed.
    pub stopped: Option<String>,
}

/// Punctuality of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFidelity {
    /// True if 99 % of the deadlines in the last one or two seconds were met soon enough.
    pub is_good: bool,
    /// Lateness in the last one or two seconds.
    pub recent: Lateness,
    /// Lateness since the fabric came up.
    pub all: Lateness,
}

/// State of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchView {
    /// Its name.
    pub name: String,
    /// Buffered bytes.
    pub buffer_bytes: u64,
    /// Max buffered bytes.
    pub most_buffer_bytes: u64,
    /// Capacity of the buffer, bytes.
    pub capacity_bytes: u64,
    /// Number of packets marked by ECN.
    pub ecn_marked: u64,
    /// Number of dropped frames, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Punctuality of the switch.
    pub fidelity: NodeFidelity,
    /// Ports by number.
    pub ports: Vec<PortView>,
    /// Ports and priorities with past or present PFC storms; empty without a watchdog.
    pub storms: Vec<StormView>,
}

/// Storms of a priority at a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormView {
    /// The port.
    pub port: u16,
    /// Name of the neighbour at the port.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// True during a storm.
    pub is_present: bool,
    /// Number of detected storms.
    pub detected: u64,
    /// Number of storms that are over.
    pub restored: u64,
    /// Packets dropped and forwarded in all of these storms.
    pub counts: StormCounts,
}

/// Remaining storm of a host's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormSpan {
    /// The priority.
    pub priority: u8,
    /// Emulated time, in picoseconds; none: until the storm is ended.
    pub left_ps: Option<u64>,
}

/// Packets dropped and forwarded in storms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormCounts {
    /// Packets that were dropped on departure from the port.
    pub egress_dropped_packets: u64,
    /// Bytes of these packets.
    pub egress_dropped_bytes: u64,
    /// Packets that were dropped on arrival at the port.
    pub ingress_dropped_packets: u64,
    /// Bytes of these packets.
    pub ingress_dropped_bytes: u64,
    /// Packets that were sent in spite of pauses.
    pub forwarded_packets: u64,
    /// Bytes of these packets.
    pub forwarded_bytes: u64,
}

impl StormCounts {
    /// Counters of packets dropped on departure, dropped on arrival, and forwarded.
    pub(crate) const fn new([egress, ingress, forwarded]: [Traffic; 3]) -> Self {
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

/// Start or end of a PFC storm, as detected by a watchdog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormEvent {
    /// Emulated time, ns.
    pub time_ns: u64,
    /// The switch.
    pub switch: String,
    /// The port.
    pub port: u16,
    /// Name of the neighbour at the port, which pauses it without end.
    pub peer: String,
    /// The priority.
    pub priority: u8,
    /// Action of the watchdog: "drop", "forward" or "alert".
    pub action: String,
    /// True at the end of the storm, false at its detection.
    pub is_over: bool,
    /// Number of packets that waited when the storm was detected.
    pub waiting_packets: u64,
    /// Packets dropped and forwarded in the storm up to now.
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

/// State of a switch's port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortView {
    /// Name of the neighbour.
    pub peer: String,
    /// Name of the wire that leaves the port.
    pub wire: String,
    /// Line rate, bit/s.
    pub rate_bps: u64,
    /// Number of frames whose transmission has begun.
    pub sent_frames: u64,
    /// Number of frames received.
    pub received_frames: u64,
    /// State of the wire that leaves the port.
    #[serde(flatten)]
    pub wire_state: WireView,
    /// Time that sent frames occupied the wire, in bytes: their lengths and the overhead of each frame.
    pub sent_bytes: u64,
    /// Time that received frames occupied the wire, in bytes, counted as in `sent_bytes`.
    pub received_bytes: u64,
    /// Number of packets in the egress queues.
    pub queued_packets: u64,
    /// Bytes in the egress queues, by priority.
    pub queued_bytes: [u64; 8],
    /// Buffered bytes that arrived at the port, by priority.
    pub ingress_bytes: [u64; 8],
    /// Priorities paused by the neighbour.
    pub paused: Vec<u8>,
    /// Number of PAUSE frames from the neighbour, by priority, renewals included.
    pub pause_frames: [u64; 8],
    /// Paused time by priority, ns of emulated time.
    pub paused_ns: [u64; 8],
    /// Lossless priorities whose arriving packets are victims, if the scheme has victims (SPFC): all or none,
    /// unless each priority has its own state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<Vec<u8>>,
}

/// State of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// Name of its switch.
    pub peer: String,
    /// Name of the wire to its switch.
    pub wire: String,
    /// Rate of the link, bit/s.
    pub rate_bps: u64,
    /// Number of frames that its NIC has sent.
    pub sent_frames: u64,
    /// Number of frames received.
    pub received_frames: u64,
    /// State of the wire to its switch.
    #[serde(flatten)]
    pub wire_state: WireView,
    /// Time that sent frames occupied the wire, in bytes: their lengths and the overhead of each frame.
    pub sent_bytes: u64,
    /// Time that received frames occupied the wire, in bytes, counted as in `sent_bytes`.
    pub received_bytes: u64,
    /// Number of frames sent by programs.
    pub program_frames_sent: u64,
    /// Number of frames delivered to programs.
    pub program_frames_received: u64,
    /// Number of programs' frames that wait for the port.
    pub program_frames_waiting: u64,
    /// Number of programs' frames dropped because they exceed the max length of the fabric.
    pub program_frames_too_long: u64,
    /// Number of programs' frames dropped because too many waited while their priority was paused.
    pub program_frames_dropped: u64,
    /// Punctuality of the host.
    pub fidelity: NodeFidelity,
    /// Priorities paused by the switch.
    pub paused: Vec<u8>,
    /// Number of PAUSE frames from the switch, by priority, renewals included.
    pub pause_frames: [u64; 8],
    /// Paused time by priority, ns of emulated time.
    pub paused_ns: [u64; 8],
    /// Priorities in which the host has a PFC storm.
    pub storms: Vec<u8>,
    /// Number of PFC frames sent for storms.
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
