//! What a report shows of a sweep, from its folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::ReportError;

/// The table of its cells.
pub const FILE: &str = "summary.csv";
/// Cells at most.
pub const CELLS: usize = 80;
/// Metrics that have a chart, if the sweep has measured them, and what they are.
const METRICS: [(&str, &str); 8] = [
    ("slowdown.mean", "mean slowdown"),
    ("slowdown.p99", "99th percentile of the slowdown"),
    ("fct_ns.mean", "mean flow completion time, ns"),
    ("pause_frames", "PAUSE frames"),
    ("paused_ns", "time paused, ns"),
    ("buffer_bytes.p99", "99th percentile of occupancy, bytes"),
    ("ecn_marked", "ECN marks"),
    ("retransmitted_packets", "packets sent again"),
];

/// The mean of a metric over the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Runs.
    pub runs: u64,
    /// Their mean.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
}

/// A metric over the cells of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// As in `summary.csv`.
    pub key: String,
    /// What it is.
    pub label: String,
    /// By cell.
    pub cells: Vec<(String, Estimate)>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// What it is called in the report.
    pub name: String,
    /// The metrics that have a chart.
    pub metrics: Vec<Metric>,
    /// Cells that have no room.
    pub omitted: usize,
}

impl Sweep {
    /// Reads a sweep's folder.
    pub fn read(folder: &Path, name: String) -> Result<Self, ReportError> {
        let path = folder.join(FILE);
        let failed = |source: csv::Error| ReportError::Table { path: path.clone(), source };
        let mut reader = csv::Reader::from_path(&path).map_err(failed)?;
        let header = reader.headers().map_err(failed)?.clone();
        let place = |column: &'static str| {
            let at = header.iter().position(|name| name == column);
            at.ok_or_else(|| ReportError::Column { path: path.clone(), column })
        };
        let (metric, runs) = (place("metric")?, place("n")?);
        let (mean, low, high) = (place("mean")?, place("ci95_low")?, place("ci95_high")?);
        let mut order: Vec<String> = Vec::new();
        let mut found: BTreeMap<String, Vec<(String, Estimate)>> = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(failed)?;
            let text = |place: usize| record.get(place).unwrap_or_default();
            // The columns before the metric are the axes.
            let cell = (0..metric).map(text).collect::<Vec<_>>().join(", ");
            let Ok(value) = text(mean).parse::<f64>() else { continue };
            if !order.contains(&cell) {
                order.push(cell.clone());
            }
            // A single run has no interval.
            let end = |place: usize| text(place).parse::<f64>().unwrap_or(value);
            let interval = (end(low), end(high));
            let runs = text(runs).parse().unwrap_or_default();
            let estimate = Estimate { runs, mean: value, interval };
            found.entry(text(metric).to_owned()).or_default().push((cell, estimate));
        }
        let shown: Vec<&String> = order.iter().take(CELLS).collect();
        let metrics = METRICS.into_iter().filter_map(|(key, label)| {
            let mut cells = found.remove(key)?;
            cells.retain(|(cell, _)| shown.contains(&cell));
            Some(Metric { key: key.to_owned(), label: label.to_owned(), cells })
        });
        let metrics = metrics.collect();
        Ok(Self { name, metrics, omitted: order.len().saturating_sub(CELLS) })
    }
}
