//! Data of a sweep for a report, from its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sweep::CELLS_TABLE;

use super::ReportError;
use results::TableReader;

/// Max number of cells.
const CELLS: usize = 80;
/// Max number of charts.
const CHARTS: usize = 24;
/// Metrics that are shown first, with their descriptions.
const FIRST: [(&str, &str); 9] = [
    ("slowdown.mean", "mean slowdown"),
    ("slowdown.p99", "99th percentile of the slowdown"),
    ("fct_ns.mean", "mean flow completion time, ns"),
    ("pause_frames", "PAUSE frames"),
    ("paused_ns", "time paused, summed over ports and priorities, ns"),
    ("deadlock.deadlocks", "deadlocks of a run"),
    ("buffer_bytes.p99", "99th percentile of occupancy, bytes"),
    ("ecn_marked", "ECN marks"),
    ("retransmitted_packets", "packets sent again"),
];

/// A metric in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Values of the axes.
    pub name: String,
    /// Mean over the cell's runs.
    pub mean: f64,
    /// 95 % interval of the mean, if the cell has several runs.
    pub interval: Option<(f64, f64)>,
}

/// A metric over the cells of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Key in `summary.csv`.
    pub key: String,
    /// Description of the metric.
    pub label: String,
    /// Values by cell.
    pub cells: Vec<Cell>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name in the report.
    pub name: String,
    /// Metrics that have a chart.
    pub metrics: Vec<Metric>,
    /// Number of cells left out for lack of room.
    pub cells_left_out: usize,
    /// Number of metrics left out for lack of room.
    pub metrics_left_out: usize,
}

impl Sweep {
    /// Reads a sweep's folder.
    pub fn read(folder: &Path, name: String) -> Result<Self, ReportError> {
        let mut table = TableReader::open(folder, CELLS_TABLE)?;
        let place = |column: &str| table.place_of(column);
        let metric = place("metric")?;
        let [incomplete, deadlock] = [place("incomplete")?, place("deadlock")?];
        let [mean, low, high] = [place("mean")?, place("ci95_low")?, place("ci95_high")?];
        // Cells that have a line, and all cells.
        let (mut shown, mut cells) = (BTreeSet::new(), BTreeSet::new());
        let mut found: Vec<Metric> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        while table.advance()? {
            let text = |place: usize| table.field(place);
            let finite = |place: usize| text(place).parse().ok().filter(|it: &f64| it.is_finite());
            // The columns before the metric are the axes.
            let mut cell = (0..metric).map(text).collect::<Vec<_>>().join(", ");
            for (place, what) in [(incomplete, "incomplete"), (deadlock, "deadlocked")] {
                if !["", "0"].contains(&text(place)) {
                    cell = format!("{cell} ({} {what})", text(place));
                }
            }
            let Some(mean) = finite(mean) else { continue };
            if cells.insert(cell.clone()) && shown.len() < CELLS {
                shown.insert(cell.clone());
            }
            if !shown.contains(&cell) {
                continue;
            }
            let key = text(metric);
            let at = *places.entry(key.to_owned()).or_insert_with(|| {
                let known = FIRST.into_iter().find(|(known, _)| *known == key);
                let label = known.map_or(key, |(_, label)| label).to_owned();
                found.push(Metric { key: key.to_owned(), label, cells: Vec::new() });
                found.len() - 1
            });
            let interval = finite(low).zip(finite(high));
            found[at].cells.push(Cell { name: cell, mean, interval });
        }
        let rank = |metric: &Metric| FIRST.iter().position(|(key, _)| *key == metric.key);
        found.sort_by_key(|metric| rank(metric).unwrap_or(FIRST.len()));
        let metrics_left_out = found.len().saturating_sub(CHARTS);
        found.truncate(CHARTS);
        let cells_left_out = cells.len().saturating_sub(CELLS);
        Ok(Self { name, metrics: found, cells_left_out, metrics_left_out })
    }
}
