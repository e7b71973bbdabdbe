//! SVG output.

use svg::node::element::{Group, Line, Path, Rectangle, Text, Title, path::Data};
use svg::{Document, Node as _};

use super::{Graph, Link, Load, Place};

/// Height of a box, in pixels.
const HEIGHT: f64 = 26.0;
const MARGIN: f64 = 24.0;
/// Gap between two boxes of a row.
const GAP: f64 = 12.0;
/// Distance between two rows.
const ROW: f64 = 110.0;
const LETTER: f64 = 7.5;
const LINE: f64 = 18.0;
/// Colours of kinds of links, in their order; the last is for all further kinds.
const COLORS: [&str; 5] = ["#5b6770", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b"];
const ON_CYCLE: &str = "#d62728";

/// Draws the graph as an SVG document.
pub fn svg(graph: &Graph) -> String {
    let layout = Layout::new(graph);
    let legend = legend(graph);
    let height = layout.height + LINE * legend.len() as f64 + MARGIN;
    let mut document = Document::new()
        .set("viewBox", (0, 0, layout.width.ceil(), height.ceil()))
        .set("width", layout.width.ceil())
        .set("height", height.ceil())
        .set("font-family", "sans-serif")
        .set("font-size", 13);
    let white = Rectangle::new().set("width", "100%").set("height", "100%").set("fill", "white");
    document.append(white.set("class", "ground"));
    document.append(
        Text::new(&graph.title).set("x", MARGIN).set("y", MARGIN).set("font-weight", "bold"),
    );
    let mut links = Group::new().set("fill", "none");
    let mut before = None;
    let mut beside = 0;
    for link in &graph.links {
        // Links of several kinds between two nodes are drawn side by side.
        let ends = Some((link.low, link.high));
        beside = if before == ends { beside + 1 } else { 0 };
        before = ends;
        layout.draw(link, beside, &mut links);
    }
    document.append(links);
    for (place, node) in graph.nodes() {
        let (x, y) = layout.center(place);
        let width = layout.widths[place.row];
        let corner = if node.is_switch { 3.0 } else { HEIGHT / 2.0 };
        let fill = if node.is_switch { "#dbe9f6" } else { "#f2f2f2" };
        // A report colours these in the dark.
        let shape = Rectangle::new()
            .set("class", if node.is_switch { "switch" } else { "host" })
            .set("x", x - width / 2.0)
            .set("y", y - HEIGHT / 2.0)
            .set("width", width)
            .set("height", HEIGHT)
            .set("rx", corner)
            .set("fill", fill)
            .set("stroke", "#5b6770");
        document.append(shape);
        let label =
            Text::new(&node.label).set("x", x).set("y", y + 4.5).set("text-anchor", "middle");
        document.append(label);
    }
    for (number, (color, text)) in legend.into_iter().enumerate() {
        let y = layout.height + LINE * number as f64;
        let line = Line::new()
            .set("x1", MARGIN)
            .set("x2", 2.0 * MARGIN)
            .set("y1", y - 4.5)
            .set("y2", y - 4.5)
            .set("stroke", color)
            .set("stroke-width", 2);
        document.append(line);
        document.append(Text::new(text).set("x", 2.0 * MARGIN + 8.0).set("y", y));
    }
    document.to_string()
}

fn color(kind: usize) -> &'static str {
    COLORS[kind.min(COLORS.len() - 1)]
}

