//! Comparison of two sweeps, run by run.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use results::{Metrics, Number, TableReader, counted, table_path};
use serde::Serialize;
use sweep::{CELLS_TABLE, RUNS, RUNS_TABLE, SWEEP_FILE};

use super::change::Change;
use super::numbers::{self, NONE};
use super::options::Options;
use super::pair::Pair;
use super::sections::Section;
use super::tolerance::Tolerance;
use super::{CompareError, Comparison};
use crate::report::{self, origin};

/// Metrics whose changes are in the table of runs.
const SHOWN: [(&str, &str); 3] = [
    ("fct_ns.mean", "mean FCT, % of A"),
    ("slowdown.p99", "p99 slowdown, % of A"),
    ("pause_frames", "PAUSE, % of A"),
];

/// Two sweeps compared. Runs are the same if the values of all axes and the seed are equal.
#[derive(Debug, Serialize)]
pub struct SweepsComparison {
    /// The verdict in a sentence.
    pub verdict: String,
    /// Paths of both sides.
    pub paths: Pair<String>,
    /// True if each run is in both sweeps, and equal up to the tolerance.
    pub equal: bool,
    /// Differences that count as none.
    pub tolerance: Tolerance,
    /// Runs that both sweeps have, in the order of A's table.
    pub runs: Vec<ComparedRun>,
    /// Runs that only one sweep has, by the values of its axes.
    pub only: Pair<Vec<String>>,
}

/// A run of both sweeps.
#[derive(Debug, Serialize)]
pub struct ComparedRun {
    /// Values of the axes, and the seed.
    pub choices: String,
    /// State of the run, as in `sweep.csv`.
    pub states: Pair<String>,
    /// Metrics of the table of runs, those too that are equal or within the tolerance. Empty if metrics are not compared.
    pub metrics: BTreeMap<&'static str, Change>,
    /// The comparison.
    pub comparison: Comparison,
}

/// Values of the axes and the seed, by their names. Numbers are in one form.
type Choices = BTreeMap<String, String>;

/// A run of a sweep.
struct SweepRun {
    choices: Choices,
    /// The choices in words, in the order of the columns.
    text: String,
    state: String,
    folder: PathBuf,
}

/// State of a run that came to its end.
const COMPLETE: &str = "complete";

/// Returns true if a folder is one of a sweep, whose tables may be missing.
pub fn is_sweep(folder: &Path) -> bool {
    let has_begun = || folder.join(SWEEP_FILE).exists() && folder.join(RUNS).is_dir();
    table_path(folder, CELLS_TABLE).exists() || has_begun()
}

/// Refuses a sweep that has not written its tables: only these have the values of its runs' axes.
pub fn check_table(sweep: &Path) -> Result<(), CompareError> {
    if table_path(sweep, RUNS_TABLE).exists() {
        return Ok(());
    }
    let runs = std::fs::read_dir(sweep.join(RUNS)).into_iter().flatten().flatten();
    let runs = runs.filter(|run| run.path().join(results::Summary::FILE).exists()).count();
    Err(CompareError::NoTable(sweep.to_owned(), runs as u64))
}

