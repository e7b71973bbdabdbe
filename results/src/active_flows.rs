//! Numbers of flows with packets at ports, over time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::tables::FlowQueuesRow;
use super::window::Window;

/// Flows with packets that wait to leave by a port, by the samples of `flow_queues.csv` and weighted by time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActiveFlows {
    /// Over all ports that ever had such flows.
    pub ports: ActiveFlowsSummary,
    /// Over the port that had most in the mean.
    pub busiest: ActiveFlowsSummary,
    /// The busiest port, as `s0:17`.
    pub busiest_port: String,
    /// Mean change of a flow's fair share at the busiest port from one sample to the next, as a fraction of the earlier
    /// share, while flows are active at both samples.
    pub busiest_share_change: f64,
}

/// A distribution over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActiveFlowsSummary {
    /// The mean.
    pub mean: f64,
    /// Max number of flows in 50 % of the time.
    pub p50: u32,
    /// Max number of flows in 90 % of the time.
    pub p90: u32,
    /// Max number of flows in 99 % of the time.
    pub p99: u32,
    /// Max number of flows.
    pub max: u32,
}

/// Follows them.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveFlowsMeter {
    /// Between two samples.
    period: Nanos,
    window: Option<Window>,
    /// By switch and port.
    ports: BTreeMap<(String, u16), PortMeter>,
}

#[derive(Clone, Debug, Default)]
struct PortMeter {
    since: Nanos,
    flows: u32,
    /// Nanoseconds by number of flows.
    spans: BTreeMap<u32, u64>,
    /// Sum of the changes of shares, over all changes between samples with flows.
    changes: f64,
    /// Pairs of successive samples with flows.
    pairs: u64,
    /// The sample with flows before which there was one without.
    active_since: Option<Nanos>,
}

impl PortMeter {
    /// Sets the number of flows from `time` on.
    fn change(&mut self, window: Window, period: Nanos, time: Nanos, flows: u32) {
        self.count(window, time);
        if flows == 0 {
            self.rest(window, period, time);
        } else {
            self.active_since.get_or_insert(time);
        }
        if window.contains(time) && self.flows > 0 && flows > 0 {
            self.changes += (f64::from(self.flows) / f64::from(flows) - 1.0).abs();
        }
        (self.since, self.flows) = (time, flows);
    }

    /// Counts the pairs of samples with flows before `until`, from which on the port has no flows.
    fn rest(&mut self, window: Window, period: Nanos, until: Nanos) {
        if let Some(since) = self.active_since.take() {
            let samples = window.overlap(since, until).0 / period.0.max(1);
            self.pairs += samples.saturating_sub(1);
        }
    }

    /// Counts the time since the last change that lies in the window.
    fn count(&mut self, window: Window, until: Nanos) {
        let span = window.overlap(self.since, until);
        if span > Nanos(0) {
            *self.spans.entry(self.flows).or_default() += span.0;
        }
    }
}

