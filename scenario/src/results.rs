//! `results`: optional tables and files of a run.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ResultsKeys")]
#[expect(clippy::struct_excessive_bools, reason = "each is something that is written")]
pub struct Results {
    /// Emulated time between samples in `queues.csv`, above zero. Default "1us".
    pub queue_period: Picos,
    /// Start of a window, for example after queues have reached their steady state. `summary.json` has results of the
    /// window (`window`) beside results of the run. Whole nanoseconds. Default: the run's start if `to` is given; without both keys there is no window.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Picos>,
    /// End of the window, exclusive; after `from`. `stop = "window"` ends the run when all flows that start in the
    /// window are done, so that traffic continues around the last of them. Default: the run's duration if `from` is
    /// given.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Picos>,
    /// Upper bounds of the bins of flow sizes in `fct_by_size.csv`, inclusive and ascending. Flows above the last bound
    /// have a separate bin. At most 64; an empty list puts all sizes into one bin. Default: "1kB", "10kB", "30kB" and
    /// so on up to "30MB".
    pub flow_size_bins: Vec<Bytes>,
    /// Upper bounds of classes of flow sizes, inclusive and ascending. `summary.json` has flows, slowdowns and
    /// completion times of each class, together and for each label (`sizes`). Flows above the last bound have a
    /// separate class. At most 16. Default []: no classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub size_classes: Vec<Bytes>,
    /// True to write `occupancy.csv`, and `buffer_bytes` in `summary.json`. They follow every change of every buffer,
    /// which takes about 4 % more instructions in a run in memory. Default false.
    pub occupancy: bool,
    /// True to write `link_bytes` in `summary.json`: the bytes that each switch sent to hosts and to switches, and the
    /// capacity of its links. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub link_bytes: bool,
    /// True to write `port_queues` in `summary.json`: mean lengths of the egress queues of ports that flows leave by,
    /// together, by label and by switch. Each sample counts until the next one (`queue_period`). Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub port_queues: bool,
    /// True to write `flow_tables` in `summary.json`: mean and maximum number of rows in the tables of OFC, from
    /// samples of all entries. Needs `switch.scheme` of kind "ofc". Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub flow_tables: bool,
    /// True to write `distributions.csv`, which measures headroom and paused queues at every arrival and departure.
    /// Default false.
    pub distributions: bool,
    /// True to write `held_flows.csv`: the flows in a queue at each pause of this queue, without flows that arrive
    /// later. Needs `switch.scheme` of kind "bfc". Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub held_flows: bool,
    /// True to write `wire_log.bin`: every frame that is put on a wire, 64 bytes each. `xoff explain` shows from it why
    /// a flow was slow. A live fabric writes it for its whole life. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub explain: bool,
    /// True to add rows of kind `threshold` to `queues.csv`: X_off of each lossless ingress queue, at each sample at
    /// which it has changed. Also writes `lossy_queues.csv`: lengths and limits of lossy egress queues. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub thresholds: bool,
    /// True to add packets, bytes, ECN marks and exact watermarks of each queue to `counters.csv`, which takes work for
    /// every packet. Default false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub queue_counters: bool,
    /// True to write `link_priorities.csv`: the traffic of each priority on each wire, which takes work for every
    /// frame. Default false.
    pub link_priorities: bool,
    /// Format of all tables: "csv", or "parquet" with typed columns, for pandas, polars and similar tools. Default
    /// "csv".
    #[serde(skip_serializing_if = "TableFormat::is_csv")]
    #[schemars(extend("default" = "csv"))]
    pub format: TableFormat,
    /// Tables that the run does not write, by name without `.csv`, such as `["queues", "pauses"]`. `*` stands for any
    /// text, and `?` for one character, so that `["*"]` leaves only `summary.json`, the scenario and captures. Default
    /// []: writes all tables.
    #[serde(skip_serializing_if = "Omitted::is_empty")]
    #[schemars(extend("default" = []))]
    pub omit: Omitted,
    /// Options of `throughput.csv`. Default: not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Options of `flow_trace.csv`: rate, window, round trip, congestion and outstanding bytes of chosen flows at each
    /// change. Default: not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_trace: Option<FlowTrace>,
    /// Options of `fct.txt`, `pfc.txt` and `qlen.txt`, files in the format of the HPCC simulator (ns-3). {} takes all
    /// defaults, like `xoff run --format hpcc`. Default: not written.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ThroughputKeys")]
pub struct Throughput {
    /// Time over which the bytes of a flow are counted: whole nanoseconds, above zero.
    pub interval: Picos,
    /// Labels of the flows to count; `*` stands for any text and `?` for one character. Default: all flows.
    #[serde(default = "every_label")]
    labels: Vec<String>,
}

impl Throughput {
    /// Returns true if flows with this label are counted.
    pub fn covers(&self, label: &str) -> bool {
        covers(&self.labels, label)
    }
}

/// Options of `flow_trace.csv`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FlowTraceKeys")]
pub struct FlowTrace {
    /// Labels of the flows to trace; `*` stands for any text and `?` for one character.
    labels: Vec<String>,
    /// Maximum number of rows of all traced flows together, above zero. If the trace is cut there, `truncated` in
    /// `summary.json` and the report name it. Default 100000.
    #[serde(default = "trace_rows")]
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

const fn trace_rows() -> u64 {
    100_000
}

impl Default for Results {
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

impl Results {
    /// Returns the window of the run that `summary.json` also evaluates separately.
    pub fn window(&self) -> Option<Window> {
        Some(Window { from: self.from?, to: self.to? })
    }

