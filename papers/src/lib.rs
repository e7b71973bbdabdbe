//! Reproductions: a paper's figures as sweeps that ship with xoff, the paper's claims on each, and the results of the
//! runs in comparison.
//!
//! [`Paper`], [`Figure`] and [`Claim`] are data: TOML files in `scenarios/PAPER/` that the build embeds (`build.rs`,
//! `data.rs`). Claims name quantities by name, and cells by axis and choice. [`Outcome`] holds the results of a
//! figure's complete runs, [`report`] makes the tables, and [`check`] compares runs with numbers that ship. Numbers are
//! [`results::Number`]s, so that a table is equal on every machine.
//!
//! An [`Observation`] is a quantity of one run, an [`Estimate`] its statistic over the seeds of a cell; medians of
//! times to an event count censored runs (`survival`). A claim is judged in each reading that its paper leaves open.
//! Sweeps run by the code of `xoff sweep`. Tests check that the sweep of every figure loads and that every claim names
//! existing cells and numbers.
//!
//! # Adding a figure, a paper or a statistic
//!
//! 1. A figure: its sweep in `scenarios/PAPER/`, its file in `scenarios/PAPER/figures/` and its name in `paper.toml`.
//!    `xoff reproduce PAPER FIGURE --write-check scenarios/PAPER/check.csv` writes its check. Its tables are copied from
//!    the results' folder to `docs/reproduction/PAPER/`, and `--draw` draws its picture beside them (`chart.rs`);
//!    `docs/reproduction/README.md` has the rules.
//! 2. A paper: a folder in `scenarios/` with `paper.toml` and its figures; code only for numbers that no table
//!    has (3). README.md and
//!    `docs/reproduction/README.md` list the papers.
//! 3. A source of numbers: [`Source`] and its form in files, in `source.rs`, and its reader in `observation.rs` or
//!    `observation/ports.rs`. A number that one paper needs: `readers.rs`.
//! 4. A statistic: [`Statistic`] and [`Estimate`], and its sources here. Not checked by the compiler:
//!    `report/number.rs`, `report/csv.rs`, `docs/reproduction/README.md`.

#![forbid(unsafe_code)]

mod chart;
pub mod check;
mod claim;
pub mod commands;
mod data;
mod discordant;
mod estimate;
#[cfg(test)]
mod made_up;
mod observation;
mod outcome;
mod readers;
pub mod report;
mod shipped;
mod source;
mod survival;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use serde::Deserialize;

pub use chart::{Chart, draw};
pub use claim::{Bound, Claim, Criterion, Expected, Verdict, View};
pub use discordant::Discordant;
pub use estimate::{Estimate, Statistic, Value};
pub use observation::Observation;
pub use outcome::{Cell, Outcome, Reading};
pub use shipped::{Folder, names, papers};
pub use source::Source;
pub use survival::Onset;

/// Axis and choice.
pub type Choice = (String, String);

/// A paper whose figures can be reproduced.
#[derive(Debug)]
pub struct Paper {
    /// Name in the command.
    pub name: &'static str,
    /// Place among the papers in lists.
    pub place: u32,
    /// Authors, title and publication.
    pub title: String,
    /// Files of the paper: sweeps, and the scenarios that they name.
    pub folder: &'static Folder,
    /// Figures in the order of the paper.
    pub figures: Vec<Figure>,
    /// Text of the paper's `check.csv`: numbers that one run of each figure must repeat ([`check`]).
    pub check: &'static str,
}

/// One sweep, and the figures of the paper that it reproduces.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name in the command, and of the sweep without `.toml`.
    pub name: String,
    /// Names of other figures in the command that use the same runs.
    pub also: Vec<String>,
    /// Content of the figure, and its place in the paper.
    pub title: String,
    /// Assumptions and omissions, in Markdown.
    pub notes: String,
    /// True if the sweep has a scale "small". A sweep without one is small.
    pub has_small: bool,
    /// Baseline, by which values are divided.
    pub baseline: Choice,
    /// Quantities that are read from each run.
    pub quantities: Vec<Quantity>,
    /// Claims of the paper.
    pub claims: Vec<Claim>,
    /// Choices of the run that [`check`] repeats: the first run with these choices, which should be cheap.
    pub check: Vec<Choice>,
    /// Layout of the picture.
    pub chart: Chart,
}

/// A number of a run.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// Name of the quantity.
    pub name: String,
    /// Unit in tables.
    pub unit: Unit,
    /// Source of the number.
    pub source: Source,
}

/// Unit of displayed numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Microseconds, read in nanoseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds, read in nanoseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Gbit/s, read in Mbit/s.
    #[serde(rename = "Gbit/s")]
    Gigabits,
    /// Kilobytes, read in bytes.
    #[serde(rename = "kB")]
    Kilobytes,
    /// Per cent, read as a fraction of 1.
    #[serde(rename = "%")]
    Percent,
    /// No conversion.
    #[default]
    #[serde(skip)]
    Plain,
}

impl Paper {
    /// Finds a paper by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        papers().iter().find(|paper| paper.name == name)
    }

    /// Finds a figure by its name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        let is_named = |figure: &&Figure| figure.names().any(|known| known == name);
        self.figures.iter().find(is_named)
    }

    /// Returns the text of one of the files, by its name.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let name = path.file_name().and_then(|name| name.to_str());
        let text = name.and_then(|name| self.folder.text(name));
        text.map(str::to_owned).ok_or(io::ErrorKind::NotFound.into())
    }
}

impl Quantity {
    /// Returns the name of the quantity's column in committed tables.
    pub fn column(&self) -> String {
        match self.unit.name() {
            "" => self.name.clone(),
            unit => format!("{}, {unit}", self.name),
        }
    }
}

impl Figure {
    /// Returns all names in the command.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.name].into_iter().chain(&self.also).map(String::as_str)
    }
}
