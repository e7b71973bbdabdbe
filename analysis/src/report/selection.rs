//! Selection of a report's charts.

use std::collections::BTreeSet;

use super::chart::{Axis, Chart, Scale, Series, Shape, thinned};
use super::page::escaped;
use super::run::{Curve, Run, SizeRange};
use super::sweep::{Cell, Metric, Sweep};

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
    y: &'a str,
}

/// Returns the charts of a run.
pub fn run_charts(run: &Run, id: &str) -> Vec<Chart> {
    let over = |name: &str| format!("{id}-{name}");
    let charts = [
        slowdown_by_size(run, over("slowdown-by-size")),
        curves(
            run.buffers.iter(),
            OverTime {
                id: over("buffers"),
                title: "Buffers",
                about: "Bytes in each switch, of the switches that held most (samples of kind <code>buffer</code>).",
                table: "queues.csv",
                y: "bytes",
            },
        ),
        curves(
            run.egress.iter(),
            OverTime {
                id: over("queues"),
                title: "Egress queues",
                about: "Bytes that wait at egress ports in a priority, of those that held most (samples of kind <code>egress</code>).",
                table: "queues.csv",
                y: "bytes",
            },
        ),
        curves(
            run.headroom.iter(),
            OverTime {
                id: over("headroom"),
                title: "Headroom",
                about: "Bytes in headroom, by switch (samples of kind <code>headroom</code>).",
                table: "queues.csv",
                y: "bytes",
            },
        ),
        curves(
            run.throughput.iter(),
            OverTime {
                id: over("throughput"),
                title: "Throughput",
                about: "Payload that arrived, of the flows that got most in an interval.",
                table: "throughput.csv",
                y: "bit/s",
            },
        ),
        curves(
            run.drops.over_time.iter(),
            OverTime {
                id: over("drops"),
                title: "Drops",
                about: "Frames that had gone no further by then, by cause.",
                table: "drops.csv",
                y: "frames",
            },
        ),
    ];
    charts.into_iter().filter(|chart| !chart.is_empty()).collect()
}

/// Returns the charts that compare runs; a single run has only the distribution.
pub fn comparison_charts(runs: &[Run]) -> Vec<Chart> {
    let mut charts = Vec::new();
    if runs.len() > 1 {
        charts.extend([
            sizes_of_runs(runs, 0, "compare-mean", "Mean slowdown by size"),
            sizes_of_runs(runs, 3, "compare-p99", "99th percentile of the slowdown by size"),
        ]);
    }
    let series = runs.iter().filter(|run| !run.slowdowns.is_empty()).map(|run| Series {
        name: run.name.clone(),
        points: distribution(&run.slowdowns),
        intervals: Vec::new(),
    });
    charts.push(Chart {
        id: "slowdown-cdf".into(),
        title: "Distribution of slowdowns".into(),
        about:
            "Share of the flows that completed with at most this slowdown (<code>flows.csv</code>)."
                .into(),
        x: Axis::log("slowdown"),
        y: Axis::linear("share of completed flows"),
        shape: Shape::Steps,
        series: series.collect(),
    });
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// Returns the charts of a sweep: one for each metric.
pub fn sweep_charts(sweep: &Sweep, id: &str) -> Vec<Chart> {
    let chart = |metric: &Metric| {
        let (mut names, mut points, mut intervals) = (Vec::new(), Vec::new(), Vec::new());
        for (place, Cell { name, mean, interval }) in (0..).zip(&metric.cells) {
            let place: u32 = place;
            names.push(name.clone());
            points.push((*mean, f64::from(place)));
            intervals.push(*interval);
        }
        Chart {
            id: format!("{id}-{}", metric.key.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            title: metric.label.clone(),
            about: format!(
                "<code>{}</code>: the mean over seeds, and its 95 % interval where there are several (<code>summary.csv</code>).",
                escaped(&metric.key)
            ),
            x: Axis::linear(&metric.label),
            y: Axis { label: "cell".into(), scale: Scale::Names(names) },
            shape: Shape::Named,
            series: vec![Series { name: sweep.name.clone(), points, intervals }],
        }
    };
    sweep.metrics.iter().map(chart).filter(|chart| !chart.is_empty()).collect()
}

/// Charts one of the four statistics of slowdown by size, with a line for each run. All sizes of any run are included.
fn sizes_of_runs(runs: &[Run], which: usize, id: &str, title: &str) -> Chart {
    let ranges: BTreeSet<SizeRange> =
        runs.iter().flat_map(|run| &run.sizes).map(|bin| bin.range).collect();
    let line = |run: &Run| Series {
        name: run.name.clone(),
        points: (0..)
            .zip(&ranges)
            .filter_map(|(x, range)| {
                let bin = run.sizes.iter().find(|bin| bin.range == *range)?;
                Some((f64::from(x), bin.slowdown[which]))
            })
            .collect(),
        intervals: Vec::new(),
    };
    slowdowns(id.into(), title, &ranges, runs.iter().map(line).collect())
}

fn slowdown_by_size(run: &Run, id: String) -> Chart {
    let ranges = run.sizes.iter().map(|bin| bin.range).collect();
    let lines = ["mean", "p50", "p95", "p99"].into_iter().enumerate().map(|(which, name)| Series {
        name: name.into(),
        points: (0..).zip(&run.sizes).map(|(x, bin)| (f64::from(x), bin.slowdown[which])).collect(),
        intervals: Vec::new(),
    });
    slowdowns(id, "Slowdown by size", &ranges, lines.collect())
}

fn slowdowns(id: String, title: &str, ranges: &BTreeSet<SizeRange>, series: Vec<Series>) -> Chart {
    let names = ranges.iter().map(SizeRange::to_string).collect();
    Chart {
        id,
        title: title.into(),
        about: "Completion time over the time that an idle fabric takes (<code>fct_by_size.csv</code>).".into(),
        x: Axis { label: "size of the flow".into(), scale: Scale::Names(names) },
        y: Axis::log("slowdown"),
        shape: Shape::Line,
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
    let end = curves
        .iter()
        .filter_map(|(_, _, curve)| curve.last())
        .fold(0.0, |most: f64, at| most.max(at.0));
    let (unit, length) = match end {
        1e9.. => ("s", 1e9),
        1e6.. => ("ms", 1e6),
        1e3.. => ("us", 1e3),
        _ => ("ns", 1.0),
    };
    let series = curves.into_iter().take(LINES).map(|(_, name, curve)| Series {
        name: name.clone(),
        points: thinned(curve, POINTS)
            .into_iter()
            .map(|(time, value)| (time / length, value))
            .collect(),
        intervals: Vec::new(),
    });
    Chart {
        id,
        title: title.into(),
        about: if more.is_empty() {
            format!("{about} <code>{table}</code>.")
        } else {
            format!("{about}{more} in <code>{table}</code>.")
        },
        x: Axis::linear(unit),
        y: Axis::linear(y),
        shape: Shape::Steps,
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
            y: "bytes",
        };
        let chart = curves(curves_of.iter().map(|(name, curve)| (name, curve)), over);
        let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, ["s11", "s10", "s9", "s8", "s7", "s6", "s5", "s4"]);
        assert_eq!(chart.series[0].points, [(0.0, 0.0), (5.0, 11.0), (9.0, 1.0)]);
        assert_eq!(
            (&*chart.x.label, &*chart.about),
            ("us", "Bytes. 4 more are in <code>queues.csv</code>.")
        );
    }
}
