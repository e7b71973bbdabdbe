//! Tables that a run of a scenario writes.

use results::{TABLES, Table};
use scenario::Scenario;

use crate::switch_settings::measures_links;

/// Name of a table that not every run has, the setting that enables it, and a function that returns true if a scenario
/// enables it.
type Condition = (&'static str, &'static str, fn(&Scenario) -> bool);

const CONDITIONS: [Condition; 16] = [
    ("throughput", "results.throughput", |it| it.results.throughput.is_some()),
    ("flow_trace", "results.flow_trace", |it| it.results.flow_trace.is_some()),
    ("port_states", "switch.scheme of kind \"spfc\", or \"dsh\" with `victims`", |it| {
        it.switch.has_port_states()
    }),
    ("egress_queues", "switch.flow_queues, or switch.scheme of kind \"bfc\" or \"ofc\"", |it| {
        it.switch.spread().next().is_some()
    }),
    ("flow_queues", "switch.scheme of kind \"bfc\"", |it| it.switch.pauses_queues()),
    ("queue_pauses", "switch.scheme of kind \"bfc\"", |it| it.switch.pauses_queues()),
    ("flow_pauses", "switch.scheme of kind \"ofc\"", |it| it.switch.pauses_flows()),
    ("rates", "switch.scheme of kind \"gfc\" or \"gfc-ofc\"", |it| it.switch.sends_rates()),
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
pub fn missing_setting(table: &str, scenario: &Scenario) -> Option<&'static str> {
    let lacks = |(name, _, holds): &&Condition| *name == table && !holds(scenario);
    CONDITIONS.iter().find(lacks).map(|(_, setting, _)| *setting)
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
