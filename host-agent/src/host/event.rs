//! What a host tells of its flows.

use units::Picos;

use crate::flow_trace::SenderState;
use crate::responder::ResponderRequest;

/// What the sender of a flow has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Data packets that were sent again.
    pub retransmitted_packets: u64,
    /// CNPs that it received.
    pub notifications: u64,
}

/// What happened on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// The last byte of a flow that this host sends is acknowledged; its queue pair is gone.
    FlowCompleted {
        /// The flow's number.
        flow: u32,
        /// When the ACK arrived.
        at: Picos,
        /// What its sender has counted.
        counts: SenderCounts,
    },
    /// Rate, window or congestion of a [traced](crate::Host::start_traced_flow) flow has changed; the first of a
    /// flow tells how it starts.
    SenderChanged {
        /// The flow's number.
        flow: u32,
        /// When.
        at: Picos,
        /// What it is now.
        state: SenderState,
    },
    /// The last byte of a flow that this host receives has arrived in order.
    FlowDelivered {
        /// Queue pair number.
        qp: u32,
        /// Payload bytes received in order.
        bytes: u64,
        /// When the last packet arrived.
        at: Picos,
    },
}

impl HostEvent {
    /// The last byte of a flow has arrived at `now`.
    pub(super) const fn delivered(now: Picos, request: &ResponderRequest) -> Self {
        let ResponderRequest { qp, bytes, .. } = *request;
        Self::FlowDelivered { qp, bytes, at: now }
    }
}
