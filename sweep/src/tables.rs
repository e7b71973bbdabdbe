//! `sweep.csv` and `summary.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use results::{
    Column, ColumnType, Field, Fields, ResultsError, Row, Sample, TableFile, TableFormat, section,
};

use super::folder::{CELLS_TABLE, RUNS_TABLE, RunResult, RunState};
use super::plan::{Plan, Run};
use super::student;
use results::Number;

/// Columns of `sweep.csv` after the columns of the axes.
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

/// Columns of `summary.csv` after the columns of the axes.
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
                for few of them: it lies 9 standard deviations below the mean for 2 runs, 2.5 for 3, and 1.2 for 5. Empty \
                for one run.",
    )
    .or_empty(),
    Column::decimal("ci95_high", "Its upper end.").or_empty(),
    Column::decimal("min", "Least value.").or_empty(),
    Column::decimal("max", "Largest value.").or_empty(),
];

/// Returns Markdown that documents a sweep's tables.
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

/// Function that reads the results of a run from disk, so that they are not all in memory.
pub type Source<'a> = &'a dyn Fn(&Run) -> Option<RunResult>;

/// Summary of a sweep's results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Wall time of each run, by its index; `None` if it has no results.
    pub walls: Vec<Option<Duration>>,
    /// Number of runs whose state is [`RunState::Incomplete`].
    pub incomplete: usize,
    /// Number of runs whose state is [`RunState::Deadlock`].
    pub deadlock: usize,
    /// Runs that are not sound, by their indices, with the reason.
    pub doubts: Vec<(usize, String)>,
    /// Number of runs by kind of processor.
    pub processors: BTreeMap<String, usize>,
    /// Metrics of the tables that at least one run has.
    names: BTreeSet<String>,
}

impl Survey {
    /// Reads the results of each run once.
    pub fn new(plan: &Plan, source: Source<'_>) -> Self {
        let mut survey = Self::default();
        for run in &plan.runs {
            let result = source(run);
            survey.walls.push(result.as_ref().map(|it| it.wall));
            let Some(RunResult { metrics, state, doubt, processor, .. }) = result else { continue };
            *survey.processors.entry(processor).or_default() += 1;
            match state {
                RunState::Complete => {}
                RunState::Incomplete => survey.incomplete += 1,
                RunState::Deadlock => survey.deadlock += 1,
            }
            survey.doubts.extend(doubt.map(|why| (run.index, why)));
            for name in metrics.0.into_keys() {
                if !survey.names.contains(&name) && plan.selects(&name) {
                    survey.names.insert(name);
                }
            }
        }
        survey
    }

    /// Returns the number of runs that have results.
    pub fn done(&self) -> usize {
        self.walls.iter().flatten().count()
    }

    /// Returns a note if runs were executed on several kinds of processors.
    pub fn mixture(&self) -> Option<String> {
        let runs = |(name, count): (&String, &usize)| format!("{count} on {name}");
        let kinds: Vec<String> = self.processors.iter().map(runs).collect();
        (kinds.len() > 1).then(|| format!("several kinds of processors: {}", kinds.join(", ")))
    }

    /// Returns true if a run has results.
    pub fn is_done(&self, run: &Run) -> bool {
        self.walls[run.index].is_some()
    }
}

/// Writes `sweep.csv` to `runs` and `summary.csv` to `cells`. Only the numbers of one cell are in memory at a time.
pub fn write<W: Write + Send>(
    plan: &Plan,
    survey: &Survey,
    source: Source<'_>,
    format: TableFormat,
    [runs, cells]: [W; 2],
) -> Result<(), ResultsError> {
    let axes = Axes::new(plan);
    let (columns, path) = (axes.columns(RUN_COLUMNS), Path::new(RUNS_TABLE));
    let mut runs = TableFile::new(format, runs, path, RunRow::ABOUT, &columns)?;
    let (columns, path) = (axes.columns(CELL_COLUMNS), Path::new(CELLS_TABLE));
    let mut cells = TableFile::new(format, cells, path, CellRow::ABOUT, &columns)?;
    // Seeds vary fastest, so runs of a cell are consecutive.
    for cell in plan.runs.chunk_by(|one, next| one.choices == next.choices) {
        let mut gathered = Cell::default();
        for run in cell.iter().filter(|run| survey.is_done(run)) {
            let Some(result) = source(run) else { continue };
            for metric in &survey.names {
                if let Some(value) = result.metrics.value(metric) {
                    let (axes, state) = (axes.chosen(&run.choices), result.state);
                    runs.row(&RunRow { axes, run, state, metric, value })?;
                }
            }
            gathered.add(&survey.names, &result);
        }
        let Cell { incomplete, deadlock, metrics } = gathered;
        for (metric, values) in metrics {
            let axes = axes.chosen(&cell[0].choices);
            cells.row(&CellRow { axes, metric, incomplete, deadlock, values })?;
        }
    }
    runs.finish()?;
    cells.finish()
}

