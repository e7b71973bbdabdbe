//! Tables that a run of a scenario writes.

use results::{TABLES, Table};
use scenario::{Scenario, Scheme};

use crate::switch_settings::measures_links;

/// Name of a table that not every run has, the setting that enables it, and a function that returns true if a scenario
/// enables it.
type Condition = (&'static str, &'static str, fn(&Scenario) -> bool);

const CONDITIONS: [Condition; 11] = [
    ("throughput", "results.throughput", |it| it.results.throughput.is_some()),
    ("flow_trace", "results.flow_trace", |it| it.results.flow_trace.is_some()),
    ("egress_queues", "switch.flow_queues", |it| !it.switch.flow_queues.is_empty()),
    ("lossy_queues", "results.thresholds = true", |it| it.results.thresholds),
    ("held_flows", "results.held_flows = true", |it| it.results.held_flows),
    ("link_priorities", "results.link_priorities = true", |it| it.results.link_priorities),
    ("occupancy", "results.occupancy = true", |it| it.results.occupancy),
    ("distributions", "results.distributions = true", |it| it.results.distributions),
    ("link_delay", "switch.headroom of kind \"adaptive\"", measures_links),
    ("watchdog", "switch.watchdog", |it| it.switch.watchdog.is_some()),
    ("faults", "[[faults]]", |it| !it.faults.is_empty()),
];

/// Returns the setting that a run of the scenario lacks to have the table.
pub fn missing_setting(table: &str, scenario: &Scenario) -> Option<String> {
    let own = CONDITIONS.iter().find(|(name, ..)| *name == table);
    if own.is_some_and(|(.., holds)| holds(scenario)) || scenario.switch.scheme.writes(table) {
        return None;
    }
    let mut settings: Vec<String> = own.iter().map(|(_, setting, _)| (*setting).into()).collect();
    let kinds = Scheme::kinds_with(table);
    if !kinds.is_empty() {
        settings.push(format!("switch.scheme of kind {}", kinds.join(" or ")));
    }
    (!settings.is_empty()).then(|| settings.join(", or "))
}

/// Returns the tables that a run of the scenario writes.
pub fn written(scenario: &Scenario) -> impl Iterator<Item = &'static Table> {
    let is_written = |table: &&Table| {
        missing_setting(table.name, scenario).is_none() && !scenario.results.omit.covers(table.name)
    };
    TABLES.iter().filter(is_written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_name_tables() {
        for (name, _, _) in CONDITIONS {
            assert!(Table::find(name).is_some(), "{name}");
        }
    }
}
