//! Means and percentiles over flows, in integers and in bounded memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use super::distribution::Distribution;
use super::fct_by_size::GroupTimes;
use super::size_class::{SizeClassSlowdown, SizeClassSummary, SizeClasses};
use super::slowdown::Slowdown;
use super::tables::{FctBySizeRow, FlowRow};

/// Completion times of the completed flows, in nanoseconds. Percentiles are computed by
/// [`Distribution`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FctSummary {
    /// Mean, rounded half up.
    pub mean: u64,
    /// Shortest.
    #[serde(default)]
    pub min: u64,
    /// First quartile by nearest rank.
    #[serde(default)]
    pub p25: u64,
    /// Median by nearest rank.
    pub p50: u64,
    /// Third quartile by nearest rank.
    #[serde(default)]
    pub p75: u64,
    /// 99th percentile by nearest rank.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

/// Slowdowns of the completed flows. Percentiles are computed by [`Distribution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowdownSummary {
    /// Mean, rounded half up.
    pub mean: Slowdown,
    /// Median by nearest rank.
    pub p50: Slowdown,
    /// 99th percentile by nearest rank.
    pub p99: Slowdown,
}

/// The flows of one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelSummary {
    /// Flows, completed or not. Long-lived flows count only if completed.
    pub flows: u64,
    /// Completed flows.
    pub completed: u64,
    /// Completion times; `None` if no flow completed.
    pub fct_ns: Option<FctSummary>,
    /// Slowdowns; `None` if no flow completed.
    pub slowdown: Option<SlowdownSummary>,
    /// Numbers by class of size; empty if the scenario has no size classes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, SizeClassSummary>,
}

/// Collects flows: all, by size, and by label and size. Memory grows with the number of labels,
/// bins and classes, not with the number of flows.
#[derive(Clone, Debug)]
pub struct FlowStatistics {
    /// Upper bounds of the bins but the last, ascending.
    bins: Vec<Bytes>,
    classes: SizeClasses,
    together: LabelGroups,
    by_label: BTreeMap<String, LabelGroups>,
}

/// The flows of one label, or of all.
#[derive(Clone, Debug)]
struct LabelGroups {
    all: FlowGroup,
    by_size: Vec<FlowGroup>,
    by_class: Vec<FlowGroup>,
}

#[derive(Clone, Debug, Default)]
struct FlowGroup {
    flows: u64,
    fct_ns: Distribution,
    slowdown: Distribution,
}

impl FlowGroup {
    fn record(&mut self, flow: &FlowRow) {
        self.flows += u64::from(flow.fct.is_some() || !flow.long_lived);
        if let (Some(Nanos(fct)), Some(Slowdown(slowdown))) = (flow.fct, flow.slowdown()) {
            self.fct_ns.record(fct);
            self.slowdown.record(slowdown);
        }
    }

    fn fct_ns(&self) -> Option<FctSummary> {
        let Self { fct_ns, .. } = self;
        let [p25, p50, p75, p99] = fct_ns.percentiles([25, 50, 75, 99])?;
        let (mean, min, max) = (fct_ns.mean()?, fct_ns.least(), fct_ns.greatest());
        Some(FctSummary { mean, min, p25, p50, p75, p99, max })
    }

    fn slowdown(&self) -> Option<SizeClassSlowdown> {
        let [p50, p95, p99] = self.slowdown.percentiles([50, 95, 99])?.map(Slowdown);
        Some(SizeClassSlowdown { mean: Slowdown(self.slowdown.mean()?), p50, p95, p99 })
    }

    fn class_summary(&self) -> SizeClassSummary {
        let (fct_ns, slowdown) = (self.fct_ns(), self.slowdown());
        SizeClassSummary { flows: self.flows, completed: self.fct_ns.count(), fct_ns, slowdown }
    }

    fn times(&self) -> Option<GroupTimes> {
        let [fct_p99] = self.fct_ns.percentiles([99])?;
        Some(GroupTimes {
            slowdown_mean: Slowdown(self.slowdown.mean()?),
            slowdown_percentiles: self.slowdown.percentiles([50, 95, 99])?.map(Slowdown),
            slowdown_max: Slowdown(self.slowdown.greatest()),
            fct_mean: Nanos(self.fct_ns.mean()?),
            fct_p99: Nanos(fct_p99),
        })
    }
}

