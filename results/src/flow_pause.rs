//! Pauses of flows, counted.

use serde::{Deserialize, Serialize};

/// What switches told their neighbours of flows, and what flow tables had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPauseTotals {
    /// Hop control frames decided on that pause flows.
    pub pause_frames: u64,
    /// Flows that these named.
    pub flows: u64,
    /// Hop control frames decided on that resume flows.
    pub resume_frames: u64,
    /// How often a class was paused because a flow had no entry of the flow table.
    pub class_pauses: u64,
    /// Packets whose flow had none.
    pub unnamed_packets: u64,
}
