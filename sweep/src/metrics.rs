//! Results of a run as named numbers.

use std::collections::BTreeMap;

use fabric_core::drop_reason::DropReason;
use results::{
    ActiveFlows, DeadlockTotals, FaultTotals, FctSummary, FlowPart, FlowPauseTotals,
    FlowQueueTotals, FlowTables, LabelSummary, LinkBytes, MeanQueue, OccupancySummary,
    PausedByLevel, PortQueues, PortStateTotals, QueuePauseTotals, SizeClassSlowdown,
    SizeClassSummary, SizeClasses, Slowdown, SlowdownSummary, Summary, WatchdogTotals,
    WindowSummary,
};
use scenario::Scenario;
use scenario::glob;
use serde_json::Value;
use topology::SwitchId;

use super::decimal::Decimal;
use super::sweep_file::Pattern;

/// Keys of a summary that are not metrics: the seed has a column.
const NO_METRICS: [&str; 1] = ["seed"];

/// Prefix of metrics that a summary leaves out if they are 0.
const BY_REASON: &str = "drops.by_reason.";

/// Numbers by name, in the order of their names. A name is the path in `summary.json`: `fct_ns.p99`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics(pub BTreeMap<String, Decimal>);

/// A number of one run, or the reason why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The number.
    Of(Decimal),
    /// A completion time or slowdown without the slowest flows, which did not complete.
    Incomplete,
    /// The run has no such number: no deadlock means no onset, no flow no completion time.
    Absent,
}

impl Sample {
    /// Returns the number, if there is one.
    pub fn value(self) -> Option<Decimal> {
        match self {
            Self::Of(value) => Some(value),
            Self::Incomplete | Self::Absent => None,
        }
    }
}

impl Metrics {
    /// Returns the number of a name, if the run has one. A summary leaves out drop reasons without drops.
    pub fn value(&self, name: &str) -> Option<Decimal> {
        let none = name.starts_with(BY_REASON).then_some(Decimal(0));
        self.0.get(name).copied().or(none)
    }

