//! `results`: what is written beside the rows that every run leaves.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use topology::Fabric;
use units::{Bytes, Picos};

use super::Stop;
use super::document::{Document, suggestion};
use super::glob;
use super::hpcc::{Hpcc, HpccKeys};
use super::omitted::Omitted;
use super::quantity::{self, Quantity, Size, Time};
use super::report::ScenarioError;

/// Bins of flow sizes at most: each has its own percentiles for each label.
const MAX_BINS: usize = 64;
/// Bounds of classes of flow sizes at most: each class has a dozen numbers for each label in `summary.json`.
const MAX_CLASSES: usize = 16;

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is written")]
pub struct Results {
    /// Emulated time between two samples in `queues.csv`.
    #[serde(serialize_with = "quantity::serialize")]
    pub queue_period: Picos,
    /// The part of the run that `summary.json` also looks at by itself.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Upper bounds of the bins of `fct_by_size.csv`, inclusive, ascending and above zero; flows
    /// above the last one have a bin of their own.
    #[serde(serialize_with = "sizes")]
    pub flow_size_bins: Vec<Bytes>,
    /// Upper bounds of the classes of flow sizes in `summary.json`, inclusive, ascending and above zero; flows above the
    /// last one have a class of their own. Without a bound there are no classes.
    #[serde(serialize_with = "sizes", skip_serializing_if = "Vec::is_empty")]
    pub size_classes: Vec<Bytes>,
    /// Whether `occupancy.csv` is written.
    pub occupancy: bool,
    /// Whether `summary.json` has what the links of switches carried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub link_bytes: bool,
    /// Whether `summary.json` has mean queue lengths of switch ports.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub port_queues: bool,
    /// Whether `summary.json` has the rows of OFC's tables.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flow_tables: bool,
    /// Whether `distributions.csv` is written.
    pub distributions: bool,
    /// Whether `held_flows.csv` is written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held_flows: bool,
    /// Whether `wire_log.bin` is written, from which `xoff explain` tells why a flow was slow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Whether `queues.csv` has the thresholds of ingress queues, and `lossy_queues.csv` is written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thresholds: bool,
    /// Whether `counters.csv` has what each queue has seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queue_counters: bool,
    /// Whether `link_priorities.csv` is written.
    pub link_priorities: bool,
    /// The format of the tables.
    #[serde(skip_serializing_if = "TableFormat::is_csv")]
    pub format: TableFormat,
    /// Tables that are not written.
    #[serde(skip_serializing_if = "Omitted::is_empty")]
    pub omit: Omitted,
    /// What `throughput.csv` counts; none is written without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// What `flow_trace.csv` follows; none is written without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_trace: Option<FlowTrace>,
    /// How the HPCC simulator's files are written; none are without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hpcc: Option<Hpcc>,
}

/// The format of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableFormat {
    /// Text: a header, then a line for each row.
    #[default]
    Csv,
    /// Apache Parquet: typed columns.
    Parquet,
}

impl TableFormat {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_csv(&self) -> bool {
        *self == Self::Csv
    }
}

/// A part of the run: the instants from `from` up to and without `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// The first.
    #[serde(serialize_with = "quantity::serialize")]
    pub from: Picos,
    /// The first that is too late; after `from`, and not after the run's duration.
    #[serde(serialize_with = "quantity::serialize")]
    pub to: Picos,
}

impl Window {
    /// Whether an instant is one of them.
    pub fn contains(self, time: Picos) -> bool {
        (self.from..self.to).contains(&time)
    }
}

/// What `throughput.csv` counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// The span over which bytes are counted: whole nanoseconds, above zero.
    #[serde(serialize_with = "quantity::serialize")]
    pub interval: Picos,
    /// Patterns of labels; never empty.
    labels: Vec<String>,
}

impl Throughput {
    /// Whether flows of this label are counted.
    pub fn covers(&self, label: &str) -> bool {
        covers(&self.labels, label)
    }
}

/// What `flow_trace.csv` follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowTrace {
    /// Patterns of labels; never empty.
    labels: Vec<String>,
    /// Most rows, above zero.
    pub rows: u64,
}

impl FlowTrace {
    /// Whether flows of this label are traced.
    pub fn covers(&self, label: &str) -> bool {
        covers(&self.labels, label)
    }
}

