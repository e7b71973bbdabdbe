//! Pauses of flows, counted, and the flows that were paused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::flow_statistics::{FlowStatistics, LabelSummary};

/// What switches told their neighbours of flows, and what flow tables had no room for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The flows that a switch ever told a neighbour to pause.
    #[serde(default)]
    pub congested: FlowPart,
    /// The others.
    #[serde(default)]
    pub uncongested: FlowPart,
}

/// A part of the flows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowPart {
    /// All of it.
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
