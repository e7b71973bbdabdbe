//! Results of invented runs, for tests of computations with them.

use std::path::Path;
use std::time::Duration;

use super::{Plan, RunResult, RunState, Sweep, SweepOptions};
use results::{Metrics, Number};

const SCENARIO: &str = r#"
duration = "1ms"
[topology]
kind = "star"
hosts = 2
host_link = { rate = "100Gbps", delay = "1us" }
[[flows]]
kind = "one"
src = "h0"
dst = "h1"
bytes = "10kB"
"#;
const SWEEP: &str = r#"
scenario = "base.toml"
seeds = 3
[matrix]
"switch.buffer" = ["1MB", "2MB"]
"#;

/// Returns a plan of two buffer sizes with three seeds each.
pub fn plan() -> Plan {
    let text = |path: &Path| if path.ends_with("base.toml") { SCENARIO } else { SWEEP };
    let read = |path: &Path| Ok(text(path).to_owned());
    let sweep = Sweep::read(Path::new("sweep.toml"), &SweepOptions::default(), &read);
    sweep.and_then(Plan::new).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a run of two flows, with the number that completed, their mean completion time, and the number of drops.
pub fn run(completed: i32, fct_ns: Option<i32>, drops: i32) -> RunResult {
    let state = if completed == 2 { RunState::Complete } else { RunState::Incomplete };
    let numbers = [
        ("flows_total", Some(2)),
        ("flows_completed", Some(completed)),
        ("fct_ns.mean", fct_ns),
        ("paused_ns", Some(7000 + completed)),
        ("drops.by_reason.headroom-exhausted", Some(drops).filter(|drops| *drops > 0)),
    ];
    let numbers: Vec<_> = numbers.into_iter().filter_map(|(name, it)| Some((name, it?))).collect();
    RunResult { state, ..run_with(&numbers) }
}

/// Returns a complete run with these numbers.
pub fn run_with(numbers: &[(&str, i32)]) -> RunResult {
    let number = |(name, it): &(&str, i32)| ((*name).to_owned(), Number::whole(*it));
    let metrics = Metrics(numbers.iter().map(number).collect());
    RunResult {
        metrics,
        state: RunState::Complete,
        doubt: None,
        wall: Duration::from_secs(1),
        processor: "a processor".into(),
    }
}
