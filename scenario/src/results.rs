//! `results`: optional tables and files of a run.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use topology::Fabric;
use units::{Bytes, Picos};

use super::Stop;
use super::document::{Document, suggestion};
use super::glob;
use super::hpcc::Hpcc;
use super::omitted::Omitted;
use super::quantity;
use super::report::ScenarioError;

/// Maximum number of bounds of bins of flow sizes: each bin has percentiles for each label.
const MAX_BINS: usize = 64;
/// Maximum number of bounds of classes of flow sizes: each class has a dozen numbers for each label in `summary.json`.
const MAX_CLASSES: usize = 16;

/// Tables and files that a run writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is written")]
pub struct Results {
    /// Emulated time between samples in `queues.csv`.
    pub queue_period: Picos,
    /// Window of the run that `summary.json` also evaluates separately.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Upper bounds of the bins of `fct_by_size.csv`, inclusive, ascending and above zero. Flows above the last bound
    /// have a separate bin.
    #[serde(serialize_with = "sizes")]
    pub flow_size_bins: Vec<Bytes>,
    /// Upper bounds of the classes of flow sizes in `summary.json`, inclusive, ascending and above zero. Flows above
    /// the last bound have a separate class. Empty: no classes.
    #[serde(serialize_with = "sizes", skip_serializing_if = "Vec::is_empty")]
    pub size_classes: Vec<Bytes>,
    /// True to write `occupancy.csv`.
    pub occupancy: bool,
    /// True to add the bytes that links of switches carried to `summary.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub link_bytes: bool,
    /// True to add mean queue lengths of switch ports to `summary.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub port_queues: bool,
    /// True to add numbers of rows of OFC's tables to `summary.json`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flow_tables: bool,
    /// True to write `distributions.csv`.
    pub distributions: bool,
    /// True to write `held_flows.csv`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held_flows: bool,
    /// True to write `wire_log.bin`, from which `xoff explain` shows why a flow was slow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// True to add thresholds of ingress queues to `queues.csv`, and to write `lossy_queues.csv`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thresholds: bool,
    /// True to add counters of each queue to `counters.csv`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queue_counters: bool,
    /// True to write `link_priorities.csv`.
    pub link_priorities: bool,
    /// The format of the tables.
    #[serde(skip_serializing_if = "TableFormat::is_csv")]
    pub format: TableFormat,
    /// Tables that the run does not write.
    #[serde(skip_serializing_if = "Omitted::is_empty")]
    pub omit: Omitted,
    /// Options of `throughput.csv`; `None`: not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Options of `flow_trace.csv`; `None`: not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_trace: Option<FlowTrace>,
    /// Options of files in the format of the HPCC simulator; `None`: not written.
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

/// A window of the run: the instants in `[from, to)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// First instant.
    pub from: Picos,
    /// End, exclusive; after `from`, and not after the run's duration.
    pub to: Picos,
}

impl Window {
    /// Returns true if an instant is in the window.
    pub fn contains(self, time: Picos) -> bool {
        (self.from..self.to).contains(&time)
    }
}

/// Options of `throughput.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// Time over which bytes are counted: whole nanoseconds, above zero.
    pub interval: Picos,
    /// Patterns of labels; never empty.
    labels: Vec<String>,
}

impl Throughput {
    /// Returns true if flows with this label are counted.
    pub fn covers(&self, label: &str) -> bool {
        covers(&self.labels, label)
    }
}

/// Options of `flow_trace.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowTrace {
    /// Patterns of labels; never empty.
    labels: Vec<String>,
    /// Maximum number of rows, above zero.
    pub rows: u64,
}

impl FlowTrace {
    /// Returns true if flows with this label are traced.
    pub fn covers(&self, label: &str) -> bool {
        covers(&self.labels, label)
    }
}

fn covers(patterns: &[String], label: &str) -> bool {
    patterns.iter().any(|pattern| glob::matches(pattern, label))
}

