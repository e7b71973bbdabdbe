//! Events of a host.

use fabric_core::priority::Priority;
use units::{Nanos, Picos};

use crate::flow_trace::SenderState;
use crate::responder::ResponderRequest;

/// Counters of a flow's sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Data packets that were sent again.
    pub retransmitted_packets: u64,
    /// CNPs that it received.
    pub notifications: u64,
}

/// An event on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// The last byte of a flow that this host sends is acknowledged; its queue pair is gone.
    FlowCompleted {
        /// The flow's number.
        flow: u32,
        /// Arrival of the ACK.
        at: Picos,
        /// Counters of the flow's sender.
        counts: SenderCounts,
    },
    /// Rate, window or congestion of a [traced](crate::Host::start_traced_flow) flow has changed. The first event of a
    /// flow has its initial state.
    SenderChanged {
        /// The flow's number.
        flow: u32,
        /// Instant of the change.
        at: Picos,
        /// The new state. Boxed to keep events short.
        state: Box<SenderState>,
    },
    /// The last byte of a flow that this host receives has arrived in order.
    FlowDelivered {
        /// Queue pair number.
        qp: u32,
        /// Payload bytes received in order.
        bytes: u64,
        /// Arrival of the last packet.
        at: Picos,
    },
    /// A class of a PFC frame was received.
    PauseReceived {
        /// The class.
        priority: Priority,
        /// Arrival of the frame.
        at: Picos,
        /// End of the pause. For a RESUME not after the arrival.
        until: Nanos,
        /// Pause time in the frame, quanta.
        quanta: u16,
    },
}

impl HostEvent {
    /// Instant of the event.
    pub const fn at(&self) -> Picos {
        match self {
            Self::FlowCompleted { at, .. }
            | Self::SenderChanged { at, .. }
            | Self::FlowDelivered { at, .. }
            | Self::PauseReceived { at, .. } => *at,
        }
    }

    /// The last byte of a flow has arrived at `now`.
    pub(super) const fn delivered(now: Picos, request: &ResponderRequest) -> Self {
        let ResponderRequest { qp, bytes, .. } = *request;
        Self::FlowDelivered { qp, bytes, at: now }
    }
}
