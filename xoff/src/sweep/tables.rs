//! `sweep.csv` and `summary.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use results::{Column, ColumnType, Field, Fields, Row, TableFile, TableFormat, section};

use super::decimal::Decimal;
use super::folder::{CELLS_TABLE, RUNS_TABLE, RunResult, RunState};
use super::metrics::Sample;
use super::plan::{Plan, Run};
use super::student;

/// Columns of `sweep.csv` behind those of the axes.
const RUN_COLUMNS: &[Column<'static>] = &[
    Column::integer("seed", "Seed of the run."),
    Column::text("run", "Name of the run's folder in `runs/`."),
    Column::text(
        "state",
        "`complete`: every flow completed; `incomplete`: the duration was over before that, or before \
                the fabric had drained (`unfinished` in `summary.json`); `deadlock`: the run stopped at one, \
                as its scenario asks.",
    ),
    Column::text("metric", "Path of a number in `summary.json`: `fct_ns.p99`."),
    Column::decimal("value", "That number; `true` is 1 and `false` is 0."),
];

/// Columns of `summary.csv` behind those of the axes.
const CELL_COLUMNS: &[Column<'static>] = &[
    Column::text("metric", "As in `sweep.csv`."),
    Column::integer(
        "n",
        "Runs of the cell that the row is about: those that have the metric, and of completion \
                times and slowdowns those in which every flow (of the label) completed, which leaves out runs that stopped \
                when the flows of their window were done.",
    ),
    Column::integer(
        "incomplete",
        "Runs of the cell whose state is `incomplete`: what they count, they count up to the end \
                of the duration.",
    ),
    Column::integer(
        "deadlock",
        "Runs of the cell whose state is `deadlock`; they count in the same way.",
    ),
    Column::decimal(
        "mean",
        "Mean over the `n` runs, rounded to a millionth. Empty, as are the next columns, if \
                there are none.",
    )
    .or_empty(),
    Column::decimal(
        "ci95_low",
        "Lower end of the mean's 95 % confidence interval by Student's t over the `n` runs; wide \
                for few of them. Empty for one run.",
    )
    .or_empty(),
    Column::decimal("ci95_high", "Its upper end.").or_empty(),
    Column::decimal("min", "Least value.").or_empty(),
    Column::decimal("max", "Largest value.").or_empty(),
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
    section(&mut text, RunRow::FILE, RunRow::ABOUT, RunRow::COLUMNS);
    section(&mut text, CellRow::FILE, CellRow::ABOUT, CellRow::COLUMNS);
    text
}

/// A table that is known as a whole.
pub struct SweepTable<'a, R> {
    columns: Vec<Column<'a>>,
    rows: Vec<R>,
}

/// `sweep.csv`. `results` has a place for each run; runs without a result have no row.
pub fn runs<'a>(plan: &'a Plan, results: &'a [Option<RunResult>]) -> SweepTable<'a, RunRow<'a>> {
    let mut rows = Vec::new();
    let names = names(plan, results);
    let axes = Axes::of(plan);
    for (run, result) in ended(plan, results) {
        for metric in &names {
            let Some(value) = result.metrics.value(metric) else { continue };
            let (axes, state) = (axes.chosen(&run.choices), result.state);
            rows.push(RunRow { axes, run, state, metric, value });
        }
    }
    SweepTable { columns: axes.columns(RunRow::COLUMNS), rows }
}

/// `summary.csv`, likewise.
pub fn cells<'a>(plan: &'a Plan, results: &'a [Option<RunResult>]) -> SweepTable<'a, CellRow<'a>> {
    let mut rows = Vec::new();
    let names = names(plan, results);
    let axes = Axes::of(plan);
    let mut cells: BTreeMap<&[usize], Vec<&RunResult>> = BTreeMap::new();
    for (run, result) in ended(plan, results) {
        cells.entry(&run.choices).or_default().push(result);
    }
    for (choices, results) in cells {
        let [incomplete, deadlock] = [RunState::Incomplete, RunState::Deadlock]
            .map(|state| results.iter().filter(|run| run.state == state).count());
        for &metric in &names {
            let samples: Vec<Sample> =
                results.iter().map(|run| run.metrics.sample(metric)).collect();
            if samples.iter().all(|sample| *sample == Sample::Absent) {
                continue;
            }
            let values: Vec<Decimal> = samples.into_iter().filter_map(Sample::value).collect();
            let axes = axes.chosen(choices);
            rows.push(CellRow { axes, metric, incomplete, deadlock, values });
        }
    }
    SweepTable { columns: axes.columns(CellRow::COLUMNS), rows }
}

impl<R: Row> SweepTable<'_, R> {
    /// The file of it.
    pub fn bytes(&self, format: TableFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        let path = Path::new(R::FILE);
        let table = TableFile::new::<R>(format, &mut bytes, path, &self.columns);
        let written = table.and_then(|mut table| {
            self.rows.iter().try_for_each(|row| table.row(row))?;
            table.finish()
        });
        written.expect("memory takes every write, and a sweep's integers have a sign");
        bytes
    }
}

/// The axes of a sweep as columns, of numbers if all choices are written as numbers.
struct Axes<'a>(Vec<(Column<'a>, Vec<Field<'a>>)>);

