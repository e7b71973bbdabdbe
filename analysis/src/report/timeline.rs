//! Timeline of pauses between neighbours.

use serde::Serialize;
use svg::node::element::{Group, Line, Path, Rectangle, SVG, Title};
use svg::{Document, Node as _};

use super::chart::{Unit, Width};
use super::draw::color;
use super::run::{Paused, Pauses, Run};
use super::text;
use super::ticks;

/// Height of a row's bars, and of the row.
const BAR: f64 = 12.0;
const ROW: f64 = 20.0;
const TOP: f64 = 8.0;
const AXIS: f64 = 26.0;
/// Half the width of the last tick's text.
const RIGHT: f64 = 36.0;
/// Width of the plot in its own coordinates.
const SPAN: f64 = 1_000_000.0;
/// Max number of rows.
const ROWS: usize = 40;
/// Max number of spans of a row: as many as a screen can resolve, plus some for zooming.
const SPANS: usize = 4000;

/// The timeline of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Identifier, unique in the report; also the name of the timeline's file.
    pub id: String,
    /// End of the run, in nanoseconds.
    pub end_ns: f64,
    /// Rows, the longest paused first.
    pub rows: Vec<Row>,
    /// Number of rows left out.
    pub left_out: usize,
}

/// Pauses of one neighbour by another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Names of the pausing and of the paused node.
    pub name: String,
    /// Paused priority or queue.
    #[serde(flatten)]
    pub what: Paused,
    /// Begin and end of the pauses, in nanoseconds. If there are too many, the shortest gaps are closed.
    pub spans: Vec<(f64, f64)>,
}

impl Timeline {
    /// Makes the timeline of a run, if it has pauses.
    pub fn new(run: &Run, id: &str) -> Option<Self> {
        let row = |pauses: &Pauses| Row {
            name: name(pauses, &run.pauses),
            what: pauses.what,
            spans: at_most(&pauses.spans, SPANS),
        };
        let rows: Vec<Row> = run.pauses.iter().take(ROWS).map(row).collect();
        let left_out = run.pauses.len() - rows.len();
        let id = id.to_owned();
        (!rows.is_empty()).then(|| Self { id, end_ns: run.end_ns().max(1.0), rows, left_out })
    }

    /// Returns the source tables, in HTML.
    pub fn tables(&self) -> &'static str {
        let queues = self.rows.iter().filter(|row| matches!(row.what, Paused::Queue(_))).count();
        match queues {
            0 => "<code>pauses.csv</code>",
            all if all == self.rows.len() => "<code>queue_pauses.csv</code>",
            _ => "<code>pauses.csv</code>, <code>queue_pauses.csv</code>",
        }
    }

    /// Draws the timeline. Its script lets a reader zoom into the element of class `plot`.
    pub fn svg(&self, width: Width) -> String {
        let whole = width.pixels();
        let names: Vec<String> = self.rows.iter().map(Row::label).collect();
        let longest = names.iter().map(|name| text::width(name)).fold(0.0, f64::max);
        // Names that need much of the width are above their rows.
        let is_above = longest > whole * 0.45;
        let name_lines = |name: &String| text::lines(name, whole).len();
        let lines = names.iter().map(name_lines).max().filter(|_| is_above).unwrap_or(0);
        let (above, left) =
            if is_above { (text::LINE * lines as f64, RIGHT / 2.0) } else { (0.0, longest + 12.0) };
        let row_height = ROW + above;
        let height = row_height * self.rows.len() as f64;
        let inner = whole - left - RIGHT;
        let most = if width == Width::Wide { 6 } else { 4 };
        let mut document = Document::new()
            .set("viewBox", (0, 0, whole, TOP + height + AXIS))
            .set("class", format!("timeline {}", width.class()))
            .set("data-end", self.end_ns)
            .set("data-ticks", most)
            .set("font-family", "system-ui, sans-serif")
            .set("font-size", text::SIZE);
        let mut plot = SVG::new()
            .set("class", "plot")
            .set("x", left)
            .set("y", TOP)
            .set("width", inner)
            .set("height", height)
            .set("viewBox", (0, 0, SPAN, height))
            .set("preserveAspectRatio", "none");
        // Makes the empty part draggable, too.
        plot.append(
            Rectangle::new()
                .set("class", "area")
                .set("width", SPAN)
                .set("height", height)
                .set("fill", "#9a9a9a")
                .set("fill-opacity", 0.08),
        );
        for (number, (row, name)) in self.rows.iter().zip(&names).enumerate() {
            let y = row_height * number as f64;
            if is_above {
                for (line, part) in (1..).zip(text::lines(name, whole)) {
                    let y = TOP + y + text::LINE * f64::from(line) - 3.0;
                    document.append(text::at(&part, (0.0, y), "start"));
                }
            } else {
                document.append(text::at(name, (left - 8.0, TOP + y + 14.5), "end"));
            }
            let (Paused::Priority(number) | Paused::Queue(number)) = row.what;
            let color = color(usize::from(number) % 8);
            // The outline of a span has a fixed width at any zoom, so that the shortest spans stay visible.
            let mut spans = Path::new()
                .set("fill", color.as_str())
                .set("stroke", color.as_str())
                .set("vector-effect", "non-scaling-stroke")
                .set("d", outline(&row.spans, self.end_ns, (y + above + 4.0, BAR)));
            spans.append(Title::new(name));
            plot.append(spans);
        }
        document.append(plot);
        document.append(self.axis((left, inner, TOP + height), most));
        document.to_string()
    }

    /// Draws the axis within left and width. The script draws the axis of a part.
    fn axis(&self, (left, width, y): (f64, f64, f64), most: usize) -> Group {
        let mut axis = Group::new().set("class", "axis");
        let (ticks, _) = ticks::linear(0.0..=self.end_ns, most, Unit::Nanoseconds);
        for (time, _) in ticks {
            let x = text::rounded(left + width * time / self.end_ns);
            let line = Line::new().set("x1", x).set("x2", x).set("y1", y).set("y2", y + 4.0);
            axis.append(line.set("stroke", "#9a9a9a"));
            axis.append(text::at(&Unit::Nanoseconds.write(time), (x, y + 18.0), "middle"));
        }
        axis
    }
}

