//! `flow_pauses.csv`, pauses of flows counted, and the flows that were paused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use super::column::Column;
use super::flow_statistics::{FlowStatistics, LabelSummary};
use super::row::{Fields, Row};

/// A switch pauses or resumes one flow at a neighbour, with the reason.
#[derive(Clone, Copy, Debug)]
pub struct FlowPauseRow<'a> {
    /// The instant of the decision, not of the frame's departure.
    pub time: Nanos,
    /// The switch that decided.
    pub node: &'a str,
    /// The switch's port to the neighbour.
    pub port: u16,
    /// The neighbour.
    pub peer: &'a str,
    /// The flow's priority.
    pub priority: u8,
    /// The flow's name in hop control frames.
    pub name: u32,
    /// The flow that has it, if one has started.
    pub flow: Option<u32>,
    /// True if it must stop.
    pub paused: bool,
    /// Bytes of the ingress queue in the shared pool and in headroom.
    pub occupancy: Bytes,
    /// The threshold of that decision.
    pub threshold: Bytes,
}

impl Row for FlowPauseRow<'_> {
    const FILE: &'static str = "flow_pauses.csv";
    const ABOUT: &'static str = "Only with `switch.backpressure` of kind `ofc`. One row per flow and decision to pause or to \
                                 resume it at a neighbour. Repetitions (`repeat`) have no rows.";
    const COLUMNS: &'static [Column<'static>] = &[
        Column::integer(
            "time_ns",
            "Instant of the decision. The frame leaves when the port is free.",
        ),
        Column::text("node", "Switch that decided."),
        Column::integer("port", "Its ingress port, at which the neighbour is."),
        Column::text("peer", "The neighbour."),
        Column::integer("priority", "Priority of the flow, 0 to 7."),
        Column::integer("name", "Name of the flow in the frame: 32 bits of a hash of its five-tuple."),
        Column::integer(
            "flow",
            "Flow as in `flows.csv`: of several of one name the last that has started. Empty: packets of no flow's data have \
                    this name, such as its ACKs.",
        )
        .or_empty(),
        Column::text("event", "`xoff` (stop) or `xon` (go on)."),
        Column::integer(
            "occupancy_bytes",
            "Bytes of the ingress queue: those in the shared pool and those in headroom, of an `xoff` the packet that came \
                    included.",
        ),
        Column::integer(
            "threshold_bytes",
            "Of an `xoff` X_off^c, of an `xon` X_on at that instant.",
        ),
    ];

    fn fields(&self, row: &mut impl Fields) {
        let event = if self.paused { "xoff" } else { "xon" };
        row.add(self.time).add(self.node).add(self.port).add(self.peer).add(self.priority);
        row.add(self.name).add(self.flow).add(event).add(self.occupancy).add(self.threshold);
    }
}

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
    /// Flows that a switch ever told a neighbour to pause.
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
    pub(super) fn of(flows: &FlowStatistics) -> Self {
        Self { flows: flows.together(), labels: flows.by_label() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::line;

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
