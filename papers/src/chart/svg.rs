//! A picture as an SVG document: fixed width, own background, 13 px text or more.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "positions in a picture may be off by less than a dot"
)]

mod panel;
mod scale;

use std::fmt::Write;

use super::picture::{OURS, Panel, Picture};
use crate::report::FITS;

/// Width of a picture, px.
const WIDTH: f64 = 800.0;
/// Margin of a picture, px.
const MARGIN: f64 = 10.0;
/// Height of a line of the legend and of text, px.
const LINE: f64 = 18.0;
/// Estimated width of a letter of 13 px, px.
const LETTER: f64 = 7.2;
/// Colours of series, readable on white.
const COLORS: [&str; 8] =
    ["#2a78d6", "#c27400", "#0a8f6c", "#c8402a", "#9a4fb0", "#1f8596", "#6f6f6f", "#84691a"];
/// Colour of the paper's numbers.
const PAPER: &str = "#111";
/// Colour of our numbers beside the paper's.
const OURS_COLOR: &str = "#c2186b";

/// Draws a picture.
pub fn document(picture: &Picture) -> String {
    let mut body = String::new();
    let series = picture.series();
    let mut y = legend(&mut body, picture, &series);
    let mut panels = &picture.panels[..];
    while let Some((first, rest)) = panels.split_first() {
        let height = match (first, rest.first()) {
            (Panel::Lines(left), Some(Panel::Lines(right))) => {
                let half = WIDTH / 2.0;
                panels = &rest[1..];
                let left = panel::lines(&mut body, left, &series, (0.0, y, half));
                left.max(panel::lines(&mut body, right, &series, (half, y, half)))
            }
            (Panel::Lines(lines), _) => {
                panels = rest;
                panel::lines(&mut body, lines, &series, (0.0, y, WIDTH))
            }
            (Panel::Rows(rows), _) => {
                panels = rest;
                panel::rows(&mut body, rows, &series, y)
            }
        };
        y += height;
    }
    if picture.left_out > 0 {
        y += LINE;
        let left_out = format!("{} more panels are in the table (CSV).", picture.left_out);
        text(&mut body, (MARGIN, y), "start", &left_out);
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#fff\"/>\n{body}</svg>\n",
        escape(&picture.title)
    )
}

/// Draws the legend and returns its height.
fn legend(body: &mut String, picture: &Picture, series: &[&str]) -> f64 {
    let (mut x, mut y) = (MARGIN, MARGIN + 10.0);
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (number, name) in series.iter().enumerate() {
        names.push((if name.is_empty() { "all" } else { name }, color(series, number)));
    }
    if picture.has_paper() {
        names.push(("paper", PAPER));
    }
    for (name, color) in names {
        let width = 24.0 + LETTER * name.chars().count() as f64 + 16.0;
        if x > MARGIN && x + width > WIDTH {
            (x, y) = (MARGIN, y + LINE);
        }
        if color == PAPER {
            diamond(body, x + 7.0, y - 4.0);
        } else {
            dots(body, &[(x + 7.0, y - 4.0)], color);
        }
        text(body, (x + 18.0, y), "start", name);
        x += width;
    }
    y + 6.0
}

/// Returns the colour of a series.
fn color(series: &[&str], number: usize) -> &'static str {
    if series.get(number) == Some(&OURS) { OURS_COLOR } else { COLORS[number % COLORS.len()] }
}

fn text(body: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let anchor =
        if anchor == "start" { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    let (x, y) = (px(x), px(y));
    writeln!(body, "<text x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escape(text)).expect(FITS);
}

/// Draws points of one colour.
fn dots(body: &mut String, points: &[(f64, f64)], color: &str) {
    let mut moves = String::new();
    for (x, y) in points {
        write!(moves, "M{} {}h0", px(*x), px(*y)).expect(FITS);
    }
    writeln!(
        body,
        "<path d=\"{moves}\" stroke=\"{color}\" stroke-width=\"8\" stroke-linecap=\"round\"/>"
    )
    .expect(FITS);
}

/// Draws a number of the paper.
fn diamond(body: &mut String, x: f64, y: f64) {
    let (x, top) = (px(x), px(y - 6.0));
    writeln!(body, "<path d=\"M{x} {top}l6 6l-6 6l-6 -6z\" fill=\"#fff\" stroke=\"{PAPER}\" stroke-width=\"2\"/>")
        .expect(FITS);
}

/// Draws lines without filling.
fn strokes(body: &mut String, path: &str, color: &str, width: f64) {
    if !path.is_empty() {
        writeln!(
            body,
            "<path d=\"{path}\" stroke=\"{color}\" stroke-width=\"{width}\" fill=\"none\"/>"
        )
        .expect(FITS);
    }
}

/// Rounds a coordinate to a tenth of a pixel.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Breaks a text into lines of at most so many letters.
fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= letters {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
