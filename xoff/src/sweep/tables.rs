//! `sweep.csv` and `summary.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use results::{Column, CsvText, section};

use super::decimal::Decimal;
use super::folder::{CELLS_TABLE, RUNS_TABLE, RunResult, RunState};
use super::metrics::Sample;
use super::plan::{Plan, Run};
use super::student;

/// Columns of `sweep.csv` behind those of the axes.
const RUN_COLUMNS: &[Column] = &[
    Column { name: "seed", about: "Seed of the run." },
    Column { name: "run", about: "Name of the run's folder in `runs/`." },
    Column {
        name: "state",
        about: "`complete`: every flow completed; `incomplete`: the duration was over before that, or before \
                the fabric had drained (`unfinished` in `summary.json`); `deadlock`: the run stopped at one, \
                as its scenario asks.",
    },
    Column { name: "metric", about: "Path of a number in `summary.json`: `fct_ns.p99`." },
    Column { name: "value", about: "That number; `true` is 1 and `false` is 0." },
];

/// Columns of `summary.csv` behind those of the axes.
const CELL_COLUMNS: &[Column] = &[
    Column { name: "metric", about: "As in `sweep.csv`." },
    Column {
        name: "n",
        about: "Runs of the cell that the row is about: those that have the metric, and of completion \
                times and slowdowns those in which every flow (of the label) completed, which leaves out runs that stopped \
                when the flows of their window were done.",
    },
    Column {
        name: "incomplete",
        about: "Runs of the cell whose state is `incomplete`: what they count, they count up to the end \
                of the duration.",
    },
    Column {
        name: "deadlock",
        about: "Runs of the cell whose state is `deadlock`; they count in the same way.",
    },
    Column {
        name: "mean",
        about: "Mean over the `n` runs, rounded to a millionth. Empty, as are the next columns, if \
                there are none.",
    },
    Column {
        name: "ci95_low",
        about: "Lower end of the mean's 95 % confidence interval by Student's t over the `n` runs; wide \
                for few of them. Empty for one run.",
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
         matrix. Both tables\nlist all runs that ended, in the order of the sweep file. A run that lost\nframes to the machine below the emulation, \
         or whose books do not balance, has failed: it is in no table, and the next\ncall tries it again. \
         `runs/` has a results folder for each run, `sweep.toml` is the sweep file.\n",
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
    let names = names(plan, results);
    for (run, result) in ended(plan, results) {
        let (seed, id, state) = (run.seed, &run.id, result.state.name());
        for metric in &names {
            let Some(value) = result.metrics.value(metric) else { continue };
            axes(&mut table, plan, &run.choices);
            line(&mut table, format_args!("{seed},{id},{state},{metric},{value}"));
        }
    }
    table
}

/// `summary.csv`, likewise.
pub fn cells(plan: &Plan, results: &[Option<RunResult>]) -> String {
    let mut table = header(plan, CELL_COLUMNS);
    let names = names(plan, results);
    let mut cells: BTreeMap<&[usize], Vec<&RunResult>> = BTreeMap::new();
    for (run, result) in ended(plan, results) {
        cells.entry(&run.choices).or_default().push(result);
    }
    for (choices, results) in cells {
        let [incomplete, deadlock] = [RunState::Incomplete, RunState::Deadlock]
            .map(|state| results.iter().filter(|run| run.state == state).count());
        for metric in &names {
            let samples: Vec<Sample> =
                results.iter().map(|run| run.metrics.sample(metric)).collect();
            if samples.iter().all(|sample| *sample == Sample::Absent) {
                continue;
            }
            axes(&mut table, plan, choices);
            let values: Vec<Decimal> = samples.into_iter().filter_map(Sample::value).collect();
            let count = values.len();
            let statistics = statistics(&values).unwrap_or_else(|| ",,,,".into());
            line(&mut table, format_args!("{metric},{count},{incomplete},{deadlock},{statistics}"));
        }
    }
    table
}

/// The columns from the mean on; `None` without a value.
fn statistics(values: &[Decimal]) -> Option<String> {
    let (least, most) = values.iter().min().zip(values.iter().max())?;
    let mean = Decimal::mean(Decimal(values.iter().map(|value| value.0).sum()), values.len());
    let interval = student::interval(values)
        .map_or_else(|| ",".to_owned(), |(low, high)| format!("{low},{high}"));
    Some(format!("{mean},{interval},{least},{most}"))
}

fn ended<'a>(
    plan: &'a Plan,
    results: &'a [Option<RunResult>],
) -> impl Iterator<Item = (&'a Run, &'a RunResult)> {
    plan.runs.iter().zip(results).filter_map(|(run, result)| Some((run, result.as_ref()?)))
}

