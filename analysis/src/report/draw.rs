//! Drawing of a chart.

use svg::node::element::{Circle, Group, Line, Path, Rectangle};
use svg::{Document, Node as _};

use super::chart::{Chart, Series, Shape, Width};
use super::scaled::Scaled;
use super::text::{self, LINE, rounded};
use super::ticks::Tick;

/// Colours of series, readable on white and on black.
const COLORS: [&str; 8] =
    ["#2a78d6", "#e08a00", "#0a9f78", "#d6482a", "#b15fc4", "#3aa7b8", "#8a8a8a", "#a88b2c"];
const GRID: &str = "#9a9a9a";
/// Gap between two panels.
const GAP: f64 = 28.0;
/// Max number of points whose places are marked on a line.
const MARKED: usize = 12;

/// Returns the colour of a series. Any number is possible; the first eight are easy to distinguish.
pub fn color(number: usize) -> String {
    COLORS.get(number).map_or_else(
        // Each hue is far from the previous ones.
        || format!("hsl({:.0} 55% 50%)", (number as f64 * 222.5) % 360.0),
        |color| (*color).to_owned(),
    )
}

/// A chart at a width.
pub struct Drawing<'a> {
    chart: &'a Chart,
    width: Width,
    x: Scaled<'a>,
    y: Scaled<'a>,
    names: Vec<&'a str>,
}

/// Plot of a panel within the picture.
#[derive(Clone, Copy)]
struct Plot {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
    /// Height of the row of a name, and of its points within the row.
    row: f64,
    dot: f64,
}

impl<'a> Drawing<'a> {
    /// Lays a chart out.
    pub fn new(chart: &'a Chart, width: Width) -> Self {
        let (x, y) = (Scaled::x(chart), Scaled::y(chart));
        Self { chart, width, x, y, names: chart.names() }
    }

    /// Draws the chart, with a title and a background if it has a title.
    pub fn document(&self, title: Option<&str>) -> Document {
        let whole = self.width.pixels();
        let margin = if title.is_some() { 12.0 } else { 0.0 };
        let mut group = Group::new();
        let mut bottom = margin;
        for line in text::lines(title.unwrap_or_default(), whole - 2.0 * margin) {
            bottom += LINE;
            let line = text::at(&line, (margin, bottom - 4.0), "start");
            group.append(line.set("font-weight", "bold"));
        }
        let panels = self.chart.panels();
        let columns = if self.width == Width::Wide && panels.len() > 1 { 2 } else { 1 };
        let across = whole - 2.0 * margin;
        let width = (across - GAP * (columns as f64 - 1.0)) / columns as f64;
        for row in panels.chunks(columns) {
            let mut lowest = bottom;
            // Plots of a row begin at one height, so their titles have equal numbers of lines.
            let titles: Vec<_> = row.iter().map(|title| text::lines(title, width)).collect();
            let lines = titles.iter().map(Vec::len).max().unwrap_or(0);
            for (place, (panel, title)) in row.iter().zip(titles).enumerate() {
                let left = margin + place as f64 * (width + GAP);
                let mut top = bottom + 4.0;
                for (number, line) in title.iter().enumerate() {
                    let y = top + LINE * (number as f64 + 1.0) - 4.0;
                    let line = text::at(line, (left, y), "start").set("font-weight", "bold");
                    group.append(line);
                }
                top += LINE * lines as f64;
                let end = self.panel(panel, (left, top, width), &mut group);
                lowest = lowest.max(end);
            }
            bottom = lowest + 6.0;
        }
        bottom = self.legend((margin, bottom, across), &mut group) + margin;
        let height = (bottom + 4.0).ceil();
        let mut document = Document::new()
            .set("viewBox", (0, 0, whole, height))
            .set("font-family", "system-ui, sans-serif")
            .set("font-size", text::SIZE);
        if title.is_some() {
            let ground = Rectangle::new().set("width", "100%").set("height", "100%");
            document = document
                .set("width", whole)
                .set("height", height)
                .add(ground.set("fill", "#ffffff"));
            group = group.set("fill", "#1b1f24");
        }
        document.set("class", self.width.class()).add(group)
    }

