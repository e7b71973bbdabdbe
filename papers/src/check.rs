//! Numbers that must repeat. The numbers of one run of each figure are committed in `scenarios/<paper>/check.csv`. Runs
//! are deterministic, so any difference is a change in xoff's computation.

use std::fmt::{self, Write};
use std::path::Path;

use results::CsvText;
use sweep::{Plan, Run, RunResult};

use super::{Figure, Paper};

/// The header of the file.
const HEADER: &str = "figure,run,quantity,value";

/// The file of a paper without one.
pub const EMPTY: &str = "figure,run,quantity,value\n";

/// A quantity of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// First three fields of the row.
    key: String,
    /// Number as it is read, without a unit; `none` if the run lacks it.
    value: String,
}

/// Numbers of a figure's repeated run.
#[derive(Debug)]
pub struct Repeated {
    /// The figure.
    pub figure: &'static Figure,
    /// Rows, one for each quantity.
    pub rows: Vec<Row>,
}

/// A quantity whose value differs from the committed one.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    key: String,
    committed: Option<String>,
    found: Option<String>,
}

/// Returns the run of a figure that is repeated: the first one with the figure's choices.
pub fn run_of<'a>(figure: &Figure, plan: &'a Plan) -> Option<&'a Run> {
    plan.runs.iter().find(|run| {
        figure.check.iter().all(|(name, label)| {
            let axes = plan.sweep.axes.iter().zip(&run.choices);
            axes.clone()
                .any(|(axis, choice)| axis.name == *name && axis.choices[*choice].label == *label)
        })
    })
}

/// Reads each quantity of a figure from a run. `description` names the run.
pub fn repeated(
    figure: &'static Figure,
    description: &str,
    result: &RunResult,
    folder: &Path,
) -> Repeated {
    let row = |quantity: &super::Quantity| {
        let (run, name) = (CsvText(description), CsvText(&quantity.name));
        let read = quantity.source.read(result, folder);
        Row {
            key: format!("{},{run},{name}", figure.name),
            value: read.map_or_else(|| "none".to_owned(), |observation| observation.to_string()),
        }
    };
    Repeated { figure, rows: figure.quantities.iter().map(row).collect() }
}

/// Returns the differences between a figure's rows and the committed ones.
pub fn differences(paper: &Paper, repeated: &Repeated) -> Vec<Difference> {
    let (committed, found) = (rows(paper.check, repeated.figure), &repeated.rows);
    let value = |rows: &[Row], key: &str| {
        rows.iter().find(|row| row.key == key).map(|row| row.value.clone())
    };
    let more = committed.iter().filter(|row| value(found, &row.key).is_none());
    let differing = found.iter().chain(more).map(|row| Difference {
        committed: value(&committed, &row.key),
        found: value(found, &row.key),
        key: row.key.clone(),
    });
    differing.filter(|difference| difference.committed != difference.found).collect()
}

/// Returns true if a text has the header of the file.
pub fn is_file(text: &str) -> bool {
    text.lines().next() == Some(HEADER)
}

/// Returns the text of the file with new rows for some figures, and the rows of `before` for the others.
pub fn file(paper: &Paper, before: &str, found: &[Repeated]) -> String {
    let mut text = format!("{HEADER}\n");
    for figure in &paper.figures {
        let new = found.iter().find(|repeated| repeated.figure.name == figure.name);
        for row in new.map_or_else(|| rows(before, figure), |it| it.rows.clone()) {
            writeln!(text, "{},{}", row.key, row.value).expect("a String takes every write");
        }
    }
    text
}

fn rows(file: &str, figure: &Figure) -> Vec<Row> {
    let start = format!("{},", figure.name);
    let row = |line: &str| {
        let (key, value) = line.rsplit_once(',')?;
        Some(Row { key: key.to_owned(), value: value.to_owned() })
    };
    file.lines().filter(|line| line.starts_with(&start)).filter_map(row).collect()
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "no such row".into());
        write!(f, "{}: committed {}, found {}", self.key, text(&self.committed), text(&self.found))
    }
}

#[cfg(test)]
mod tests {
    use sweep::made_up::{plan, run_with};

    use super::*;
    use crate::Choice;
    use crate::made_up::{FIGURE, paper};

    fn found() -> Repeated {
        let run = run_with(&[("paused_ns", 7), ("emulated_ns", 100)]);
        repeated(&FIGURE, "switch.buffer=2MB seed=1", &run, Path::new(""))
    }

    const COMMITTED: &str = "figure,run,quantity,value\n\
        fig1,switch.buffer=2MB seed=1,mean FCT,none\n\
        fig1,switch.buffer=2MB seed=1,pauses,7\n\
        fig1,switch.buffer=2MB seed=1,onset,not by 100\n";

    #[test]
    fn the_first_run_of_the_choices_is_repeated() {
        let plan = plan();
        let run = run_of(&FIGURE, &plan).unwrap();
        assert_eq!((run.index, run.seed), (3, 1));
        let figure = |check: &[Choice]| Figure { check: check.into(), ..FIGURE.clone() };
        assert_eq!(run_of(&figure(&[]), &plan).unwrap().index, 0);
        let wrong = figure(&[("switch.buffer".to_owned(), "3MB".to_owned())]);
        assert_eq!(run_of(&wrong, &plan), None);
    }

    #[test]
    fn what_is_written_is_found_again() {
        assert_eq!(file(&paper(""), "", &[found()]), COMMITTED);
        assert_eq!(file(&paper(""), COMMITTED, &[]), COMMITTED);
        assert!(is_file(COMMITTED) && !is_file("figure,run"));
        assert_eq!(differences(&paper(COMMITTED), &found()), []);
    }

    #[test]
    fn a_difference_is_named() {
        let text = |check| -> Vec<String> {
            let differences = differences(&paper(check), &found());
            differences.iter().map(ToString::to_string).collect()
        };
        let run = "fig1,switch.buffer=2MB seed=1";
        assert_eq!(
            text("fig1,switch.buffer=2MB seed=1,pauses,8\nfig1,switch.buffer=2MB seed=1,drops,0\n"),
            [
                format!("{run},mean FCT: committed no such row, found none"),
                format!("{run},pauses: committed 8, found 7"),
                format!("{run},onset: committed no such row, found not by 100"),
                format!("{run},drops: committed 0, found no such row"),
            ]
        );
    }
}