    /// Removes the window.
    pub(super) const fn without_window(&mut self) {
        (self.from, self.to) = (None, None);
    }

    /// Completes the window, and checks the keys against the run and against each other.
    pub(super) fn complete(
        &mut self,
        labels: &BTreeSet<&str>,
        fabric: &Fabric,
        (duration, stop): (Picos, Stop),
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        if self.queue_period == Picos::ZERO {
            let help = "write a time such as \"1us\"";
            return Err(document.error("results.queue_period", "samples without end", help));
        }
        self.complete_window(duration, document)?;
        if stop == Stop::Window && self.window().is_none() {
            let title = "`stop = \"window\"` without a window";
            let help = "write results.from and results.to, between which the flows start that are waited for";
            return Err(document.error("stop", title, help));
        }
        check_bounds("flow_size_bins", "bin", MAX_BINS, &self.flow_size_bins, document)?;
        check_bounds("size_classes", "class", MAX_CLASSES, &self.size_classes, document)?;
        self.omit.check(document)?;
        if let Some(throughput) = &self.throughput {
            throughput.check(labels, document)?;
        }
        if let Some(flow_trace) = &self.flow_trace {
            flow_trace.check(labels, document)?;
        }
        self.hpcc.as_ref().map_or(Ok(()), |hpcc| hpcc.check(labels, fabric, document))
    }

    fn complete_window(
        &mut self,
        duration: Picos,
        document: &Document<'_>,
    ) -> Result<(), ScenarioError> {
        if self.from.is_none() && self.to.is_none() {
            return Ok(());
        }
        let key = if self.from.is_some() { "results.from" } else { "results.to" };
        let window =
            Window { from: self.from.unwrap_or_default(), to: self.to.unwrap_or(duration) };
        for (key, time) in [("results.from", window.from), ("results.to", window.to)] {
            if Picos::from_nanos(time.to_nanos()) != time {
                let title = format!("a window that begins or ends at {}", quantity::display(time));
                let help =
                    "instants in results are whole nanoseconds: write a time such as \"2ms\"";
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
            let help = "a window begins before it ends";
            return Err(document.error(key, &title, help));
        }
        (self.from, self.to) = (Some(window.from), Some(window.to));
        Ok(())
    }
}

impl Throughput {
    fn check(&self, labels: &BTreeSet<&str>, document: &Document<'_>) -> Result<(), ScenarioError> {
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
        check_labels("results.throughput.labels", &self.labels, labels, document)
    }
}

impl FlowTrace {
    fn check(&self, labels: &BTreeSet<&str>, document: &Document<'_>) -> Result<(), ScenarioError> {
        if self.labels.is_empty() {
            let help = "name labels of flows, or leave `flow_trace` out";
            return Err(document.error("results.flow_trace.labels", "no flow is traced", help));
        }
        check_labels("results.flow_trace.labels", &self.labels, labels, document)?;
        if self.rows == 0 {
            let help = "write how many rows there may be, or leave `flow_trace` out";
            return Err(document.error("results.flow_trace.rows", "a trace without rows", help));
        }
        Ok(())
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
