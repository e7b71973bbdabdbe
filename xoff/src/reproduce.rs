//! Reproductions: a paper's figures as sweeps that ship with xoff, what the paper says of each, and the results of
//! the runs beside it.
//!
//! [`Paper`] and [`Figure`] are data; [`Outcome`] is what the complete runs of a figure say;
//! [`report`] makes the tables. Numbers are [`Decimal`]s: a table is the same on every machine.

mod dsh;
mod outcome;
mod reading;
pub mod report;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

pub use outcome::{Cell, Estimate, Outcome};

use crate::sweep::Decimal;

/// A paper whose figures can be reproduced.
#[derive(Debug)]
pub struct Paper {
    /// What the command calls it.
    pub name: &'static str,
    /// Authors, title and where it appeared.
    pub title: &'static str,
    /// Its sweeps and the scenarios that they name: file name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// In the order of the paper.
    pub figures: &'static [Figure],
}

/// Every paper.
pub const PAPERS: [&Paper; 1] = [&dsh::PAPER];

/// One sweep, and the figures of the paper that it reproduces.
#[derive(Debug)]
pub struct Figure {
    /// What the command calls it, and the name of its sweep without `.toml`.
    pub name: &'static str,
    /// Other figures that come from the same runs, by the names that the command takes.
    pub also: &'static [&'static str],
    /// What it shows, and its place in the paper.
    pub title: &'static str,
    /// What is assumed or left out, in Markdown.
    pub notes: &'static str,
    /// Whether the sweep has a scale "small"; one that has none is small.
    pub has_small: bool,
    /// The axis and the choice that values are divided by.
    pub baseline: (&'static str, &'static str),
    /// What is read from each run.
    pub quantities: &'static [Quantity],
    /// What the paper says.
    pub claims: &'static [Claim],
}

/// A number of a run.
#[derive(Debug)]
pub struct Quantity {
    /// What it is.
    pub name: &'static str,
    /// What it is shown in.
    pub unit: Unit,
    /// Where it is read.
    pub source: Source,
}

/// What numbers are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, read in nanoseconds.
    Microseconds,
    /// Milliseconds, read in nanoseconds.
    Milliseconds,
    /// Gbit/s, read in Mbit/s.
    Gigabits,
    /// Per cent, read as a part of 1.
    Percent,
    /// As read.
    Plain,
}

/// Where a number is read.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A number of `summary.json`, by its path.
    Metric(&'static str),
    /// Of a measure of `distributions.csv`, the value that this many per cent do not exceed, divided.
    Percentile {
        /// The measure.
        measure: &'static str,
        /// 1 to 100.
        percent: u32,
        /// What the value is divided by.
        divisor: u32,
    },
    /// The share of a measure's weight up to a value.
    ShareUpTo {
        /// The measure.
        measure: &'static str,
        /// The value.
        value: u64,
    },
    /// Of the one flow of `throughput.csv`, its least rate in any interval, in Mbit/s.
    LeastRate {
        /// Intervals that start from here on.
        from_ns: u64,
        /// And before this.
        to_ns: u64,
    },
}

/// A sentence of the paper that has a number in it.
#[derive(Debug)]
pub struct Claim {
    /// Section.
    pub place: &'static str,
    /// What is claimed.
    pub text: &'static str,
    /// What the paper has.
    pub paper: Expected,
    /// The quantity, by its place in the figure.
    pub quantity: usize,
    /// How it is looked at.
    pub view: View,
    /// Choices that a cell must have, by axis.
    pub cells: &'static [(&'static str, &'static str)],
}

/// What a paper says of a quantity, as a part of 1 if it is a percentage and else in the unit in
/// which it is shown.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// From the least to the largest over the cells.
    Range(Decimal, Decimal),
    /// The largest over the cells.
    UpTo(Decimal),
    /// About this.
    About(Decimal),
    /// At least this.
    Over(Decimal),
    /// Not in numbers.
    Words(&'static str),
}

/// How a quantity is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// By how much it is below the baseline's, as a part of that.
    Reduction,
    /// By how much it is above the baseline's, as a part of that.
    Increase,
    /// As it is.
    Itself,
}

impl Paper {
    /// The paper of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PAPERS.into_iter().find(|paper| paper.name == name)
    }

    /// The figure of a name.
    pub fn figure(&self, name: &str) -> Option<&'static Figure> {
        self.figures.iter().find(|figure| figure.name == name || figure.also.contains(&name))
    }

    /// The text of one of the files, by its name.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let named = |name: &str| path.file_name().is_some_and(|file| file == name);
        let file = self.files.iter().find(|(name, _)| named(name));
        file.map(|(_, text)| (*text).to_owned()).ok_or(io::ErrorKind::NotFound.into())
    }
}
