//! What one run says of a quantity, from its results folder.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;

use super::{Onset, Source};
use crate::sweep::{Decimal, Metrics, RunResult, Sample};

/// What one run says of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A number.
    Number(Decimal),
    /// A completion time or slowdown, but flows are missing: those were the slowest.
    Incomplete,
    /// When an event happened, or that it did not.
    Onset(Onset),
}

/// Emulated time at the end of a run, in nanoseconds.
const END: &str = "emulated_ns";

impl Source {
    /// Reads it; `None` if the run has no such number.
    pub fn read(self, result: &RunResult, folder: &Path) -> Option<Observation> {
        let metrics = &result.metrics;
        let number = match self {
            Self::Metric(name) | Self::Share(name) => {
                return match metrics.sample(name) {
                    Sample::Of(number) => Some(Observation::Number(number)),
                    Sample::Incomplete => Some(Observation::Incomplete),
                    Sample::Absent => None,
                };
            }
            Self::Ratio(part, whole) => {
                return match (metrics.sample(part), metrics.sample(whole)) {
                    (Sample::Of(part), Sample::Of(whole)) if whole.0 > 0 => {
                        Some(Observation::Number(Decimal::ratio(part.0, whole.0)))
                    }
                    (Sample::Incomplete, _) | (_, Sample::Incomplete) => {
                        Some(Observation::Incomplete)
                    }
                    _ => None,
                };
            }
            Self::Onset(name) => {
                let happened = metrics.value(name).map(Onset::At);
                let onset = happened.or_else(|| metrics.value(END).map(Onset::After));
                return onset.map(Observation::Onset);
            }
            Self::LargestOf(name) => metrics.within(name).max(),
            Self::SumOf(name) => metrics
                .within(name)
                .map(|number| number.0)
                .reduce(|sum, number| sum + number)
                .map(Decimal),
            Self::Percentile { measure, percent, divisor } => {
                percentile(folder, measure, percent, divisor)
            }
            Self::ShareUpTo { measure, value } => share_up_to(folder, measure, value),
            Self::LeastRate => window(metrics).and_then(|window| least_rate(folder, window)),
            Self::LeastRateBefore => window(metrics).and_then(|Range { start, end }| {
                least_rate(folder, start.saturating_sub(end - start)..start)
            }),
            Self::MeanRate => window(metrics).and_then(|window| mean_rate(folder, window)),
        };
        number.map(Observation::Number)
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) | Self::Onset(Onset::At(number)) => write!(f, "{number}"),
            Self::Incomplete => f.write_str("incomplete"),
            Self::Onset(Onset::After(end)) => write!(f, "not by {end}"),
        }
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

/// The window of a run, in nanoseconds.
fn window(metrics: &Metrics) -> Option<Range<u64>> {
    let instant = |name| {
        let number = metrics.value(name)?;
        u64::try_from(number.0 / Decimal::ONE.0).ok()
    };
    Some(instant("window.from_ns")?..instant("window.to_ns")?)
}

/// The rows of `throughput.csv`: starts of intervals, in nanoseconds, with payload bytes and rates.
fn throughput(folder: &Path) -> Option<Vec<(u64, u64, u64)>> {
    let text = fs::read_to_string(folder.join("throughput.csv")).ok()?;
    let row = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse::<u64>().ok());
        let (start, _flow) = (fields.next()??, fields.next()??);
        Some((start, fields.next()??, fields.next()??))
    };
    Some(text.lines().filter_map(row).collect())
}

/// The table has no row where nothing arrived: then the least is 0.
fn least_rate(folder: &Path, span: Range<u64>) -> Option<Decimal> {
    let rows = throughput(folder)?;
    let interval = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).min()?;
    let within = || rows.iter().filter(|(start, ..)| span.contains(start));
    let expected = (span.end - span.start) / interval.max(1);
    let least = if (within().count() as u64) < expected {
        0
    } else {
        within().map(|(.., rate)| *rate).min()?
    };
    Some(Decimal::ratio(least.into(), 1_000_000))
}

/// Intervals that begin in the span count whole.
fn mean_rate(folder: &Path, span: Range<u64>) -> Option<Decimal> {
    let rows = throughput(folder)?;
    let within = rows.iter().filter(|(start, ..)| span.contains(start));
    let bytes: u64 = within.map(|(_, bytes, _)| bytes).sum();
    let nanoseconds = span.end.checked_sub(span.start).filter(|span| *span > 0)?;
    // Bytes in a nanosecond are 8000 Mbit/s.
    Some(Decimal::ratio(i128::from(bytes) * 8000, nanoseconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up::run_with;

    #[test]
    fn numbers_of_a_summary_are_read_alone_and_together() {
        let run = run_with(&[
            ("emulated_ns", 900),
            ("headroom_max_bytes.leaf0", 30),
            ("headroom_max_bytes.spine.1", 40),
            ("headroom_max_bytes_of_all", 99),
            ("deadlock.first_onset_ns", 70),
            ("pause_frames", 0),
            ("labels.a.flows", 3),
            ("labels.a.completed", 2),
            ("labels.a.fct_ns.max", 3),
        ]);
        let read = |source: Source| source.read(&run, Path::new("")).map(|it| it.to_string());
        for (source, expected) in [
            (Source::Metric("headroom_max_bytes.leaf0"), Some("30")),
            (Source::Metric("headroom_max_bytes.leaf1"), None),
            (Source::LargestOf("headroom_max_bytes"), Some("40")),
            (Source::SumOf("headroom_max_bytes"), Some("70")),
            (Source::SumOf("window.paused_ns"), None),
            (Source::LargestOf("window.paused_ns"), None),
            (Source::Ratio("headroom_max_bytes.leaf0", "emulated_ns"), Some("0.033333")),
            (Source::Ratio("headroom_max_bytes.leaf0", "pause_frames"), None),
            (Source::Ratio("headroom_max_bytes.leaf0", "nothing"), None),
            (Source::Ratio("labels.a.fct_ns.max", "emulated_ns"), Some("incomplete")),
            (Source::Onset("deadlock.first_onset_ns"), Some("70")),
            (Source::Onset("window.first_onset_ns"), Some("not by 900")),
        ] {
            assert_eq!(read(source).as_deref(), expected, "{source:?}");
        }
    }

    /// Two flows; rows before 2 us and from 4 us on lie outside, and nothing arrives in an interval of the window.
    #[test]
    fn rates_are_those_of_the_window() {
        let folder = tempfile::tempdir().unwrap();
        let table = "start_ns,flow,bytes,bits_per_second\n\
                     1000,0,9000,72000000000\n\
                     2000,0,1000,8000000000\n\
                     2000,1,3000,24000000000\n\
                     4000,0,9000,72000000000\n";
        fs::write(folder.path().join("throughput.csv"), table).unwrap();
        let run = run_with(&[("window.from_ns", 2000), ("window.to_ns", 4000)]);
        let read = |source: Source| source.read(&run, folder.path()).map(|it| it.to_string());
        assert_eq!(read(Source::MeanRate).as_deref(), Some("16000"));
        let elsewhere = Path::new("nowhere");
        assert_eq!(Source::MeanRate.read(&run, elsewhere).map(|it| it.to_string()), None);
    }
}
