//! Charts, drawn by [`plotters`].

use std::fmt::Debug;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::prelude::*;
use serde::Serialize;

use super::number;

/// Size of a chart, in pixels.
const SIZE: (u32, u32) = (900, 360);
/// Layout of a chart of names: height of a line, width of the names at the left, and margin around the lines.
const NAMES: (u32, u32, u32) = (22, 330, 70);
/// Layout of the legend: width at the right, and height of a line.
const LEGEND: (u32, i32) = (230, 20);
/// Colours of series, readable on white and on black.
pub const COLORS: [RGBColor; 8] = [
    RGBColor(0x2a, 0x78, 0xd6),
    RGBColor(0xe0, 0x8a, 0x00),
    RGBColor(0x0a, 0x9f, 0x78),
    RGBColor(0xd6, 0x48, 0x2a),
    RGBColor(0xb1, 0x5f, 0xc4),
    RGBColor(0x3a, 0xa7, 0xb8),
    RGBColor(0x8a, 0x8a, 0x8a),
    RGBColor(0xa8, 0x8b, 0x2c),
];
const GRID: RGBColor = RGBColor(0x9a, 0x9a, 0x9a);

/// Returns the colour of a series. Any number is possible; the first eight are easy to distinguish.
fn color(number: usize) -> RGBColor {
    COLORS.get(number).copied().unwrap_or_else(|| {
        // Each hue is far from the previous ones.
        let hue = (number as f64 * 0.618_034).fract();
        let (red, green, blue) = HSLColor(hue, 0.55, 0.5).to_backend_color().rgb;
        RGBColor(red, green, blue)
    })
}

/// Scale of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic. An axis over less than a decade is linear.
    Log,
    /// One place for each name; points count places from 0.
    Names(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Measured quantity, with its unit.
    pub label: String,
    /// Scale of the axis.
    pub scale: Scale,
}

/// Connection of the points of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Straight lines.
    Line,
    /// Steps: a value holds until the next point.
    Steps,
    /// No connection: each point has a line and a name.
    Named,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
    /// Interval of each value, if the shape is [`Shape::Named`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Identifier, unique in the report; also the name of the chart's file.
    pub id: String,
    /// Title of the chart.
    pub title: String,
    /// Source of the numbers, in HTML.
    pub about: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis. For [`Shape::Named`] it has names, the first at the top.
    pub y: Axis,
    /// Connection of the points.
    pub shape: Shape,
    /// Series of the chart.
    pub series: Vec<Series>,
}

impl Axis {
    /// Makes a linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }

    /// Makes a logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log }
    }
}

type Svg<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

impl Chart {
    /// Returns true if the chart has no points.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// Draws the chart as an SVG document with a transparent background.
    ///
    /// # Panics
    /// Never: writing into a string does not fail.
    pub fn svg(&self) -> String {
        let names = match &self.y.scale {
            Scale::Names(names) => Some(names),
            _ => None,
        };
        // A legend of many lines needs its height.
        let legend = u32::try_from(self.series.len()).unwrap_or(0) * LEGEND.1.unsigned_abs() + 40;
        let size = names.map_or((SIZE.0, SIZE.1.max(legend)), |names| {
            (SIZE.0, NAMES.2 + NAMES.0 * u32::try_from(names.len()).unwrap_or(u32::MAX / 1000))
        });
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let drawn = match names {
            Some(names) => self.draw_names(&area, names),
            None => self.draw(&area, size.0),
        };
        drawn.expect("a picture in memory takes every line");
        drop(area);
        text
    }

