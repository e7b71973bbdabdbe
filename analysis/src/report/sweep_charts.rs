//! Charts of a sweep: one for each metric, or for each metric of switches.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chart::{Axis, Chart, Scale, Series, Shape};
use super::page::escaped;
use super::sweep::{Metric, Sweep, Value, unit};
use super::sweep_axis::SweepAxis;

/// Max number of charts.
const CHARTS: usize = 16;
/// Max number of panels of a chart.
const PANELS: usize = 12;
/// Max number of switches in a chart.
const SWITCHES: usize = 8;
/// Max number of rows of a chart of names.
const ROWS: usize = 80;
/// Metrics that are shown first, with their descriptions.
const FIRST: [(&str, &str); 17] = [
    ("slowdown.p50", "median slowdown"),
    ("slowdown.p95", "95th percentile of the slowdown"),
    ("slowdown.p99", "99th percentile of the slowdown"),
    ("slowdown.mean", "mean slowdown"),
    ("slowdown.max", "largest slowdown"),
    ("fct_ns.p50", "median flow completion time"),
    ("fct_ns.p95", "95th percentile of the flow completion time"),
    ("fct_ns.p99", "99th percentile of the flow completion time"),
    ("fct_ns.mean", "mean flow completion time"),
    ("fct_ns.max", "longest flow completion time"),
    ("paused_ns", "time paused, summed over ports and priorities"),
    ("pause_frames", "PAUSE frames"),
    ("buffer_max_bytes", "most bytes in a switch"),
    ("headroom_max_bytes", "most bytes in headroom of a switch"),
    ("deadlock.deadlocks", "deadlocks of a run"),
    ("ecn_marked", "ECN marks"),
    ("retransmitted_packets", "packets sent again"),
];

/// One metric, or one metric of several switches.
struct Subject<'a> {
    key: &'a str,
    /// Names of switches, and their metrics. A metric of the whole fabric has an empty name.
    parts: Vec<(&'a str, &'a Metric)>,
    /// Number of switches that the chart leaves out.
    left_out: usize,
}

