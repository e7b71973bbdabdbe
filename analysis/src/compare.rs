//! Comparison of two runs, or of a run with the files of an HPCC-like simulator (`fct.txt`, `pfc.txt`).
//!
//! `side` reads the flows and pauses of both sides in the same terms, `flows` matches flows, `pauses` and `tables`
//! find the first differences, and `sections` is the presentation for terminals and reports. All numbers are exact.
//!
//! Equality is about the content of both sides: a table or a metric that only one side has is listed, but is not a difference.
//! Flows that only one side has are one: without them a run and a file may have nothing in common.

mod distribution;
mod flows;
mod pair;
mod pauses;
mod sections;
mod side;
mod tables;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use results::{
    FlowRow, Metrics, Number, PFC_FILE, PauseRow, Row, Summary, TABLES, TableError, table_path,
};
use scenario::ScenarioError;
use serde::Serialize;

use crate::report::{ReportError, differences};
use flows::{FlowsComparison, Names};
pub use pair::Pair;
use pauses::PausesComparison;
pub use sections::Section;
use side::{Numbering, Side};
use tables::TableComparison;

/// Reason why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A path without a file or folder.
    #[error(
        "cannot read {}: {source}; name a folder that `xoff run --out` has written, or the fct.txt of a simulator",
        path.display()
    )]
    Absent {
        /// The path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The folder of a sweep.
    #[error(
        "{folder} is the folder of a sweep: name one of its runs, which are the folders in {folder}/runs",
        folder = .0.display()
    )]
    Sweep(PathBuf),
    /// A folder that is not one of results.
    #[error(transparent)]
    Results(#[from] ReportError),
    /// A table or file that cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A scenario without a fabric, whose nodes have no numbers of a simulator.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Two sides compared. Instants are nanoseconds from the start of a run; those of a simulator's file are less the run's
/// `results.hpcc.time_offset`.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Paths of both sides.
    pub paths: Pair<String>,
    /// True if the tables, flows, pauses and metrics that both sides have are equal, and each flow is on both sides. Flows of
    /// `FlowsComparison::unfinished` may be missing in a simulator's file.
    pub equal: bool,
    /// Earliest difference.
    pub first: Option<First>,
    /// Keys in which the scenarios differ.
    pub scenario: Vec<Difference<String>>,
    /// Flows; `None` if a side has no table of flows.
    pub flows: Option<FlowsComparison>,
    /// Sides with a table of flows. One of them without the other is a difference.
    pub has_flows: Pair<bool>,
    /// Pauses; `None` if the sides have no table of pauses in common.
    pub pauses: Option<PausesComparison>,
    /// Tables of two runs.
    pub tables: Vec<TableComparison>,
    /// Metrics of two runs that differ.
    pub summary: Vec<Difference<Number>>,
    /// Parts that only one side has.
    pub not_compared: Vec<String>,
}

/// A difference and its instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct First {
    /// Instant of the difference.
    pub at_ns: i64,
    /// Place of the difference.
    pub place: String,
}

/// A value that differs. `None`: a side lacks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference<T> {
    /// Name of the value.
    pub key: String,
    /// Value in A.
    pub a: Option<T>,
    /// Value in B.
    pub b: Option<T>,
}

/// Compares two sides, each a folder of a run or an `fct.txt`.
pub fn compare(paths: Pair<&Path>) -> Result<Comparison, CompareError> {
    let sides = paths.try_map(Side::open)?;
    let runs = Pair { a: sides.a.run(), b: sides.b.run() };
    let is_file = runs.map(|run| run.is_none());
    let is_with_file = is_file.a || is_file.b;
    let of_pauses = pauses::file(&sides);
    let numbers = runs.try_map(|run| {
        let run = run.filter(|_| is_with_file || of_pauses == Some(PFC_FILE));
        run.map(|run| Numbering::read(&run.folder)).transpose()
    })?;
    // A file has the numbers of the run on the other side.
    let numbers = numbers.as_ref().map(Option::as_ref);
    let numbers = Pair { a: numbers.a.or(numbers.b), b: numbers.b.or(numbers.a) };
    let mut not_compared = Vec::new();

    let mut names = Names::default();
    let of_flows = numbers.map(|it| it.filter(|_| is_with_file));
    let a = sides.a.flows(of_flows.a, &mut names)?;
    let b = sides.b.flows(of_flows.b, &mut names)?;
    let has_flows = Pair { a: a.is_some(), b: b.is_some() };
    let flows = a.zip(b).map(|(a, b)| FlowsComparison::new(&Pair { a, b }, &names, is_file));
    let file = if has_flows.a { sides.a.file_of_flows() } else { sides.b.file_of_flows() };
    not_compared.extend(one_sided(file, has_flows));
    let pauses = if let Some(file) = of_pauses {
        Some(pauses::compare(file, &sides, numbers)?)
    } else {
        not_compared.extend(pauses::one_sided(&sides));
        None
    };
    let mut comparison = Comparison {
        paths: paths.map(|path| path.display().to_string()),
        equal: false,
        first: None,
        scenario: Vec::new(),
        flows,
        has_flows,
        pauses,
        tables: Vec::new(),
        summary: Vec::new(),
        not_compared,
    };
    if let Pair { a: Some(a), b: Some(b) } = runs {
        comparison.compare_runs(Pair { a, b })?;
    }
    comparison.conclude();
    Ok(comparison)
}

