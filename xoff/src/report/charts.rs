//! Which charts a report has.

use super::chart::{Axis, Chart, Scale, Series, Shape, thinned};
use super::run::{Curve, Run};
use super::sweep::Sweep;

/// Points of a line at most.
const POINTS: usize = 4000;
/// Lines of a chart at most.
const LINES: usize = 8;

/// A chart of one run, whose id begins with `id`.
struct Over<'a> {
    id: String,
    title: &'a str,
    about: String,
    y: &'a str,
    shape: Shape,
}

/// The charts of a run.
pub fn of_run(run: &Run, id: &str) -> Vec<Chart> {
    let over = |name: &str| format!("{id}-{name}");
    let charts = [
        slowdown_by_size(run, over("slowdown-by-size")),
        curves(
            run.buffers.iter(),
            Over {
                id: over("buffers"),
                title: "Buffers",
                about: "Bytes in each switch, of the switches that held most (<code>queues.csv</code>, kind <code>buffer</code>: \
                        samples).".into(),
                y: "bytes",
                shape: Shape::Steps,
            },
        ),
        curves(
            run.egress.iter(),
            Over {
                id: over("queues"),
                title: "Egress queues",
                about: "Bytes that wait at egress ports in a priority, of those that held most (<code>queues.csv</code>, kind \
                        <code>egress</code>: samples).".into(),
                y: "bytes",
                shape: Shape::Steps,
            },
        ),
        curves(
            run.headroom.iter(),
            Over {
                id: over("headroom"),
                title: "Headroom",
                about: "Bytes in headroom, by switch (<code>queues.csv</code>, kind <code>headroom</code>: samples).".into(),
                y: "bytes",
                shape: Shape::Steps,
            },
        ),
        curves(
            run.throughput.iter(),
            Over {
                id: over("throughput"),
                title: "Throughput",
                about: "Payload that arrived, of the flows that got most (<code>throughput.csv</code>).".into(),
                y: "bit/s",
                shape: Shape::Line,
            },
        ),
    ];
    charts.into_iter().filter(|chart| !chart.is_empty()).collect()
}

