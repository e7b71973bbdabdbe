//! Reproductions: a paper's figures as sweeps that ship with xoff, what the paper says of each, and the results of
//! the runs beside it.
//!
//! [`Paper`], [`Figure`] and [`Claim`] are data; [`Outcome`] is what the complete runs of a figure say;
//! [`report`] makes the tables; [`check`] compares runs with numbers that ship. Numbers are
//! [`Decimal`]s: a table is the same on every machine.

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
    /// What the command calls it.
    pub name: &'static str,
    /// Authors, title and where it appeared.
    pub title: &'static str,
    /// Its sweeps and the scenarios that they name: file name and text.
    pub files: &'static [(&'static str, &'static str)],
    /// In the order of the paper.
    pub figures: &'static [Figure],
    /// The text of its `check.csv`: numbers that one run of each figure must repeat ([`check`]).
    pub check: &'static str,
}

/// Every paper.
pub const PAPERS: [&Paper; 5] =
    [&dsh::PAPER, &bfc::PAPER, &spfc::PAPER, &bshare::PAPER, &ofc::PAPER];

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
    /// Choices of the run that [`check`] repeats, by axis: the first run that has them, which should be a cheap one.
    pub check: &'static [(&'static str, &'static str)],
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

/// A number of the summary, as it is there.
const fn plain(name: &'static str, metric: &'static str) -> Quantity {
    Quantity { name, unit: Unit::Plain, source: Source::Metric(metric) }
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
    /// Kilobytes, read in bytes.
    Kilobytes,
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
    /// A truth value of `summary.json`, by its path: a cell has the share of the runs in which it is true.
    Share(&'static str),
    /// The largest number of an object of `summary.json`, by its path: of `headroom_max_bytes`, that of any switch.
    LargestOf(&'static str),
    /// The sum of the numbers of an object of `summary.json`, by its path.
    SumOf(&'static str),
    /// One number of `summary.json` divided by another, by their paths; none where the other is 0.
    Ratio(&'static str, &'static str),
    /// The time of an event, by the path of a number that `summary.json` lacks where nothing happened. Such a run
    /// is censored at its end: a cell has a median of survival statistics, not a mean.
    Onset(&'static str),
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
    /// Of the one flow of `throughput.csv`, its least rate in any interval of the run's window, in Mbit/s.
    LeastRate,
    /// The same in the time as long before the window.
    LeastRateBefore,
    /// Of all flows of `throughput.csv` together, the mean rate over the run's window, in Mbit/s.
    MeanRate,
    /// The same of one flow, by its number.
    RateOf(u64),
    /// How long after the window's start that flow has nine tenths of its mean rate before it again, and keeps them
    /// to the window's end: in nanoseconds, whole intervals of `throughput.csv`. A run in which it has them never is
    /// censored, as with `Onset`.
    RecoveryOf(u64),
    /// The mean rate at which the flows of more bytes than this completed, each counted once, in Mbit/s of payload; none
    /// where one of them has not completed.
    RateAbove(u64),
    /// Decisions to pause in the window, refreshes not counted.
    Pauses(Peers),
    /// Decisions to pause and to refresh a pause in the window: frames that go out.
    PauseFrames(Peers),
    /// How long neighbours were paused in the run, summed over their ports and priorities, in nanoseconds.
    PausedTime(Peers),
    /// The mean over the window of a counter of `queues.csv`, by its kind and the port of the one switch, in bytes.
    Level(&'static str, u32),
    /// What only one paper has.
    Other(Reader),
    /// The mean of what the ingress queues held that these were for, in bytes; none if there were none.
    OccupancyAtPause(Peers),
    /// The sum of the same over one part of the neighbours, divided by that over another.
    OccupancyRatio(Peers, Peers),
}

/// Reads a number from a run and its folder; `None` if the run has none.
pub type Reader = fn(&RunResult, &Path) -> Option<Decimal>;

/// Which neighbours of switches are paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// Any.
    All,
    /// The one of this name.
    Only(&'static str),
    /// Any but the one of this name.
    Except(&'static str),
}

impl Peers {
    /// Whether a neighbour is one of them.
    fn contains(self, peer: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(name) => peer == name,
            Self::Except(name) => peer != name,
        }
    }
}

impl Source {
    /// Whether its sums over seeds mean something: then a report has their ratio, too.
    pub const fn is_sum(self) -> bool {
        matches!(self, Self::Pauses(_) | Self::PauseFrames(_) | Self::PausedTime(_))
    }

    /// Whether a report divides it by the baseline's.
    pub const fn is_compared(self) -> bool {
        !matches!(self, Self::Level(..) | Self::Other(_))
    }

    /// What a cell has of it.
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