    /// Draws a panel within left, top and width, and returns its lower end.
    fn panel(&self, name: &str, (left, top, width): (f64, f64, f64), group: &mut Group) -> f64 {
        let rows = self.y.ticks(5);
        let labels = rows.iter().map(|row| text::width(&row.1)).fold(0.0, f64::max);
        let mut plot = Plot { left, top, width, height: 0.0, row: 0.0, dot: 0.0 };
        // Names that need much of the width are above their rows.
        let is_above = self.y.has_names() && labels > width * 0.4;
        if !is_above {
            plot.left += labels + 10.0;
        }
        let last = self.x.ticks(4).last().map_or(0.0, |tick| text::width(&tick.1) / 2.0);
        plot.width = left + width - plot.left - (last + 4.0).clamp(10.0, 44.0);
        if self.y.has_names() {
            let lines = rows.iter().map(|row| text::lines(&row.1, width).len()).max();
            let above = if is_above { LINE * lines.unwrap_or(0) as f64 } else { 0.0 };
            (plot.row, plot.dot) = (above + 22.0, above + 11.0);
            plot.height = rows.len() as f64 * plot.row;
        } else {
            for line in text::lines(&self.y.label(), width) {
                plot.top += LINE;
                group.append(text::at(&line, (left, plot.top - 5.0), "start"));
            }
            plot.top += 6.0;
            plot.height = if self.width == Width::Wide { 250.0 } else { 210.0 };
        }
        group.append(plot.area());
        for (value, name) in &rows {
            let y = self.row(plot, *value);
            if is_above {
                for (number, line) in (0..).zip(text::lines(name, width)) {
                    let y = y - plot.dot + 10.0 + LINE * f64::from(number);
                    group.append(text::at(&line, (left, y), "start"));
                }
            } else {
                group.append(text::at(name, (plot.left - 6.0, y + 4.5), "end"));
            }
            group.append(grid((plot.left, y), (plot.left + plot.width, y)));
        }
        let (axis, bottom) = self.x_axis(plot, (left, width));
        group.append(axis);
        for series in self.chart.series.iter().filter(|series| series.panel == name) {
            group.append(self.series(series, plot));
        }
        bottom
    }

    /// Returns the height of a value.
    fn row(&self, plot: Plot, value: f64) -> f64 {
        if self.y.has_names() {
            plot.top + plot.row * value + plot.dot
        } else {
            plot.top + plot.height * (1.0 - self.y.part(value))
        }
    }

    /// Draws the horizontal axis, and returns its lower end.
    fn x_axis(&self, plot: Plot, (left, width): (f64, f64)) -> (Group, f64) {
        let mut group = Group::new().set("class", "axis");
        let floor = plot.top + plot.height;
        let (ticks, levels) = self.x_ticks(plot.width);
        for (number, (value, name)) in ticks.iter().enumerate() {
            let x = plot.left + plot.width * self.x.part(*value);
            group.append(grid((x, plot.top), (x, floor + 4.0)));
            let y = floor + LINE * ((number % levels) as f64 + 1.0);
            group.append(text::at(name, (x, y), "middle"));
        }
        let mut bottom = floor + LINE * levels as f64;
        let middle = plot.left + plot.width / 2.0;
        for line in text::lines(&self.x.label(), width) {
            bottom += LINE;
            let half = text::width(&line) / 2.0;
            let x = middle.min(left + width - half).max(left + half);
            group.append(text::at(&line, (x, bottom), "middle"));
        }
        (group, bottom + 6.0)
    }

    /// Returns the ticks of the horizontal axis, and the number of lines on which their texts take turns.
    fn x_ticks(&self, length: f64) -> (Vec<Tick>, usize) {
        if !self.x.has_names() {
            return (self.x.spaced_ticks(length), 1);
        }
        let ticks = self.x.ticks(0);
        let widest = ticks.iter().map(|tick| text::width(&tick.1)).fold(0.0, f64::max) + 8.0;
        let levels = (widest * ticks.len() as f64 / length).ceil();
        (ticks, (levels as usize).max(1))
    }