fn covers(patterns: &[String], label: &str) -> bool {
    patterns.iter().any(|pattern| glob::matches(pattern, label))
}

/// What is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is written")]
pub(super) struct ResultsKeys {
    /// Emulated time between two samples in `queues.csv`, above zero. Default "1us".
    queue_period: Time,
    /// Where a part of the run begins that `summary.json` looks at by itself (`window`): once the fabric has filled,
    /// say. Whole nanoseconds. Default: the run's start, if `to` is given; with neither key there is no such part.
    from: Option<Time>,
    /// Where it ends; after `from`. `stop = "window"` ends the run when all flows that start in it are done, so
    /// that traffic goes on around the last of them. Default: the run's duration, if `from` is given.
    to: Option<Time>,
    /// Upper bounds of the bins of flow sizes in `fct_by_size.csv`: each bound belongs to its bin,
    /// they ascend, and flows above the last one have a bin of their own. At most 64; an empty list
    /// puts all sizes into one bin. Default: "1kB", "10kB", "30kB" and so on up to "30MB".
    flow_size_bins: Vec<Size>,
    /// Upper bounds of classes of flow sizes, of which `summary.json` has flows, slowdowns and completion times, together
    /// and for each label (`sizes`): each bound belongs to its class, they ascend, and flows above the last one have a
    /// class of their own. At most 16. Default []: no classes.
    size_classes: Vec<Size>,
    /// Whether `occupancy.csv` is written, and `buffer_bytes` in `summary.json`, which follows every change of every buffer: it takes
    /// about 4 % more instructions in a run in memory. Default false.
    occupancy: bool,
    /// Whether `summary.json` has `link_bytes`: what each switch sent to hosts and to switches, beside what its links
    /// carry at most. Default false.
    link_bytes: bool,
    /// Whether `summary.json` has `port_queues`: mean lengths of the egress queues of ports that flows leave by, together, by
    /// label and by switch. Each sample counts until the next one (`queue_period`). Default false.
    port_queues: bool,
    /// Whether `summary.json` has `flow_tables`: how many rows the tables of OFC have, in the mean and at most, by samples
    /// that look at all entries. Needs `switch.backpressure` of kind "ofc". Default false.
    flow_tables: bool,
    /// Whether `distributions.csv` is written, which measures headroom and paused queues at every arrival
    /// and departure. Default false.
    distributions: bool,
    /// Whether `held_flows.csv` is written: which flows each pause of a single queue finds in it, not those that come later. Needs `switch.backpressure`. Default
    /// false.
    held_flows: bool,
    /// Whether `wire_log.bin` is written: every frame that is put on a wire, 64 bytes each, from which `xoff explain` tells why a
    /// flow was slow. A live fabric writes it as long as it is up. Default false.
    explain: bool,
    /// Whether `queues.csv` also has rows of kind `threshold`: X_off of each lossless ingress queue, at each sample that finds
    /// it changed; and whether `lossy_queues.csv` is written: what lossy egress queues hold and may hold. Default false.
    thresholds: bool,
    /// Whether `counters.csv` also has packets, bytes, ECN marks and exact watermarks of each queue, for which every packet is
    /// looked at. Default false.
    queue_counters: bool,
    /// Whether `link_priorities.csv` is written: what each wire has carried of each priority, for which every frame is looked at.
    /// Default false.
    link_priorities: bool,
    /// The format of all tables: "csv", or "parquet" with typed columns, for pandas, polars and their like.
    /// Default "csv".
    format: TableFormat,
    /// Tables that are not written, by their names without `.csv`, such as `["queues", "pauses"]`; `*` stands for any text, and
    /// `?` for one character, so `["*"]` leaves `summary.json`, the scenario and captures only. Default []: none is left out.
    omit: Omitted,
    /// Asks for `throughput.csv`. Default: none is written.
    throughput: Option<ThroughputKeys>,
    /// Asks for `flow_trace.csv`: rate, window, round trip, congestion and outstanding bytes of chosen flows at each
    /// change. Default: none is written.
    flow_trace: Option<FlowTraceKeys>,
    /// Asks for `fct.txt`, `pfc.txt` and `qlen.txt`, files as the HPCC simulator (ns-3) writes them;
    /// {} takes all defaults, like `xoff run --format hpcc`. Default: none are written.
    hpcc: Option<HpccKeys>,
}

