//! Pictures of a figure from its committed tables: the cells, and the paper's numbers beside ours.

mod cell;
mod picture;
mod svg;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::report::{Grid, files};
use super::{Expected, Figure};
use cell::Measured;
use picture::{Lines, Mark, Panel, Picture, Row, Rows, Series};

/// Layout of a figure's picture, in the figure's file. Every key has a default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chart {
    /// Axis of the sweep along x. Default: the axis with the most numeric choices, otherwise the axis with the most
    /// choices, whose names are rows.
    x: Option<String>,
    /// Axes of the sweep with a panel for each choice. All other axes make series. Default: the first other axis, if
    /// there are several.
    panels: Option<Vec<String>>,
    /// Quantities, each with panels of its own. Default: the quantities of claims with a number, at most two.
    quantities: Option<Vec<String>>,
    /// Choices to show, by axis. Default: all.
    only: BTreeMap<String, Vec<String>>,
    /// Label of the x axis. Default: the axis, and the unit of its choices.
    x_label: Option<String>,
    /// Logarithmic x axis.
    log_x: bool,
    /// Logarithmic axis of quantities. Default: true if the values are positive and span a factor of 50.
    log_y: Option<bool>,
    /// Hides the comparison with the paper's numbers.
    without_paper: bool,
}

/// Max number of panels of cells.
const MAX_PANELS: usize = 6;

/// Min factor between the values of a logarithmic axis.
const LOG_FACTOR: f64 = 50.0;

/// Draws a figure as an SVG document from the tables of a folder. Returns `None` if the folder has no such tables. An
/// error names the file of a table that cannot be read, or a name in `[chart]` that the figure does not have.
pub fn draw(figure: &Figure, folder: &Path) -> Result<Option<String>, String> {
    let read = |file: &str| Grid::read(folder, file).map_err(|error| error.to_string());
    let [claims, cells] = files(figure);
    let Some(cells) = read(&cells)? else { return Ok(None) };
    let table = Cells::new(figure, cells).map_err(|why| format!("{}: {why}", figure.name))?;
    let mut picture = Picture { title: figure.title.clone(), ..Picture::default() };
    table.panels(figure, &mut picture);
    if let Some(claims) = read(&claims)?.filter(|_| !figure.chart.without_paper) {
        picture.panels.extend(comparison(figure, &claims));
    }
    Ok(Some(svg::document(&picture)))
}

/// Cells of a figure: axes, and the texts of quantities.
struct Cells {
    /// Names of the axes.
    axes: Vec<String>,
    /// Rows of the table that are shown.
    rows: Vec<Vec<String>>,
    /// Names of the columns.
    header: Vec<String>,
}

impl Cells {
    /// Takes the cells that the figure's layout shows.
    fn new(figure: &Figure, grid: Grid) -> Result<Self, String> {
        let is_axis =
            |name: &&String| !figure.quantities.iter().any(|quantity| quantity.column() == **name);
        let axes: Vec<String> = grid.header.iter().take_while(is_axis).cloned().collect();
        let chart = &figure.chart;
        let of_axes = chart.x.iter().chain(chart.panels.iter().flatten()).chain(chart.only.keys());
        if let Some(name) = of_axes.into_iter().find(|name| !axes.contains(name)) {
            return Err(format!("[chart] names the axis {name:?}; there are {}", axes.join(", ")));
        }
        for (name, choices) in &chart.only {
            let column = axes.iter().position(|axis| axis == name).unwrap_or_default();
            let is_there = |choice: &&String| grid.rows.iter().any(|row| row[column] == **choice);
            if let Some(choice) = choices.iter().find(|choice| !is_there(choice)) {
                return Err(format!("[chart] names {choice:?}, which {name} does not have"));
            }
        }
        let is_quantity = |name: &&String| figure.quantities.iter().any(|it| it.name == **name);
        if let Some(name) = chart.quantities.iter().flatten().find(|name| !is_quantity(name)) {
            return Err(format!("[chart] names {name:?}, which is not a quantity of the figure"));
        }
        let shown = |row: &Vec<String>| {
            axes.iter().zip(row).all(|(axis, choice)| {
                figure.chart.only.get(axis).is_none_or(|choices| choices.contains(choice))
            })
        };
        let rows = grid.rows.into_iter().filter(shown).collect();
        Ok(Self { axes, rows, header: grid.header })
    }