impl<'a> Axes<'a> {
    fn of(plan: &'a Plan) -> Self {
        Self(
            plan.sweep
                .axes
                .iter()
                .map(|axis| {
                    let labels = || axis.choices.iter().map(|choice| choice.label.as_str());
                    let decimals =
                        || labels().map(results::Decimal::parse).collect::<Option<Vec<_>>>();
                    let integer = |label: &str| {
                        let fits = |it: &u64| is_plain(label) && i64::try_from(*it).is_ok();
                        label.parse().ok().filter(fits)
                    };
                    let integers = labels().map(integer).collect::<Option<Vec<u64>>>();
                    let (kind, fields): (_, Vec<Field<'a>>) = if let Some(integers) = integers {
                        (ColumnType::Integer, integers.into_iter().map(Field::Integer).collect())
                    } else if let Some(decimals) = decimals() {
                        (ColumnType::Decimal, decimals.into_iter().map(Field::Decimal).collect())
                    } else {
                        (ColumnType::Text, labels().map(Field::Text).collect())
                    };
                    (Column::new(kind, &axis.name, ""), fields)
                })
                .collect(),
        )
    }

    fn columns(&self, others: &[Column<'a>]) -> Vec<Column<'a>> {
        self.0.iter().map(|(column, _)| *column).chain(others.iter().copied()).collect()
    }

    fn chosen(&self, choices: &[usize]) -> Vec<Field<'a>> {
        self.0.iter().zip(choices).map(|((_, fields), choice)| fields[*choice]).collect()
    }
}

/// Whether a text is a whole number as it would be written.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// A metric of a run.
pub struct RunRow<'a> {
    axes: Vec<Field<'a>>,
    run: &'a Run,
    state: RunState,
    metric: &'a str,
    value: Decimal,
}

impl Row for RunRow<'_> {
    const FILE: &'static str = RUNS_TABLE;
    const ABOUT: &'static str = "A row for each run and metric. A run without flows that completed has no \
                                 completion times; a reason\nof drops that any run has is 0 in the others.";
    const COLUMNS: &'static [Column<'static>] = RUN_COLUMNS;

    fn fields(&self, row: &mut impl Fields) {
        self.axes.iter().for_each(|axis| row.field(*axis));
        row.add(self.run.seed).add(&*self.run.id.to_string()).add(self.state.name());
        row.add(self.metric).add(self.value);
    }
}

/// A metric of the runs of a cell.
pub struct CellRow<'a> {
    axes: Vec<Field<'a>>,
    metric: &'a str,
    incomplete: usize,
    deadlock: usize,
    /// Those of the runs that have it.
    values: Vec<Decimal>,
}

impl Row for CellRow<'_> {
    const FILE: &'static str = CELLS_TABLE;
    const ABOUT: &'static str = "A row for each cell of the matrix and metric.";
    const COLUMNS: &'static [Column<'static>] = CELL_COLUMNS;

    fn fields(&self, row: &mut impl Fields) {
        let values = &self.values;
        self.axes.iter().for_each(|axis| row.field(*axis));
        row.add(self.metric);
        for count in [values.len(), self.incomplete, self.deadlock] {
            row.add(count as u64);
        }
        let sum = Decimal(values.iter().map(|value| value.0).sum());
        row.add((!values.is_empty()).then(|| Decimal::mean(sum, values.len())));
        let interval = student::interval(values);
        row.add(interval.map(|(low, _)| low)).add(interval.map(|(_, high)| high));
        row.add(values.iter().min().copied()).add(values.iter().max().copied());
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up::{plan, run};
    use crate::sweep::sweep_file::Pattern;
    use insta::assert_snapshot;

    fn text<R: Row>(table: &SweepTable<'_, R>) -> String {
        String::from_utf8(table.bytes(TableFormat::Csv)).unwrap()
    }

    #[test]
    fn runs_that_were_cut_are_named_and_their_completion_times_are_in_no_mean() {
        let plan = plan();
        let (whole, cut) = (run(2, Some(30), 0), run(1, Some(10), 4));
        let stuck = RunResult { state: RunState::Deadlock, ..run(0, None, 0) };
        let results = [Some(whole), Some(cut.clone()), None, Some(cut), Some(stuck), None];
        let runs = plan.runs.iter().fold(text(&runs(&plan, &results)), |text, run| {
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
        assert_snapshot!(text(&cells(&plan, &results)), @"
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
        let runs: Vec<String> =
            text(&runs(&plan, &results)).lines().skip(1).map(metric(4)).collect();
        assert_eq!(runs, ["flows_completed", "flows_total", "paused_ns"]);
        let cells: Vec<String> =
            text(&cells(&plan, &results)).lines().skip(1).map(metric(1)).collect();
        assert_eq!(cells, runs);
    }

    #[test]
    fn every_column_is_documented() {
        let text = columns_markdown();
        for (table, columns) in [(RUNS_TABLE, RUN_COLUMNS), (CELLS_TABLE, CELL_COLUMNS)] {
            assert!(text.contains(&format!("\n## `{table}`\n")), "{table}");
            for column in columns {
                let row = format!("| `{}` | {}", column.name, column.kind.name());
                assert!(text.contains(&row) && text.contains(column.about), "{row}");
            }
        }
    }
}