/// Returns the charts of a sweep, and sentences on metrics without a chart, in HTML.
pub fn sweep_charts(sweep: &Sweep, id: &str) -> (Vec<Chart>, Vec<String>) {
    let (mut subjects, zeros, constant) = subjects(sweep);
    let place = |subject: &Subject<'_>| FIRST.iter().position(|(key, _)| *key == subject.key);
    // Metrics of labels and sizes come before counters.
    let is_detail = |subject: &Subject<'_>| !subject.key.contains("slowdown");
    subjects.sort_by_key(|it| (place(it).unwrap_or(FIRST.len()), is_detail(it)));
    let mut notes = Vec::new();
    let left_out = subjects.len().saturating_sub(CHARTS);
    subjects.truncate(CHARTS);
    let list = |keys: &[&str]| {
        keys.iter()
            .map(|key| format!("<code>{}</code>", escaped(key)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if left_out > 0 {
        notes.push(format!("{left_out} more metrics are in <code>summary.csv</code>."));
    }
    if !zeros.is_empty() {
        notes.push(format!("Zero in all cells: {}.", list(&zeros)));
    }
    if !constant.is_empty() {
        notes.push(format!("Equal in all cells: {}.", list(&constant)));
    }
    let charts = subjects.iter().map(|subject| chart(sweep, subject, id));
    (charts.filter(|chart| !chart.is_empty()).collect(), notes)
}

/// Returns the metrics that differ between cells, and the keys of those that are zero and that are equal everywhere.
fn subjects(sweep: &Sweep) -> (Vec<Subject<'_>>, Vec<&str>, Vec<&str>) {
    let zeros = sweep.zeros();
    let (mut subjects, mut constant): (Vec<Subject<'_>>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for metric in sweep.metrics.iter().filter(|metric| !zeros.contains(&*metric.key)) {
        let of_switches = ["buffer_max_bytes.", "headroom_max_bytes."];
        let switch = of_switches.iter().find_map(|prefix| metric.key.strip_prefix(prefix));
        let key =
            switch.map_or(&*metric.key, |name| &metric.key[..metric.key.len() - name.len() - 1]);
        let is_equal = |a: &Value, b: &Value| a.mean.total_cmp(&b.mean).is_eq();
        let is_constant = metric.values.len() == sweep.cells.len()
            && metric.values.iter().all(|value| is_equal(value, &metric.values[0]));
        if switch.is_none() && sweep.cells.len() > 1 && is_constant {
            constant.push(key);
            continue;
        }
        let at = *places.entry(key).or_insert_with(|| {
            subjects.push(Subject { key, parts: Vec::new(), left_out: 0 });
            subjects.len() - 1
        });
        subjects[at].parts.push((switch.unwrap_or_default(), metric));
    }
    let peak = |metric: &Metric| metric.values.iter().fold(0.0, |most: f64, it| most.max(it.mean));
    for subject in &mut subjects {
        subject.parts.sort_by(|a, b| peak(b.1).total_cmp(&peak(a.1)));
        subject.left_out = subject.parts.len().saturating_sub(SWITCHES);
        subject.parts.truncate(SWITCHES);
    }
    (subjects, zeros.into_iter().collect(), constant)
}

fn chart(sweep: &Sweep, subject: &Subject<'_>, id: &str) -> Chart {
    let known = FIRST.into_iter().find(|(key, _)| *key == subject.key);
    let title = known.map_or(subject.key, |(_, label)| label);
    let over =
        sweep.axes.iter().enumerate().filter_map(|(place, axis)| {
            axis.numbers.as_ref().map(|numbers| (place, axis, numbers))
        });
    // The last of several axes that have equally many values varies fastest.
    let over = over.max_by_key(|(_, axis, _)| axis.values.len());
    let mut about = format!(
        "<code>{}</code>: mean over seeds and its 95 % interval (<code>summary.csv</code>).",
        escaped(subject.key)
    );
    let label = quantity(title, subject.key);
    let mut value = Axis::linear(&label, unit(subject.key));
    // The slowdown has one scale in all charts.
    if subject.key.contains("slowdown") {
        value.scale = Scale::Log;
    }
    let id = format!("{id}-{}", subject.key.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
    let over_names = over.is_none();
    let (x, y, mut series) = if let Some((place, axis, numbers)) = over {
        (axis_of(axis, numbers), value, lines(sweep, subject, (place, numbers)))
    } else {
        let rows = (0..sweep.cells.len().min(ROWS)).map(|cell| sweep.cell_name(cell)).collect();
        (value, Axis::names("cell", rows), dots(sweep, subject))
    };
    if subject.left_out > 0 {
        write!(about, " {} more switches, with lower peaks, are left out.", subject.left_out)
            .expect("a String takes every write");
    }
    if over_names && sweep.cells.len() > ROWS {
        write!(about, " {} more cells are left out.", sweep.cells.len() - ROWS)
            .expect("a String takes every write");
    }
    let mut panels: Vec<String> = Vec::new();
    for series in &series {
        if !panels.contains(&series.panel) {
            panels.push(series.panel.clone());
        }
    }
    if panels.len() > PANELS {
        series.retain(|it| panels[..PANELS].contains(&it.panel));
        write!(about, " {} more panels are left out.", panels.len() - PANELS)
            .expect("a String takes every write");
    }
    Chart { id, title: title.into(), about, x, y, reference: String::new(), series }
}

/// Returns the label of a metric's axis.
fn quantity(title: &str, key: &str) -> String {
    match () {
        () if key == title => key.to_owned(),
        () if key.starts_with("slowdown") => "slowdown".into(),
        () if key.starts_with("fct_ns") => "completion time".into(),
        () => title.into(),
    }
}

/// Makes the horizontal axis of a sweep's axis, with its values as ticks.
fn axis_of(axis: &SweepAxis, numbers: &[f64]) -> Axis {
    let ticks = numbers.iter().copied().zip(axis.values.iter().cloned());
    let mut ticks: Vec<(f64, String)> = ticks.collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_log = ticks[0].0 > 0.0 && ticks[ticks.len() - 1].0 / ticks[0].0 >= 8.0;
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    Axis { scale, ticks, ..Axis::linear(&axis.key, super::chart::Unit::Number) }
}

/// Lines over an axis of numbers. The next axis has colours, and further axes have panels.
fn lines(sweep: &Sweep, subject: &Subject<'_>, (over, numbers): (usize, &[f64])) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let is_of_switches = !subject.parts[0].0.is_empty();
    for (switch, metric) in &subject.parts {
        for value in &metric.values {
            let cell = &sweep.cells[value.cell];
            let others = sweep.axes.iter().zip(cell).enumerate().filter(|(axis, _)| *axis != over);
            let mut names: Vec<String> =
                others.map(|(_, (axis, value))| axis.written(value)).collect();
            let name = match (is_of_switches, names.is_empty()) {
                (true, _) => (*switch).to_owned(),
                (false, true) => String::new(),
                (false, false) => names.remove(0),
            };
            let panel = names.join(", ");
            let place = series.iter().position(|it| it.name == name && it.panel == panel);
            let at = place.unwrap_or_else(|| {
                series.push(Series { panel, ..Series::new(&name, Shape::Line, Vec::new()) });
                series.len() - 1
            });
            let axis = &sweep.axes[over];
            let number = axis.values.iter().position(|it| *it == cell[over]).map(|it| numbers[it]);
            let at = &mut series[at];
            at.points.push((number.unwrap_or_default(), value.mean));
            at.intervals.push(value.interval);
        }
    }
    for series in &mut series {
        let both = std::mem::take(&mut series.points).into_iter();
        let mut both: Vec<_> = both.zip(std::mem::take(&mut series.intervals)).collect();
        both.sort_by(|a, b| a.0.0.total_cmp(&b.0.0));
        (series.points, series.intervals) = both.into_iter().unzip();
    }
    series
}

/// Dots in a row for each cell.
fn dots(sweep: &Sweep, subject: &Subject<'_>) -> Vec<Series> {
    let part = |(name, metric): &(&str, &Metric)| {
        let values = metric.values.iter().filter(|value| value.cell < ROWS);
        let points = values.clone().map(|value| (value.mean, value.cell as f64)).collect();
        let intervals = values.map(|value| value.interval).collect();
        let name = if name.is_empty() { &*sweep.name } else { name };
        Series { intervals, ..Series::new(name, Shape::Dots, points) }
    };
    subject.parts.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(keys: &[&str], cells: &[&[&str]]) -> Sweep {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        let cells: Vec<Vec<String>> =
            cells.iter().map(|cell| cell.iter().map(|it| (*it).to_owned()).collect()).collect();
        let value = |cell: usize| Value { cell, mean: 1.0 + cell as f64, interval: None };
        let values: Vec<Value> = (0..cells.len()).map(value).collect();
        let metric = |key: &str| Metric { key: key.into(), values: values.clone() };
        let zero = values.iter().map(|value| Value { mean: 0.0, ..*value }).collect();
        let keys_of = ["pause_frames", "buffer_max_bytes.a", "buffer_max_bytes.b", "slowdown.p99"];
        let mut metrics: Vec<Metric> = keys_of.map(metric).into();
        metrics.push(Metric { key: "drops.frame".into(), values: zero });
        let (axes, constant) = SweepAxis::of(&keys, &cells);
        let name = "sweep".to_owned();
        Sweep {
            name,
            axes,
            constant,
            cells,
            troubles: Vec::new(),
            metrics,
            seeds: 3,
            cells_left_out: 0,
        }
    }

    #[test]
    fn an_axis_of_numbers_is_horizontal() {
        let cells: [&[&str]; 4] =
            [&["dcqcn", "1"], &["dcqcn", "1/16"], &["none", "1"], &["none", "1/16"]];
        let (charts, notes) = sweep_charts(&sweep(&["host.control", "switch.alpha"], &cells), "s");
        let ids: Vec<&str> = charts.iter().map(|chart| &*chart.id).collect();
        assert_eq!(ids, ["s-slowdown-p99", "s-pause-frames", "s-buffer-max-bytes"]);
        assert_eq!(notes, ["Zero in all cells: <code>drops.frame</code>."]);
        let (first, x) = (&charts[0].series[0], &charts[0].x);
        assert_eq!(
            (&*first.name, &*first.points),
            ("control dcqcn", &[(0.0625, 2.0), (1.0, 1.0)][..])
        );
        assert_eq!((&*x.label, &x.scale, &*x.ticks[0].1), ("alpha", &Scale::Log, "1/16"));
        // Switches have colours, so all other axes have panels.
        let switches = &charts[2].series;
        assert_eq!((&*switches[0].name, &*switches[0].panel), ("a", "control dcqcn"));
    }

    #[test]
    fn cells_without_numbers_have_rows_with_names() {
        let cells: [&[&str]; 2] = [&["dcqcn"], &["none"]];
        let (charts, _) = sweep_charts(&sweep(&["host.control"], &cells), "s");
        assert_eq!(
            charts[0].y.scale,
            Scale::Names(vec!["control dcqcn".into(), "control none".into()])
        );
        assert_eq!(charts[0].series[0].points, [(1.0, 0.0), (2.0, 1.0)]);
    }
}