    fn series(&self, series: &Series, plot: Plot) -> Group {
        let number = self.names.iter().position(|name| *name == series.name).unwrap_or(0);
        let color = color(number);
        let x = |value: f64| rounded(plot.left + plot.width * self.x.part(value));
        let y = |value: f64| rounded(self.row(plot, value));
        let mut group = Group::new().set("fill", &*color).set("stroke", &*color);
        for (&(at_x, at_y), interval) in series.points.iter().zip(&series.intervals) {
            let Some((low, high)) = *interval else { continue };
            let (x, y) = (x(at_x), y(at_y));
            let line = if self.y.has_names() {
                let ends =
                    [low, high].map(|end| rounded(plot.left + plot.width * self.x.part(end)));
                format!("M{} {y}H{}", ends[0], ends[1])
            } else {
                let ends = [low, high].map(|end| rounded(self.row(plot, end)));
                format!("M{x} {}V{}m-4 0h8M{} {}h8", ends[0], ends[1], x - 4.0, ends[0])
            };
            let line = Path::new().set("d", line).set("stroke-width", 1.5);
            group.append(line.set("class", "interval").set("fill", "none"));
        }
        let line = series.points.iter().fold(String::new(), |line, &(at_x, at_y)| {
            let (x, y) = (x(at_x), y(at_y));
            match series.shape {
                _ if line.is_empty() => format!("M{x} {y}"),
                Shape::Steps => line + &format!("H{x}V{y}"),
                _ => line + &format!("L{x} {y}"),
            }
        });
        if matches!(series.shape, Shape::Line | Shape::Steps) {
            let line = Path::new().set("d", line).set("class", "line").set("fill", "none");
            group.append(line.set("stroke-width", 2));
        }
        let is_marked = match series.shape {
            Shape::Line => series.points.len() <= MARKED,
            Shape::Steps => series.points.len() == 1,
            Shape::Dots | Shape::Reference => true,
        };
        for &(at_x, at_y) in series.points.iter().filter(|_| is_marked) {
            if series.shape == Shape::Reference {
                group.append(diamond((x(at_x), y(at_y))));
            } else {
                let circle = Circle::new().set("cx", x(at_x)).set("cy", y(at_y)).set("r", 3.5);
                group.append(circle.set("class", "mark").set("stroke", "none"));
            }
        }
        group
    }

    /// Draws the legend below the plots, unless it is obvious, and returns its lower end.
    fn legend(&self, (left, top, width): (f64, f64, f64), group: &mut Group) -> f64 {
        let shows_reference = self.chart.series.iter().any(|it| it.shape == Shape::Reference);
        let mut entries: Vec<(Option<String>, &str)> = self
            .names
            .iter()
            .enumerate()
            .map(|(number, name)| (Some(color(number)), *name))
            .collect();
        if entries.len() == 1 && (entries[0].1.is_empty() || self.y.has_names()) {
            entries.clear();
        }
        if shows_reference && !self.chart.reference.is_empty() {
            entries.push((None, &self.chart.reference));
        }
        let (mut x, mut y) = (left, top + LINE);
        for (color, name) in &entries {
            let lines = text::lines(name, width - 28.0);
            let length = lines.iter().map(|line| text::width(line)).fold(0.0, f64::max) + 24.0;
            if x > left && x + length > left + width {
                (x, y) = (left, y + LINE + 2.0);
            }
            match color {
                Some(color) => {
                    let mark = Rectangle::new().set("x", rounded(x)).set("y", rounded(y - 6.5));
                    group.append(mark.set("width", 16).set("height", 4).set("fill", &**color));
                }
                None => group.append(diamond((x + 8.0, y - 4.5)).set("stroke", GRID)),
            }
            for (number, line) in lines.iter().enumerate() {
                y += if number > 0 { LINE } else { 0.0 };
                group.append(text::at(line, (x + 22.0, y), "start"));
            }
            x += length + 16.0;
        }
        if entries.is_empty() { top } else { y + 4.0 }
    }
}

impl Plot {
    fn area(self) -> Rectangle {
        Rectangle::new()
            .set("class", "area")
            .set("x", rounded(self.left))
            .set("y", rounded(self.top))
            .set("width", rounded(self.width))
            .set("height", rounded(self.height))
            .set("fill", GRID)
            .set("fill-opacity", 0.06)
    }
}

/// Draws a line of the grid.
fn grid(from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new()
        .set("x1", rounded(from.0))
        .set("y1", rounded(from.1))
        .set("x2", rounded(to.0))
        .set("y2", rounded(to.1))
        .set("stroke", GRID)
        .set("stroke-opacity", 0.35)
}

/// Draws the mark of a reference point.
fn diamond((x, y): (f64, f64)) -> Path {
    Path::new()
        .set("d", format!("M{} {y}l5 -5l5 5l-5 5z", rounded(x - 5.0)))
        .set("class", "mark")
        .set("fill", "none")
        .set("stroke-width", 1.5)
}
