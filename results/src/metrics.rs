//! Results of a run as named numbers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::number::Number;
use super::summary::Summary;

/// Keys of a summary that are not metrics: the seed has a column.
const NO_METRICS: [&str; 1] = ["seed"];

/// Prefix of metrics that a summary leaves out if they are 0.
const BY_REASON: &str = "drops.by_reason.";

/// Numbers by name, in the order of their names. A name is the path in `summary.json`: `fct_ns.p99`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics(pub BTreeMap<String, Number>);

/// A number of one run, or the reason for its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The number.
    Of(Number),
    /// A completion time or slowdown without the slowest flows, which did not complete.
    Incomplete,
    /// The run has no such number: no deadlock means no onset, no flow no completion time.
    Absent,
}

impl Sample {
    /// Returns the number, if there is one.
    pub fn value(self) -> Option<Number> {
        match self {
            Self::Of(value) => Some(value),
            Self::Incomplete | Self::Absent => None,
        }
    }
}

impl Metrics {
    /// Returns the number of a name, if the run has one. A summary leaves out drop reasons without drops.
    pub fn value(&self, name: &str) -> Option<Number> {
        let none = name.starts_with(BY_REASON).then_some(Number(0));
        self.0.get(name).copied().or(none)
    }

    /// Returns the numbers of an object of the summary, by the object's name.
    pub fn within(&self, name: &str) -> impl Iterator<Item = Number> {
        let start = format!("{name}.");
        let numbers = self.0.range(start.clone()..);
        numbers.take_while(move |(key, _)| key.starts_with(&start)).map(|(_, number)| *number)
    }

    /// Returns the number of a name for a mean over runs, or the reason why the run does not count.
    pub fn sample(&self, name: &str) -> Sample {
        if self.lacks_flows(name) {
            return Sample::Incomplete;
        }
        self.value(name).map_or(Sample::Absent, Sample::Of)
    }

    /// Returns true if the name is a completion time or slowdown of flows that have not all completed.
    fn lacks_flows(&self, name: &str) -> bool {
        // `fct_ns.p99`, `labels.<label>.fct_ns.p99` or `labels.<label>.sizes.<class>.fct_ns.p99`; a label may be any text.
        let Some((measure, _statistic)) = name.rsplit_once('.') else { return false };
        let is_time = |kind| ["fct_ns", "slowdown"].contains(&kind);
        let number = |name: &str| self.0.get(name);
        match measure.rsplit_once('.') {
            None => is_time(measure) && number("flows_completed") != number("flows_total"),
            Some((label, kind)) => {
                let flows = |which| number(&format!("{label}.{which}"));
                is_time(kind) && flows("completed") != flows("flows")
            }
        }
    }

    /// Collects all numbers and truth values of a summary that depend on the scenario alone.
    pub fn new(summary: &Summary) -> Self {
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
                if let Some(number) = Number::from_json(plain) {
                    self.0.insert(name.to_owned(), number);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(pairs: &[(&str, i32)]) -> Metrics {
        Metrics(pairs.iter().map(|(name, value)| ((*name).into(), Number::whole(*value))).collect())
    }

    #[test]
    fn completion_times_are_samples_only_where_no_flow_is_missing() {
        let run = metrics(&[
            ("flows_total", 5),
            ("flows_completed", 4),
            ("fct_ns.mean", 10),
            ("paused_ns", 7),
            ("labels.a.flows", 3),
            ("labels.a.completed", 3),
            ("labels.a.fct_ns.p99", 20),
            ("labels.b.flows", 2),
            ("labels.b.completed", 1),
            ("labels.b.fct_ns.p99", 30),
            ("window.flows.flows", 2),
            ("window.flows.completed", 1),
            ("window.flows.fct_ns.mean", 4),
            ("labels.fct_ns.c.flows", 2),
            ("labels.fct_ns.c.completed", 1),
            ("labels.fct_ns.c.slowdown.mean", 3),
            ("labels.b.sizes.up-to-3kB.flows", 1),
            ("labels.b.sizes.up-to-3kB.completed", 1),
            ("labels.b.sizes.up-to-3kB.slowdown.p95", 2),
            ("sizes.above-3kB.flows", 4),
            ("sizes.above-3kB.completed", 3),
            ("sizes.above-3kB.slowdown.mean", 5),
        ]);
        for (name, expected) in [
            ("fct_ns.mean", Sample::Incomplete),
            ("slowdown.p50", Sample::Incomplete),
            ("paused_ns", Sample::Of(Number::whole(7))),
            ("flows_completed", Sample::Of(Number::whole(4))),
            ("labels.a.fct_ns.p99", Sample::Of(Number::whole(20))),
            ("labels.b.fct_ns.p99", Sample::Incomplete),
            ("labels.b.slowdown.mean", Sample::Incomplete),
            ("window.flows.fct_ns.mean", Sample::Incomplete),
            ("labels.fct_ns.c.slowdown.mean", Sample::Incomplete),
            ("labels.fct_ns.c.completed", Sample::Of(Number::whole(1))),
            ("labels.c.fct_ns.p99", Sample::Absent),
            ("labels.b.sizes.up-to-3kB.slowdown.p95", Sample::Of(Number::whole(2))),
            ("sizes.above-3kB.slowdown.mean", Sample::Incomplete),
            ("sizes.above-3kB.completed", Sample::Of(Number::whole(3))),
            ("deadlock.first_onset_ns", Sample::Absent),
            ("drops.by_reason.headroom-exhausted", Sample::Of(Number(0))),
        ] {
            assert_eq!(run.sample(name), expected, "{name}");
        }
        let whole = metrics(&[("flows_total", 5), ("flows_completed", 5), ("fct_ns.mean", 10)]);
        assert_eq!(whole.sample("fct_ns.mean"), Sample::Of(Number::whole(10)));
    }
}
