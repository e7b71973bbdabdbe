//! Reproductions: a paper's figures as sweeps that ship with xoff, the paper's claims on each, and the results of the
//! runs in comparison.
//!
//! [`Paper`], [`Figure`] and [`Claim`] are data. [`Outcome`] holds the results of a figure's complete runs, [`report`]
//! makes the tables, and [`check`] compares runs with numbers that ship. Numbers are [`Decimal`]s, so that a table is
//! equal on every machine.
//!
//! An [`Observation`] is a quantity of one run, an [`Estimate`] its statistic over the seeds of a cell; medians of
//! times to an event count censored runs (`survival`). A claim is judged in each reading that its paper leaves open.
//! Sweeps run by the code of `xoff sweep`. A test checks that the sweep of every figure loads and that every claim
//! names existing cells and numbers.
//!
//! # Adding a figure, a paper or a statistic
//!
//! 1. A figure: its sweep in `scenarios/PAPER/`; in the paper's module its file in `files!`, a [`Figure`], and its
//!    place in `figures` of `PAPER`. `xoff reproduce PAPER FIGURE --write-check scenarios/PAPER/check.csv` writes its
//!    check. Its results go into `docs/reproduction/PAPER.md` by hand, from `report.md`, by the rules of
//!    `docs/reproduction/README.md`.
//! 2. A paper: the same with a new name, a line of [`PAPERS`], README.md and the list in `docs/reproduction/README.md`.
//! 3. A statistic: [`Statistic`] and [`Estimate`], and its sources here. Not checked by the compiler:
//!    `report/number.rs`, `report/csv.rs`, `docs/reproduction/README.md`.

mod bfc;
mod bshare;
pub mod check;
mod claim;
pub mod commands;
mod discordant;
mod dsh;
mod estimate;
#[cfg(test)]
mod made_up;
mod observation;
mod ofc;
mod outcome;
pub mod report;
mod spfc;
mod survival;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use sweep::{Decimal, RunResult};

pub use claim::{Bound, Claim, Criterion, Expected, Verdict, View};
pub use discordant::Discordant;
pub use estimate::{Estimate, Statistic, Value};
pub use observation::Observation;
pub use outcome::{Cell, Outcome, Reading};
pub use survival::Onset;

/// A paper whose figures can be reproduced.
#[derive(Debug)]
pub struct Paper {
    /// Name in the command.
    pub name: &'static str,
    /// Authors, title and publication.
    pub title: &'static str,
    /// Sweeps of the paper and the scenarios that they name: file name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// Figures in the order of the paper.
    pub figures: &'static [Figure],
    /// Text of the paper's `check.csv`: numbers that one run of each figure must repeat ([`check`]).
    pub check: &'static str,
}

/// Every paper.
pub const PAPERS: [&Paper; 5] =
    [&dsh::PAPER, &bfc::PAPER, &spfc::PAPER, &bshare::PAPER, &ofc::PAPER];

/// One sweep, and the figures of the paper that it reproduces.
#[derive(Debug)]
pub struct Figure {
    /// Name in the command, and of the sweep without `.toml`.
    pub name: &'static str,
    /// Names of other figures in the command that use the same runs.
    pub also: &'static [&'static str],
    /// Content of the figure, and its place in the paper.
    pub title: &'static str,
    /// Assumptions and omissions, in Markdown.
    pub notes: &'static str,
    /// True if the sweep has a scale "small". A sweep without one is small.
    pub has_small: bool,
    /// Axis and choice of the baseline, by which values are divided.
    pub baseline: (&'static str, &'static str),
    /// Quantities that are read from each run.
    pub quantities: &'static [Quantity],
    /// Claims of the paper.
    pub claims: &'static [Claim],
    /// Choices of the run that [`check`] repeats, by axis: the first run with these choices, which should be cheap.
    pub check: &'static [(&'static str, &'static str)],
}

/// A number of a run.
#[derive(Debug)]
pub struct Quantity {
    /// Name of the quantity.
    pub name: &'static str,
    /// Unit in tables.
    pub unit: Unit,
    /// Source of the number.
    pub source: Source,
}

/// Makes a quantity from a number of the summary, without conversion.
const fn plain(name: &'static str, metric: &'static str) -> Quantity {
    Quantity { name, unit: Unit::Plain, source: Source::Metric(metric) }
}

/// Unit of displayed numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds, read in nanoseconds.
    Microseconds,
    /// Milliseconds, read in nanoseconds.
    Milliseconds,
    /// Gbit/s, read in Mbit/s.
    Gigabits,
    /// Kilobytes, read in bytes.
    Kilobytes,
    /// Per cent, read as a fraction of 1.
    Percent,
    /// No conversion.
    Plain,
}