/// Tables and files that a run writes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is written")]
pub(super) struct ResultsKeys {
    /// Emulated time between samples in `queues.csv`, above zero. Default "1us".
    queue_period: Picos,
    /// Start of the window that `summary.json` also evaluates separately (`window`), for example after the fabric has
    /// filled. Whole nanoseconds. Default: the run's start if `to` is given; without both keys there is no window.
    from: Option<Picos>,
    /// End of the window, exclusive; after `from`. `stop = "window"` ends the run when all flows that start in the
    /// window are done, so that traffic continues around the last of them. Default: the run's duration if `from` is
    /// given.
    to: Option<Picos>,
    /// Upper bounds of the bins of flow sizes in `fct_by_size.csv`, inclusive and ascending. Flows above the last bound
    /// have a separate bin. At most 64; an empty list puts all sizes into one bin. Default: "1kB", "10kB", "30kB" and
    /// so on up to "30MB".
    flow_size_bins: Vec<Bytes>,
    /// Upper bounds of classes of flow sizes, inclusive and ascending. `summary.json` has flows, slowdowns and
    /// completion times of each class, together and for each label (`sizes`). Flows above the last bound have a
    /// separate class. At most 16. Default []: no classes.
    size_classes: Vec<Bytes>,
    /// True to write `occupancy.csv`, and `buffer_bytes` in `summary.json`. They follow every change of every buffer,
    /// which takes about 4 % more instructions in a run in memory. Default false.
    occupancy: bool,
    /// True to write `link_bytes` in `summary.json`: the bytes that each switch sent to hosts and to switches, and the
    /// capacity of its links. Default false.
    link_bytes: bool,
    /// True to write `port_queues` in `summary.json`: mean lengths of the egress queues of ports that flows leave by,
    /// together, by label and by switch. Each sample counts until the next one (`queue_period`). Default false.
    port_queues: bool,
    /// True to write `flow_tables` in `summary.json`: mean and maximum number of rows in the tables of OFC, from
    /// samples of all entries. Needs `switch.scheme` of kind "ofc". Default false.
    flow_tables: bool,
    /// True to write `distributions.csv`, which measures headroom and paused queues at every arrival and departure.
    /// Default false.
    distributions: bool,
    /// True to write `held_flows.csv`: the flows in a queue at each pause of this queue, without flows that arrive
    /// later. Needs `switch.scheme` of kind "bfc". Default false.
    held_flows: bool,
    /// True to write `wire_log.bin`: every frame that is put on a wire, 64 bytes each. `xoff explain` shows from it why
    /// a flow was slow. A live fabric writes it for its whole life. Default false.
    explain: bool,
    /// True to add rows of kind `threshold` to `queues.csv`: X_off of each lossless ingress queue, at each sample at
    /// which it has changed. Also writes `lossy_queues.csv`: lengths and limits of lossy egress queues. Default false.
    thresholds: bool,
    /// True to add packets, bytes, ECN marks and exact watermarks of each queue to `counters.csv`, which takes work for
    /// every packet. Default false.
    queue_counters: bool,
    /// True to write `link_priorities.csv`: the traffic of each priority on each wire, which takes work for every
    /// frame. Default false.
    link_priorities: bool,
    /// Format of all tables: "csv", or "parquet" with typed columns, for pandas, polars and similar tools. Default
    /// "csv".
    format: TableFormat,
    /// Tables that the run does not write, by name without `.csv`, such as `["queues", "pauses"]`. `*` stands for any
    /// text, and `?` for one character, so that `["*"]` leaves only `summary.json`, the scenario and captures. Default
    /// []: writes all tables.
    omit: Omitted,
    /// Options of `throughput.csv`. Default: not written.
    throughput: Option<ThroughputKeys>,
    /// Options of `flow_trace.csv`: rate, window, round trip, congestion and outstanding bytes of chosen flows at each
    /// change. Default: not written.
    flow_trace: Option<FlowTraceKeys>,
    /// Options of `fct.txt`, `pfc.txt` and `qlen.txt`, files in the format of the HPCC simulator (ns-3). {} takes all
    /// defaults, like `xoff run --format hpcc`. Default: not written.
    hpcc: Option<Hpcc>,
}

/// Options of `throughput.csv`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ThroughputKeys {
    /// Time over which the bytes of a flow are counted: whole nanoseconds, above zero.
    interval: Picos,
    /// Labels of the flows to count; `*` stands for any text and `?` for one character. Default: all flows.
    #[serde(default = "every_label")]
    labels: Vec<String>,
}

/// Options of `flow_trace.csv`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FlowTraceKeys {
    /// Labels of the flows to trace; `*` stands for any text and `?` for one character.
    labels: Vec<String>,
    /// Maximum number of rows of all traced flows together, above zero. If the trace is cut there, `truncated` in
    /// `summary.json` and the report name it. Default 100000.
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
            queue_period: Picos(1_000_000),
            from: None,
            to: None,
            flow_size_bins: kilobytes.map(|size| Bytes(size * 1000)).into(),
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
        if self.queue_period == Picos::ZERO {
            let help = "write a time such as \"1us\"";
            return Err(document.error("results.queue_period", "samples without end", help));
        }
        let window = window(self.from, self.to, duration, document)?;
        if stop == Stop::Window && window.is_none() {
            let title = "`stop = \"window\"` without a window";
            let help = "write results.from and results.to, between which the flows start that are waited for";
            return Err(document.error("stop", title, help));
        }
        let flow_size_bins = self.flow_size_bins;
        check_bounds("flow_size_bins", "bin", MAX_BINS, &flow_size_bins, document)?;
        let size_classes = self.size_classes;
        check_bounds("size_classes", "class", MAX_CLASSES, &size_classes, document)?;
        self.omit.check(document)?;
        let throughput = self.throughput.map(|keys| keys.resolve(labels, document)).transpose()?;
        let flow_trace = self.flow_trace.map(|keys| keys.resolve(labels, document)).transpose()?;
        if let Some(hpcc) = &self.hpcc {
            hpcc.check(labels, fabric, document)?;
        }
        Ok(Results {
            queue_period: self.queue_period,
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
            hpcc: self.hpcc,
        })
    }
}

fn window(
    from: Option<Picos>,
    to: Option<Picos>,
    duration: Picos,
    document: &Document<'_>,
) -> Result<Option<Window>, ScenarioError> {
    if from.is_none() && to.is_none() {
        return Ok(None);
    }
    let window = Window { from: from.unwrap_or(Picos::ZERO), to: to.unwrap_or(duration) };
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
        let interval = self.interval;
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

/// Checks that each pattern at `path` matches the label of some flow.
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

/// Checks bounds of bins or classes of flow sizes: their number, and that they ascend from above zero.
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
