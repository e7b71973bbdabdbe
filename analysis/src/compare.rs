//! Comparison of two runs, or of a run with the files of an HPCC-like simulator (`fct.txt`, `pfc.txt`).
//!
//! `side` reads the flows and pauses of both sides in the same terms, `matching` finds the flows that are the same, `flows`,
//! `pauses`, `tables` and `metrics` compare, `sizes` has the distributions of flows that are not the same, and `sections` is the
//! presentation for terminals and reports. Numbers are exact, and differences are B's number less A's.
//!
//! Equality is about the content of both sides: a table or a metric that only one side has is listed, but is not a difference.
//! Flows that only one side has are one: without them a run and a file may have nothing in common.

mod change;
mod distribution;
mod flows;
mod identity;
mod matching;
mod metrics;
mod numbers;
mod options;
mod pair;
mod pauses;
mod sections;
mod side;
mod sizes;
mod sweeps;
mod tables;
mod tolerance;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use results::{Manifest, Metrics, PFC_FILE, SCENARIO_FILE, TABLES, TableError, table_path};
use scenario::ScenarioError;
use serde::Serialize;

use crate::report::{ReportError, differences};
use flows::{FlowsComparison, Names};
use identity::Identity;
use metrics::MetricChange;
use options::Part;
pub use options::{ComparisonArguments, Options};
pub use pair::Pair;
use pauses::PausesComparison;
pub use sections::{Medium, Section};
use side::{Numbering, Side};
pub use sweeps::SweepsComparison;
use tables::TableComparison;
use tolerance::Tolerance;

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
    /// A folder of several files of flows or pauses.
    #[error("{} has {}: name one of these files", .0.display(), .1.join(", "))]
    Several(PathBuf, Vec<String>),
    /// The folder of a sweep, beside another side or in a report.
    #[error(
        "{folder} is the folder of a sweep, and the other side is not: name two sweeps, or one of its runs, such as \
         {folder}/runs/{}",
        .1,
        folder = .0.display()
    )]
    Sweep(PathBuf, String),
    /// Two sweeps where runs are expected.
    #[error("{} is the folder of a sweep: `xoff compare A B` compares two sweeps, a report two runs", .0.display())]
    OnlyRuns(PathBuf),
    /// A sweep that has not written its tables.
    #[error(
        "{folder} is the folder of a sweep without {file}, which has the axes of its runs ({} so far): finish `xoff sweep`, or name two \
         runs in {folder}/runs",
        results::count(*.1),
        folder = .0.display(),
        file = sweep::RUNS_TABLE
    )]
    NoTable(PathBuf, u64),
    /// A sweep without complete runs.
    #[error("{} has no complete run: `xoff sweep` goes on with it", .0.display())]
    NoRuns(PathBuf),
    /// Sweeps whose runs cannot be matched.
    #[error("the axes of A are {}, and of B {}: runs are matched by the values of all axes", .0.a, .0.b)]
    OtherAxes(Pair<String>),
    /// Options that leave nothing to compare.
    #[error("--only {} leaves nothing to compare{}", parts(.0), because(.1))]
    Nothing(Vec<Part>, Vec<String>),
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
    /// The verdict in a sentence.
    pub verdict: String,
    /// Both sides.
    pub sides: Pair<Identity>,
    /// True if the tables, flows, pauses and metrics that both sides have are equal up to the tolerance, and each flow is on
    /// both sides. Flows of `FlowsComparison::without_line` may be missing in a simulator's file.
    pub equal: bool,
    /// Differences that count as none.
    pub tolerance: Tolerance,
    /// Compared parts.
    pub parts: Vec<Part>,
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
    /// Metrics of two runs that differ, the largest change first.
    pub summary: Vec<MetricChange>,
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

/// Compares two sweeps if both sides are; `None` if neither is.
pub fn compare_sweeps(
    paths: Pair<&Path>,
    options: &Options,
) -> Result<Option<SweepsComparison>, CompareError> {
    match paths.map(sweeps::is_sweep) {
        Pair { a: true, b: true } => sweeps::compare(paths, options).map(Some),
        Pair { a: false, b: false } => Ok(None),
        Pair { a: is_a, .. } => {
            let sweep = if is_a { paths.a } else { paths.b };
            sweeps::check_table(sweep)?;
            let run = sweeps::example(sweep).unwrap_or_else(|| "RUN".to_owned());
            Err(CompareError::Sweep(sweep.to_owned(), run))
        }
    }
}

/// Compares two sides, each a folder of a run or an `fct.txt`.
pub fn compare(paths: Pair<&Path>, options: &Options) -> Result<Comparison, CompareError> {
    let sides = paths.try_map(Side::open)?;
    let identities =
        Pair { a: Identity::read(paths.a, &sides.a), b: Identity::read(paths.b, &sides.b) };
    let mut comparison = Comparison {
        verdict: String::new(),
        sides: identities,
        equal: false,
        tolerance: options.tolerance,
        parts: options.parts.clone(),
        first: None,
        scenario: Vec::new(),
        flows: None,
        has_flows: Pair::default(),
        pauses: None,
        tables: Vec::new(),
        summary: Vec::new(),
        not_compared: Vec::new(),
    };
    comparison.compare_flows_and_pauses(&sides, options)?;
    let runs = Pair { a: sides.a.run(), b: sides.b.run() };
    if let Pair { a: Some(a), b: Some(b) } = runs {
        comparison.compare_runs(Pair { a, b }, options)?;
    }
    let Comparison { has_flows, pauses, tables, .. } = &comparison;
    let has_something = has_flows.a
        || has_flows.b
        || pauses.is_some()
        || !tables.is_empty()
        || comparison.has_metrics();
    if !has_something {
        return Err(CompareError::Nothing(comparison.parts, comparison.not_compared));
    }
    if let Pair { a: Some(a), b: Some(b) } = runs {
        comparison.not_compared.extend(missing_files(Pair { a: &a.folder, b: &b.folder }));
    }
    comparison.conclude();
    Ok(comparison)
}