/// Runs with equal choices.
#[derive(Default)]
struct Cell<'a> {
    incomplete: usize,
    deadlock: usize,
    /// Numbers of each metric that any run has, including metrics with missing flows.
    metrics: BTreeMap<&'a str, Vec<Number>>,
}

impl<'a> Cell<'a> {
    fn add(&mut self, names: &'a BTreeSet<String>, result: &RunResult) {
        self.incomplete += usize::from(result.state == RunState::Incomplete);
        self.deadlock += usize::from(result.state == RunState::Deadlock);
        for metric in names {
            let sample = result.metrics.sample(metric);
            if sample != Sample::Absent {
                self.metrics.entry(metric).or_default().extend(sample.value());
            }
        }
    }
}

/// Axes of a sweep as columns; a column has numbers if all choices are written as numbers.
struct Axes<'a>(Vec<(Column<'a>, Vec<Field<'a>>)>);

impl<'a> Axes<'a> {
    fn new(plan: &'a Plan) -> Self {
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

/// Returns true if a text is a whole number in canonical form.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// A metric of a run.
pub struct RunRow<'a> {
    axes: Vec<Field<'a>>,
    run: &'a Run,
    state: RunState,
    metric: &'a str,
    value: Number,
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
    /// Values of the runs that have the metric.
    values: Vec<Number>,
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
        let sum = Number(values.iter().map(|value| value.0).sum());
        row.add((!values.is_empty()).then(|| Number::mean(sum, values.len())));
        let interval = student::interval(values);
        row.add(interval.map(|(low, _)| low)).add(interval.map(|(_, high)| high));
        row.add(values.iter().min().copied()).add(values.iter().max().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{plan, run};
    use crate::sweep_file::Pattern;
    use insta::assert_snapshot;

    /// Returns the text of both tables.
    fn texts(plan: &Plan, results: &[Option<RunResult>]) -> [String; 2] {
        let source = |run: &Run| results[run.index].clone();
        let mut tables = [Vec::new(), Vec::new()];
        let [runs, cells] = &mut tables;
        let survey = Survey::new(plan, &source);
        write(plan, &survey, &source, TableFormat::Csv, [runs, cells]).unwrap();
        tables.map(|table| String::from_utf8(table).unwrap())
    }

    #[test]
    fn runs_that_were_cut_are_named_and_their_completion_times_are_in_no_mean() {
        let plan = plan();
        let (whole, cut) = (run(2, Some(30), 0), run(1, Some(10), 4));
        let stuck = RunResult { state: RunState::Deadlock, ..run(0, None, 0) };
        let results = [Some(whole), Some(cut.clone()), None, Some(cut), Some(stuck), None];
        let [runs, cells] = texts(&plan, &results);
        let runs = plan.runs.iter().fold(runs, |text, run| {
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
        assert_snapshot!(cells, @"
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
        let [runs, cells] = texts(&plan, &results);
        let runs: Vec<String> = runs.lines().skip(1).map(metric(4)).collect();
        assert_eq!(runs, ["flows_completed", "flows_total", "paused_ns"]);
        let cells: Vec<String> = cells.lines().skip(1).map(metric(1)).collect();
        assert_eq!(cells, runs);
    }

    #[test]
    fn a_survey_counts_what_runs_say_of_themselves() {
        let plan = plan();
        let doubt = Some("s0 dropped 3 packets".to_owned());
        let stuck = RunResult { state: RunState::Deadlock, ..run(0, None, 0) };
        let lossy = RunResult { doubt, ..run(2, Some(30), 3) };
        let results = [Some(stuck), None, Some(run(1, Some(10), 0)), None, Some(lossy), None];
        let survey = Survey::new(&plan, &|run| results[run.index].clone());
        assert_eq!((survey.done(), survey.incomplete, survey.deadlock), (3, 1, 1));
        assert_eq!(survey.doubts, [(4, "s0 dropped 3 packets".to_owned())]);
    }

    #[test]
    fn a_run_that_came_after_the_survey_waits_for_the_next() {
        let plan = plan();
        let survey = Survey::new(&plan, &|_| None);
        let mut tables = [Vec::new(), Vec::new()];
        let [runs, cells] = &mut tables;
        let source = |_: &Run| Some(run(2, Some(30), 0));
        write(&plan, &survey, &source, TableFormat::Csv, [runs, cells]).unwrap();
        assert!(tables.iter().all(|table| String::from_utf8_lossy(table).lines().count() == 1));
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
