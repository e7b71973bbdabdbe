//! Configuration of a host.

use fabric_core::priority::Priority;
use fabric_core::queue::QueueRanges;
use fabric_core::wire::pfc::quantum_duration;
use units::{BitsPerSecond, FrameTime, Picos};

use crate::frame_length::FrameLengths;
use crate::nic::Scheduler;

/// The configuration of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting by itself")]
pub struct HostConfig {
    /// IPv4 address, host order.
    pub address: u32,
    /// The NIC's MAC address.
    pub mac: [u8; 6],
    /// Rate of the host's link.
    pub link_rate: BitsPerSecond,
    /// Time on the wire of frames.
    pub frame_time: FrameTime,
    /// Accounted lengths of frames.
    pub frame_lengths: FrameLengths,
    /// Max payload bytes in a packet.
    pub payload: u16,
    /// Priority of ACKs and NAKs; `None`: the priority of the data that they answer.
    pub ack_priority: Option<Priority>,
    /// The priority whose pauses stop all ACKs and NAKs at this NIC; `None`: each stops with its own priority.
    pub ack_queue: Option<Priority>,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// In-order packets per ACK, unless a packet requests an earlier ACK.
    pub ack_interval: u32,
    /// Time without progress after which an unacknowledged packet is sent again.
    pub retransmission_timeout: Picos,
    /// Time from the reception of a PAUSE until it takes effect (802.1Qbb, 36.2.3).
    pub pause_response: Picos,
    /// True if a PAUSE lasts until a RESUME, whatever its quanta.
    pub pauses_until_resume: bool,
    /// The NIC's transmit queues of each priority; no two priorities have one in common.
    pub queues: QueueRanges,
    /// True if data packets name their queues, so that the switch can pause queues: see
    /// [`Host::named_queue`](super::Host::named_queue).
    pub names_queues: bool,
    /// True to reserve the last queue of each priority for labelled incasts.
    pub keeps_incast_queue: bool,
    /// True if flows obey the neighbour's pauses of single flows.
    pub obeys_flow_pauses: bool,
    /// True to obey rates that the neighbour sends (GFC). Otherwise a rate frame counts as unexpected.
    pub obeys_rates: bool,
    /// Rule by which the NIC chooses among flows.
    pub scheduler: Scheduler,
    /// True if data packets of RoCEv2 carry the bytes that their flow has left to send.
    pub sends_remaining: bool,
}

impl HostConfig {
    /// Time of a pause at a link's rate, by its quanta.
    pub(crate) fn pause_time(&self) -> fn(BitsPerSecond, u16) -> Picos {
        if self.pauses_until_resume { until_resume } else { quantum_duration }
    }
}

/// Time of a pause that lasts until a RESUME: longer than any run.
fn until_resume(_rate: BitsPerSecond, quanta: u16) -> Picos {
    Picos(u64::from(quanta > 0) << 62)
}