    fn draw<'a>(&self, area: &Svg<'a>, width: u32) -> Result<(), Failure<'a>> {
        let (plot, legend) = area.split_horizontally(width - LEGEND.0);
        self.draw_legend(&legend)?;
        let (x_scale, x) = self.x_range();
        let (y_scale, y) = self.y_range();
        let log = y_scale == Scale::Log;
        match &x_scale {
            Scale::Names(names) => {
                // The range includes both ends.
                let last = i32::try_from(names.len()).unwrap_or(i32::MAX).max(1) - 1;
                let places = (0..last).into_segmented();
                let to_x = |x: f64| SegmentValue::CenterOf(x as i32);
                let text = |value: &SegmentValue<i32>| match value {
                    SegmentValue::CenterOf(place) => {
                        usize::try_from(*place).ok().and_then(|place| names.get(place)).cloned()
                    }
                    _ => None,
                };
                let text = |value: &SegmentValue<i32>| text(value).unwrap_or_default();
                if log {
                    self.plot(&plot, places, to_x, &text, (y.0..y.1).log_scale())
                } else {
                    self.plot(&plot, places, to_x, &text, y.0..y.1)
                }
            }
            Scale::Log => {
                let range = (x.0..x.1).log_scale();
                if log {
                    self.plot(&plot, range, |x| x, &|x| number::short(*x), (y.0..y.1).log_scale())
                } else {
                    self.plot(&plot, range, |x| x, &|x| number::short(*x), y.0..y.1)
                }
            }
            Scale::Linear if log => {
                self.plot(&plot, x.0..x.1, |x| x, &|x| number::short(*x), (y.0..y.1).log_scale())
            }
            Scale::Linear => self.plot(&plot, x.0..x.1, |x| x, &|x| number::short(*x), y.0..y.1),
        }
    }

    fn plot<'a, X, Y>(
        &self,
        area: &Svg<'a>,
        x: X,
        to_x: impl Fn(f64) -> X::Value + Copy,
        x_text: &dyn Fn(&X::Value) -> String,
        y: Y,
    ) -> Result<(), Failure<'a>>
    where
        X: AsRangedCoord,
        X::Value: Clone + Debug + 'static,
        X::CoordDescType: ValueFormatter<X::Value>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let names = match &self.x.scale {
            Scale::Names(names) => names.len(),
            _ => 10,
        };
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(46)
            .y_label_area_size(74)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&*self.x.label)
            .y_desc(&*self.y.label)
            .x_labels(names)
            .x_label_formatter(&x_text)
            .y_label_formatter(&|y| number::short(*y))
            .bold_line_style(GRID.mix(0.35))
            .light_line_style(TRANSPARENT)
            .axis_style(GRID)
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 13))
            .draw()?;
        for (series, color) in self.series.iter().zip((0..).map(color)) {
            let points = || series.points.iter().map(|&(x, y)| (to_x(x), y));
            if self.few_points(series) {
                chart.draw_series(points().map(|at| Circle::new(at, 3, color.filled())))?;
            }
            let line = color.stroke_width(2);
            match self.shape {
                Shape::Line => {
                    chart.draw_series(LineSeries::new(points(), line))?;
                }
                Shape::Steps => {
                    let corners = steps(&series.points).map(|(x, y)| (to_x(x), y));
                    chart.draw_series(LineSeries::new(corners, line))?;
                }
                Shape::Named => {}
            }
        }
        area.present()
    }

    /// Draws the chart of [`Shape::Named`], on its side.
    fn draw_names<'a>(&self, area: &Svg<'a>, names: &[String]) -> Result<(), Failure<'a>> {
        // The range includes both ends.
        let last = i32::try_from(names.len()).unwrap_or(i32::MAX).max(1) - 1;
        let (_, (low, high)) = self.x_range();
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(NAMES.1)
            .build_cartesian_2d(low..high * 1.02, (0..last).into_segmented())?;
        // The first name is at the top.
        let line = |place: f64| SegmentValue::CenterOf(last - place as i32);
        let name = |value: &SegmentValue<i32>| match value {
            SegmentValue::CenterOf(line) => {
                usize::try_from(last - line).ok().and_then(|place| names.get(place)).cloned()
            }
            _ => None,
        };
        chart
            .configure_mesh()
            .x_desc(&*self.x.label)
            .y_labels(names.len())
            .x_label_formatter(&|x| number::short(*x))
            .y_label_formatter(&|value| name(value).unwrap_or_default())
            .bold_line_style(GRID.mix(0.35))
            .light_line_style(TRANSPARENT)
            .axis_style(GRID)
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 13))
            .draw()?;
        for (series, color) in self.series.iter().zip((0..).map(color)) {
            for (&(x, place), interval) in series.points.iter().zip(&series.intervals) {
                if let Some((low, high)) = *interval {
                    let whisker = [(low, line(place)), (high, line(place))];
                    chart.draw_series(LineSeries::new(whisker, color.stroke_width(2)))?;
                }
                chart.draw_series([Circle::new((x, line(place)), 4, color.filled())])?;
            }
        }
        area.present()
    }

    /// Returns true if a line has so few points that each is marked.
    fn few_points(&self, series: &Series) -> bool {
        self.shape == Shape::Line && series.points.len() <= 12
    }

    fn draw_legend<'a>(&self, area: &Svg<'a>) -> Result<(), Failure<'a>> {
        let lines = self.series.iter().zip((0..).map(color));
        for (line, (series, color)) in (0..).zip(lines) {
            let y = 18 + line * LEGEND.1;
            area.draw(&Rectangle::new([(4, y - 2), (22, y + 2)], color.filled()))?;
            let text = Text::new(&*series.name, (28, y - 6), ("sans-serif", 13));
            area.draw(&text)?;
        }
        Ok(())
    }

    fn x_range(&self) -> (Scale, (f64, f64)) {
        let values = || {
            let points = self.series.iter().flat_map(|series| &series.points).map(|&(x, _)| x);
            let ends = self.series.iter().flat_map(|series| &series.intervals);
            points.chain(ends.flatten().flat_map(|&(low, high)| [low, high]))
        };
        bounds(values, &self.x.scale)
    }

    fn y_range(&self) -> (Scale, (f64, f64)) {
        let values = || self.series.iter().flat_map(|series| &series.points).map(|&(_, y)| y);
        let (scale, (low, high)) = bounds(values, &self.y.scale);
        let room = if scale == Scale::Log { 1.1 } else { 1.05 };
        (scale, (low, high * room))
    }
}

