//! Totals of flows that came to share a queue.

use serde::{Deserialize, Serialize};

/// Shared queues of flows, at all switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowQueueTotals {
    /// Activations: times that a flow without packets in a switch got one there.
    pub activations: u64,
    /// Activations in which the flow's queue held packets of other flows.
    pub collisions: u64,
}
