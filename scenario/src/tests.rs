//! Valid and invalid files, with the reports on invalid ones as a user reads them.

mod backpressure;
mod dialect;
mod edges;
mod expect;
mod faults;
mod files;
mod flow_queues;
mod flow_routes;
mod flow_streams;
mod good;
mod headroom;
mod link_failure;
mod lossy;
mod names;
mod ofc;
mod old_keys;
mod pause_rule;
mod results;
mod routes;
mod scheduling;
mod shape;
mod shapes;
mod spfc;
mod storms;
mod switches;
mod transports;
mod values;
mod workloads;

use std::path::Path;

use super::{Scenario, ScenarioError};

const INCAST: &str = include_str!("../../scenarios/incast.toml");

/// Smallest scenario: the mandatory keys only.
const SMALL: &str = r#"
[topology]
kind = "star"
hosts = 3
host_link = { rate = "100Gbps", delay = "1us" }

[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "1MB"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Path::new("bad.toml"), &[])
}

/// Returns the report on an invalid `text`.
fn report(text: &str) -> String {
    parse(text).expect_err("a scenario that is wrong").to_string()
}

/// Returns the report on the smallest scenario with additional text.
fn report_on(more: &str) -> String {
    report(&format!("{SMALL}{more}"))
}

fn with(change: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(INCAST, Path::new("incast.toml"), &[change.to_owned()])
}

fn report_with(change: &str) -> String {
    with(change).expect_err("an override that is wrong").to_string()
}