/// The metrics that any run has and that the tables are to have.
fn names<'a>(plan: &Plan, results: &'a [Option<RunResult>]) -> BTreeSet<&'a str> {
    let names = results.iter().flatten().flat_map(|result| result.metrics.0.keys());
    let selection = plan.selection();
    names.map(String::as_str).filter(|name| selection.contains(name)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up::{plan, run};
    use crate::sweep::sweep_file::Pattern;
    use insta::assert_snapshot;

    #[test]
    fn runs_that_were_cut_are_named_and_their_completion_times_are_in_no_mean() {
        let plan = plan();
        let (whole, cut) = (run(2, Some(30), 0), run(1, Some(10), 4));
        let stuck = RunResult { state: RunState::Deadlock, ..run(0, None, 0) };
        let results = [Some(whole), Some(cut.clone()), None, Some(cut), Some(stuck), None];
        let runs = plan.runs.iter().fold(runs(&plan, &results), |text, run| {
            text.replace(&run.id.to_string(), &format!("run{}", run.index))
        });
        assert_snapshot!(runs, @"
        switch.buffer,seed,run,state,metric,value
        1MB,1,run0,complete,drops.by_reason.headroom-exhausted,0
        1MB,1,run0,complete,fct_ns.mean,30
        1MB,1,run0,complete,flows_completed,2
        1MB,1,run0,complete,flows_total,2
        1MB,1,run0,complete,paused_ns,7002
        1MB,2,run1,incomplete,drops.by_reason.headroom-exhausted,4
        1MB,2,run1,incomplete,fct_ns.mean,10
        1MB,2,run1,incomplete,flows_completed,1
        1MB,2,run1,incomplete,flows_total,2
        1MB,2,run1,incomplete,paused_ns,7001
        2MB,1,run3,incomplete,drops.by_reason.headroom-exhausted,4
        2MB,1,run3,incomplete,fct_ns.mean,10
        2MB,1,run3,incomplete,flows_completed,1
        2MB,1,run3,incomplete,flows_total,2
        2MB,1,run3,incomplete,paused_ns,7001
        2MB,2,run4,deadlock,drops.by_reason.headroom-exhausted,0
        2MB,2,run4,deadlock,flows_completed,0
        2MB,2,run4,deadlock,flows_total,2
        2MB,2,run4,deadlock,paused_ns,7000
        ");
        assert_snapshot!(cells(&plan, &results), @"
        switch.buffer,metric,n,incomplete,deadlock,mean,ci95_low,ci95_high,min,max
        1MB,drops.by_reason.headroom-exhausted,2,1,0,2,-23.412,27.412,0,4
        1MB,fct_ns.mean,1,1,0,30,,,30,30
        1MB,flows_completed,2,1,0,1.5,-4.853,7.853,1,2
        1MB,flows_total,2,1,0,2,2,2,2,2
        1MB,paused_ns,2,1,0,7001.5,6995.147,7007.853,7001,7002
        2MB,drops.by_reason.headroom-exhausted,2,1,1,2,-23.412,27.412,0,4
        2MB,fct_ns.mean,0,1,1,,,,,
        2MB,flows_completed,2,1,1,0.5,-5.853,6.853,0,1
        2MB,flows_total,2,1,1,2,2,2,2,2
        2MB,paused_ns,2,1,1,7000.5,6994.147,7006.853,7000,7001
        ");
    }

    #[test]
    fn only_metrics_that_the_sweep_asks_for_are_in_the_tables() {
        let mut plan = plan();
        let origin = plan.sweep.axes[0].choices[0].origin.clone();
        let pattern = |text: &str| Pattern { text: text.into(), origin: origin.clone() };
        plan.sweep.metrics = Some(vec![pattern("flows_*"), pattern("paused_ns")]);
        let results = [Some(run(2, Some(30), 0)), None, None, None, None, None];
        let metric =
            |column| move |line: &str| line.split(',').nth(column).expect("a field").to_owned();
        let runs: Vec<String> = runs(&plan, &results).lines().skip(1).map(metric(4)).collect();
        assert_eq!(runs, ["flows_completed", "flows_total", "paused_ns"]);
        let cells: Vec<String> = cells(&plan, &results).lines().skip(1).map(metric(1)).collect();
        assert_eq!(cells, runs);
    }

    #[test]
    fn every_column_is_documented() {
        let text = columns_markdown();
        for (table, columns) in [(RUNS_TABLE, RUN_COLUMNS), (CELLS_TABLE, CELL_COLUMNS)] {
            assert!(text.contains(&format!("\n## `{table}`\n")), "{table}");
            for column in columns {
                assert!(text.contains(&format!("| `{}` | {} |", column.name, column.about)));
            }
        }
    }
}
