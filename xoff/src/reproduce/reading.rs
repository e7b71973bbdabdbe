//! Numbers of one run, from its results folder.

use std::fs;
use std::path::Path;

use super::Source;
use crate::sweep::{Decimal, RunResult, Sample};

impl Source {
    /// The number of a run.
    pub fn read(self, result: &RunResult, folder: &Path) -> Sample {
        let found = match self {
            Self::Metric(name) => return result.metrics.sample(name),
            Self::Percentile { measure, percent, divisor } => {
                percentile(folder, measure, percent, divisor)
            }
            Self::ShareUpTo { measure, value } => share_up_to(folder, measure, value),
            Self::LeastRate { from_ns, to_ns } => least_rate(folder, from_ns, to_ns),
        };
        found.map_or(Sample::Absent, Sample::Of)
    }
}

fn percentile(folder: &Path, measure: &str, percent: u32, divisor: u32) -> Option<Decimal> {
    let steps = steps(folder, measure)?;
    let total: u64 = steps.iter().map(|(_, weight)| weight).sum();
    let rank = (u128::from(total) * u128::from(percent)).div_ceil(100);
    let mut counted = 0;
    let (value, _) = steps.iter().find(|(_, weight)| {
        counted += u128::from(*weight);
        counted >= rank
    })?;
    Some(Decimal::ratio((*value).into(), divisor.into()))
}

fn share_up_to(folder: &Path, measure: &str, value: u64) -> Option<Decimal> {
    let steps = steps(folder, measure)?;
    let total: u64 = steps.iter().map(|(_, weight)| weight).sum();
    let up_to = steps.iter().filter(|(step, _)| *step <= value);
    let counted: u64 = up_to.map(|(_, weight)| weight).sum();
    (total > 0).then(|| Decimal::ratio(counted.into(), total.into()))
}

/// Values and weights of a measure of `distributions.csv`.
fn steps(folder: &Path, measure: &str) -> Option<Vec<(u64, u64)>> {
    let text = fs::read_to_string(folder.join("distributions.csv")).ok()?;
    let step = |line: &str| {
        let mut fields = line.split(',');
        let named = fields.next()? == measure;
        let (value, weight) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        named.then_some((value, weight))
    };
    Some(text.lines().filter_map(step).collect())
}

/// The table has no row where nothing arrived: then the least is 0.
fn least_rate(folder: &Path, from_ns: u64, to_ns: u64) -> Option<Decimal> {
    let text = fs::read_to_string(folder.join("throughput.csv")).ok()?;
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let start: u64 = fields.first()?.parse().ok()?;
        Some((start, fields.last()?.parse::<u64>().ok()?))
    };
    let rows: Vec<(u64, u64)> = text.lines().filter_map(row).collect();
    let interval = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).min()?;
    let within = || rows.iter().filter(|(start, _)| (from_ns..to_ns).contains(start));
    let expected = (to_ns - from_ns) / interval.max(1);
    let least = if (within().count() as u64) < expected {
        0
    } else {
        within().map(|(_, rate)| *rate).min()?
    };
    Some(Decimal::ratio(least.into(), 1_000_000))
}