/// Compares two sweeps.
pub fn compare(paths: Pair<&Path>, options: &Options) -> Result<SweepsComparison, CompareError> {
    let sweeps = paths.try_map(read)?;
    let axes = |runs: &Vec<SweepRun>| -> Vec<String> {
        runs.first().map(|run| run.choices.keys().cloned().collect()).unwrap_or_default()
    };
    let of_both = sweeps.as_ref().map(axes);
    if sweeps.a.is_empty() || sweeps.b.is_empty() {
        let empty = if sweeps.a.is_empty() { paths.a } else { paths.b };
        return Err(CompareError::NoRuns(empty.to_owned()));
    }
    if !of_both.is_equal() {
        return Err(CompareError::OtherAxes(of_both.map(|axes| axes.join(", "))));
    }
    let Pair { a, b } = sweeps;
    let mut of_b: BTreeMap<Choices, SweepRun> =
        b.into_iter().map(|run| (run.choices.clone(), run)).collect();
    let (mut runs, mut only) = (Vec::new(), Pair::<Vec<String>>::default());
    for SweepRun { choices, text, state, folder } in a {
        let Some(other) = of_b.remove(&choices) else {
            only.a.push(text);
            continue;
        };
        let folders = Pair { a: &*folder, b: &*other.folder };
        let comparison = super::compare(folders, options)?;
        let metrics = if comparison.has_metrics() { shown(folders)? } else { BTreeMap::new() };
        let states = Pair { a: state, b: other.state };
        runs.push(ComparedRun { choices: text, states, metrics, comparison });
    }
    only.b = of_b.into_values().map(|run| run.text).collect();
    let different = runs.iter().filter(|run| !run.comparison.equal).count();
    let equal = different == 0 && only.a.is_empty() && only.b.is_empty();
    let runs_text = |runs: usize| counted(runs as u64, "run");
    let lonely = [("A", &only.a), ("B", &only.b)].into_iter().filter(|(_, only)| !only.is_empty());
    let lonely = lonely.map(|(side, only)| format!("{} only in {side}", runs_text(only.len())));
    let of_all = (different > 0).then(|| format!("{different} of {}", runs_text(runs.len())));
    let parts = of_all.into_iter().chain(lonely).collect::<Vec<String>>().join(", ");
    let tolerance = options.tolerance;
    let up_to = if tolerance.is_zero() { String::new() } else { format!(" up to {tolerance}") };
    let verdict = match runs.len() {
        all if equal => format!("equal{up_to}: {}", runs_text(all)),
        all if different == 0 && all > 0 => {
            format!("different: {parts}; equal{up_to}: {} of both", runs_text(all))
        }
        _ => format!("different: {parts}"),
    };
    let paths = paths.map(|path| path.display().to_string());
    Ok(SweepsComparison { verdict, paths, equal, tolerance, runs, only })
}

/// Returns the metrics of the table of runs.
fn shown(folders: Pair<&Path>) -> Result<BTreeMap<&'static str, Change>, CompareError> {
    let metrics = folders.try_map(report::summary)?.as_ref().map(Metrics::new);
    let of = |key| Change::new(metrics.as_ref().map(|metrics| metrics.value(key)));
    Ok(SHOWN.map(|(key, _)| (key, of(key))).into())
}

/// Returns the value of an axis, numbers as fractions in lowest terms: `1/16` and `0.0625` are one value. A unit stays.
fn canonical(value: &str) -> String {
    let is_of_number = |it: char| it.is_ascii_digit() || matches!(it, '.' | '/' | ' ');
    let unit = value.find(|it| !is_of_number(it)).unwrap_or(value.len());
    let (number, unit) = value.split_at(unit);
    fraction(number.trim()).map_or_else(
        || value.to_owned(),
        |(part, whole)| {
            if whole == 1 { format!("{part}{unit}") } else { format!("{part}/{whole}{unit}") }
        },
    )
}

/// Reads a fraction, of whole or decimal numbers, in lowest terms.
fn fraction(text: &str) -> Option<(u128, u128)> {
    let decimal = |text: &str| -> Option<(u128, u128)> {
        let (whole, places) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{places}").parse().ok()?;
        Some((digits, 10_u128.checked_pow(u32::try_from(places.len()).ok()?)?))
    };
    let (part, whole) = text.split_once('/').unwrap_or((text, "1"));
    let (part, whole) = (decimal(part.trim())?, decimal(whole.trim())?);
    let (part, whole) = (part.0.checked_mul(whole.1)?, part.1.checked_mul(whole.0)?);
    let (mut divisor, mut rest) = (part, whole);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (whole > 0).then(|| (part / divisor, whole / divisor))
}

