//! Types that a switch and its driver exchange.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{HopControl, Order};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::wire::LinkDelayFrame;
use units::Picos;

/// A frame that has arrived, and the pipeline's results.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a, F> {
    /// The frame, as changed by the pipeline.
    pub frame: F,
    /// Arrival time of its last bit. A driver on the real clock may be late.
    pub at: Picos,
    /// Length of the frame, bytes.
    pub length: u32,
    /// Outcome of the pipeline.
    pub outcome: &'a Outcome,
    /// Hop control orders due at the port, with their frames if the pipeline has built them.
    pub orders: &'a [(Order, Option<F>)],
    /// Content of a link delay frame.
    pub link_delay: Option<&'a LinkDelayFrame>,
    /// Priority of a dropped packet.
    pub priority: Option<Priority>,
}

/// Tasks of the driver after an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// True if the switch keeps the frame. Otherwise the driver discards it.
    pub keeps_frame: bool,
    /// True if the neighbour has changed the pauses of the port.
    pub pauses_changed: bool,
    /// Ports that may have frames to send, in this order.
    pub wake: [Option<u16>; 2],
}

/// A packet that a port sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission<F> {
    /// The frame.
    pub frame: F,
    /// Length of the frame, bytes.
    pub length: u32,
    /// Queue that the packet has left.
    pub queue: QueueId,
    /// True if the driver must mark congestion in the packet first.
    pub mark: bool,
    /// True if the port has more frames to send, paused or not.
    pub more: bool,
}

/// A frame that a port originates and sends ahead of its packets: [`CONTROL_FRAME_LENGTH`](super::CONTROL_FRAME_LENGTH)
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlTransmission<F> {
    /// A hop control frame that the pipeline has built.
    Built(F),
    /// A hop control frame to be built.
    HopControl {
        /// MAC address of the port.
        source: [u8; 6],
        /// The message.
        control: HopControl,
    },
    /// A link delay frame, stamped.
    LinkDelay(LinkDelayFrame),
}

/// A frame that the switch no longer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded<F> {
    /// The frame.
    pub frame: F,
    /// Details if the frame is a packet that was dropped after it had been queued.
    pub dropped: Option<DroppedPacket>,
}

/// A packet that was dropped after it had been queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// Ingress port of the packet.
    pub ingress: u16,
    /// Egress port of the packet, to which the frame is addressed.
    pub egress: u16,
    /// Reason for the drop.
    pub reason: DropReason,
}

/// A timer that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Port of the timer, which may have frames to send.
    pub port: u16,
    /// True if a pause of the port has expired, or is now ignored.
    pub pauses_changed: bool,
}