impl LabelGroups {
    fn new(bins: &[Bytes], classes: &SizeClasses) -> Self {
        let groups = |count| vec![FlowGroup::default(); count];
        let (by_size, by_class) = (groups(bins.len() + 1), groups(classes.count()));
        Self { all: FlowGroup::default(), by_size, by_class }
    }

    fn record(&mut self, flow: &FlowRow, bin: usize, class: Option<usize>) {
        self.all.record(flow);
        self.by_size[bin].record(flow);
        if let Some(class) = class {
            self.by_class[class].record(flow);
        }
    }

    fn summary(&self, classes: &SizeClasses) -> LabelSummary {
        let FlowGroup { flows, fct_ns, .. } = &self.all;
        let slowdown = self.all.slowdown();
        let slowdown = slowdown.map(|SizeClassSlowdown { mean, p50, p99, .. }| SlowdownSummary {
            mean,
            p50,
            p99,
        });
        let groups = classes.names().zip(&self.by_class);
        let sizes = groups.map(|(name, group)| (name, group.class_summary())).collect();
        let (flows, completed, fct_ns) = (*flows, fct_ns.count(), self.all.fct_ns());
        LabelSummary { flows, completed, fct_ns, slowdown, sizes }
    }
}

impl FlowStatistics {
    /// Statistics without flows. `bins` are upper bounds of sizes, inclusive and ascending; flows
    /// above the last bound have their own bin.
    pub fn new(bins: Vec<Bytes>, classes: SizeClasses) -> Self {
        let together = LabelGroups::new(&bins, &classes);
        Self { bins, classes, together, by_label: BTreeMap::new() }
    }

    /// Counts a flow, done or not.
    pub fn record(&mut self, flow: &FlowRow) {
        let bin = self.bins.partition_point(|&bound| bound < flow.bytes);
        let class = self.classes.class(flow.bytes);
        self.together.record(flow, bin, class);
        if !self.by_label.contains_key(flow.label) {
            let groups = LabelGroups::new(&self.bins, &self.classes);
            self.by_label.insert(flow.label.to_owned(), groups);
        }
        let groups = self.by_label.get_mut(flow.label).expect("the line above put it there");
        groups.record(flow, bin, class);
    }

    /// Flows, completion times and slowdowns of each label.
    pub fn by_label(&self) -> BTreeMap<String, LabelSummary> {
        let groups = self.by_label.iter();
        groups.map(|(label, groups)| (label.clone(), groups.summary(&self.classes))).collect()
    }

    /// Flows, completion times and slowdowns of all labels together.
    pub fn together(&self) -> LabelSummary {
        self.together.summary(&self.classes)
    }

    /// The groups that have flows: all labels together, then label by label; by size in each.
    pub fn by_size(&self) -> Vec<FctBySizeRow> {
        let labels = self.by_label.iter().map(|(label, groups)| (Some(label), &groups.by_size));
        let groups = std::iter::once((None, &self.together.by_size)).chain(labels);
        groups.flat_map(|(label, groups)| self.rows(label, groups)).collect()
    }

