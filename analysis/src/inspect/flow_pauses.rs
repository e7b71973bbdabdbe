//! Pauses of flows.

use std::fmt;

use scenario::Scenario;
use serde_json::{Value, json};
use units::Bytes;

use super::text::bytes;

/// Parameters of flow pauses, equal at all switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPauses {
    /// Priorities whose flows are paused.
    pub priorities: Vec<u8>,
    /// Lengths of an ingress queue at which flows are resumed, flows are paused, and the class is paused: `X_on`,
    /// `X_off^c`, `X_off`.
    pub thresholds: [Bytes; 3],
    /// Number of flows for which a port's table has room.
    pub flow_entries: u32,
    /// Size of the table.
    pub flow_table: Bytes,
}

impl FlowPauses {
    /// Returns the flow pauses of a scenario, if its switches pause flows.
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        let scenario::FlowPauses { thresholds, flow_entries, flow_table } =
            scenario.switch.flow_pauses()?;
        let priorities = scenario.switch.paused_parts().iter().collect();
        Some(Self { priorities, thresholds, flow_entries, flow_table })
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { priorities, thresholds: [xon, congested, xoff], flow_entries, .. } = self;
        json!({
            "priorities": priorities,
            "xon_bytes": xon.0,
            "congested_bytes": congested.0,
            "xoff_bytes": xoff.0,
            "flow_entries": flow_entries,
        })
    }
}

impl fmt::Display for FlowPauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { priorities, thresholds: [xon, congested, xoff], flow_table, .. } = self;
        let priorities: Vec<String> = priorities.iter().map(u8::to_string).collect();
        writeln!(f, "pauses of flows")?;
        writeln!(
            f,
            "  a port: 3 queues for priority {}, {} of flow table",
            priorities.join(", and for priority "),
            bytes(*flow_table),
        )?;
        writeln!(
            f,
            "  flows are paused from {} on, their class from {}, and resumed at {}",
            bytes(*congested),
            bytes(*xoff),
            bytes(*xon),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_paused_by_three_thresholds() {
        let text = include_str!("../../../scenarios/ofc/fig01.toml");
        let scenario = Scenario::parse(text, "fig01.toml".as_ref(), &[]).unwrap();
        let pauses = FlowPauses::new(&scenario).expect("it is OFC");
        assert_eq!(pauses.thresholds, [45_000, 68_000, 75_000].map(Bytes));
        insta::assert_snapshot!(pauses, @"
        pauses of flows
          a port: 3 queues for priority 3, 4.1 kB of flow table
          flows are paused from 68 kB on, their class from 75 kB, and resumed at 45 kB
        ");
        assert!(super::super::report(&scenario, None).contains(&pauses.to_string()));
        let json: Value = serde_json::from_str(&super::super::json(&scenario, None)).unwrap();
        assert_eq!(json["flow_pauses"], pauses.to_json());
    }
}