    /// Returns the numbers of an object of the summary, by the object's name.
    pub fn within(&self, name: &str) -> impl Iterator<Item = Decimal> {
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

/// Returns the names of the metrics that a run of the scenario can have.
pub(super) fn names(scenario: &Scenario) -> Vec<String> {
    Metrics::of(&fullest(scenario)).0.into_keys().collect()
}

/// Returns a summary with every key that a run of the scenario can have.
pub fn fullest(scenario: &Scenario) -> Summary {
    let switches = || {
        let ids = (0..scenario.fabric().switch_count()).map(SwitchId);
        ids.map(|id| (scenario.fabric().switch(id).name.clone(), 0)).collect()
    };
    let fct_ns = Some(FctSummary::default());
    let slowdown = Some(SlowdownSummary { mean: Slowdown(0), p50: Slowdown(0), p99: Slowdown(0) });
    let class = SizeClassSummary {
        flows: 0,
        completed: 0,
        fct_ns,
        slowdown: Some(SizeClassSlowdown::default()),
    };
    let classes = SizeClasses::new(scenario.results.size_classes.clone());
    let sizes: BTreeMap<_, _> = classes.names().map(|name| (name, class.clone())).collect();
    let label = LabelSummary { flows: 0, completed: 0, fct_ns, slowdown, sizes: sizes.clone() };
    let buffer_bytes = scenario.results.occupancy.then(OccupancySummary::default);
    let labels = scenario.labels().into_iter().map(|it| (it.to_owned(), label.clone()));
    let labels: BTreeMap<String, LabelSummary> = labels.collect();
    let window = scenario.results.window.map(|_| WindowSummary {
        from_ns: 0,
        to_ns: 0,
        flows: label.clone(),
        labels: labels.clone(),
        paused_ns: 0,
        pause_ordered_ns: 0,
        pause_ordered_by_level: PausedByLevel::default(),
        buffer_bytes,
    });
    let pauses_queues = scenario.switch.pauses_queues();
    let queue_pauses = pauses_queues.then(QueuePauseTotals::default);
    let flow_queues = pauses_queues.then(FlowQueueTotals::default);
    let active_flows = pauses_queues.then(ActiveFlows::default);
    let port_states = scenario.switch.spfc().map(|_| PortStateTotals::default());
    let faults = (!scenario.faults.is_empty()).then(FaultTotals::default);
    let link_bytes = scenario.results.link_bytes.then(LinkBytes::default);
    let part = FlowPart { flows: label.clone(), labels: labels.clone() };
    let mut summary = Summary {
        switch_buffer_bytes: by_switch(scenario, buffer_bytes),
        flow_pauses: scenario.switch.ofc().map(|_| FlowPauseTotals {
            congested: part.clone(),
            uncongested: part,
            ..FlowPauseTotals::default()
        }),
        flow_tables: (scenario.results.flow_tables && scenario.switch.ofc().is_some())
            .then(FlowTables::default),
        port_queues: scenario.results.port_queues.then(|| PortQueues {
            labels: labels.keys().map(|label| (label.clone(), MeanQueue::default())).collect(),
            switches: by_switch(scenario, Some(MeanQueue::default())),
            ..PortQueues::default()
        }),
        link_bytes: by_switch(scenario, link_bytes),
        slowest_ports: scenario.switch.tells_rates().then_some(0),
        replaced_flows: (scenario.lossy_settings().flow_lines() != 0).then_some(0),
        active_flows,
        port_states,
        queue_pauses,
        flow_queues,
        faults,
        fct_ns,
        slowdown,
        sizes,
        labels,
        buffer_bytes,
        window,
        deadlock: DeadlockTotals { first_onset_ns: Some(0), ..DeadlockTotals::default() },
        watchdog: scenario.switch.watchdog.map(|_| WatchdogTotals::default()),
        buffer_max_bytes: switches(),
        headroom_max_bytes: switches(),
        ..Summary::default()
    };
    summary.drops.watchdog = scenario.switch.watchdog.map(|_| 0);
    summary.drops.by_reason = DropReason::ALL.iter().map(|it| (it.name().to_owned(), 0)).collect();
    summary
}

/// Returns a value for each switch, if there is one.
fn by_switch<T: Copy>(scenario: &Scenario, of: Option<T>) -> BTreeMap<String, T> {
    let fabric = scenario.fabric();
    let switches = (0..fabric.switch_count()).map(SwitchId);
    switches.filter_map(|id| Some((fabric.switch(id).name.clone(), of?))).collect()
}

/// Metrics of a table.
#[derive(Clone, Debug)]
pub(super) struct Selection<'a>(pub(super) Option<&'a [Pattern]>);

impl Selection<'_> {
    /// Returns true if a table has this metric.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.is_none_or(|patterns| patterns.iter().any(|it| glob::matches(&it.text, name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(pairs: &[(&str, i32)]) -> Metrics {
        Metrics(
            pairs.iter().map(|(name, value)| ((*name).into(), Decimal::whole(*value))).collect(),
        )
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
            ("paused_ns", Sample::Of(Decimal::whole(7))),
            ("flows_completed", Sample::Of(Decimal::whole(4))),
            ("labels.a.fct_ns.p99", Sample::Of(Decimal::whole(20))),
            ("labels.b.fct_ns.p99", Sample::Incomplete),
            ("labels.b.slowdown.mean", Sample::Incomplete),
            ("window.flows.fct_ns.mean", Sample::Incomplete),
            ("labels.fct_ns.c.slowdown.mean", Sample::Incomplete),
            ("labels.fct_ns.c.completed", Sample::Of(Decimal::whole(1))),
            ("labels.c.fct_ns.p99", Sample::Absent),
            ("labels.b.sizes.up-to-3kB.slowdown.p95", Sample::Of(Decimal::whole(2))),
            ("sizes.above-3kB.slowdown.mean", Sample::Incomplete),
            ("sizes.above-3kB.completed", Sample::Of(Decimal::whole(3))),
            ("deadlock.first_onset_ns", Sample::Absent),
            ("drops.by_reason.headroom-exhausted", Sample::Of(Decimal(0))),
        ] {
            assert_eq!(run.sample(name), expected, "{name}");
        }
        let whole = metrics(&[("flows_total", 5), ("flows_completed", 5), ("fct_ns.mean", 10)]);
        assert_eq!(whole.sample("fct_ns.mean"), Sample::Of(Decimal::whole(10)));
    }

    #[test]
    fn a_run_has_metrics_for_its_labels_switches_and_reasons_and_none_of_the_machine() {
        let (_, scenario) = crate::made_up::plan().sweep.run(0).unwrap();
        let names = names(&scenario);
        let label = scenario.workloads[0].label();
        for name in
            ["flows_total", "fct_ns.p99", "slowdown.mean", "deadlock.first_onset_ns", "lossless"]
                .map(str::to_owned)
                .into_iter()
                .chain(
                    ["flows", "fct_ns.max", "slowdown.p50"]
                        .map(|it| format!("labels.{label}.{it}")),
                )
                .chain(["buffer", "headroom"].map(|kind| format!("{kind}_max_bytes.s0")))
                .chain(DropReason::ALL.iter().map(|reason| format!("{BY_REASON}{}", reason.name())))
        {
            assert!(names.contains(&name), "{name} is not in {names:#?}");
        }
        for name in NO_METRICS.iter().chain(&Summary::MACHINE_KEYS).chain(&["scenario", "ended"]) {
            assert!(!names.iter().any(|other| other == name), "{name}");
        }
        assert!(names.is_sorted());
    }
}
