//! Keys of the summary that a run of a scenario can have.

use std::collections::BTreeMap;

use fabric_core::drop_reason::DropReason;
use results::{
    ActiveFlows, DeadlockTotals, FaultTotals, FctSummary, FlowPart, FlowPauseTotals,
    FlowQueueTotals, FlowTables, LabelSummary, LinkBytes, MeanQueue, Metrics, OccupancySummary,
    PausedByLevel, PortQueues, PortStateTotals, QueuePauseTotals, SizeClassSlowdown,
    SizeClassSummary, SizeClasses, Slowdown, SlowdownSummary, Summary, WatchdogTotals,
    WindowSummary,
};
use scenario::Scenario;
use topology::SwitchId;

/// Returns the names of the metrics that a run of the scenario can have.
pub fn metric_names(scenario: &Scenario) -> Vec<String> {
    Metrics::new(&fullest(scenario)).0.into_keys().collect()
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
    let window = scenario.results.window().map(|_| WindowSummary {
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
    let port_states = scenario.switch.has_port_states().then(PortStateTotals::default);
    let faults = (!scenario.faults.is_empty()).then(FaultTotals::default);
    let link_bytes = scenario.results.link_bytes.then(LinkBytes::default);
    let part = FlowPart { flows: label.clone(), labels: labels.clone() };
    let mut summary = Summary {
        switch_buffer_bytes: by_switch(scenario, buffer_bytes),
        flow_pauses: scenario.switch.pauses_flows().then(|| FlowPauseTotals {
            congested: part.clone(),
            uncongested: part,
            ..FlowPauseTotals::default()
        }),
        flow_tables: (scenario.results.flow_tables && scenario.switch.pauses_flows())
            .then(FlowTables::default),
        port_queues: scenario.results.port_queues.then(|| PortQueues {
            labels: labels.keys().map(|label| (label.clone(), MeanQueue::default())).collect(),
            switches: by_switch(scenario, Some(MeanQueue::default())),
            ..PortQueues::default()
        }),
        link_bytes: by_switch(scenario, link_bytes),
        slowest_ports: scenario.switch.sends_rates().then_some(0),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_run_has_metrics_for_its_labels_switches_and_reasons_and_none_of_the_machine() {
        let text = "[topology]\nkind = \"star\"\nhosts = 2
host_link = { rate = \"100Gbps\", delay = \"1us\" }
[[flows]]\nkind = \"one\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"1kB\"";
        let scenario = Scenario::parse(text, Path::new("star.toml"), &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let names = metric_names(&scenario);
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
                .chain(
                    DropReason::ALL
                        .iter()
                        .map(|reason| format!("drops.by_reason.{}", reason.name())),
                )
        {
            assert!(names.contains(&name), "{name} is not in {names:#?}");
        }
        for name in Summary::MACHINE_KEYS.iter().chain(&["seed", "scenario", "ended"]) {
            assert!(!names.iter().any(|other| other == name), "{name}");
        }
        assert!(names.is_sorted());
    }
}
