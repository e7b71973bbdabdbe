//! How a live fabric is at one instant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// In the order of the scenario.
    pub switches: Vec<SwitchView>,
    /// In the order of the scenario.
    pub hosts: Vec<HostView>,
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
    /// By number.
    pub ports: Vec<PortView>,
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
    /// Priorities that the switch has paused.
    pub paused: Vec<u8>,
    /// PAUSE frames of the switch, by the priorities that they stop; renewals count.
    pub pause_frames: [u64; 8],
    /// How long they have stopped each priority, in nanoseconds of emulated time.
    pub paused_ns: [u64; 8],
}