    fn choices(&self, axis: usize) -> Vec<&str> {
        let mut choices = Vec::new();
        for row in &self.rows {
            if !choices.contains(&&*row[axis]) {
                choices.push(&*row[axis]);
            }
        }
        choices
    }

    fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis == name)
    }

    fn varies(&self, axis: usize) -> bool {
        self.choices(axis).len() > 1
    }

    /// Returns the axis along x.
    fn x(&self, figure: &Figure) -> usize {
        if let Some(axis) = figure.chart.x.as_ref().and_then(|name| self.axis(name)) {
            return axis;
        }
        let numeric = |axis: &usize| self.varies(*axis) && self.places(*axis).is_some();
        let longest = (0..self.axes.len()).rev().filter(numeric);
        let longest = longest.max_by_key(|axis| self.choices(*axis).len());
        let varying = (0..self.axes.len()).rev().filter(|axis| self.varies(*axis));
        longest.or_else(|| varying.max_by_key(|axis| self.choices(*axis).len())).unwrap_or(0)
    }

    /// Returns the numbers of an axis and their unit, if all of its choices are numbers with one unit.
    fn places(&self, axis: usize) -> Option<(Vec<f64>, String)> {
        let numbers: Option<Vec<_>> = self.choices(axis).into_iter().map(cell::number).collect();
        let numbers = numbers.filter(|numbers| numbers.len() > 1)?;
        let unit = numbers[0].1;
        let alike = numbers.iter().all(|(_, other)| *other == unit);
        alike.then(|| (numbers.iter().map(|(number, _)| *number).collect(), unit.to_owned()))
    }

    /// Adds the panels of the cells, and counts those for which there is no room.
    fn panels(&self, figure: &Figure, picture: &mut Picture) {
        let chart = &figure.chart;
        let x = self.x(figure);
        let rest: Vec<usize> =
            (0..self.axes.len()).filter(|axis| *axis != x && self.varies(*axis)).collect();
        let facets: Vec<usize> = match &chart.panels {
            Some(names) => names.iter().filter_map(|name| self.axis(name)).collect(),
            None if rest.len() > 1 => {
                let other = |axis: &&usize| self.axes[**axis] != figure.baseline.0;
                rest.iter().find(other).copied().into_iter().collect()
            }
            None => Vec::new(),
        };
        let series: Vec<usize> = rest.into_iter().filter(|axis| !facets.contains(axis)).collect();
        let mut groups: Vec<Vec<&str>> = Vec::new();
        for row in &self.rows {
            let group = facets.iter().map(|axis| &*row[*axis]).collect();
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        for quantity in quantities(figure) {
            let label = figure.quantities[quantity].column();
            let Some(column) = self.header.iter().position(|name| *name == label) else { continue };
            for group in &groups {
                if picture.panels.len() == MAX_PANELS {
                    picture.left_out += 1;
                    continue;
                }
                let inside = |row: &&Vec<String>| {
                    facets.iter().zip(group).all(|(axis, choice)| row[*axis] == **choice)
                };
                let rows: Vec<&Vec<String>> = self.rows.iter().filter(inside).collect();
                let title = group.join(", ");
                let panel = self.panel(chart, &rows, &Columns { x, series: &series, column });
                picture.add(title, panel);
            }
        }
    }

    fn panel(&self, chart: &Chart, rows: &[&Vec<String>], columns: &Columns<'_>) -> Panel {
        let Columns { x, series, column } = *columns;
        let name = |row: &Vec<String>| {
            let names: Vec<&str> = series.iter().map(|axis| &*row[*axis]).collect();
            names.join(", ")
        };
        let choices = self.choices(x);
        let measured = rows.iter().filter_map(|row| {
            let place = choices.iter().position(|choice| *choice == row[x])?;
            Some((name(row), place, Measured::parse(&row[column])?))
        });
        let measured: Vec<(String, usize, Measured)> = measured.collect();
        let log = chart.log_y.unwrap_or_else(|| {
            let low = measured.iter().map(|(.., it)| it.low()).fold(f64::INFINITY, f64::min);
            let high = measured.iter().map(|(.., it)| it.high()).fold(0.0, f64::max);
            low > 0.0 && high / low >= LOG_FACTOR
        });
        let label = self.header[column].clone();
        if let Some((places, unit)) = self.places(x) {
            let mut lines: Vec<Series> = Vec::new();
            for (name, place, value) in measured {
                let at = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
                    lines.push(Series { name, points: Vec::new() });
                    lines.len() - 1
                });
                lines[at].points.push((places[place], value));
            }
            let named = match &*unit {
                "" => self.axes[x].clone(),
                unit => format!("{}, {unit}", self.axes[x]),
            };
            return Panel::Lines(Lines {
                title: String::new(),
                x_label: chart.x_label.clone().unwrap_or(named),
                y_label: label,
                log_x: chart.log_x,
                log_y: log,
                x_ticks: places,
                series: lines,
            });
        }
        let row = |(place, choice): (usize, &&str)| {
            let here = measured.iter().filter(|(_, at, _)| *at == place);
            let mark = |(name, _, value): &(String, usize, Measured)| Mark::ours(name, *value);
            Row { label: (*choice).to_owned(), marks: here.map(mark).collect() }
        };
        let rows = choices.iter().enumerate().map(row).filter(|row| !row.marks.is_empty());
        Panel::Rows(Rows { title: String::new(), label, log, names: rows.collect() })
    }
}

