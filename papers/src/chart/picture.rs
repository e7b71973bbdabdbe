//! Content of a picture: panels of lines over a number, and panels of marks beside names.

use super::cell::Measured;

/// Series of our numbers beside the paper's.
pub const OURS: &str = "ours, every reading";

/// A picture.
#[derive(Debug, Default)]
pub struct Picture {
    /// Title for screen readers.
    pub title: String,
    /// Panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Number of panels for which there was no room.
    pub left_out: usize,
}

/// A panel.
#[derive(Debug)]
pub enum Panel {
    /// Lines over a numeric axis.
    Lines(Lines),
    /// Marks beside names.
    Rows(Rows),
}

/// Lines over a numeric axis.
#[derive(Debug)]
pub struct Lines {
    /// Choices of the panel.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Logarithmic x axis.
    pub log_x: bool,
    /// Logarithmic y axis.
    pub log_y: bool,
    /// Numbers of the x axis.
    pub x_ticks: Vec<f64>,
    /// Lines of the panel.
    pub series: Vec<Series>,
}

/// A line.
#[derive(Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Place and value.
    pub points: Vec<(f64, Measured)>,
}

/// Marks beside names.
#[derive(Debug)]
pub struct Rows {
    /// Choices of the panel.
    pub title: String,
    /// Label of the axis, with its unit.
    pub label: String,
    /// Logarithmic axis.
    pub log: bool,
    /// Names with their marks, from top to bottom.
    pub names: Vec<Row>,
}

/// A name with its marks.
#[derive(Debug)]
pub struct Row {
    /// Name of the row.
    pub label: String,
    /// Marks of the row.
    pub marks: Vec<Mark>,
}

/// A number in a row.
#[derive(Debug)]
pub struct Mark {
    /// Name in the legend. `None` for a number of the paper.
    pub series: Option<String>,
    /// The number.
    pub value: Measured,
}

impl Mark {
    /// Makes a mark of a measured number.
    pub fn ours(series: &str, value: Measured) -> Self {
        Self { series: Some(series.to_owned()), value }
    }

    /// Makes a mark of the paper's number.
    pub const fn paper(value: f64) -> Self {
        Self { series: None, value: Measured { value, ends: None, is_open: false } }
    }
}

impl Picture {
    /// Adds a panel with its title.
    pub fn add(&mut self, title: String, mut panel: Panel) {
        match &mut panel {
            Panel::Lines(lines) => lines.title = title,
            Panel::Rows(rows) => rows.title = title,
        }
        self.panels.push(panel);
    }

    /// Returns the names of the series, in the order of their colours.
    pub fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut add = |name| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        for panel in &self.panels {
            match panel {
                Panel::Lines(lines) => lines.series.iter().for_each(|it| add(&*it.name)),
                Panel::Rows(rows) => {
                    let marks = rows.names.iter().flat_map(|row| &row.marks);
                    marks.filter_map(|mark| mark.series.as_deref()).for_each(&mut add);
                }
            }
        }
        names
    }

    /// Returns true if the picture has numbers of the paper.
    pub fn has_paper(&self) -> bool {
        let of_paper = |panel: &Panel| match panel {
            Panel::Lines(_) => false,
            Panel::Rows(rows) => {
                rows.names.iter().flat_map(|row| &row.marks).any(|mark| mark.series.is_none())
            }
        };
        self.panels.iter().any(of_paper)
    }
}
