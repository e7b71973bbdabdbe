//! Panels of a picture.

use std::fmt::Write;

use super::scale::{Scale, tick};
use super::{LETTER, LINE, MARGIN, WIDTH};
use super::{color, diamond, dots, px, strokes, text, wrap};
use crate::chart::cell::Measured;
use crate::chart::picture::{Lines, Row, Rows};
use crate::report::FITS;

/// Height of the lines of a panel, px.
const PLOT: f64 = 190.0;
/// Width of the numbers of a y axis, px.
const NUMBERS: f64 = 56.0;
/// Min and max width of the names of rows, px.
const NAMES: (f64, f64) = (90.0, 330.0);
/// Height of a row without its lines of text, px.
const ROW: f64 = 8.0;
/// Distance of marks of series within a row, px.
const APART: f64 = 9.0;
const GRID: &str = "#ddd";

/// Draws a panel of lines at a place of a width, and returns its height.
pub fn lines(body: &mut String, lines: &Lines, series: &[&str], place: (f64, f64, f64)) -> f64 {
    let (left, top, width) = place;
    let letters = ((width - NUMBERS) / LETTER) as usize;
    let title = match &*lines.title {
        "" => lines.y_label.clone(),
        title => format!("{}; {title}", lines.y_label),
    };
    let title = wrap(&title, letters);
    let mut y = top;
    for line in &title {
        y += LINE;
        text(body, (left + MARGIN, y), "start", line);
    }
    let (top_of_plot, bottom) = (y + 10.0, y + 10.0 + PLOT);
    let (start, end) = (left + NUMBERS, left + width - 18.0);
    let points = || lines.series.iter().flat_map(|line| &line.points);
    let values: Vec<f64> = points().flat_map(|(_, it)| [it.low(), it.high()]).collect();
    let to_y = Scale::new(&values, lines.log_y, (bottom, top_of_plot));
    let to_x = Scale::around(&lines.x_ticks, lines.log_x, (start, end));
    let mut grid = String::new();
    for value in to_y.ticks(5.0) {
        let y = to_y.place(value);
        write!(grid, "M{} {}H{}", px(start), px(y), px(end)).expect(FITS);
        text(body, (start - 6.0, y + 4.0), "end", &tick(value));
    }
    strokes(body, &grid, GRID, 1.0);
    strokes(
        body,
        &format!("M{} {}V{}H{}", px(start), px(top_of_plot), px(bottom), px(end)),
        "#888",
        1.0,
    );
    let mut free = f64::NEG_INFINITY;
    let mut ticks = lines.x_ticks.clone();
    ticks.sort_by(f64::total_cmp);
    for &value in &ticks {
        let (x, label) = (to_x.place(value), tick(value));
        let half = LETTER * label.len() as f64 / 2.0;
        if x - half > free {
            text(body, (x, bottom + 16.0), "middle", &label);
            free = x + half + 6.0;
        }
    }
    text(body, (f64::midpoint(start, end), bottom + 34.0), "middle", &lines.x_label);
    for line in &lines.series {
        let number = series.iter().position(|name| *name == line.name).unwrap_or_default();
        let mut points = line.points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |(x, it): &(f64, Measured)| (to_x.place(*x), to_y.place(it.value));
        let places: Vec<(f64, f64)> = points.iter().map(at).collect();
        let mut path = String::new();
        // A line has a gap at a choice without a number, such as a value that no run reached.
        let rank = |x: f64| ticks.iter().position(|&tick| tick.total_cmp(&x).is_eq());
        let follows = |a: f64, b: f64| rank(a).zip(rank(b)).is_some_and(|(a, b)| a + 1 == b);
        for (place, (x, y)) in places.iter().enumerate() {
            let is_joined = place > 0 && follows(points[place - 1].0, points[place].0);
            let letter = if is_joined { 'L' } else { 'M' };
            write!(path, "{letter}{} {}", px(*x), px(*y)).expect(FITS);
        }
        strokes(body, &path, color(series, number), 1.5);
        let whisker = |(x, it): &(f64, Measured)| {
            let x = px(to_x.place(*x));
            let arrow = if it.is_open { "m-4 6l4 -6l4 6" } else { "" };
            it.ends.map(|(low, high)| {
                format!("M{x} {}V{}{arrow}", px(to_y.place(low)), px(to_y.place(high)))
            })
        };
        strokes(
            body,
            &points.iter().filter_map(whisker).collect::<String>(),
            color(series, number),
            3.0,
        );
        dots(body, &places, color(series, number));
    }
    bottom + 40.0 - top
}

