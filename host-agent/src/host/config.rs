//! What a host is configured with.

use fabric_core::priority::Priority;
use fabric_core::queue::QueueRanges;
use units::{BitsPerSecond, FrameTime, Picos};

use crate::frame_length::FrameLengths;
use crate::nic::Scheduler;

/// The configuration of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting by itself")]
pub struct HostConfig {
    /// IPv4 address, host order.
    pub address: u32,
    /// The NIC's station address.
    pub station: [u8; 6],
    /// Rate of the host's link.
    pub link_rate: BitsPerSecond,
    /// How long frames occupy ports.
    pub frame_time: FrameTime,
    /// How long frames count.
    pub frame_lengths: FrameLengths,
    /// Most payload bytes in a packet.
    pub payload: u16,
    /// Priority of ACKs and NAKs; `None`: that of the data that they answer.
    pub ack_priority: Option<Priority>,
    /// The priority whose pauses stop all ACKs and NAKs at this NIC; `None`: each stops with its own.
    pub ack_queue: Option<Priority>,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// In-order packets for which one ACK is sent, unless one asks for it earlier.
    pub ack_interval: u32,
    /// How long a packet stays unacknowledged, with no progress, before it is sent again.
    pub retransmission_timeout: Picos,
    /// How long after its reception a PAUSE takes effect (802.1Qbb, 36.2.3).
    pub pause_response: Picos,
    /// The NIC's transmit queues of each priority; no two priorities have one in common.
    pub queues: QueueRanges,
    /// Whether data packets name their queues to the switch, so that it can pause these: see [`Host::named_queue`](super::Host::named_queue).
    pub names_queues: bool,
    /// Whether the last queue of each priority is for labelled incasts.
    pub keeps_incast_queue: bool,
    /// Whether flows stop that the neighbour pauses by themselves.
    pub obeys_flow_pauses: bool,
    /// Whether it obeys rates that its neighbour tells it (GFC). If not, such a frame is unexpected.
    pub obeys_rates: bool,
    /// How the NIC chooses among flows.
    pub scheduler: Scheduler,
    /// Whether data packets of RoCEv2 say what their flow has left to send.
    pub tells_remaining: bool,
}