/// Columns of a panel.
struct Columns<'a> {
    /// Axis along x.
    x: usize,
    /// Axes whose choices name the series.
    series: &'a [usize],
    /// Column of the quantity.
    column: usize,
}

/// Returns the quantities with panels.
fn quantities(figure: &Figure) -> Vec<usize> {
    if let Some(names) = &figure.chart.quantities {
        let find = |name: &String| figure.quantities.iter().position(|it| it.name == *name);
        return names.iter().filter_map(find).collect();
    }
    let mut chosen = Vec::new();
    for claim in &figure.claims {
        if !matches!(claim.paper, Expected::Words(_)) && !chosen.contains(&claim.quantity) {
            chosen.push(claim.quantity);
        }
    }
    if chosen.is_empty() {
        chosen.extend(figure.claims.first().map_or(Some(0), |claim| Some(claim.quantity)));
    }
    chosen.truncate(2);
    chosen
}

/// Returns panels of the claims with a number, one for each unit: the paper's number, and ours in each reading.
fn comparison(figure: &Figure, claims: &Grid) -> Vec<Panel> {
    let column = |name: &str| claims.header.iter().position(|it| it == name);
    let (Some(what), Some(paper), Some(ours)) = (column("what"), column("paper"), column("ours"))
    else {
        return Vec::new();
    };
    let mut units: Vec<(String, Vec<Row>)> = Vec::new();
    let mut rest = &claims.rows[..];
    let mut subject = "";
    for claim in &figure.claims {
        let of_claim = |row: &Vec<String>| {
            let reading = row[what].strip_prefix(&*claim.text);
            reading.is_some_and(|it| it.is_empty() || it.starts_with("; "))
        };
        let Some(first) = rest.first().filter(|row| of_claim(row)) else { continue };
        let text = &first[paper];
        let end = rest.iter().position(|row| !of_claim(row) || row[paper] != *text);
        let (own, others) = rest.split_at(end.unwrap_or(rest.len()));
        rest = others;
        let text_of = &claim.text;
        let rest_of = text_of.strip_prefix("the same").or_else(|| text_of.strip_prefix("likewise"));
        let name = if let Some(rest) = rest_of {
            format!("{subject}{rest}")
        } else {
            subject = text_of.split(", ").next().unwrap_or_default();
            text_of.clone()
        };
        if matches!(claim.paper, Expected::Words(_)) {
            continue;
        }
        let mut marks: Vec<Mark> = cell::numbers(text).into_iter().map(Mark::paper).collect();
        for row in own {
            let ours = Measured::parse_all(&row[ours]);
            marks.extend(ours.into_iter().map(|it| Mark::ours(picture::OURS, it)));
        }
        let unit = if text.ends_with('%') { "%" } else { cell::unit(text) };
        let end = match &claim.paper {
            Expected::UpTo(_) => ", largest",
            Expected::Range(..) => ", least and largest",
            _ => "",
        };
        let row = Row { label: format!("{name}{end}"), marks };
        match units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, rows)) => rows.push(row),
            None => units.push((unit.to_owned(), vec![row])),
        }
    }
    let panel = |(unit, rows): (String, Vec<Row>)| {
        let label = if unit.is_empty() { "value".to_owned() } else { unit };
        let title = "Claims with a number: paper and ours".to_owned();
        Panel::Rows(Rows { title, label, log: false, names: rows })
    };
    units.into_iter().map(panel).collect()
}