/// Returns the scale and the range of an axis for these values; a linear axis starts at zero. The range is never empty.
fn bounds<I: Iterator<Item = f64>>(values: impl Fn() -> I, scale: &Scale) -> (Scale, (f64, f64)) {
    let high = values().fold(0.0, f64::max);
    let low = values().filter(|&value| value > 0.0).fold(high, f64::min);
    match scale {
        Scale::Log if low > 0.0 && high / low >= 10.0 => (Scale::Log, (low, high)),
        Scale::Log | Scale::Linear => {
            let low = values().fold(0.0, f64::min);
            (Scale::Linear, (low, if high > low { high } else { low + 1.0 }))
        }
        Scale::Names(_) => (scale.clone(), (low, high)),
    }
}

/// Returns the corners of a line that holds each value until the next point.
fn steps(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    points.iter().enumerate().flat_map(|(place, &(x, y))| {
        let corner = place.checked_sub(1).map(|before| (x, points[before].1));
        corner.into_iter().chain([(x, y)])
    })
}

/// Reduces a line to about `most` points that give an identical picture: the first, lowest, highest and last point of
/// each pixel column (M4, Jugel et al., VLDB 2014). Points are in the order of x.
pub fn thinned(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= most {
        return points.to_vec();
    }
    let columns = (most / 4).max(1);
    let width = (last.0 - first.0).max(f64::MIN_POSITIVE) / columns as f64;
    let column = |x: f64| (((x - first.0) / width) as usize).min(columns - 1);
    points
        .chunk_by(|a, b| column(a.0) == column(b.0))
        .flat_map(|part| {
            let by_y = |a: &usize, b: &usize| part[*a].1.total_cmp(&part[*b].1);
            let lowest = (0..part.len()).min_by(by_y).unwrap_or_default();
            let highest = (0..part.len()).max_by(by_y).unwrap_or_default();
            let mut kept = vec![0, lowest, highest, part.len() - 1];
            kept.sort_unstable();
            kept.dedup();
            kept.into_iter().map(|place| part[place])
        })
        .collect()
}
