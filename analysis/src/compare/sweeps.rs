//! Comparison of two sweeps, run by run.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use results::{Number, TableReader, counted, table_path};
use serde::Serialize;
use sweep::{CELLS_TABLE, RUNS, RUNS_TABLE};

use super::numbers::{self, NONE};
use super::options::Options;
use super::pair::Pair;
use super::sections::Section;
use super::{CompareError, Comparison};
use crate::report::origin;

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
    /// True if each run is in both sweeps, and equal.
    pub equal: bool,
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
    /// The comparison.
    pub comparison: Comparison,
}

/// Values of the axes and the seed, by their names.
type Choices = BTreeMap<String, String>;

/// A run of a sweep.
struct SweepRun {
    choices: Choices,
    /// The choices in words, in the order of the columns.
    text: String,
    folder: PathBuf,
}

/// Returns true if a folder is one of a sweep.
pub fn is_sweep(folder: &Path) -> bool {
    table_path(folder, CELLS_TABLE).exists()
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
    let mut of_b: BTreeMap<Choices, (String, PathBuf)> =
        b.into_iter().map(|run| (run.choices, (run.text, run.folder))).collect();
    let (mut runs, mut only) = (Vec::new(), Pair::<Vec<String>>::default());
    for SweepRun { choices, text, folder } in a {
        let Some((_, other)) = of_b.remove(&choices) else {
            only.a.push(text);
            continue;
        };
        let comparison = super::compare(Pair { a: &folder, b: &other }, options)?;
        runs.push(ComparedRun { choices: text, comparison });
    }
    only.b = of_b.into_values().map(|(text, _)| text).collect();
    let different = runs.iter().filter(|run| !run.comparison.equal).count();
    let equal = different == 0 && only.a.is_empty() && only.b.is_empty();
    let runs_text = |runs: usize| counted(runs as u64, "run");
    let lonely = [("A", &only.a), ("B", &only.b)].into_iter().filter(|(_, only)| !only.is_empty());
    let lonely = lonely.map(|(side, only)| format!("{} only in {side}", runs_text(only.len())));
    let of_all = format!("{different} of {}", runs_text(runs.len()));
    let parts: Vec<String> = [of_all].into_iter().chain(lonely).collect();
    let verdict = if equal {
        format!("equal: {}", runs_text(runs.len()))
    } else {
        format!("different: {}", parts.join(", "))
    };
    let paths = paths.map(|path| path.display().to_string());
    Ok(SweepsComparison { verdict, paths, equal, runs, only })
}

/// Reads the runs of a sweep that its table has, in the order of the table.
fn read(sweep: &Path) -> Result<Vec<SweepRun>, CompareError> {
    let mut table = TableReader::open(sweep, RUNS_TABLE)?;
    let (seed, name) = (table.place_of("seed")?, table.place_of("run")?);
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
        let choices = values().map(|(key, value)| (key.clone(), value.to_owned())).collect();
        let words = values().map(|(key, value)| origin::choice(key, value, &keys));
        let text = words.collect::<Vec<_>>().join(", ");
        runs.push(SweepRun { choices, text, folder: sweep.join(RUNS).join(&last) });
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
        let row = |run: &ComparedRun| {
            let Comparison { equal, first, .. } = &run.comparison;
            let verdict = if *equal { "equal" } else { "different" };
            let first = first.as_ref().map(|first| numbers::instant(first.at_ns));
            let change = |key: &str| {
                let metric = run.comparison.summary.iter().find(|metric| metric.key == key);
                let text = |it: &Number| numbers::percent(*it);
                match metric {
                    None => "0".to_owned(),
                    Some(metric) => metric.change.of_a.as_ref().map_or(NONE.to_owned(), text),
                }
            };
            let changes = self.shown().map(|(key, _)| change(key));
            let cells = [run.choices.clone(), verdict.to_owned(), first.unwrap_or(NONE.into())];
            cells.into_iter().chain(changes).collect()
        };
        let header = ["run", "verdict", "differs from, ns"].into_iter();
        let header = header.chain(self.shown().map(|(_, title)| title)).map(str::to_owned);
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
            writeln!(f, "Differences are B - A.\n\n{}", self.section())?;
        }
        for (side, only) in [("A", &self.only.a), ("B", &self.only.b)] {
            only.iter().try_for_each(|run| writeln!(f, "Only in {side}: {run}"))?;
        }
        let different = self.runs.iter().find(|run| !run.comparison.equal);
        if let Some(ComparedRun { choices, comparison }) = different {
            let Pair { a, b } = comparison.sides.as_ref().map(|side| &side.path);
            writeln!(f, "For {choices}: xoff compare {a} {b}")?;
        }
        Ok(())
    }
}
