//! A chart: series of points over an axis, in one or more panels, drawn as SVG.

use std::collections::BTreeSet;

use serde::Serialize;

use super::draw::Drawing;
pub use super::ticks::Unit;

/// Scale of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic. An axis with values that are not positive is linear.
    Log,
    /// One place for each name; points count places from 0.
    Names(Vec<String>),
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Measured quantity. The unit of [`Axis::unit`] is added.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Scale of the axis.
    pub scale: Scale,
    /// Values to label, and their texts. Round values if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<(f64, String)>,
}

/// Drawing of the points of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Straight lines.
    Line,
    /// Steps: a value holds until the next point.
    Steps,
    /// No connection: each point is a dot.
    Dots,
    /// Hollow diamonds without connection: values of others, such as the points of a paper.
    Reference,
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Name of the series. Series of equal names have one colour.
    pub name: String,
    /// Title of the panel that the series is in. Charts of one panel leave it empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub panel: String,
    /// Drawing of the points.
    pub shape: Shape,
    /// Points from left to right.
    pub points: Vec<(f64, f64)>,
    /// Interval of each value: of y, or of x if the vertical axis has names. Empty if no value has one.
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
    /// Vertical axis. Names have a row each, the first at the top.
    pub y: Axis,
    /// Meaning of hollow diamonds, for the legend; used if a series has [`Shape::Reference`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// Series of the chart.
    pub series: Vec<Series>,
}

/// Width for which a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A window of 772 px or more.
    Wide,
    /// A window of 360 px or more.
    Narrow,
}

impl Width {
    /// Both widths.
    pub const ALL: [Self; 2] = [Self::Wide, Self::Narrow];

    /// Width of the picture, in pixels.
    pub const fn pixels(self) -> f64 {
        match self {
            Self::Wide => 740.0,
            Self::Narrow => 328.0,
        }
    }

    /// Class of the picture in the page's style.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }
}

impl Axis {
    /// Makes a linear axis.
    pub fn linear(label: &str, unit: Unit) -> Self {
        Self { label: label.to_owned(), unit, scale: Scale::Linear, ticks: Vec::new() }
    }

    /// Makes a logarithmic axis.
    pub fn log(label: &str, unit: Unit) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label, unit) }
    }

    /// Makes an axis of names.
    pub fn names(label: &str, names: Vec<String>) -> Self {
        Self { scale: Scale::Names(names), ..Self::linear(label, Unit::Number) }
    }
}

impl Series {
    /// Makes a series without intervals in a chart of one panel.
    pub fn new(name: &str, shape: Shape, points: Vec<(f64, f64)>) -> Self {
        let (name, panel) = (name.to_owned(), String::new());
        Self { name, panel, shape, points, intervals: Vec::new() }
    }
}

impl Chart {
    /// Returns true if the chart has no points.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.points.is_empty())
    }

    /// Draws the chart as an SVG document with a transparent background, for a page that colours its texts.
    pub fn svg(&self, width: Width) -> String {
        Drawing::new(self, width).document(None).to_string()
    }

    /// Draws the chart as an SVG document with a white background and its title, for use by itself.
    pub fn standalone_svg(&self) -> String {
        Drawing::new(self, Width::Wide).document(Some(&self.title)).to_string()
    }

    /// Returns the titles of the panels, in order.
    pub(super) fn panels(&self) -> Vec<&str> {
        distinct(self.series.iter().map(|series| &*series.panel))
    }

    /// Returns the names of the series, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        distinct(self.series.iter().map(|series| &*series.name))
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(*name)).collect()
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