    fn rows(
        &self,
        label: Option<&String>,
        groups: &[FlowGroup],
    ) -> impl Iterator<Item = FctBySizeRow> {
        let lower = std::iter::once(Bytes(0)).chain(self.bins.iter().copied());
        let upper = self.bins.iter().copied().map(Some).chain([None]);
        let bins = lower.zip(upper).zip(groups).filter(|(_, group)| group.flows > 0);
        bins.map(move |((above, up_to), group)| FctBySizeRow {
            label: label.cloned(),
            above,
            up_to,
            flows: group.flows,
            completed: group.fct_ns.count(),
            times: group.times(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(label: &str, bytes: u64, fct: Option<u64>) -> FlowRow<'_> {
        FlowRow {
            flow: 0,
            label,
            src: "h0",
            dst: "h1",
            priority: 3,
            transport: "roce-rc",
            congestion_control: "none",
            bytes: Bytes(bytes),
            start: Nanos(0),
            fct: fct.map(Nanos),
            ideal: Nanos(100),
            retransmitted_packets: 0,
            cnps: 0,
            long_lived: false,
            path: String::new(),
            congested: None,
        }
    }

    #[test]
    fn order_does_not_matter_and_the_undone_do_not_count() {
        let statistics = |order: [u64; 3]| {
            let mut statistics = FlowStatistics::new(Vec::new(), SizeClasses::default());
            statistics.record(&flow("", 1, None));
            for fct in order {
                statistics.record(&flow("", 1, Some(fct)));
            }
            let LabelSummary { flows, completed, fct_ns, slowdown, sizes } = statistics.together();
            assert_eq!(sizes, BTreeMap::new());
            assert_eq!((flows, completed), (4, 3));
            (fct_ns.unwrap(), slowdown.unwrap())
        };
        let (fct, slowdown) = statistics([300, 100, 150]);
        assert_eq!(
            fct,
            FctSummary { mean: 183, min: 100, p25: 100, p50: 150, p75: 300, p99: 300, max: 300 }
        );
        assert_eq!(slowdown.mean, Slowdown(18_333));
        assert_eq!((fct, slowdown), statistics([100, 150, 300]));
        let none = FlowStatistics::new(Vec::new(), SizeClasses::default());
        assert_eq!(none.together().fct_ns, None);
    }

    #[test]
    fn a_bound_belongs_to_its_bin_and_empty_bins_have_no_row() {
        let bins = vec![Bytes(10), Bytes(100), Bytes(1000)];
        let mut statistics = FlowStatistics::new(bins, SizeClasses::default());
        for (label, bytes, fct) in [
            ("mice", 10, Some(100)),
            ("mice", 1, Some(300)),
            ("mice", 11, None),
            ("elephants", 1001, Some(900)),
            ("elephants", 11, Some(500)),
        ] {
            statistics.record(&flow(label, bytes, fct));
        }
        let long_lived = FlowRow { long_lived: true, ..flow("background", 500, None) };
        statistics.record(&long_lived);
        let rows = statistics.by_size();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.label.as_deref(), row.above.0, row.up_to, row.flows, row.completed))
            .collect();
        let (ten, hundred) = (Some(Bytes(10)), Some(Bytes(100)));
        assert_eq!(
            shown,
            [
                (None, 0, ten, 2, 2),
                (None, 10, hundred, 2, 1),
                (None, 1000, None, 1, 1),
                (Some("elephants"), 10, hundred, 1, 1),
                (Some("elephants"), 1000, None, 1, 1),
                (Some("mice"), 0, ten, 2, 2),
                (Some("mice"), 10, hundred, 1, 0),
            ]
        );
        let labels = statistics.by_label();
        let mice = &labels["mice"];
        assert_eq!((mice.flows, mice.completed, mice.fct_ns.unwrap().mean), (3, 2, 200));
        assert_eq!(labels["background"].fct_ns, None);
        assert_eq!(rows[0].times.unwrap().slowdown_mean, Slowdown(20_000));
        assert_eq!(rows[0].times.unwrap().fct_p99, Nanos(300));
        assert_eq!(rows[6].times, None);
    }
    #[test]
    fn classes_are_there_whether_or_not_they_have_flows() {
        let classes = SizeClasses::new(vec![Bytes(10), Bytes(100)]);
        let mut statistics = FlowStatistics::new(Vec::new(), classes);
        for (label, bytes, fct) in [
            ("mice", 10, Some(100)),
            ("mice", 1, Some(300)),
            ("mice", 11, None),
            ("elephants", 101, Some(900)),
        ] {
            statistics.record(&flow(label, bytes, fct));
        }
        let labels = statistics.by_label();
        let shown = |summary: &LabelSummary| -> Vec<(String, u64, u64)> {
            let sizes = summary.sizes.iter();
            sizes.map(|(name, it)| (name.clone(), it.flows, it.completed)).collect()
        };
        let row = |name: &str, flows, completed| (name.to_owned(), flows, completed);
        let mice = [row("10B-to-100B", 1, 0), row("above-100B", 0, 0), row("up-to-10B", 2, 2)];
        assert_eq!(shown(&labels["mice"]), mice);
        let all = [row("10B-to-100B", 1, 0), row("above-100B", 1, 1), row("up-to-10B", 2, 2)];
        assert_eq!(shown(&statistics.together()), all);
        let small = &labels["mice"].sizes["up-to-10B"];
        let fct =
            FctSummary { mean: 200, min: 100, p25: 100, p50: 100, p75: 300, p99: 300, max: 300 };
        assert_eq!(small.fct_ns, Some(fct));
        let [one, two, three] = [10_000, 20_000, 30_000].map(Slowdown);
        let expected = SizeClassSlowdown { mean: two, p50: one, p95: three, p99: three };
        assert_eq!(small.slowdown, Some(expected));
        assert_eq!(labels["mice"].sizes["10B-to-100B"].slowdown, None);
    }
}