/// Charts in which runs stand beside each other; a single run has the distribution alone.
pub fn of_runs(runs: &[Run]) -> Vec<Chart> {
    let mut charts = Vec::new();
    if runs.len() > 1 {
        charts.extend([
            sizes_of_runs(runs, 0, "compare-mean", "Mean slowdown by size"),
            sizes_of_runs(runs, 3, "compare-p99", "99th percentile of the slowdown by size"),
        ]);
    }
    let series = runs.iter().map(|run| Series {
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
        y: Axis::linear("share of flows"),
        shape: Shape::Steps,
        series: series.collect(),
    });
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// The charts of a sweep: one for each metric.
pub fn of_sweep(sweep: &Sweep, id: &str) -> Vec<Chart> {
    let chart = |metric: &super::sweep::Metric| {
        let names = metric.cells.iter().map(|(cell, _)| cell.clone()).collect();
        let places = (0..).map(|place: u32| f64::from(place));
        let points = places.zip(&metric.cells).map(|(place, (_, of))| (place, of.mean)).collect();
        let intervals = metric.cells.iter().map(|(_, of)| of.interval).collect();
        Chart {
            id: format!("{id}-{}", metric.key.replace(['.', '_'], "-")),
            title: metric.label.clone(),
            about: format!(
                "<code>{}</code>: the mean over seeds and its 95 % interval (<code>summary.csv</code>).",
                metric.key
            ),
            x: Axis { label: "cell".into(), scale: Scale::Names(names) },
            y: Axis::linear(&metric.label),
            shape: Shape::Points,
            series: vec![Series { name: sweep.name.clone(), points, intervals }],
        }
    };
    sweep.metrics.iter().map(chart).filter(|chart| !chart.is_empty()).collect()
}

fn slowdown_by_size(run: &Run, id: String) -> Chart {
    let names = run.sizes.iter().map(|bin| bin.name.clone()).collect();
    let lines = ["mean", "p50", "p95", "p99"].into_iter().enumerate().map(|(which, name)| Series {
        name: name.into(),
        points: (0..).zip(&run.sizes).map(|(x, bin)| (f64::from(x), bin.slowdown[which])).collect(),
        intervals: Vec::new(),
    });
    let series = lines.collect();
    Chart {
        id,
        title: "Slowdown by size".into(),
        about: "Completion time over the time that an idle fabric takes, by the flow's size (<code>fct_by_size.csv</code>).".into(),
        x: Axis { label: "size of the flow".into(), scale: Scale::Names(names) },
        y: Axis::log("slowdown"),
        shape: Shape::Line,
        series,
    }
}

/// One of the four values of slowdown by size, a line for each run. Sizes are those that any run has.
fn sizes_of_runs(runs: &[Run], which: usize, id: &str, title: &str) -> Chart {
    let mut names: Vec<String> = Vec::new();
    for run in runs {
        // Bins ascend in each run; a bin that another run has too has its place.
        let mut place = 0;
        for bin in &run.sizes {
            let known = names.iter().position(|name| *name == bin.name);
            let at = known.unwrap_or_else(|| {
                names.insert(place, bin.name.clone());
                place
            });
            place = at + 1;
        }
    }
    let line = |run: &Run| Series {
        name: run.name.clone(),
        points: (0..)
            .zip(&names)
            .filter_map(|(x, name)| {
                let bin = run.sizes.iter().find(|bin| bin.name == *name)?;
                Some((f64::from(x), bin.slowdown[which]))
            })
            .collect(),
        intervals: Vec::new(),
    };
    let series = runs.iter().map(line).collect();
    Chart {
        id: id.into(),
        title: title.into(),
        about: "Completion time over the time that an idle fabric takes (<code>fct_by_size.csv</code>).".into(),
        x: Axis { label: "size of the flow".into(), scale: Scale::Names(names) },
        y: Axis::log("slowdown"),
        shape: Shape::Line,
        series,
    }
}

/// Curves over time, those with the highest peaks.
fn curves<'a>(all: impl Iterator<Item = (&'a String, &'a Curve)>, over: Over<'_>) -> Chart {
    let peak = |curve: &Curve| curve.iter().fold(0.0, |most: f64, &(_, value)| most.max(value));
    let mut curves: Vec<_> = all.map(|(name, curve)| (peak(curve), name, curve)).collect();
    curves.retain(|(peak, ..)| *peak > 0.0);
    curves.sort_by(|a, b| b.0.total_cmp(&a.0));
    let omitted = curves.len().saturating_sub(LINES);
    let Over { id, title, mut about, y, shape } = over;
    if omitted > 0 {
        about = format!("{about} {omitted} more are in the table.");
    }
    let series = curves.into_iter().take(LINES).map(|(_, name, curve)| Series {
        name: name.clone(),
        // Microseconds.
        points: thinned(curve, POINTS)
            .into_iter()
            .map(|(time, value)| (time / 1e3, value))
            .collect(),
        intervals: Vec::new(),
    });
    Chart {
        id,
        title: title.into(),
        about,
        x: Axis::linear("us"),
        y: Axis::linear(y),
        shape,
        series: series.collect(),
    }
}

/// The share of values up to each.
fn distribution(ascending: &[f64]) -> Curve {
    let all = ascending.len() as f64;
    let ends = ascending.chunk_by(|a, b| a.total_cmp(b).is_eq()).scan(0, |count, same| {
        *count += same.len();
        Some((same[0], *count as f64 / all))
    });
    let points: Curve = ends.collect();
    let start = points.first().map(|&(least, _)| (least, 0.0));
    let whole: Curve = start.into_iter().chain(points).collect();
    thinned(&whole, POINTS)
}