/// Returns a colour from grey over orange to red.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mean of bytes is a byte"
)]
fn heat(utilisation: f64) -> String {
    const STEPS: [[f64; 3]; 3] = [[154.0, 160.0, 166.0], [224.0, 138.0, 0.0], [200.0, 30.0, 30.0]];
    let place = utilisation.clamp(0.0, 1.0) * 2.0;
    let (step, part) = if place < 1.0 { (0, place) } else { (1, place - 1.0) };
    let mixed = [0, 1, 2].map(|of| {
        let (low, high): (f64, f64) = (STEPS[step][of], STEPS[step + 1][of]);
        (low + (high - low) * part).round() as u8
    });
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

/// Returns the meaning of the links' colours.
fn legend(graph: &Graph) -> Vec<(String, String)> {
    if graph.links.iter().any(|link| link.load.is_some()) {
        let step = |percent: u32| (heat(f64::from(percent) / 100.0), format!("{percent} % used"));
        return [0, 50, 100].map(step).into();
    }
    let mut legend: Vec<_> = graph
        .kinds
        .iter()
        .enumerate()
        .map(|(number, kind)| (color(number).to_owned(), kind.clone()))
        .collect();
    if graph.links.iter().any(|link| link.on_cycle) {
        legend.push((ON_CYCLE.into(), "on a cycle of buffer dependency".into()));
    }
    legend
}

struct Layout {
    /// Width of a box, by row.
    widths: Vec<f64>,
    /// Number of boxes, by row.
    counts: Vec<usize>,
    width: f64,
    /// Height without the legend.
    height: f64,
}

impl Layout {
    fn new(graph: &Graph) -> Self {
        let longest = |row: &Vec<super::Node>| {
            row.iter().map(|node| node.label.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<f64> =
            graph.rows.iter().map(|row| longest(row) as f64 * LETTER + 18.0).collect();
        let counts: Vec<usize> = graph.rows.iter().map(Vec::len).collect();
        let rows = widths.iter().zip(&counts).map(|(width, count)| *count as f64 * (width + GAP));
        let title = graph.title.chars().count() as f64 * (LETTER + 1.0);
        let width = rows.fold(title.max(300.0), f64::max) + 2.0 * MARGIN;
        let height = 2.0 * MARGIN + ROW * counts.len() as f64;
        Self { widths, counts, width, height }
    }

    /// Returns the center of a box. Row 0 is at the bottom.
    fn center(&self, Place { row, column }: Place) -> (f64, f64) {
        let step = (self.width - 2.0 * MARGIN) / self.counts[row] as f64;
        let x = MARGIN + step * (column as f64 + 0.5);
        let y = self.height - ROW * (row as f64 + 0.5);
        (x, y)
    }

    fn draw(&self, link: &Link, beside: u32, group: &mut Group) {
        let ((x1, y1), (x2, y2)) = (self.center(link.low), self.center(link.high));
        let stroke = match link.load {
            Some(load) => heat(load.utilisation),
            None if link.on_cycle => ON_CYCLE.to_owned(),
            None => color(link.kind).into(),
        };
        let width = 1.0 + f64::from(link.count.min(8)).log2();
        let data = if link.low.row == link.high.row {
            // Curves above the boxes between the ends.
            let top = y1 - HEIGHT / 2.0;
            let rise = (ROW / 2.0 - HEIGHT / 2.0).min(12.0 + (x2 - x1).abs() / 6.0);
            Data::new().move_to((x1, top)).quadratic_curve_to((
                f64::midpoint(x1, x2),
                top - 2.0 * rise,
                x2,
                top,
            ))
        } else {
            let (from, to) = ((x1, y1 - HEIGHT / 2.0), (x2, y2 + HEIGHT / 2.0));
            let aside = f64::midpoint(x1, x2) + 30.0 * f64::from(beside);
            match beside {
                0 => Data::new().move_to(from).line_to(to),
                _ => Data::new().move_to(from).quadratic_curve_to((
                    aside,
                    f64::midpoint(from.1, to.1),
                    to.0,
                    to.1,
                )),
            }
        };
        let mut path = Path::new().set("d", data).set("stroke", stroke).set("stroke-width", width);
        if link.load.is_some_and(|load| load.paused > 0.0) {
            path = path.set("stroke-dasharray", "7 3");
        }
        if let Some(Load { utilisation, paused }) = link.load {
            let [utilisation, paused] = [utilisation, paused].map(|share| share * 100.0);
            path.append(Title::new(format!("{utilisation:.1} % used, {paused:.1} % paused")));
        }
        group.append(path);
    }
}