/// Reads the runs of a sweep that its table has, in the order of the table.
fn read(sweep: &Path) -> Result<Vec<SweepRun>, CompareError> {
    check_table(sweep)?;
    let mut table = TableReader::open(sweep, RUNS_TABLE)?;
    let (seed, name) = (table.place_of("seed")?, table.place_of("run")?);
    let state = table.place_of("state")?;
    let keys: Vec<String> = table.columns().iter().take(seed + 1).map(str::to_owned).collect();
    let mut runs: Vec<SweepRun> = Vec::new();
    let mut last = String::new();
    // A run has a row for each metric, and these are together.
    while table.advance()? {
        if table.field(name) == last {
            continue;
        }
        table.field(name).clone_into(&mut last);
        let values = || keys.iter().enumerate().map(|(axis, key)| (key, table.field(axis)));
        let choices = values().map(|(key, value)| (key.clone(), canonical(value))).collect();
        let words = values().map(|(key, value)| origin::choice(key, value, &keys));
        let text = words.collect::<Vec<_>>().join(", ");
        let (state, folder) = (table.field(state).to_owned(), sweep.join(RUNS).join(&last));
        runs.push(SweepRun { choices, text, state, folder });
    }
    Ok(runs)
}

/// Describes one of a sweep's runs: the name of its folder, and the values of its axes. `None` if the sweep has no runs.
pub fn example(sweep: &Path) -> Option<String> {
    let runs = read(sweep).ok()?;
    let run = runs.first()?;
    let name = run.folder.file_name()?.display();
    Some(format!("{name} ({})", run.text))
}

impl SweepsComparison {
    fn section(&self) -> Section {
        let states = |run: &ComparedRun| match &run.states {
            Pair { a, b } if a == b => a.clone(),
            Pair { a, b } => format!("{a} | {b}"),
        };
        let is_complete = |run: &ComparedRun| states(run) == COMPLETE;
        let has_states = !self.runs.iter().all(is_complete);
        let row = |run: &ComparedRun| {
            let Comparison { equal, first, .. } = &run.comparison;
            let verdict = if *equal { "equal" } else { "different" };
            let first = first.as_ref().map(|first| numbers::instant(first.at_ns));
            let change = |key: &str| {
                let Change { b_minus_a, of_a, .. } =
                    run.metrics.get(key).copied().unwrap_or_default();
                // No part of zero, but no difference either.
                let of_a = of_a.or(b_minus_a.filter(|it| *it == Number::default()));
                of_a.map_or_else(|| NONE.to_owned(), numbers::percent)
            };
            let changes = self.shown().map(|(key, _)| change(key));
            let cells = [run.choices.clone(), verdict.to_owned()].into_iter();
            let cells = cells.chain(has_states.then(|| states(run)));
            cells.chain([first.unwrap_or(NONE.into())]).chain(changes).collect()
        };
        let header = ["run", "verdict"].into_iter().chain(has_states.then_some("state"));
        let header = header
            .chain(["differs from, ns"])
            .chain(self.shown().map(|(_, title)| title))
            .map(str::to_owned);
        Section {
            title: "Runs".to_owned(),
            header: header.collect(),
            rows: self.runs.iter().map(row).collect(),
            ..Section::default()
        }
    }

    /// Returns the metrics of the table; none if metrics are not compared.
    fn shown(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let has_metrics = self.runs.first().is_some_and(|run| run.comparison.has_metrics());
        SHOWN.into_iter().filter(move |_| has_metrics)
    }
}

impl Display for SweepsComparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\nA: {}\nB: {}", self.verdict, self.paths.a, self.paths.b)?;
        if let Some(ComparedRun { comparison, .. }) = self.runs.first() {
            let builds = comparison.sides.as_ref().map(|side| side.build.as_ref());
            let build = |name, build: Option<&origin::Build>| {
                build
                    .map_or_else(String::new, |build| format!("{name}'s first run is of {build}\n"))
            };
            write!(f, "{}{}", build("A", builds.a), build("B", builds.b))?;
            if !self.tolerance.is_zero() {
                writeln!(f, "Differences up to {} count as none.", self.tolerance)?;
            }
            writeln!(f, "Differences are B - A.\n\n{}", self.section())?;
        }
        for (side, only) in [("A", &self.only.a), ("B", &self.only.b)] {
            only.iter().try_for_each(|run| writeln!(f, "Only in {side}: {run}"))?;
        }
        let different = self.runs.iter().find(|run| !run.comparison.equal);
        if let Some(ComparedRun { choices, comparison, .. }) = different {
            let Pair { a, b } = comparison.sides.as_ref().map(|side| &side.path);
            writeln!(f, "For {choices}: xoff compare {a} {b}")?;
        }
        Ok(())
    }
}
