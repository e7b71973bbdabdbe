//! Selection of a report's charts.

use std::collections::BTreeSet;

use super::chart::{Axis, Chart, Series, Shape, Unit, thinned};
use super::run::{Curve, Run, SizeBin, SizeRange};

/// Max number of points of a line.
const POINTS: usize = 4000;
/// Max number of lines of a chart.
const LINES: usize = 8;

/// A chart over time.
struct OverTime<'a> {
    id: String,
    title: &'a str,
    /// Description of the chart, in HTML.
    about: &'a str,
    /// Source table.
    table: &'a str,
    y: Axis,
}

/// Returns the charts of a run.
pub fn run_charts(run: &Run, id: &str) -> Vec<Chart> {
    let over = |name: &str| format!("{id}-{name}");
    let mut charts = Vec::new();
    // A chart over a single size has nothing to show.
    if run.sizes.len() > 1 {
        charts.extend([
            slowdown_by_size(run, over("slowdown-by-size")),
            fct_by_size(run, over("fct-by-size")),
        ]);
    }
    charts.extend([
        curves(
            run.buffers.iter(),
            OverTime {
                id: over("buffers"),
                title: "Buffers",
                about: "Bytes in each switch, of the switches that held most (samples of kind <code>buffer</code>).",
                table: "queues.csv",
                y: Axis::linear("in the switch", Unit::Bytes),
            },
        ),
        curves(
            run.egress.iter(),
            OverTime {
                id: over("queues"),
                title: "Egress queues",
                about: "Bytes that wait at egress ports in a priority, of those that held most (samples of kind <code>egress</code>).",
                table: "queues.csv",
                y: Axis::linear("waiting", Unit::Bytes),
            },
        ),
        curves(
            run.headroom.iter(),
            OverTime {
                id: over("headroom"),
                title: "Headroom",
                about: "Bytes in headroom, by switch (samples of kind <code>headroom</code>).",
                table: "queues.csv",
                y: Axis::linear("in headroom", Unit::Bytes),
            },
        ),
        curves(
            run.throughput.iter(),
            OverTime {
                id: over("throughput"),
                title: "Throughput",
                about: "Payload that arrived, of the flows that got most in an interval.",
                table: "throughput.csv",
                y: Axis::linear("payload received", Unit::BitsPerSecond),
            },
        ),
        curves(
            run.drops.over_time.iter(),
            OverTime {
                id: over("drops"),
                title: "Drops",
                about: "Frames that had gone no further by then, by cause.",
                table: "drops.csv",
                y: Axis::linear("frames", Unit::Number),
            },
        ),
    ]);
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// Returns the charts that compare runs; a single run has only the distribution.
pub fn comparison_charts(runs: &[Run]) -> Vec<Chart> {
    let mut charts = Vec::new();
    if runs.len() > 1 && ranges(runs).len() > 1 {
        let slowdown = |which: usize, id: &str, title: &str| {
            let y = Axis::log("slowdown", Unit::Number);
            by_size((id.into(), title), y, lines_of_runs(runs, |bin| bin.slowdown[which]))
        };
        let fct = |which: usize, id: &str, title: &str| {
            let y = Axis::log("completion time", Unit::Nanoseconds);
            by_size((id.into(), title), y, lines_of_runs(runs, |bin| bin.fct_ns[which]))
        };
        charts.extend([
            slowdown(1, "compare-p50", "Median slowdown by size"),
            slowdown(2, "compare-p95", "95th percentile of the slowdown by size"),
            slowdown(3, "compare-p99", "99th percentile of the slowdown by size"),
            fct(0, "compare-fct-mean", "Mean flow completion time by size"),
            fct(1, "compare-fct-p99", "99th percentile of the flow completion time by size"),
        ]);
    }
    let series = runs.iter().filter(|run| !run.slowdowns.is_empty());
    let series =
        series.map(|run| Series::new(&run.name, Shape::Steps, distribution(&run.slowdowns)));
    charts.push(Chart {
        id: "slowdown-cdf".into(),
        title: "Distribution of slowdowns".into(),
        about:
            "Share of the flows that completed with at most this slowdown (<code>flows.csv</code>)."
                .into(),
        x: Axis::log("slowdown", Unit::Number),
        y: Axis::linear("share of completed flows", Unit::Number),
        reference: String::new(),
        series: series.collect(),
    });
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// Returns the ranges of sizes of all runs.
fn ranges(runs: &[Run]) -> BTreeSet<SizeRange> {
    runs.iter().flat_map(|run| &run.sizes).map(|bin| bin.range).collect()
}

/// Lines of a statistic of the size ranges, one for each run.
fn lines_of_runs(runs: &[Run], of: impl Fn(&SizeBin) -> f64) -> Vec<Series> {
    runs.iter().map(|run| line_of(run, &run.name, &of)).collect()
}

/// A line of a statistic of a run's size ranges.
fn line_of(run: &Run, name: &str, of: impl Fn(&SizeBin) -> f64) -> Series {
    let points = run.sizes.iter().map(|bin| (bin.place, of(bin))).collect();
    Series::new(name, Shape::Line, points)
}

fn slowdown_by_size(run: &Run, id: String) -> Chart {
    let lines = [("p50", 1), ("p95", 2), ("p99", 3), ("mean", 0)];
    let lines = lines.map(|(name, which)| line_of(run, name, |bin| bin.slowdown[which]));
    by_size((id, "Slowdown by size"), Axis::log("slowdown", Unit::Number), lines.into())
}

fn fct_by_size(run: &Run, id: String) -> Chart {
    let lines = [("mean", 0), ("p99", 1)];
    let lines = lines.map(|(name, which)| line_of(run, name, |bin| bin.fct_ns[which]));
    let y = Axis::log("completion time", Unit::Nanoseconds);
    by_size((id, "Flow completion time by size"), y, lines.into())
}

fn by_size((id, title): (String, &str), y: Axis, series: Vec<Series>) -> Chart {
    let about = match y.unit {
        Unit::Nanoseconds => "Flows of up to a size (<code>fct_by_size.csv</code>).",
        _ => {
            "Completion time over the time that an idle fabric takes, of flows of up to a size (<code>fct_by_size.csv</code>)."
        }
    };
    Chart {
        id,
        title: title.into(),
        about: about.into(),
        x: Axis::log("size of the flow, up to", Unit::Bytes),
        y,
        reference: String::new(),
        series,
    }
}

/// Charts the curves with the highest peaks over time.
fn curves<'a>(all: impl Iterator<Item = (&'a String, &'a Curve)>, over: OverTime<'_>) -> Chart {
    let peak = |curve: &Curve| curve.iter().fold(0.0, |most: f64, &(_, value)| most.max(value));
    let mut curves: Vec<_> = all.map(|(name, curve)| (peak(curve), name, curve)).collect();
    curves.retain(|(peak, ..)| *peak > 0.0);
    curves.sort_by(|a, b| b.0.total_cmp(&a.0));
    let left_out = curves.len().saturating_sub(LINES);
    let OverTime { id, title, about, table, y } = over;
    let more = match left_out {
        0 => String::new(),
        left_out => format!(" {left_out} more are"),
    };
    let series = curves
        .into_iter()
        .take(LINES)
        .map(|(_, name, curve)| Series::new(name, Shape::Steps, thinned(curve, POINTS)));
    Chart {
        id,
        title: title.into(),
        about: if more.is_empty() {
            format!("{about} <code>{table}</code>.")
        } else {
            format!("{about}{more} in <code>{table}</code>.")
        },
        x: Axis::linear("time", Unit::Nanoseconds),
        y,
        reference: String::new(),
        series: series.collect(),
    }
}

/// Returns the cumulative distribution of values.
fn distribution(ascending: &[f64]) -> Curve {
    let all = ascending.len() as f64;
    let ends = ascending.chunk_by(|a, b| a.total_cmp(b).is_eq()).scan(0, |count, same| {
        *count += same.len();
        Some((same[0], *count as f64 / all))
    });
    let points: Curve = ends.collect();
    let start = points.first().map(|&(least, _)| (least, 0.0));
    // Values at equal distances in rank, so that a few values of a long tail do not displace the others.
    let step = points.len().div_ceil(POINTS).max(1);
    let last = points.last().filter(|_| !(points.len() - 1).is_multiple_of(step)).copied();
    start.into_iter().chain(points.iter().step_by(step).copied()).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_tail_does_not_push_the_others_together() {
        let mut values: Vec<f64> = (0..9999).map(|rank| 1.0 + f64::from(rank) / 2500.0).collect();
        values.push(8000.0);
        let curve = distribution(&values);
        assert!(curve.len() <= POINTS + 2, "{}", curve.len());
        assert_eq!((curve[0], curve[curve.len() - 1]), ((1.0, 0.0), (8000.0, 1.0)));
        for (value, share) in curve.iter().copied().filter(|&(value, _)| value < 8000.0).skip(1) {
            let expected = ((value - 1.0) * 2500.0 + 1.0) / 10_000.0;
            assert!((share - expected).abs() < 1e-9, "{value}: {share}");
        }
        assert_eq!(distribution(&[2.0, 2.0, 3.0]), [(2.0, 0.0), (2.0, 2.0 / 3.0), (3.0, 1.0)]);
    }

    #[test]
    fn those_with_the_highest_peaks_are_drawn() {
        let with_peak =
            |peak: u32| (format!("s{peak}"), vec![(0.0, 0.0), (5e3, f64::from(peak)), (9e3, 1.0)]);
        let curves_of: Vec<(String, Curve)> = (0..12).map(with_peak).collect();
        let over = OverTime {
            id: "id".into(),
            title: "",
            about: "Bytes.",
            table: "queues.csv",
            y: Axis::linear("held", Unit::Bytes),
        };
        let chart = curves(curves_of.iter().map(|(name, curve)| (name, curve)), over);
        let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, ["s11", "s10", "s9", "s8", "s7", "s6", "s5", "s4"]);
        assert_eq!(chart.series[0].points, [(0.0, 0.0), (5e3, 11.0), (9e3, 1.0)]);
        assert_eq!(
            (&*chart.x.label, &*chart.about),
            ("time", "Bytes. 4 more are in <code>queues.csv</code>.")
        );
    }
}
