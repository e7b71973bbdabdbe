//! `sweep.csv` and `summary.csv`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::bootstrap;
use super::decimal::Decimal;
use super::folder::{CELLS_TABLE, RUNS_TABLE, RunResult};
use super::metrics::{self, Metrics};
use super::plan::{Plan, Run};
use crate::results::{Column, CsvText, section};

/// Columns of `sweep.csv` behind those of the axes.
const RUN_COLUMNS: &[Column] = &[
    Column { name: "seed", about: "Seed of the run." },
    Column { name: "run", about: "Name of the run's folder in `runs/`." },
    Column { name: "metric", about: "Path of a number in `summary.json`: `fct_ns.p99`." },
    Column { name: "value", about: "That number; `true` is 1 and `false` is 0." },
];

/// Columns of `summary.csv` behind those of the axes.
const CELL_COLUMNS: &[Column] = &[
    Column { name: "metric", about: "As in `sweep.csv`." },
    Column { name: "n", about: "Runs of the cell that have the metric." },
    Column { name: "mean", about: "Mean over them, rounded to a millionth." },
    Column {
        name: "ci95_low",
        about: "Lower end of the mean's 95 % confidence interval: percentile bootstrap over the seeds, \
                10,000 resamples, always the same. Empty for one run.",
    },
    Column { name: "ci95_high", about: "Its upper end." },
    Column { name: "min", about: "Least value." },
    Column { name: "max", about: "Largest value." },
];

/// Markdown that documents a sweep's tables.
pub fn columns_markdown() -> String {
    let mut text = String::from(
        "\n# Results of a sweep\n\n\
         A row starts with a column for each axis: `variant` if there are variants, then each key of the \
         matrix. Both tables\nhave what is complete, in the order of the sweep file, whatever the order \
         in which runs ended. `runs/` has a results\nfolder for each run, `sweep.toml` is the sweep file.\n",
    );
    let about = "A row for each run and metric. A run without flows that completed has no \
                 completion times; a reason\nof drops that any run has is 0 in the others.";
    section(&mut text, RUNS_TABLE, about, RUN_COLUMNS);
    section(&mut text, CELLS_TABLE, "A row for each cell of the matrix and metric.", CELL_COLUMNS);
    text
}

/// `sweep.csv`. `results` has a place for each run; runs without a result have no row.
pub fn runs(plan: &Plan, results: &[Option<RunResult>]) -> String {
    let mut table = header(plan, RUN_COLUMNS);
    for (run, metrics) in complete(plan, results) {
        for (metric, value) in selected(plan, &metrics) {
            axes(&mut table, plan, &run.choices);
            line(&mut table, format_args!("{},{},{metric},{value}", run.seed, run.id));
        }
    }
    table
}

/// `summary.csv`, likewise.
pub fn cells(plan: &Plan, results: &[Option<RunResult>]) -> String {
    let mut table = header(plan, CELL_COLUMNS);
    let mut cells: BTreeMap<&[usize], BTreeMap<String, Vec<Decimal>>> = BTreeMap::new();
    for (run, metrics) in complete(plan, results) {
        let cell = cells.entry(&run.choices).or_default();
        for (metric, value) in selected(plan, &metrics) {
            cell.entry(metric.to_owned()).or_default().push(value);
        }
    }
    for (choices, metrics) in cells {
        for (metric, values) in metrics {
            axes(&mut table, plan, choices);
            let count = values.len();
            let sum = Decimal(values.iter().map(|value| value.0).sum());
            let mean = Decimal::mean(sum, count);
            let interval = bootstrap::interval(&values)
                .map_or_else(|| ",".to_owned(), |(low, high)| format!("{low},{high}"));
            let ends = values.iter().min().zip(values.iter().max());
            let (least, most) = ends.expect("a metric is there because a run has it");
            line(&mut table, format_args!("{metric},{count},{mean},{interval},{least},{most}"));
        }
    }
    table
}

fn complete<'a>(plan: &'a Plan, results: &[Option<RunResult>]) -> Vec<(&'a Run, Metrics)> {
    let runs = plan.runs.iter().zip(results);
    let (runs, found): (Vec<&Run>, Vec<&Metrics>) = runs
        .filter_map(|(run, result)| result.as_ref().map(|result| (run, &result.metrics)))
        .unzip();
    runs.into_iter().zip(metrics::complete(found.into_iter())).collect()
}

fn selected<'a>(plan: &Plan, metrics: &'a Metrics) -> impl Iterator<Item = (&'a str, Decimal)> {
    let selection = plan.selection();
    let named = metrics.0.iter().map(|(name, value)| (name.as_str(), *value));
    named.filter(move |(name, _)| selection.contains(name))
}

fn header(plan: &Plan, columns: &[Column]) -> String {
    let axes = plan.sweep.axes.iter().map(|axis| CsvText(&axis.name).to_string());
    let names: Vec<String> =
        axes.chain(columns.iter().map(|column| column.name.to_owned())).collect();
    names.join(",") + "\n"
}

fn axes(table: &mut String, plan: &Plan, choices: &[usize]) {
    for (axis, choice) in plan.sweep.axes.iter().zip(choices) {
        let label = CsvText(&axis.choices[*choice].label);
        write!(table, "{label},").expect("a String takes every write");
    }
}

fn line(table: &mut String, fields: std::fmt::Arguments<'_>) {
    writeln!(table, "{fields}").expect("a String takes every write");
}
