//! What a run came to, as numbers with names.

use std::collections::BTreeMap;

use fabric_core::drop_reason::DropReason;
use serde_json::Value;

use super::decimal::Decimal;
use super::sweep_file::Pattern;
use crate::results::{
    DeadlockTotals, FctSummary, LabelSummary, Slowdown, SlowdownSummary, Summary,
};
use crate::scenario::Scenario;
use crate::scenario::glob;
use crate::topology::SwitchId;

/// Keys of a summary that measure nothing: the seed has a column.
const NO_METRICS: [&str; 1] = ["seed"];

/// Start of the names of metrics that a summary leaves out where they are 0.
const BY_REASON: &str = "drops.by_reason.";

/// Numbers by name, in the order of their names. A name is the path in `summary.json`: `fct_ns.p99`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics(pub BTreeMap<String, Decimal>);

impl Metrics {
    /// All numbers and truth values of a summary that depend on the scenario alone.
    pub fn of(summary: &Summary) -> Self {
        let mut found = Self::default();
        let value = serde_json::to_value(summary).expect("a summary has string keys only");
        for (key, value) in value.as_object().into_iter().flatten() {
            if !Summary::MACHINE_KEYS.contains(&key.as_str()) && !NO_METRICS.contains(&&**key) {
                found.flatten(key, value);
            }
        }
        found
    }

    fn flatten(&mut self, name: &str, value: &Value) {
        match value {
            Value::Object(inner) => {
                inner.iter().for_each(|(key, value)| self.flatten(&format!("{name}.{key}"), value));
            }
            plain => {
                if let Some(number) = Decimal::of_json(plain) {
                    self.0.insert(name.to_owned(), number);
                }
            }
        }
    }
}

/// Names of the metrics that a run of the scenario can have.
pub(super) fn names(scenario: &Scenario) -> Vec<String> {
    let switches = || {
        let ids = (0..scenario.fabric().switch_count()).map(SwitchId);
        ids.map(|id| (scenario.fabric().switch(id).name.clone(), 0)).collect()
    };
    let fct_ns = Some(FctSummary { mean: 0, p50: 0, p99: 0, max: 0 });
    let slowdown = Some(SlowdownSummary { mean: Slowdown(0), p50: Slowdown(0), p99: Slowdown(0) });
    let label = LabelSummary { flows: 0, completed: 0, fct_ns, slowdown };
    let labels = scenario.workloads.iter().map(|it| (it.label().to_owned(), label.clone()));
    let mut summary = Summary {
        fct_ns,
        slowdown,
        labels: labels.collect(),
        deadlock: DeadlockTotals { first_onset_ns: Some(0), ..DeadlockTotals::default() },
        buffer_max_bytes: switches(),
        headroom_max_bytes: switches(),
        ..Summary::default()
    };
    summary.drops.by_reason = DropReason::ALL.iter().map(|it| (it.name().to_owned(), 0)).collect();
    Metrics::of(&summary).0.into_keys().collect()
}

/// Which metrics a table has.
#[derive(Clone, Debug)]
pub(super) struct Selection<'a>(pub(super) Option<&'a [Pattern]>);

impl Selection<'_> {
    /// Whether a table has this metric.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.is_none_or(|patterns| patterns.iter().any(|it| glob::matches(&it.text, name)))
    }
}

/// Gives every run a number for each reason of drops that any of them has: no drop is 0 drops.
pub(super) fn complete<'a>(runs: impl Iterator<Item = &'a Metrics>) -> Vec<Metrics> {
    let mut runs: Vec<Metrics> = runs.cloned().collect();
    let reasons: Vec<String> = {
        let names = runs.iter().flat_map(|run| run.0.keys());
        names.filter(|name| name.starts_with(BY_REASON)).cloned().collect()
    };
    for run in &mut runs {
        for reason in &reasons {
            run.0.entry(reason.clone()).or_default();
        }
    }
    runs
}