/// Draws a panel of rows over the whole width, and returns its height.
pub fn rows(body: &mut String, rows: &Rows, series: &[&str], top: f64) -> f64 {
    let title = match &*rows.title {
        "" => rows.label.clone(),
        title if title.starts_with("Claims") => title.to_owned(),
        title => format!("{}; {title}", rows.label),
    };
    let mut y = top + LINE;
    text(body, (MARGIN, y), "start", &title);
    y += 10.0;
    let longest = rows.names.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let names = (longest as f64 * LETTER + 8.0).clamp(NAMES.0, NAMES.1);
    let (start, end) = (names + MARGIN, WIDTH - 30.0);
    let marks = || rows.names.iter().flat_map(|row| &row.marks);
    let values: Vec<f64> = marks().flat_map(|it| [it.value.low(), it.value.high()]).collect();
    let to_x = Scale::new(&values, rows.log, (start, end));
    let labels: Vec<Vec<String>> =
        rows.names.iter().map(|row| wrap(&row.label, (names / LETTER) as usize)).collect();
    let height = |row: &Row, label: &[String]| {
        let apart = places(row).into_iter().max().unwrap_or(0) as f64 * APART;
        (label.len() as f64 * LINE).max(apart + LINE) + ROW
    };
    let all: f64 = rows.names.iter().zip(&labels).map(|(row, label)| height(row, label)).sum();
    let bottom = y + all;
    let mut grid = String::new();
    for value in to_x.ticks(7.0) {
        let x = to_x.place(value);
        write!(grid, "M{} {}V{}", px(x), px(y), px(bottom)).expect(FITS);
        text(body, (x, bottom + 16.0), "middle", &tick(value));
    }
    strokes(body, &grid, GRID, 1.0);
    strokes(body, &format!("M{} {}H{}", px(start), px(bottom), px(end)), "#888", 1.0);
    let mut drawn: Vec<(String, Vec<(f64, f64)>)> = vec![Default::default(); series.len()];
    for (row, label) in rows.names.iter().zip(&labels) {
        let height = height(row, label);
        let middle = y + height / 2.0;
        let first = middle - (label.len() as f64 - 1.0) * LINE / 2.0 + 4.0;
        for (number, line) in label.iter().enumerate() {
            text(body, (MARGIN, first + number as f64 * LINE), "start", line);
        }
        let places = places(row);
        let last = places.iter().copied().max().unwrap_or(0) as f64;
        for (mark, place) in row.marks.iter().zip(&places) {
            let y = middle + (*place as f64 - last / 2.0) * APART;
            let x = to_x.place(mark.value.value);
            let Some(name) = &mark.series else {
                diamond(body, x, y);
                continue;
            };
            let Some(number) = series.iter().position(|known| known == name) else { continue };
            let (whiskers, points) = &mut drawn[number];
            if let Some((low, high)) = mark.value.ends {
                let (low, high) = (px(to_x.place(low)), px(to_x.place(high)));
                let arrow = if mark.value.is_open { "m-6 -4l6 4l-6 4" } else { "" };
                write!(whiskers, "M{low} {}H{high}{arrow}", px(y)).expect(FITS);
            }
            points.push((x, y));
        }
        y += height;
    }
    for (number, (whiskers, points)) in drawn.iter().enumerate().filter(|(_, it)| !it.1.is_empty())
    {
        strokes(body, whiskers, color(series, number), 3.0);
        dots(body, points, color(series, number));
    }
    text(body, (f64::midpoint(start, end), bottom + 34.0), "middle", &rows.label);
    bottom + 42.0 - top
}

/// Returns the place of each mark within its row: series are apart, and the paper's numbers come first.
fn places(row: &Row) -> Vec<usize> {
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut all = Vec::new();
    for mark in &row.marks {
        let name = mark.series.as_deref();
        let place = names.iter().position(|known| *known == name).unwrap_or(names.len());
        if place == names.len() {
            names.push(name);
        }
        all.push(place);
    }
    all
}
