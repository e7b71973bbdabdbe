//! `sweep.csv`, a row for each run and metric, and `summary.csv`, a row for each cell and metric.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::bootstrap;
use super::decimal::Decimal;
use super::folder::RunResult;
use super::metrics::{self, Metrics};
use super::plan::{Plan, Run};
use crate::results::CsvText;

/// `sweep.csv`: axes, `seed`, `run` (the name of the folder in `runs/`), `metric`, `value`. Rows are
/// in the order of the runs and of the metrics' names; runs without a result have none.
///
/// `results` has a place for each run.
pub fn runs(plan: &Plan, results: &[Option<RunResult>]) -> String {
    let mut table = header(plan, "seed,run,metric,value");
    for (run, metrics) in complete(plan, results) {
        for (metric, value) in selected(plan, &metrics) {
            axes(&mut table, plan, &run.choices);
            line(&mut table, format_args!("{},{},{metric},{value}", run.seed, run.id));
        }
    }
    table
}

/// `summary.csv`: axes, `metric`, `n` (runs with the metric), `mean`, `ci95_low`, `ci95_high` (the
/// [bootstrap's](bootstrap::interval), empty for one run), `min` and `max` over the seeds of a cell.
pub fn cells(plan: &Plan, results: &[Option<RunResult>]) -> String {
    let mut table = header(plan, "metric,n,mean,ci95_low,ci95_high,min,max");
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

fn header(plan: &Plan, rest: &str) -> String {
    let mut table = String::new();
    for axis in &plan.sweep.axes {
        write!(table, "{},", CsvText(&axis.name)).expect("a String takes every write");
    }
    table + rest + "\n"
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
