//! `switch.flow_queues`: priorities whose packets are spread over several egress queues of a port.

use fabric_core::queue::FLOW_QUEUES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document::Document;
use super::priority::{Priorities, Priority};
use super::report::ScenarioError;
use super::scheme::Scheme;

/// Maximum sum of the queues of spread priorities at a port.
pub(super) const MAX_FLOW_QUEUES: u32 = FLOW_QUEUES as u32;

/// A priority whose packets are spread over several egress queues of each port, by the hash of their flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FlowQueuesKeys")]
pub struct FlowQueues {
    /// The priority, 0 to 7; not `control_priority`.
    pub priority: Priority,
    /// Queues at each port, from 1 up; at most 128 over all entries.
    #[schemars(range(min = 1, max = 128))]
    pub queues: u32,
}

/// Checks the entries of the list.
pub(super) fn check(
    entries: &[FlowQueues],
    scheme: &Scheme,
    control_priority: Option<u8>,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let taken: Vec<FlowQueues> = scheme.flow_queues().collect();
    let mut known = Priorities(taken.iter().fold(0, |known, taken| known | 1 << taken.priority.0));
    let mut left = MAX_FLOW_QUEUES - taken.iter().map(|taken| taken.queues).sum::<u32>();
    for (number, &FlowQueues { priority: Priority(priority), queues }) in entries.iter().enumerate()
    {
        let wrong = |key: &str, title: &str, help: &str| {
            Err(document.error(&format!("switch.flow_queues.{number}.{key}"), title, help))
        };
        if control_priority == Some(priority) {
            let title = format!("priority {priority} has the control queue");
            let help = "spread another priority, or write control_priority = \"none\"";
            return wrong("priority", &title, help);
        }
        if known.contains(priority) {
            let title = format!("priority {priority} comes twice");
            let help = "write one entry for each priority, none for those of switch.scheme";
            return wrong("priority", &title, help);
        }
        known.0 |= 1 << priority;
        if queues == 0 {
            let help = format!("write a number from 1 to {MAX_FLOW_QUEUES}");
            return wrong("queues", "a priority without queues", &help);
        }
        if queues > left {
            let title = format!("{queues} queues, where a port has {left} left");
            let help = format!(
                "a port has {MAX_FLOW_QUEUES} queues beside those of priorities with one queue, for the entries and \
                 switch.scheme together"
            );
            return wrong("queues", &title, &help);
        }
        left -= queues;
    }
    Ok(())
}