/// What `throughput.csv` counts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ThroughputKeys {
    /// Span over which the bytes of a flow are counted: whole nanoseconds, above zero.
    interval: Time,
    /// Labels of the flows to count; `*` stands for any text and `?` for one character. Default:
    /// every flow.
    #[serde(default = "every_label")]
    labels: Vec<String>,
}

/// What `flow_trace.csv` follows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowTraceKeys {
    /// Labels of the flows to trace; `*` stands for any text and `?` for one character.
    labels: Vec<String>,
    /// Most rows that are written, above zero, of all traced flows together. A trace that is cut there is named under
    /// `truncated` in `summary.json` and in the report. Default 100000.
    #[serde(default = "trace_rows")]
    rows: u64,
}

const fn trace_rows() -> u64 {
    100_000
}

impl Default for ResultsKeys {
    fn default() -> Self {
        let kilobytes = [1, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];
        Self {
            queue_period: Quantity(Picos(1_000_000)),
            from: None,
            to: None,
            flow_size_bins: kilobytes.map(|size| Quantity(Bytes(size * 1000))).into(),
            size_classes: Vec::new(),
            occupancy: false,
            link_bytes: false,
            port_queues: false,
            flow_tables: false,
            distributions: false,
            held_flows: false,
            explain: false,
            thresholds: false,
            queue_counters: false,
            link_priorities: false,
            format: TableFormat::Csv,
            omit: Omitted::default(),
            throughput: None,
            flow_trace: None,
            hpcc: None,
        }
    }
}

impl ResultsKeys {
    pub(super) fn resolve(
        self,
        labels: &BTreeSet<&str>,
        fabric: &Fabric,
        (duration, stop): (Picos, Stop),
        document: &Document<'_>,
    ) -> Result<Results, ScenarioError> {
        if self.queue_period.0 == Picos::ZERO {
            let help = "write a time such as \"1us\"";
            return Err(document.error("results.queue_period", "samples without end", help));
        }
        let window = window(self.from, self.to, duration, document)?;
        if stop == Stop::Window && window.is_none() {
            let title = "`stop = \"window\"` without a window";
            let help = "write results.from and results.to, between which the flows start that are waited for";
            return Err(document.error("stop", title, help));
        }
        let flow_size_bins: Vec<Bytes> = self.flow_size_bins.iter().map(|size| size.0).collect();
        check_bounds("flow_size_bins", "bin", MAX_BINS, &flow_size_bins, document)?;
        let size_classes: Vec<Bytes> = self.size_classes.iter().map(|size| size.0).collect();
        check_bounds("size_classes", "class", MAX_CLASSES, &size_classes, document)?;
        self.omit.check(document)?;
        let throughput = self.throughput.map(|keys| keys.resolve(labels, document)).transpose()?;
        let flow_trace = self.flow_trace.map(|keys| keys.resolve(labels, document)).transpose()?;
        let hpcc = self.hpcc.map(|keys| keys.resolve(labels, fabric, document)).transpose()?;
        Ok(Results {
            queue_period: self.queue_period.0,
            window,
            flow_size_bins,
            size_classes,
            occupancy: self.occupancy,
            link_bytes: self.link_bytes,
            port_queues: self.port_queues,
            flow_tables: self.flow_tables,
            distributions: self.distributions,
            held_flows: self.held_flows,
            explain: self.explain,
            thresholds: self.thresholds,
            queue_counters: self.queue_counters,
            link_priorities: self.link_priorities,
            format: self.format,
            omit: self.omit,
            throughput,
            flow_trace,
            hpcc,
        })
    }
}

