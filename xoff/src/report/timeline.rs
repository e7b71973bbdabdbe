//! Who paused whom, over time.

use serde::Serialize;
use svg::node::element::{Group, Line, Rectangle, SVG, Text, Title};
use svg::{Document, Node as _};

use super::chart::COLORS;
use super::number;
use super::run::Run;

/// In pixels.
const WIDTH: f64 = 900.0;
const LABELS: f64 = 250.0;
const ROW: f64 = 16.0;
const TOP: f64 = 8.0;
const AXIS: f64 = 26.0;
/// Half of the last tick's text.
const RIGHT: f64 = 36.0;
/// Across the plot, in the units of its own coordinates.
const SPAN: f64 = 1_000_000.0;
/// Rows at most.
const ROWS: usize = 40;
/// Spans of a row at most: as many as a screen can tell apart, and some to zoom into.
const SPANS: usize = 4000;

/// The timeline of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Unique in the report; also the name of its file.
    pub id: String,
    /// The end of the run, in nanoseconds.
    pub end_ns: f64,
    /// Those in force longest first.
    pub rows: Vec<Row>,
    /// How many more there are.
    pub omitted: usize,
}

/// One neighbour that another had told to stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Who was to stop, and who said so.
    pub name: String,
    /// The priority.
    pub priority: u8,
    /// Begin and end, in nanoseconds. Where there are too many, the shortest gaps are closed.
    pub spans: Vec<(f64, f64)>,
}

impl Timeline {
    /// Of the pauses of a run, if it has any.
    pub fn of(run: &Run, id: &str) -> Option<Self> {
        let row = |pauses: &super::run::Pauses| Row {
            name: format!("{} by {}", pauses.paused, pauses.by),
            priority: pauses.priority,
            spans: at_most(&pauses.spans, SPANS),
        };
        let rows: Vec<Row> = run.pauses.iter().take(ROWS).map(row).collect();
        let omitted = run.pauses.len() - rows.len();
        let id = id.to_owned();
        (!rows.is_empty()).then(|| Self { id, end_ns: run.end_ns().max(1.0), rows, omitted })
    }

    /// The picture. Its script lets a reader zoom into the part of the class `plot`.
    pub fn svg(&self) -> String {
        let height = ROW * self.rows.len() as f64;
        let width = WIDTH - LABELS - RIGHT;
        let mut document = Document::new()
            .set("viewBox", (0, 0, WIDTH, TOP + height + AXIS))
            .set("class", "timeline")
            .set("data-end", self.end_ns)
            .set("font-family", "sans-serif")
            .set("font-size", 12);
        let mut plot = SVG::new()
            .set("class", "plot")
            .set("x", LABELS)
            .set("y", TOP)
            .set("width", width)
            .set("height", height)
            .set("viewBox", (0, 0, SPAN, height))
            .set("preserveAspectRatio", "none");
        // So that the empty part can be dragged, too.
        plot.append(
            Rectangle::new()
                .set("width", SPAN)
                .set("height", height)
                .set("fill", "#9a9a9a")
                .set("fill-opacity", 0.08),
        );
        for (number, row) in self.rows.iter().enumerate() {
            let y = ROW * number as f64;
            let label = format!("{}, prio {}", row.name, row.priority);
            let text = Text::new(&label)
                .set("x", LABELS - 8.0)
                .set("y", TOP + y + 12.0)
                .set("text-anchor", "end");
            document.append(text);
            let color = COLORS[usize::from(row.priority) % COLORS.len()];
            let color = format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2);
            let mut spans = Group::new().set("fill", color);
            spans.append(Title::new(&label));
            for &(start, end) in &row.spans {
                let place = |time: f64| (time / self.end_ns * SPAN * 100.0).round() / 100.0;
                // A pause is never too short to be seen.
                let wide = (place(end) - place(start)).max(SPAN / 2000.0);
                let span = Rectangle::new()
                    .set("x", place(start))
                    .set("y", y + 2.0)
                    .set("width", wide)
                    .set("height", ROW - 4.0);
                spans.append(span);
            }
            plot.append(spans);
        }
        document.append(plot);
        let mut axis = Group::new().set("class", "axis").set("text-anchor", "middle");
        for tick in 0..=4 {
            let x = LABELS + width * f64::from(tick) / 4.0;
            let y = TOP + height;
            let line = Line::new().set("x1", x).set("x2", x).set("y1", y).set("y2", y + 4.0);
            axis.append(line.set("stroke", "#9a9a9a"));
            let time = self.end_ns * f64::from(tick) / 4.0;
            let text = Text::new(format!("{}s", number::short_time(time)));
            axis.append(text.set("x", x).set("y", y + 18.0));
        }
        document.append(axis);
        document.to_string()
    }
}

/// Spans of which the shortest gaps are closed until there are at most `most`.
fn at_most(spans: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if spans.len() <= most {
        return spans.to_vec();
    }
    let mut gaps: Vec<f64> = spans.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
    gaps.sort_by(f64::total_cmp);
    let closed = gaps[spans.len() - most - 1];
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for &(start, end) in spans {
        match kept.last_mut() {
            Some(last) if start - last.1 <= closed => last.1 = end,
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
    }
}