impl Comparison {
    /// Compares the scenarios, tables and metrics of two runs.
    fn compare_runs(&mut self, runs: Pair<&side::Run>) -> Result<(), CompareError> {
        let folders = runs.map(|run| &*run.folder);
        self.scenario = scenario_differences(folders);
        for table in TABLES {
            let there = folders.map(|folder| table_path(folder, table.file).exists());
            if there.a && there.b {
                let table = tables::compare(table, folders)?;
                if table.columns == 0 {
                    let note = format!("{}: A and B have no column in common", table.table);
                    self.not_compared.push(note);
                }
                self.tables.push(table);
            } else if ![FlowRow::FILE, PauseRow::FILE].contains(&table.file) {
                self.not_compared.extend(one_sided(table.file, there));
            }
        }
        let metrics = runs.map(|run| Metrics::new(&run.summary));
        let (differ, one_sided) = metric_differences(&metrics);
        self.summary = differ;
        self.not_compared.extend(one_sided);
        Ok(())
    }

    /// Fills in the verdict and the earliest difference.
    fn conclude(&mut self) {
        let pauses = self.pauses.iter().filter_map(PausesComparison::first);
        let tables = self.tables.iter().filter_map(TableComparison::first);
        let flows = self.flows.iter().filter_map(FlowsComparison::first);
        // At one instant the row of a table says most.
        let all = tables.chain(pauses).chain(flows);
        self.first = all.min_by_key(|first| first.at_ns);
        self.equal = self.has_flows.is_equal()
            && self.flows.as_ref().is_none_or(FlowsComparison::is_equal)
            && self.pauses.as_ref().is_none_or(|pauses| pauses.first.is_none())
            && self.tables.iter().all(|table| table.first.is_none())
            && self.summary.is_empty();
    }
}

/// Returns a note if only one side has the part.
fn one_sided(part: &str, there: Pair<bool>) -> Option<String> {
    match there {
        Pair { a: true, b: false } => Some(format!("{part}: only A has it")),
        Pair { a: false, b: true } => Some(format!("{part}: only B has it")),
        _ => None,
    }
}

fn scenario_differences(folders: Pair<&Path>) -> Vec<Difference<String>> {
    let rows = differences::rows([folders.a, folders.b].into_iter());
    let value = |text: &String| (text != differences::NONE).then(|| text.clone());
    let rows = rows.into_iter();
    rows.map(|row| Difference { key: row[0].clone(), a: value(&row[1]), b: value(&row[2]) })
        .collect()
}

/// Returns the metrics that differ, and a note for each metric that only one run has.
fn metric_differences(metrics: &Pair<Metrics>) -> (Vec<Difference<Number>>, Vec<String>) {
    let keys: BTreeSet<&String> = metrics.a.0.keys().chain(metrics.b.0.keys()).collect();
    let (mut differ, mut one_sided) = (Vec::new(), Vec::new());
    for key in keys {
        let values = metrics.as_ref().map(|metrics| metrics.value(key));
        match values {
            Pair { a: Some(a), b: Some(b) } if a == b => {}
            Pair { a: Some(_), b: Some(_) } => {
                differ.push(Difference { key: key.clone(), a: values.a, b: values.b });
            }
            values => {
                let there = values.map(|value| value.is_some());
                one_sided.extend(self::one_sided(&format!("{key} in {}", Summary::FILE), there));
            }
        }
    }
    // Totals come before parts of them.
    differ.sort_by_key(|metric| metric.key.matches('.').count());
    (differ, one_sided)
}
