//! `results.omit`: tables that are not written.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

use super::document::{Document, suggestion};
use super::glob;
use super::report::ScenarioError;

/// Every table that a run may write, without `.csv`, in the order of docs/results.md.
pub const TABLES: [&str; 25] = [
    "flows",
    "fct_by_size",
    "throughput",
    "flow_trace",
    "pauses",
    "pause_time",
    "port_states",
    "queues",
    "egress_queues",
    "flow_queues",
    "lossy_queues",
    "held_flows",
    "queue_pauses",
    "flow_pauses",
    "rates",
    "links",
    "link_priorities",
    "counters",
    "occupancy",
    "link_delay",
    "drops",
    "watchdog",
    "faults",
    "deadlocks",
    "distributions",
];

/// Patterns of the names of tables that are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Omitted(Vec<String>);

impl Omitted {
    /// Whether a table is not written; its name has no `.csv`.
    pub fn covers(&self, table: &str) -> bool {
        self.0.iter().any(|pattern| glob::matches(pattern, table))
    }

    /// The tables that are not written.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> {
        TABLES.into_iter().filter(|table| self.covers(table))
    }

    /// Whether all tables are written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each pattern means a table.
    pub(super) fn check(&self, document: &Document<'_>) -> Result<(), ScenarioError> {
        for (place, pattern) in self.0.iter().enumerate() {
            if !TABLES.iter().any(|table| glob::matches(pattern, table)) {
                let title = format!("no table is called `{pattern}`");
                let help = suggestion(pattern, "the tables are", TABLES);
                return Err(document.error(&format!("results.omit.{place}"), &title, &help));
            }
        }
        Ok(())
    }
}
