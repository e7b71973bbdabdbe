//! What a switch and its driver tell each other.

use fabric_core::arrival::Outcome;
use fabric_core::drop_reason::DropReason;
use fabric_core::hop_control::{HopControl, Order};
use fabric_core::priority::Priority;
use fabric_core::queue::QueueId;
use fabric_core::wire::LinkDelayFrame;
use units::Picos;

/// A frame that has arrived, and what the pipeline did with it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a, F> {
    /// The frame, as the pipeline left it.
    pub frame: F,
    /// When its last bit came in. A driver on the real clock may tell the switch later.
    pub at: Picos,
    /// Its length.
    pub length: u32,
    /// What became of it.
    pub outcome: &'a Outcome,
    /// The hop control frames that are due at the port, and their frames where the pipeline has built them.
    pub orders: &'a [(Order, Option<F>)],
    /// What a link delay frame says.
    pub link_delay: Option<&'a LinkDelayFrame>,
    /// Of a dropped packet: its priority.
    pub priority: Option<Priority>,
}

/// What the driver has to do after an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// Whether the switch keeps the frame; if not, the driver discards it.
    pub keeps_frame: bool,
    /// Whether the neighbour has changed what the port may send.
    pub pauses_changed: bool,
    /// Ports that may have something to send, in this order.
    pub wake: [Option<u16>; 2],
}

/// A packet that a port sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission<F> {
    /// The frame.
    pub frame: F,
    /// Its length.
    pub length: u32,
    /// The queue that it has left.
    pub queue: QueueId,
    /// Mark congestion in it first.
    pub mark: bool,
    /// Whether the port has more to send, paused or not.
    pub more: bool,
}

/// What a port sends by itself, ahead of its packets: [`CONTROL_FRAME_LENGTH`](super::CONTROL_FRAME_LENGTH) bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlTransmission<F> {
    /// A hop control frame that the pipeline has built.
    Built(F),
    /// A hop control frame to be built.
    HopControl {
        /// The port's address.
        source: [u8; 6],
        /// What it says.
        control: HopControl,
    },
    /// A link delay frame, stamped.
    LinkDelay(LinkDelayFrame),
}

/// A frame that the switch needs no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discarded<F> {
    /// The frame.
    pub frame: F,
    /// If it is a packet that was dropped after it had been queued.
    pub dropped: Option<DroppedPacket>,
}

/// What became of a packet that was dropped after it had been queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket {
    /// The port where it had come in.
    pub ingress: u16,
    /// The port where it would have left, as the frame is addressed.
    pub egress: u16,
    /// Why it was dropped.
    pub reason: DropReason,
}

/// A deadline that was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The port that it was of; it may have something to send.
    pub port: u16,
    /// Whether a pause of it has run out, or is no longer obeyed.
    pub pauses_changed: bool,
}
