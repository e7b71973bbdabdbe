//! Pauses of flows counted, and the flows that were paused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::flow_statistics::{FlowStatistics, LabelSummary};

/// A flow that a node holds back although the neighbour that paused it has let it go on: the RESUME did not come in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnresumedFlow {
    /// The flow.
    pub flow: u32,
    /// The node that holds it back.
    pub node: String,
    /// The node's port.
    pub port: u16,
    /// The neighbour there.
    pub by: String,
    /// Instant of the neighbour's decision to resume the flow.
    pub resumed_ns: u64,
}

/// Pauses of flows by switches, and packets without an entry of a flow table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPauseTotals {
    /// Hop control frames decided on that pause flows.
    pub pause_frames: u64,
    /// Flows that these named.
    pub flows: u64,
    /// Hop control frames decided on that resume flows.
    pub resume_frames: u64,
    /// Pauses of a class because a flow had no entry of the flow table.
    pub class_pauses: u64,
    /// Packets whose flow had no entry.
    pub unnamed_packets: u64,
    /// Flows that had not completed when the run ended, because a RESUME was lost.
    #[serde(default)]
    pub unresumed: Vec<UnresumedFlow>,
    /// Flows that a switch paused at a neighbour at least once.
    #[serde(default)]
    pub congested: FlowPart,
    /// The others.
    #[serde(default)]
    pub uncongested: FlowPart,
}

/// A part of the flows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPart {
    /// All flows of the part.
    #[serde(flatten)]
    pub flows: LabelSummary,
    /// By the flows' label.
    pub labels: BTreeMap<String, LabelSummary>,
}

impl FlowPart {
    pub(super) fn new(flows: &FlowStatistics) -> Self {
        Self { flows: flows.together(), labels: flows.by_label() }
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Nanos};

    use crate::csv::line;
    use crate::tables::FlowPauseRow;

    #[test]
    fn a_row_says_which_flow_and_why() {
        let row = FlowPauseRow {
            time: Nanos(7),
            node: "leaf0",
            port: 2,
            peer: "spine1",
            priority: 3,
            name: 4_000_000_000,
            flow: Some(9),
            paused: true,
            occupancy: Bytes(70_000),
            threshold: Bytes(68_000),
        };
        assert_eq!(line(&row), "7,leaf0,2,spine1,3,4000000000,9,xoff,70000,68000\n");
        let resumed = FlowPauseRow { flow: None, paused: false, ..row };
        assert_eq!(line(&resumed), "7,leaf0,2,spine1,3,4000000000,,xon,70000,68000\n");
    }
}
