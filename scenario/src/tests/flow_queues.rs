//! Priorities with several egress queues.

use insta::assert_snapshot;

use super::{SMALL, parse, report};
use crate::{FlowQueues, Priority};

/// Returns the report on the smallest scenario with these flow queues, one per line.
fn report_on(entries: &[&str]) -> String {
    report(&format!("[switch]\nflow_queues = [\n{}\n]\n{SMALL}", entries.join(",\n")))
}

#[test]
fn entries_come_back_in_their_order() {
    let text =
        "[switch]\nflow_queues = [{ priority = 5, queues = 100 }, { priority = 3, queues = 20 }]\n";
    let scenario = parse(&format!("{text}{SMALL}")).unwrap_or_else(|error| panic!("{error}"));
    let [first, second] = [(5, 100), (3, 20)]
        .map(|(priority, queues)| FlowQueues { priority: Priority(priority), queues });
    assert_eq!(scenario.switch.flow_queues, [first, second]);
    let again = parse(&scenario.to_toml()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.switch, scenario.switch);
    let plain = parse(SMALL).unwrap_or_else(|error| panic!("{error}"));
    assert!(!plain.to_toml().contains("flow_queues"), "results of scenarios without stay the same");
}

#[test]
fn priorities_that_cannot_be_spread() {
    assert_snapshot!(report_on(&["{ priority = 6, queues = 2 }"]), @r#"
    error: priority 6 has the control queue
     --> bad.toml:3:14
      |
    3 | { priority = 6, queues = 2 }
      |              ^
      |
      = help: spread another priority, or write control_priority = "none"
    "#);
    assert_snapshot!(report_on(&["{ priority = 3, queues = 2 }", "{ priority = 3, queues = 4 }"]), @r#"
    error: priority 3 comes twice
     --> bad.toml:4:14
      |
    4 | { priority = 3, queues = 4 }
      |              ^
      |
      = help: write one entry for each priority, none for those of switch.scheme
    "#);
    assert_snapshot!(report_on(&["{ priority = 8, queues = 2 }"]), @r#"
    error: `switch.flow_queues.0.priority`: there is no priority 8
     --> bad.toml:3:14
      |
    3 | { priority = 8, queues = 2 }
      |              ^
      |
      = help: Ethernet has the priorities 0 to 7
    "#);
}

#[test]
fn more_queues_than_there_are() {
    assert_snapshot!(report_on(&["{ priority = 3, queues = 0 }"]), @r#"
    error: a priority without queues
     --> bad.toml:3:26
      |
    3 | { priority = 3, queues = 0 }
      |                          ^
      |
      = help: write a number from 1 to 128
    "#);
    assert_snapshot!(report_on(&["{ priority = 3, queues = 129 }"]), @r#"
    error: 129 queues, where a port has 128 left
     --> bad.toml:3:26
      |
    3 | { priority = 3, queues = 129 }
      |                          ^^^
      |
      = help: a port has 128 queues beside those of priorities with one queue, for the entries and switch.scheme together
    "#);
    assert_snapshot!(report_on(&["{ priority = 3, queues = 100 }", "{ priority = 4, queues = 29 }"]), @r#"
    error: 29 queues, where a port has 28 left
     --> bad.toml:4:26
      |
    4 | { priority = 4, queues = 29 }
      |                          ^^
      |
      = help: a port has 128 queues beside those of priorities with one queue, for the entries and switch.scheme together
    "#);
}
