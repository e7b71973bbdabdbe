//! `switch.lossy.flow_table`: table in which FAB and IB count bytes of flows.

use fabric_core::lossy;
use fabric_core::lossy::flow_table::FLOWS_IN_A_SET;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

use crate::document::Document;
use crate::quantity;
use crate::report::ScenarioError;

/// Maximum number of flows, in 32 MiB.
const MAX_FLOWS: u32 = 1 << 20;

/// Flow table of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FlowTableKeys")]
pub struct FlowTable {
    /// Number of entries, 32 B each: a power of two from 4 to 1048576. If the table is full, a new flow replaces a flow
    /// that has been silent for longer. Default 4096.
    pub flows: u32,
    /// Silence after which a flow counts as new; at least "1ns". Default "5ms", as in the simulator of ABM's authors.
    pub idle: Picos,
}

impl Default for FlowTable {
    fn default() -> Self {
        let lossy::FlowTable { flows, idle } = lossy::FlowTable::DEFAULT;
        Self { flows, idle: Picos::from_nanos(idle) }
    }
}

impl FlowTable {
    /// Checks the size of the table and the time of silence.
    pub(super) fn check(self, document: &Document<'_>) -> Result<(), ScenarioError> {
        let Self { flows, idle } = self;
        if idle.to_nanos().0 == 0 {
            let help =
                "each packet would begin its flow anew: write \"1ns\" or more, such as \"5ms\"";
            let title = format!("a flow that is silent for {}", quantity::display(idle));
            return Err(document.error("switch.lossy.flow_table.idle", &title, help));
        }
        if flows.is_power_of_two() && (FLOWS_IN_A_SET..=MAX_FLOWS).contains(&flows) {
            return Ok(());
        }
        let help = format!("write a power of two from {FLOWS_IN_A_SET} to {MAX_FLOWS}");
        let title = format!("a table of {flows} flows");
        Err(document.error("switch.lossy.flow_table.flows", &title, &help))
    }

    pub(super) fn settings(self) -> lossy::FlowTable {
        lossy::FlowTable { flows: self.flows, idle: self.idle.to_nanos() }
    }
}