/// Source of a number in a run.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A number of `summary.json`, by its path.
    Metric(&'static str),
    /// A truth value of `summary.json`, by its path: a cell has the share of the runs in which it is true.
    Share(&'static str),
    /// The largest number of an object of `summary.json`, by its path, such as the switch with the largest
    /// `headroom_max_bytes`.
    LargestOf(&'static str),
    /// The sum of the numbers of an object of `summary.json`, by its path.
    SumOf(&'static str),
    /// One number of `summary.json` divided by another, by their paths; absent if the divisor is 0.
    Ratio(&'static str, &'static str),
    /// The time of an event, by the path of a number that `summary.json` lacks if nothing happened. Then the run is
    /// censored at its end: a cell has a median of survival statistics, not a mean.
    Onset(&'static str),
    /// A percentile of a measure of `distributions.csv`, divided.
    Percentile {
        /// The measure.
        measure: &'static str,
        /// Percentage of the weight, 1 to 100.
        percent: u32,
        /// Divisor of the value.
        divisor: u32,
    },
    /// The share of a measure's weight up to a value.
    ShareUpTo {
        /// The measure.
        measure: &'static str,
        /// The value.
        value: u64,
    },
    /// The lowest rate of the only flow in `throughput.csv` in any interval of the run's window, in Mbit/s.
    LeastRate,
    /// The lowest rate of the only flow in `throughput.csv` in an equally long time before the window, in Mbit/s.
    LeastRateBefore,
    /// The mean rate of all flows in `throughput.csv` together over the run's window, in Mbit/s.
    MeanRate,
    /// The mean rate of one flow, by its number, over the run's window, in Mbit/s.
    RateOf(u64),
    /// The recovery time of one flow, by its number: time from the window's start until the flow's rate stays at nine
    /// tenths of its earlier mean or above to the window's end; in nanoseconds, as whole intervals of `throughput.csv`.
    /// A run without recovery is censored, as with `Onset`.
    RecoveryOf(u64),
    /// The mean completion rate of flows of more than this many bytes, each counted once, in Mbit/s of payload; absent
    /// if one of these flows has not completed.
    RateAbove(u64),
    /// Number of decisions to pause in the window, without refreshes.
    Pauses(Peers),
    /// Number of decisions to pause and to refresh a pause in the window: frames sent.
    PauseFrames(Peers),
    /// Paused time of neighbours in the run, summed over their ports and priorities, in nanoseconds.
    PausedTime(Peers),
    /// The mean over the window of a counter of `queues.csv`, by its kind and the port of the only switch, in bytes.
    Level(&'static str, u32),
    /// A number that only one paper needs.
    Other(Reader),
    /// The mean occupancy of ingress queues at decisions to pause, in bytes; absent without decisions.
    OccupancyAtPause(Peers),
    /// The summed occupancy of ingress queues at decisions to pause some neighbours, divided by the sum for others.
    OccupancyRatio(Peers, Peers),
}

/// Function that reads a number from a run and its folder; `None` if the run has none.
pub type Reader = fn(&RunResult, &Path) -> Option<Decimal>;

/// Paused neighbours of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// All neighbours.
    All,
    /// The neighbour of this name.
    Only(&'static str),
    /// All neighbours except this one.
    Except(&'static str),
}

impl Peers {
    /// Returns true if the set contains a neighbour.
    fn contains(self, peer: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(name) => peer == name,
            Self::Except(name) => peer != name,
        }
    }
}

impl Source {
    /// Returns true if sums over seeds are meaningful, so that a report has their ratio, too.
    pub const fn is_sum(self) -> bool {
        matches!(self, Self::Pauses(_) | Self::PauseFrames(_) | Self::PausedTime(_))
    }

    /// Returns true if a report divides the quantity by the baseline's.
    pub const fn is_compared(self) -> bool {
        !matches!(self, Self::Level(..) | Self::Other(_))
    }

    /// Returns the statistic of a cell.
    pub const fn statistic(self) -> Statistic {
        match self {
            Self::Onset(_) | Self::RecoveryOf(_) => Statistic::Median,
            Self::Share(_) => Statistic::Share,
            Self::Metric(_)
            | Self::LargestOf(_)
            | Self::SumOf(_)
            | Self::Ratio(..)
            | Self::Percentile { .. }
            | Self::ShareUpTo { .. }
            | Self::LeastRate
            | Self::LeastRateBefore
            | Self::MeanRate
            | Self::RateOf(_)
            | Self::RateAbove(_)
            | Self::Pauses(_)
            | Self::PauseFrames(_)
            | Self::PausedTime(_)
            | Self::Level(..)
            | Self::Other(_)
            | Self::OccupancyAtPause(_)
            | Self::OccupancyRatio(..) => Statistic::Mean,
        }
    }
}

impl Paper {
    /// Finds a paper by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PAPERS.into_iter().find(|paper| paper.name == name)
    }

    /// Finds a figure by its name.
    pub fn figure(&self, name: &str) -> Option<&'static Figure> {
        self.figures.iter().find(|figure| figure.name == name || figure.also.contains(&name))
    }

    /// Returns the text of one of the files, by its name.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let named = |name: &str| path.file_name().is_some_and(|file| file == name);
        let file = self.files.iter().find(|(name, _)| named(name));
        file.map(|(_, text)| (*text).to_owned()).ok_or(io::ErrorKind::NotFound.into())
    }
}