impl Row {
    /// Returns the row's text: who pauses whom, and what.
    fn label(&self) -> String {
        match self.what {
            Paused::Priority(priority) => format!("{} (priority {priority})", self.name),
            Paused::Queue(queue) => format!("{} (queue {queue})", self.name),
        }
    }
}

/// Names the pausing and the paused node. The port is named if the nodes have several links.
fn name(pauses: &Pauses, all: &[Pauses]) -> String {
    let Pauses { paused, by, port, .. } = pauses;
    let is_parallel = |it: &Pauses| it.paused == *paused && it.by == *by && it.port != *port;
    if all.iter().any(is_parallel) {
        format!("{by} port {port} pauses {paused}")
    } else {
        format!("{by} pauses {paused}")
    }
}

/// Returns the outlines of spans in the coordinates of the plot, from `top` and `height` high.
fn outline(spans: &[(f64, f64)], end_ns: f64, (top, height): (f64, f64)) -> String {
    let place = |time: f64| (time / end_ns * SPAN * 100.0).round() / 100.0;
    spans.iter().fold(String::new(), |path, &(start, end)| {
        let (from, to) = (place(start), place(end));
        path + &format!("M{from} {top}H{to}V{}H{from}z", top + height)
    })
}

/// Closes the shortest gaps between spans until at most `most` spans remain.
fn at_most(spans: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if spans.len() <= most {
        return spans.to_vec();
    }
    let gap = |place: &usize| spans[place + 1].0 - spans[*place].1;
    let mut places: Vec<usize> = (0..spans.len() - 1).collect();
    places.sort_by(|a, b| gap(a).total_cmp(&gap(b)));
    let mut is_closed = vec![false; spans.len()];
    for place in places.into_iter().take(spans.len() - most) {
        is_closed[place + 1] = true;
    }
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (&(start, end), is_closed) in spans.iter().zip(is_closed) {
        match kept.last_mut() {
            Some(last) if is_closed => last.1 = end,
            _ => kept.push((start, end)),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_gaps_are_closed_first() {
        let spans = [(0.0, 1.0), (2.0, 3.0), (10.0, 11.0), (11.5, 12.0)];
        assert_eq!(at_most(&spans, 4), spans);
        assert_eq!(at_most(&spans, 3), [(0.0, 1.0), (2.0, 3.0), (10.0, 12.0)]);
        assert_eq!(at_most(&spans, 2), [(0.0, 3.0), (10.0, 12.0)]);
        assert_eq!(at_most(&spans, 1), [(0.0, 12.0)]);
        // No more gaps are closed than necessary if all gaps are equal.
        let periodic: Vec<(f64, f64)> =
            (0..50).map(|n| f64::from(n) * 4.0).map(|at| (at, at + 1.0)).collect();
        assert_eq!(at_most(&periodic, 40).len(), 40);
    }

    #[test]
    fn spans_are_as_long_as_they_were() {
        let path = outline(&[(0.0, 250.0), (500.0, 501.0)], 1000.0, (2.0, 12.0));
        assert_eq!(path, "M0 2H250000V14H0zM500000 2H501000V14H500000z");
    }
}