impl Comparison {
    /// Compares the parts that simulators' files have, too.
    fn compare_flows_and_pauses(
        &mut self,
        sides: &Pair<Side>,
        options: &Options,
    ) -> Result<(), CompareError> {
        let runs = Pair { a: sides.a.run(), b: sides.b.run() };
        let is_file = runs.map(|run| run.is_none());
        let is_with_file = is_file.a || is_file.b;
        let of_pauses = pauses::file(sides).filter(|_| options.has(Part::Pauses));
        let needs_numbers = is_with_file || of_pauses == Some(PFC_FILE);
        let numbers = runs.try_map(|run| {
            let run = run.filter(|_| needs_numbers);
            run.map(|run| Numbering::read(&run.folder)).transpose()
        })?;
        // A file has the numbers of the run on the other side.
        let numbers = numbers.as_ref().map(Option::as_ref);
        let numbers = Pair { a: numbers.a.or(numbers.b), b: numbers.b.or(numbers.a) };
        if options.has(Part::Flows) {
            let mut names = Names::default();
            let of_flows = numbers.map(|it| it.filter(|_| is_with_file));
            let a = sides.a.flows(of_flows.a, &mut names)?;
            let b = sides.b.flows(of_flows.b, &mut names)?;
            self.has_flows = Pair { a: a.is_some(), b: b.is_some() };
            let both = a.zip(b).map(|(a, b)| Pair { a, b });
            self.flows =
                both.map(|flows| FlowsComparison::new(&flows, &names, is_file, options.tolerance));
            let side = if self.has_flows.a { &sides.a } else { &sides.b };
            self.not_compared.extend(one_sided(side.file_of_flows(), self.has_flows));
        }
        if let Some(file) = of_pauses {
            self.pauses = Some(pauses::compare(file, sides, numbers, options.tolerance)?);
        } else if options.has(Part::Pauses) {
            self.not_compared.extend(pauses::one_sided(sides));
        }
        Ok(())
    }

    /// Compares the scenarios, tables and metrics of two runs.
    fn compare_runs(
        &mut self,
        runs: Pair<&side::Run>,
        options: &Options,
    ) -> Result<(), CompareError> {
        let folders = runs.map(|run| &*run.folder);
        let files = folders.map(|folder| folder.join(SCENARIO_FILE).exists());
        if files.a && files.b {
            self.scenario = scenario_differences(folders);
        }
        for table in TABLES.iter().filter(|_| options.has(Part::Tables)) {
            let there = folders.map(|folder| table_path(folder, table.file).exists());
            if there.a && there.b {
                let table = tables::compare(table, folders, options.tolerance)?;
                if table.columns == 0 {
                    let note = format!("{}: A and B have no column in common", table.table);
                    self.not_compared.push(note);
                }
                self.tables.push(table);
            } else {
                let note = one_sided(table.file, there);
                self.not_compared.extend(note.filter(|note| !self.not_compared.contains(note)));
            }
        }
        if options.has(Part::Metrics) {
            let metrics = runs.map(|run| Metrics::new(&run.summary));
            let (differ, one_sided) = metrics::compare(&metrics, options.tolerance);
            self.summary = differ;
            self.not_compared.extend(one_sided);
        }
        Ok(())
    }

    /// Returns true if metrics were compared.
    pub fn has_metrics(&self) -> bool {
        let are_runs = self.sides.a.build.is_some() && self.sides.b.build.is_some();
        are_runs && self.parts.contains(&Part::Metrics)
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
        self.verdict = sections::verdict(self);
    }
}

/// Returns the names of parts.
fn parts(parts: &[Part]) -> String {
    parts.iter().map(|part| part.name()).collect::<Vec<_>>().join(",")
}

/// Returns the reasons why nothing is left.
fn because(notes: &[String]) -> String {
    match notes {
        [] => ": A and B do not both have it".to_owned(),
        notes => format!(": {}", notes.join("; ")),
    }
}

/// Returns a note for each file without which runs are compared, but not in every respect.
fn missing_files(folders: Pair<&Path>) -> impl Iterator<Item = String> {
    let files = [(SCENARIO_FILE, "keys of the scenarios"), (Manifest::FILE, "builds of xoff")];
    files.into_iter().filter_map(move |(file, part)| {
        let side = match folders.map(|folder| folder.join(file).exists()) {
            Pair { a: true, b: true } => return None,
            Pair { a: true, b: false } => "B has",
            Pair { a: false, b: true } => "A has",
            Pair { a: false, b: false } => "A and B have",
        };
        Some(format!("{part}: {side} no {file}"))
    })
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
