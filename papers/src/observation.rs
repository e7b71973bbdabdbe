//! Reading of a quantity from one run's results folder.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use results::query::{Condition, Query, Scalar, Values, rows};
use results::{Metrics, Number, Sample, Table};
use sweep::RunResult;

use super::{Onset, Source};

/// Observation of a quantity in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A number.
    Number(Number),
    /// A completion time or slowdown without the slowest flows, which did not complete.
    Incomplete,
    /// Time of an event, or the fact that it did not happen.
    Onset(Onset),
}

/// Emulated time at the end of a run, in nanoseconds.
const END: &str = "emulated_ns";

impl Source {
    /// Reads the quantity; `None` if the run has no such number.
    pub fn read(&self, result: &RunResult, folder: &Path) -> Option<Observation> {
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
                        Some(Observation::Number(Number::ratio(part.0, whole.0)))
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
            Self::Percentile { measure, percent, divisor } => {
                percentile(folder, measure, *percent, *divisor)
            }
            Self::ShareUpTo { measure, value } => share_up_to(folder, measure, *value),
            Self::LeastRate => window(metrics).and_then(|window| least_rate(folder, window)),
            Self::LeastRateBefore => window(metrics).and_then(|Range { start, end }| {
                least_rate(folder, start.saturating_sub(end - start)..start)
            }),
            Self::MeanRate(flow) => {
                window(metrics).and_then(|window| mean_rate(folder, *flow, window))
            }
            Self::RecoveryOf(flow) => {
                let recovery = window(metrics).and_then(|window| recovery(folder, *flow, window));
                return recovery.map(Observation::Onset);
            }
            Self::RateAbove(bytes) => return rate_above(folder, *bytes),
            Self::Rows(query) => answer(query, folder, metrics),
            Self::RowsRatio(part, whole) => {
                let whole = answer(whole, folder, metrics).filter(|whole| whole.0 > 0);
                let part = answer(part, folder, metrics);
                part.zip(whole).map(|(part, whole)| Number::ratio(part.0, whole.0))
            }
            Self::Level(kind, port) => {
                window(metrics).and_then(|window| level(folder, kind, *port, window))
            }
            Self::Other(read) => read(result, folder),
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

fn percentile(folder: &Path, measure: &str, percent: u32, divisor: u32) -> Option<Number> {
    let steps = steps(folder, measure)?;
    let total: u64 = steps.iter().map(|(_, weight)| weight).sum();
    let rank = (u128::from(total) * u128::from(percent)).div_ceil(100);
    let mut counted = 0;
    let (value, _) = steps.iter().find(|(_, weight)| {
        counted += u128::from(*weight);
        counted >= rank
    })?;
    Some(Number::ratio((*value).into(), divisor.into()))
}

fn share_up_to(folder: &Path, measure: &str, value: u64) -> Option<Number> {
    let steps = steps(folder, measure)?;
    let total: u64 = steps.iter().map(|(_, weight)| weight).sum();
    let up_to = steps.iter().filter(|(step, _)| *step <= value);
    let counted: u64 = up_to.map(|(_, weight)| weight).sum();
    (total > 0).then(|| Number::ratio(counted.into(), total.into()))
}

/// Reads values and weights of a measure of `distributions.csv`.
fn steps(folder: &Path, measure: &str) -> Option<Vec<(u64, u64)>> {
    let mut steps = Vec::new();
    let step = rows(folder, "distributions.csv", ["measure", "value", "weight"], |row| {
        if row.text(0) == measure {
            steps.push((row.exact(1)?, row.exact(2)?));
        }
        Ok(())
    });
    step.ok().map(|()| steps)
}

/// Columns of a row's instant.
const INSTANTS: [&str; 2] = ["time_ns", "start_ns"];

/// Computes the aggregate, of the rows in the window if rows have instants.
fn answer(query: &Query<'static>, folder: &Path, metrics: &Metrics) -> Option<Number> {
    let mut query = query.clone();
    let columns = Table::find(query.csv_file).into_iter().flat_map(|table| table.columns);
    if let Some(column) = columns.into_iter().find(|column| INSTANTS.contains(&column.name)) {
        let Range { start, end } = window(metrics)?;
        let [start, end] = [start, end].map(|instant| Number::ratio(instant.into(), 1));
        query.filter.push(Condition { column, values: Values::Within(start..end) });
    }
    match query.answer(folder).value {
        Ok(Scalar::Number(number)) => Some(number),
        _ => None,
    }
}

/// Returns the mean over a span of a counter of `queues.csv`, which is 0 before its first row, and keeps its value
/// until the next.
fn level(folder: &Path, kind: &str, port: u32, span: Range<u64>) -> Option<Number> {
    let (mut since, mut value, mut sum) = (span.start, 0_u64, 0_i128);
    rows(folder, "queues.csv", ["time_ns", "kind", "port", "bytes"], |row| {
        if row.text(1) == kind && row.exact::<u32>(2)? == port {
            let until = row.exact::<u64>(0)?.clamp(since, span.end);
            sum += i128::from(value) * i128::from(until - since);
            (since, value) = (until, row.exact(3)?);
        }
        Ok(())
    })
    .ok()?;
    sum += i128::from(value) * i128::from(span.end - since);
    (span.end > span.start).then(|| Number::ratio(sum, (span.end - span.start).into()))
}

/// Returns the window of a run, in nanoseconds.
fn window(metrics: &Metrics) -> Option<Range<u64>> {
    let instant = |name| {
        let number = metrics.value(name)?;
        u64::try_from(number.0 / Number::ONE.0).ok()
    };
    Some(instant("window.from_ns")?..instant("window.to_ns")?)
}

/// Reads the rows of `throughput.csv` of one flow or of all: starts of intervals in nanoseconds, payload bytes and
/// rates.
fn throughput(folder: &Path, of: Option<u32>) -> Option<Vec<(u64, u64, u64)>> {
    let mut found = Vec::new();
    let columns = ["start_ns", "flow", "bytes", "bits_per_second"];
    let read = rows(folder, "throughput.csv", columns, |row| {
        let flow: u32 = row.exact(1)?;
        if of.is_none_or(|of| of == flow) {
            found.push((row.exact(0)?, row.exact(2)?, row.exact(3)?));
        }
        Ok(())
    });
    read.ok().map(|()| found)
}

/// Returns the lowest rate. The table has no row for an interval without arrivals: then the rate is 0.
fn least_rate(folder: &Path, span: Range<u64>) -> Option<Number> {
    let rows = throughput(folder, None)?;
    let interval = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).min()?;
    let within = || rows.iter().filter(|(start, ..)| span.contains(start));
    let expected = (span.end - span.start) / interval.max(1);
    let least = if (within().count() as u64) < expected {
        0
    } else {
        within().map(|(.., rate)| *rate).min()?
    };
    Some(Number::ratio(least.into(), 1_000_000))
}

/// Returns the mean rate. Intervals that begin in the span count as a whole.
fn mean_rate(folder: &Path, of: Option<u32>, span: Range<u64>) -> Option<Number> {
    let rows = throughput(folder, of)?;
    let within = rows.iter().filter(|(start, ..)| span.contains(start));
    let bytes: u64 = within.map(|(_, bytes, _)| bytes).sum();
    let nanoseconds = span.end.checked_sub(span.start).filter(|span| *span > 0)?;
    // Bytes per nanosecond are 8000 Mbit/s.
    Some(Number::ratio(i128::from(bytes) * 8000, nanoseconds.into()))
}

/// Returns the end of the last interval of the window in which the flow is below its required rate.
fn recovery(folder: &Path, flow: u32, span: Range<u64>) -> Option<Onset> {
    let rows = throughput(folder, Some(flow))?;
    let interval = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).min().filter(|it| *it > 0)?;
    let bytes = |range: Range<u64>| -> u64 {
        let within = rows.iter().filter(|(start, ..)| range.contains(start));
        within.map(|(_, bytes, _)| bytes).sum()
    };
    let before = u128::from(bytes(0..span.start));
    let is_low = |start: &u64| {
        let sent = bytes(*start..start + interval);
        u128::from(sent) * u128::from(span.start) * 10 < before * u128::from(interval) * 9
    };
    let first = span.start.next_multiple_of(interval);
    let starts = || (first..span.end).step_by(usize::try_from(interval).unwrap_or(usize::MAX));
    let recovered = starts().filter(is_low).last().map_or(span.start, |low| low + interval);
    let elapsed = |instant: u64| Number::ratio((instant - span.start).into(), 1);
    Some(if recovered < span.end {
        Onset::At(elapsed(recovered))
    } else {
        Onset::After(elapsed(span.end))
    })
}