impl ActiveFlowsMeter {
    pub(super) fn new(period: Nanos, window: Option<Window>) -> Self {
        Self { period, window, ports: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, row: &FlowQueuesRow) {
        let window = self.window(Nanos(u64::MAX));
        let port = self.ports.entry((row.node.to_owned(), row.port)).or_default();
        port.change(window, self.period, row.time, row.flows);
    }

    /// Summary of a run that ends at `end`; `None` if no port had a flow.
    pub(super) fn finish(mut self, end: Nanos) -> Option<ActiveFlows> {
        let window = self.window(end);
        let period = self.period;
        for port in self.ports.values_mut() {
            port.count(window, end);
            port.rest(window, period, end);
        }
        // A port that only pauses others has samples, too.
        self.ports.retain(|_, port| port.spans.keys().any(|flows| *flows > 0));
        let mut all = BTreeMap::new();
        let mut busiest: Option<(f64, ActiveFlows)> = None;
        for ((node, number), port) in &self.ports {
            for (flows, span) in &port.spans {
                *all.entry(*flows).or_default() += span;
            }
            let summary = ActiveFlowsSummary::new(&port.spans);
            if busiest.as_ref().is_none_or(|(most, _)| summary.mean > *most) {
                let flows = ActiveFlows {
                    ports: ActiveFlowsSummary::default(),
                    busiest: summary,
                    busiest_port: format!("{node}:{number}"),
                    busiest_share_change: rounded(port.changes / port.pairs.max(1) as f64),
                };
                busiest = Some((summary.mean, flows));
            }
        }
        let (_, flows) = busiest?;
        Some(ActiveFlows { ports: ActiveFlowsSummary::new(&all), ..flows })
    }

    /// The window, or the whole of a run that ends at `end`.
    fn window(&self, end: Nanos) -> Window {
        Window::or_whole(self.window, end)
    }
}

impl ActiveFlowsSummary {
    /// Summary of the time, in nanoseconds, by number of flows.
    fn new(spans: &BTreeMap<u32, u64>) -> Self {
        let time: u128 = spans.values().map(|&span| u128::from(span)).sum();
        let weighted = spans.iter().map(|(&flows, &span)| u128::from(flows) * u128::from(span));
        let at_most = |percent: u128| {
            let mut so_far = 0;
            let reaches = |(_, span): &(&u32, &u64)| {
                so_far += u128::from(**span);
                so_far * 100 >= time * percent
            };
            spans.iter().find(reaches).map_or(0, |(&flows, _)| flows)
        };
        Self {
            mean: rounded(weighted.sum::<u128>() as f64 / time.max(1) as f64),
            p50: at_most(50),
            p90: at_most(90),
            p99: at_most(99),
            max: spans.keys().next_back().copied().unwrap_or(0),
        }
    }
}

/// To four decimals, so that no last bit of a division is published.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: u64, port: u16, flows: u32) -> FlowQueuesRow<'static> {
        FlowQueuesRow {
            time: Nanos(time),
            node: "s0",
            port,
            flows,
            queues: 0,
            paused: 0,
            pausing: 0,
            activations: 0,
            collisions: 0,
        }
    }

    #[test]
    fn time_weighs() {
        let mut meter = ActiveFlowsMeter::new(Nanos(100), None);
        // 100 ns without flows, 300 ns with 1, 100 ns with 4, 500 ns with 2.
        for (time, flows) in [(100, 1), (400, 4), (500, 2)] {
            meter.record(&row(time, 7, flows));
        }
        // 900 ns without, 100 ns with 1.
        meter.record(&row(900, 8, 1));
        // A port that only pauses others does not count.
        meter.record(&row(300, 9, 0));
        let flows = meter.finish(Nanos(1000)).unwrap();
        let busiest = ActiveFlowsSummary { mean: 1.7, p50: 2, p90: 2, p99: 4, max: 4 };
        assert_eq!(flows.busiest_port, "s0:7");
        assert_eq!(flows.busiest, busiest);
        let all = ActiveFlowsSummary { mean: 0.9, p50: 0, p90: 2, p99: 4, max: 4 };
        assert_eq!(flows.ports, all);
        // 1 to 4 flows: three quarters less; 4 to 2: twice as much; nine samples with flows are eight pairs.
        assert!((flows.busiest_share_change - (0.75 + 1.0) / 8.0).abs() < 1e-4, "{flows:?}");
    }

    #[test]
    fn only_the_window_counts() {
        let window = Window { from: Nanos(200), to: Nanos(600) };
        let mut meter = ActiveFlowsMeter::new(Nanos(100), Some(window));
        for (time, flows) in [(100, 9), (300, 3), (700, 8)] {
            meter.record(&row(time, 0, flows));
        }
        let flows = meter.finish(Nanos(1000)).unwrap();
        let expected = ActiveFlowsSummary { mean: 4.5, p50: 3, p90: 9, p99: 9, max: 9 };
        assert_eq!(flows.busiest, expected);
        assert!((flows.busiest_share_change - 2.0 / 3.0).abs() < 1e-4, "{flows:?}");
    }

    /// Two samples with flows, a rest, and three: three pairs, in one of which the share halves.
    #[test]
    fn shares_are_compared_while_there_are_flows() {
        let mut meter = ActiveFlowsMeter::new(Nanos(100), None);
        for (time, flows) in [(100, 1), (300, 0), (400, 1), (600, 2), (700, 0)] {
            meter.record(&row(time, 0, flows));
        }
        let flows = meter.finish(Nanos(1000)).unwrap();
        assert!((flows.busiest_share_change - 0.5 / 3.0).abs() < 1e-4, "{flows:?}");
    }

    #[test]
    fn a_run_without_flows_has_none() {
        assert_eq!(ActiveFlowsMeter::new(Nanos(100), None).finish(Nanos(10)), None);
        let after = Window { from: Nanos(500), to: Nanos(600) };
        let mut meter = ActiveFlowsMeter::new(Nanos(100), Some(after));
        meter.record(&row(100, 0, 2));
        meter.record(&row(200, 0, 0));
        assert_eq!(meter.finish(Nanos(300)), None, "nothing of the window was reached");
    }
}
