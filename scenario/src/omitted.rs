//! `results.omit`: tables that a run does not write.

use serde::{Deserialize, Serialize};

use schemars::JsonSchema;

use super::document::{Document, suggestion};
use super::glob;
use super::report::ScenarioError;

/// All tables that a run may write, without `.csv`, in the order of docs/results.md.
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

/// Patterns of names of tables that a run does not write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Omitted(Vec<String>);

impl Omitted {
    /// Returns true if the table is omitted. `table` has no `.csv`.
    pub fn covers(&self, table: &str) -> bool {
        self.0.iter().any(|pattern| glob::matches(pattern, table))
    }

    /// Returns the omitted tables.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> {
        TABLES.into_iter().filter(|table| self.covers(table))
    }

    /// Returns true if no table is omitted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that each pattern matches a table.
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
