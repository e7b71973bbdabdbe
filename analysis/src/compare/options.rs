//! Options of a comparison.

use serde::Serialize;

use super::tolerance::{Allowance, Tolerance, allowance};
use scenario::Refusal;

/// A part of results that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Completion times, starts and sizes of flows.
    Flows,
    /// Decisions about pauses, or their arrivals.
    Pauses,
    /// Tables of two runs, row by row.
    Tables,
    /// Numbers of `summary.json` of two runs.
    Metrics,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Flows, Self::Pauses, Self::Tables, Self::Metrics];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Pauses => "pauses",
            Self::Tables => "tables",
            Self::Metrics => "metrics",
        }
    }
}

/// Options of a comparison on the command line.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ComparisonArguments {
    /// Counts differences up to this as none, also for the exit code: a time (`1us`) of instants and durations, a percentage
    /// of A's (`1%`) of durations, sizes, rates, counts and ratios. One of each may be given.
    #[arg(long, value_name = "TIME|PERCENT", value_delimiter = ',', value_parser = allowance)]
    tolerance: Vec<Allowance>,
    /// Compares only these parts.
    #[arg(long, value_name = "PART", value_delimiter = ',', value_enum)]
    only: Vec<Part>,
}

/// Options of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Differences that count as none.
    pub tolerance: Tolerance,
    /// Parts to compare, in the order of `Part::ALL`.
    pub parts: Vec<Part>,
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: Tolerance::default(), parts: Part::ALL.into() }
    }
}

impl Options {
    /// Returns true if a part is compared.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

impl ComparisonArguments {
    /// Returns true if no option is given.
    pub const fn is_empty(&self) -> bool {
        self.tolerance.is_empty() && self.only.is_empty()
    }

    /// Returns the options.
    pub fn options(&self) -> Result<Options, Refusal> {
        let is_chosen = |part: &Part| self.only.is_empty() || self.only.contains(part);
        let parts = Part::ALL.into_iter().filter(is_chosen).collect();
        Ok(Options { tolerance: Tolerance::new(&self.tolerance)?, parts })
    }
}
