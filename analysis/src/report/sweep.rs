//! Data of a sweep for a report, from its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use results::TableReader;
use sweep::CELLS_TABLE;

use super::ReportError;
use super::chart::Unit;
use super::sweep_axis::SweepAxis;

/// Max number of cells.
const CELLS: usize = 240;

/// Mean of a metric in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Number of the cell.
    pub cell: usize,
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
    /// Values by cell.
    pub values: Vec<Value>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Name in the report.
    pub name: String,
    /// Axes with several values, in the order of the sweep's file.
    pub axes: Vec<SweepAxis>,
    /// Keys with a single value, as `key = value`.
    pub constant: Vec<String>,
    /// Value of each axis, by cell.
    pub cells: Vec<Vec<String>>,
    /// Cells with incomplete or deadlocked runs, and the numbers of these runs.
    pub troubles: Vec<String>,
    /// Metrics, in the order of the table.
    pub metrics: Vec<Metric>,
    /// Greatest number of seeds of a cell.
    pub seeds: u32,
    /// Number of cells left out for lack of room.
    pub cells_left_out: usize,
}

impl Sweep {
    /// Reads a sweep's folder.
    pub fn read(folder: &Path, name: String) -> Result<Self, ReportError> {
        let mut table = TableReader::open(folder, CELLS_TABLE)?;
        let place = |column: &str| table.place_of(column);
        let metric = place("metric")?;
        let n = place("n")?;
        let states = [(place("incomplete")?, "incomplete"), (place("deadlock")?, "deadlocked")];
        let [mean, low, high] = [place("mean")?, place("ci95_low")?, place("ci95_high")?];
        // The columns before the metric are the axes.
        let keys: Vec<String> = table.columns().iter().take(metric).map(str::to_owned).collect();
        let mut cells: Vec<Vec<String>> = Vec::new();
        let mut numbers: BTreeMap<Vec<String>, Option<usize>> = BTreeMap::new();
        let mut metrics: Vec<Metric> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut seeds = 0;
        let mut troubles: Vec<(usize, String)> = Vec::new();
        while table.advance()? {
            let text = |place: usize| table.field(place);
            let finite = |place: usize| text(place).parse().ok().filter(|it: &f64| it.is_finite());
            let values: Vec<String> = (0..metric).map(|axis| text(axis).to_owned()).collect();
            let number = *numbers.entry(values).or_insert_with_key(|values| {
                let number = (cells.len() < CELLS).then_some(cells.len());
                if let Some(number) = number {
                    cells.push(values.clone());
                    let counts =
                        states.iter().filter(|(place, _)| !["", "0"].contains(&text(*place)));
                    let counts: Vec<_> =
                        counts.map(|(at, what)| format!("{} {what}", text(*at))).collect();
                    if !counts.is_empty() {
                        troubles.push((number, counts.join(", ")));
                    }
                }
                number
            });
            let (Some(cell), Some(mean)) = (number, finite(mean)) else { continue };
            seeds = seeds.max(text(n).parse().unwrap_or(0));
            let at = *places.entry(text(metric).to_owned()).or_insert_with_key(|key| {
                metrics.push(Metric { key: key.clone(), values: Vec::new() });
                metrics.len() - 1
            });
            metrics[at].values.push(Value { cell, mean, interval: finite(low).zip(finite(high)) });
        }
        let cells_left_out = numbers.values().filter(|number| number.is_none()).count();
        let (axes, constant) = SweepAxis::of(&keys, &cells);
        let all = axes.iter().map(|axis| axis.column).collect::<Vec<_>>();
        for cell in &mut cells {
            *cell = all.iter().map(|&column| std::mem::take(&mut cell[column])).collect();
        }
        let mut sweep = Self {
            name,
            axes,
            constant,
            cells,
            troubles: Vec::new(),
            metrics,
            seeds,
            cells_left_out,
        };
        sweep.troubles = troubles
            .iter()
            .map(|(cell, what)| format!("{}: {what}", sweep.cell_name(*cell)))
            .collect();
        Ok(sweep)
    }

    /// Returns the name of a cell: its keys and values.
    pub fn cell_name(&self, cell: usize) -> String {
        let values = self.axes.iter().zip(&self.cells[cell]);
        values.map(|(axis, value)| axis.written(value)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the keys of metrics that are zero in all cells.
    pub fn zeros(&self) -> BTreeSet<&str> {
        let zero = |metric: &&Metric| {
            metric.values.len() == self.cells.len()
                && metric.values.iter().all(|value| value.mean == 0.0)
        };
        self.metrics.iter().filter(zero).map(|metric| &*metric.key).collect()
    }
}

/// Returns the unit of a metric by its key.
pub fn unit(key: &str) -> Unit {
    let is_bytes = key.split('.').any(|part| part.ends_with("bytes"));
    if key.split('.').any(|part| part.ends_with("_ns")) {
        Unit::Nanoseconds
    } else if is_bytes {
        Unit::Bytes
    } else {
        Unit::Number
    }
}