/// Reads the rate from `flows.csv`.
fn rate_above(folder: &Path, bytes: u64) -> Option<Observation> {
    let (mut sum, mut count, mut is_complete) = (0, 0, true);
    rows(folder, "flows.csv", ["bytes", "fct_ns"], |row| {
        let size: i128 = row.exact(0)?;
        if size <= i128::from(bytes) {
            return Ok(());
        }
        if row.text(1).is_empty() {
            is_complete = false;
            return Ok(());
        }
        let elapsed: i128 = row.exact(1)?;
        sum += Number::ratio(size * 8000, elapsed.max(1)).0;
        count += 1;
        Ok(())
    })
    .ok()?;
    if !is_complete {
        return Some(Observation::Incomplete);
    }
    (count > 0).then(|| Observation::Number(Number(sum / count)))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use sweep::made_up::run_with;

    use super::*;
    use crate::source::source;

    /// Reads a source from a run with a window from 2 to 4 us.
    pub fn read_in(folder: &Path, source: &Source) -> Option<String> {
        let run = run_with(&[("window.from_ns", 2000), ("window.to_ns", 4000)]);
        source.read(&run, folder).map(|it| it.to_string())
    }

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
        let read = |keys: &str| source(keys).read(&run, Path::new("")).map(|it| it.to_string());
        for (keys, expected) in [
            (r#"column = "headroom_max_bytes.leaf0""#, Some("30")),
            (r#"column = "headroom_max_bytes.leaf1""#, None),
            (r#"column = "headroom_max_bytes", aggregate = "max""#, Some("40")),
            (r#"column = "window.paused_ns", aggregate = "max""#, None),
            (
                r#"column = "headroom_max_bytes.leaf0", divided_by = "emulated_ns""#,
                Some("0.033333"),
            ),
            (r#"column = "headroom_max_bytes.leaf0", divided_by = "pause_frames""#, None),
            (r#"column = "headroom_max_bytes.leaf0", divided_by = "nothing""#, None),
            (r#"column = "labels.a.fct_ns.max", divided_by = "emulated_ns""#, Some("incomplete")),
            (r#"column = "deadlock.first_onset_ns", aggregate = "onset""#, Some("70")),
            (r#"column = "window.first_onset_ns", aggregate = "onset""#, Some("not by 900")),
        ] {
            assert_eq!(read(keys).as_deref(), expected, "{keys}");
        }
    }

    /// Two flows; rows before 2 us and from 4 us on lie outside, and one interval of the window has no arrivals.
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
        assert_eq!(read(Source::MeanRate(None)).as_deref(), Some("16000"));
        let elsewhere = Path::new("nowhere");
        assert_eq!(Source::MeanRate(None).read(&run, elsewhere).map(|it| it.to_string()), None);
    }

    /// Flow 0 has 10,000 bytes per interval before the window, half of this in its first two intervals, none in the
    /// fourth, and 9000 in the others; flow 1 never has less.
    #[test]
    fn a_flow_has_recovered_after_its_last_low_interval() {
        let folder = tempfile::tempdir().unwrap();
        let mut table = "start_ns,flow,bytes,bits_per_second\n".to_owned();
        for (start, bytes) in
            [(0, 10_000_u64), (1000, 10_000), (2000, 5000), (3000, 5000), (4000, 9000)]
        {
            let rate = bytes * 8_000_000;
            writeln!(table, "{start},0,{bytes},{rate}\n{start},1,700,5600000000").unwrap();
        }
        table += "5000,1,700,5600000000\n6000,0,9000,72000000000\n6000,1,700,5600000000\n";
        fs::write(folder.path().join("throughput.csv"), table).unwrap();
        let read = |source: Source, to: i32| {
            let run = run_with(&[("window.from_ns", 2000), ("window.to_ns", to)]);
            source.read(&run, folder.path()).map(|it| it.to_string())
        };
        assert_eq!(read(Source::RecoveryOf(0), 7000).as_deref(), Some("4000"));
        assert_eq!(read(Source::RecoveryOf(0), 5000).as_deref(), Some("2000"));
        assert_eq!(read(Source::RecoveryOf(0), 4000).as_deref(), Some("not by 2000"));
        assert_eq!(read(Source::RecoveryOf(1), 7000).as_deref(), Some("0"));
        assert_eq!(read(Source::RecoveryOf(2), 7000), None);
        assert_eq!(read(Source::MeanRate(Some(0)), 4000).as_deref(), Some("40000"));
        assert_eq!(read(Source::MeanRate(Some(1)), 4000).as_deref(), Some("5600"));
    }

    /// 2 MB in 1 ms are 16 Gbit/s, 4 MB in 4 ms are 8.
    #[test]
    fn rates_of_large_flows_count_each_flow_once() {
        let folder = tempfile::tempdir().unwrap();
        let header = "flow,label,src,dst,priority,bytes,start_ns,fct_ns,ideal_ns,slowdown,\
                      retransmitted_packets,cnps,transport,congestion_control\n";
        let flow = |bytes: &str, fct: &str| {
            format!("0,\"a, b\",h0,h1,3,{bytes},5,{fct},1,1.0000,0,0,roce-rc,dcqcn\n")
        };
        let read = |rows: &[String]| {
            fs::write(folder.path().join("flows.csv"), header.to_owned() + &rows.concat()).unwrap();
            let observation = Source::RateAbove(1_000_000).read(&run_with(&[]), folder.path());
            observation.map(|it| it.to_string())
        };
        let (two, four) = (flow("2000000", "1000000"), flow("4000000", "4000000"));
        let small = flow("1000000", "1");
        assert_eq!(read(&[two.clone(), small.clone(), four]).as_deref(), Some("12000"));
        assert_eq!(read(&[two, flow("2000000", "")]).as_deref(), Some("incomplete"));
        assert_eq!(read(&[small]), None);
    }

    /// Reads the sources from a folder with one table, in a window from 2 to 4 us.
    fn said<'a>(
        table: &str,
        rows: &str,
        sources: impl IntoIterator<Item = &'a Source>,
    ) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(table), rows).unwrap();
        let text = |source: &Source| read_in(folder.path(), source).unwrap_or_default();
        sources.into_iter().map(text).collect()
    }

    #[test]
    fn pauses_are_those_of_the_window_and_of_the_neighbours() {
        let rows = "time_ns,node,port,peer,priority,event,occupancy_bytes,threshold_bytes\n\
                    1000,s0,0,h0,3,xoff,7,7\n\
                    2000,s0,0,h0,3,xoff,100,90\n\
                    2100,s0,1,h1,3,xoff,40,40\n\
                    2200,s0,1,h1,3,xoff-refresh,60,40\n\
                    2300,s0,1,h1,3,xon,20,20\n\
                    2400,s0,2,h10,3,xoff,10,10\n\
                    4000,s0,0,h0,3,xoff,7,7\n";
        let expected = [
            (r#"where.event = "xoff", aggregate = "count""#, "3"),
            (r#"where.event = "xoff", where.peer = "h0", aggregate = "count""#, "1"),
            (r#"where.event = "xoff", where.peer = "h2", aggregate = "count""#, "0"),
            (r#"where.event = ["xoff","xoff-refresh"], aggregate = "count""#, "4"),
            (r#"where.event = "xoff", where.port = 1, aggregate = "count""#, "1"),
            (
                r#"where.event = "xoff", where.not_peer = "h0", column = "occupancy_bytes", aggregate = "mean""#,
                "25",
            ),
            (
                r#"where.event = "xoff", where.peer = "h2", column = "occupancy_bytes", aggregate = "mean""#,
                "",
            ),
            (
                r#"where.event = "xoff", where.peer = "h0", over.event = "xoff", over.not_peer = "h0", column = "occupancy_bytes", aggregate = "sum""#,
                "2",
            ),
            (
                r#"where.event = "xoff", where.peer = "h0", over.peer = "h2", column = "occupancy_bytes", aggregate = "sum""#,
                "",
            ),
        ];
        let sources = expected.map(|(keys, _)| source(&format!("table = \"pauses\", {keys}")));
        assert_eq!(said("pauses.csv", rows, &sources), expected.map(|(_, number)| number));
    }

    #[test]
    fn paused_time_is_that_of_the_neighbours_and_zero_of_one_that_was_not_paused() {
        let rows = "node,port,priority,by,pauses,paused_ns,share,longest_ns,ordered_pauses,ordered_ns\n\
                    h0,0,3,s0,2,700,0.1,400,2,690\n\
                    h1,0,3,s0,1,30,0.0,30,1,30\n";
        let sources = ["", r#", where.node = "h0""#, r#", where.node = "h2""#].map(|filter| {
            let keys = r#"table = "pause_time", column = "paused_ns", aggregate = "sum""#;
            source(&format!("{keys}{filter}"))
        });
        assert_eq!(said("pause_time.csv", rows, &sources), ["730", "700", "0"]);
    }

    /// 100 bytes for half of the window and 300 for the other half; a threshold that never changes; a counter without
    /// rows.
    #[test]
    fn a_level_is_weighted_by_time() {
        let rows = "time_ns,node,kind,port,priority,bytes\n\
                    0,s0,threshold,2,3,900\n\
                    1000,s0,ingress,2,3,100\n\
                    2500,s0,ingress,3,3,777\n\
                    3000,s0,ingress,2,3,300\n\
                    9000,s0,ingress,2,3,1\n";
        let sources = [("ingress", 2), ("threshold", 2), ("ingress", 4)];
        let sources = sources.map(|(kind, port)| Source::Level(kind.to_owned(), port));
        assert_eq!(said("queues.csv", rows, &sources), ["200", "900", "0"]);
    }
}