fn window(
    from: Option<Time>,
    to: Option<Time>,
    duration: Picos,
    document: &Document<'_>,
) -> Result<Option<Window>, ScenarioError> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let window = Window {
        from: from.map_or(Picos::ZERO, |from| from.0),
        to: to.map_or(duration, |to| to.0),
    };
    for (key, time) in [("results.from", window.from), ("results.to", window.to)] {
        if Picos::from_nanos(time.to_nanos()) != time {
            let title = format!("a window that begins or ends at {}", quantity::display(time));
            let help = "instants in results are whole nanoseconds: write a time such as \"2ms\"";
            return Err(document.error(key, &title, help));
        }
    }
    if window.to > duration {
        let title = format!("the window ends at {}", quantity::display(window.to));
        let help = format!("the run's `duration` is {}", quantity::display(duration));
        return Err(document.error("results.to", &title, &help));
    }
    if window.from >= window.to {
        let (begin, end) = (quantity::display(window.from), quantity::display(window.to));
        let title = format!("the window begins at {begin} and ends at {end}");
        let key = if from.is_some() { "results.from" } else { "results.to" };
        let help = "a window begins before it ends";
        return Err(document.error(key, &title, help));
    }
    Ok(Some(window))
}

impl ThroughputKeys {
    fn resolve(
        self,
        labels: &BTreeSet<&str>,
        document: &Document<'_>,
    ) -> Result<Throughput, ScenarioError> {
        let interval = self.interval.0;
        if interval == Picos::ZERO || Picos::from_nanos(interval.to_nanos()) != interval {
            let title = format!("intervals of {}", quantity::display(interval));
            let help = "instants in results are whole nanoseconds: write a time such as \"10us\"";
            return Err(document.error("results.throughput.interval", &title, help));
        }
        if self.labels.is_empty() {
            let help = "name labels, or leave `labels` out for every flow";
            return Err(document.error("results.throughput.labels", "no flow is counted", help));
        }
        check_labels("results.throughput.labels", &self.labels, labels, document)?;
        Ok(Throughput { interval, labels: self.labels })
    }
}

impl FlowTraceKeys {
    fn resolve(
        self,
        labels: &BTreeSet<&str>,
        document: &Document<'_>,
    ) -> Result<FlowTrace, ScenarioError> {
        if self.labels.is_empty() {
            let help = "name labels of flows, or leave `flow_trace` out";
            return Err(document.error("results.flow_trace.labels", "no flow is traced", help));
        }
        check_labels("results.flow_trace.labels", &self.labels, labels, document)?;
        if self.rows == 0 {
            let help = "write how many rows there may be, or leave `flow_trace` out";
            return Err(document.error("results.flow_trace.rows", "a trace without rows", help));
        }
        Ok(FlowTrace { labels: self.labels, rows: self.rows })
    }
}

/// Checks that each pattern at `path` stands for the label of some flow.
fn check_labels(
    path: &str,
    patterns: &[String],
    labels: &BTreeSet<&str>,
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    for (place, pattern) in patterns.iter().enumerate() {
        if !labels.iter().any(|label| glob::matches(pattern, label)) {
            let help = suggestion(pattern, "the labels are", labels.iter().copied());
            let path = format!("{path}.{place}");
            let title = format!("no flow has a label like `{pattern}`");
            return Err(document.error(&path, &title, &help));
        }
    }
    Ok(())
}

fn every_label() -> Vec<String> {
    vec!["*".into()]
}

/// Bounds of bins or classes of flow sizes: there are not too many, and they ascend from above zero.
fn check_bounds(
    key: &str,
    kind: &str,
    most: usize,
    bounds: &[Bytes],
    document: &Document<'_>,
) -> Result<(), ScenarioError> {
    let path = format!("results.{key}");
    if bounds.len() > most {
        let plural = if kind == "class" { "classes" } else { "bins" };
        let title = format!("{} {plural} of flow sizes; the limit is {most}", bounds.len());
        let help = format!("each {kind} keeps percentiles of its own: write fewer bounds");
        return Err(document.error(&path, &title, &help));
    }
    let mut below = Bytes(0);
    for (place, &bound) in bounds.iter().enumerate() {
        if bound <= below {
            let title = if bound == Bytes(0) {
                format!("a {kind} up to 0B holds no flow")
            } else {
                let (bound, below) = (quantity::display(bound), quantity::display(below));
                format!("the bound {bound} comes after {below}")
            };
            let help = "write bounds above zero in ascending order, such as [\"10kB\", \"1MB\"]";
            return Err(document.error(&format!("{path}.{place}"), &title, help));
        }
        below = bound;
    }
    Ok(())
}

fn sizes<S: Serializer>(bins: &[Bytes], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(bins.iter().map(|&bound| quantity::display(bound)))
}
