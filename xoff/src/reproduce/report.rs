//! The tables of a reproduction: Markdown for people, CSV for programs.

use std::fmt::Write;

use results::CsvText;

use super::{Claim, Estimate, Expected, Outcome, Paper, Unit, View};
use crate::sweep::Decimal;

/// The Markdown of one figure.
pub fn markdown(paper: &Paper, outcome: &Outcome, scale: Option<&str>) -> String {
    let figure = outcome.figure;
    let scale = scale.filter(|_| figure.has_small);
    let mut text = format!("## {}\n\n", figure.title);
    let command = scale.map_or_else(String::new, |scale| format!(" --scale {scale}"));
    line(&mut text, &format!("`xoff reproduce {} {}{command}`", paper.name, figure.name));
    let (done, all) = outcome.runs;
    let mut state = format!("{done} of {all} runs are done");
    if outcome.incomplete > 0 {
        let count = outcome.incomplete;
        write!(state, "; {count} of them cut by their duration").expect(FITS);
    }
    line(&mut text, &format!("\n{state}."));
    if let Some(scale) = scale {
        line(&mut text, &format!("\n**This is the scale `{scale}`, not the paper's.**"));
    }
    line(&mut text, &format!("\n{}\n", figure.notes.trim()));
    if !figure.claims.is_empty() {
        line(&mut text, "| where | what | paper | ours | difference |");
        line(&mut text, "| --- | --- | --- | --- | --- |");
        for claim in figure.claims {
            let row = [
                claim.place.to_owned(),
                claim.text.to_owned(),
                expected(outcome, claim),
                ours(outcome, claim),
                difference(outcome, claim),
            ];
            line(&mut text, &format!("| {} |", row.join(" | ")));
        }
        text.push('\n');
    }
    cells(&mut text, outcome);
    text
}

/// The columns of [`csv`] behind those of the axes.
const COLUMNS: &str = "quantity,unit,n,left_out,mean,ci95_low,ci95_high,relative,relative_low,relative_high,\
     relative_left_out,incomplete";

/// The cells of one figure, a row for each cell and quantity. `relative` is what is divided by the
/// baseline, seed by seed. `left_out` counts the seeds that are not in the mean, because flows are
/// missing in their runs; `relative_left_out` those that are not in the ratio, because flows are missing in
/// theirs or the baseline's; `incomplete` the runs of the cell that their duration cut.
pub fn csv(outcome: &Outcome) -> String {
    let mut text = String::new();
    for axis in &outcome.axes {
        write!(text, "{},", CsvText(axis)).expect(FITS);
    }
    line(&mut text, COLUMNS);
    for cell in &outcome.cells {
        for (number, quantity) in outcome.figure.quantities.iter().enumerate() {
            let estimate = outcome.itself(cell, number);
            let left_out = outcome.left_out(cell, number);
            if estimate.is_none() && left_out == 0 {
                continue;
            }
            for choice in &cell.choices {
                write!(text, "{},", CsvText(choice)).expect(FITS);
            }
            let fields = |estimate: Option<Estimate>, unit: Unit| {
                let shown = |value: Decimal| unit.of(value).to_string();
                let mean = estimate.map(|it| shown(it.mean)).unwrap_or_default();
                let ends = estimate.and_then(|it| it.interval);
                let (low, high) = ends.map(|(low, high)| (shown(low), shown(high))).unzip();
                [mean, low.unwrap_or_default(), high.unwrap_or_default()].join(",")
            };
            let unit = quantity.unit;
            let (name, count) = (CsvText(quantity.name), estimate.map_or(0, |it| it.count));
            let absolute = fields(estimate, unit);
            let relative = fields(outcome.relative(cell, number), Unit::Plain);
            line(
                &mut text,
                &format!(
                    "{name},{},{count},{left_out},{absolute},{relative},{},{}",
                    unit.name(),
                    outcome.left_out_relative(cell, number),
                    cell.incomplete,
                ),
            );
        }
    }
    text
}

const FITS: &str = "a String takes every write";

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect(FITS);
}

fn cells(text: &mut String, outcome: &Outcome) {
    let mut header: Vec<String> = outcome.axes.clone();
    for quantity in outcome.figure.quantities {
        let unit = match quantity.unit.name() {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        header.push(format!("{}{unit}", quantity.name));
        header.push(format!("of {}", outcome.figure.baseline.1));
    }
    line(text, &format!("| {} |", header.join(" | ")));
    line(text, &format!("|{}", " --- |".repeat(header.len())));
    for cell in &outcome.cells {
        let mut row = cell.choices.clone();
        for (number, quantity) in outcome.figure.quantities.iter().enumerate() {
            let absolute = outcome.itself(cell, number);
            let absolute = absolute.map_or_else(String::new, |it| shown(it, quantity.unit));
            row.push(absolute + &note(outcome.left_out(cell, number)));
            let relative = outcome.relative(cell, number);
            let relative = relative.map_or_else(String::new, |it| shown(it, Unit::Plain));
            row.push(relative + &note(outcome.left_out_relative(cell, number)));
        }
        line(text, &format!("| {} |", row.join(" | ")));
    }
}

/// `53.1 [52, 54.2]`: fewer places the larger the mean is.
fn shown(estimate: Estimate, unit: Unit) -> String {
    let places = match unit.of(estimate.mean).0.abs() / Decimal::ONE.0 {
        0 => 3,
        1..10 => 2,
        10..1000 => 1,
        _ => 0,
    };
    let number = |value: Decimal| format!("{:.places$}", Rounded(unit.of(value)));
    match estimate.interval {
        Some((low, high)) if low != high => {
            format!("{} [{}, {}]", number(estimate.mean), number(low), number(high))
        }
        _ => number(estimate.mean),
    }
}

/// Notes how many incomplete runs a number excludes.
fn note(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        1 => " (1 run left out)".to_owned(),
        count => format!(" ({count} runs left out)"),
    }
}

fn unit_of(outcome: &Outcome, claim: &Claim) -> Unit {
    if claim.view == View::Itself { outcome.quantity(claim).unit } else { Unit::Percent }
}

fn with_unit(text: String, unit: Unit) -> String {
    if unit.name().is_empty() { text } else { format!("{text} {}", unit.name()) }
}

/// Papers give what is not a percentage in the unit in which it is shown.
fn as_shown(value: Decimal, unit: Unit) -> String {
    let value = if unit == Unit::Percent { unit.of(value) } else { value };
    value.to_string()
}

fn expected(outcome: &Outcome, claim: &Claim) -> String {
    let unit = unit_of(outcome, claim);
    let number = |value| as_shown(value, unit);
    let text = match claim.paper {
        Expected::Words(words) => return words.to_owned(),
        Expected::Range(low, high) => format!("{} to {}", number(low), number(high)),
        Expected::UpTo(most) => format!("up to {}", number(most)),
        Expected::About(value) => format!("about {}", number(value)),
        Expected::Over(least) => format!("over {}", number(least)),
    };
    with_unit(text, unit)
}

fn ours(outcome: &Outcome, claim: &Claim) -> String {
    let unit = unit_of(outcome, claim);
    let found: Vec<String> =
        outcome.found(claim).into_iter().map(|estimate| shown(estimate, unit)).collect();
    let text = match (&found[..], claim.paper) {
        ([], _) => "no run".to_owned(),
        (found, Expected::UpTo(_)) => with_unit(format!("up to {}", found.join(" to ")), unit),
        (found, _) => with_unit(found.join(" to "), unit),
    };
    text + &note(outcome.left_out_of(claim))
}

fn difference(outcome: &Outcome, claim: &Claim) -> String {
    let unit = unit_of(outcome, claim);
    let found = outcome.found(claim);
    let paper = match claim.paper {
        Expected::Words(_) => return String::new(),
        Expected::Range(low, high) => vec![low, high],
        Expected::UpTo(value) | Expected::About(value) | Expected::Over(value) => vec![value],
    };
    if found.is_empty() {
        return String::new();
    }
    // One cell is compared with both ends of a range, and several with the one number that there is.
    let pairs = (0..paper.len().max(found.len()))
        .map(|place| (paper[place.min(paper.len() - 1)], found[place.min(found.len() - 1)]));
    let of_pair = |(paper, estimate): (Decimal, Estimate)| {
        let ours = unit.of(estimate.mean);
        let paper = if unit == Unit::Percent { unit.of(paper) } else { paper };
        let difference = Decimal(ours.0 - paper.0);
        let sign = if difference.0 > 0 { "+" } else { "" };
        format!("{sign}{:.1}", Rounded(difference))
    };
    let text = pairs.map(of_pair).collect::<Vec<_>>().join(" to ");
    if unit == Unit::Percent { format!("{text} points") } else { with_unit(text, unit) }
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Gigabits => "Gbit/s",
            Self::Percent => "%",
            Self::Plain => "",
        }
    }

    /// A number as it is shown.
    fn of(self, value: Decimal) -> Decimal {
        match self {
            Self::Microseconds | Self::Gigabits => Decimal::ratio(value.0, 1000 * Decimal::ONE.0),
            Self::Milliseconds => Decimal::ratio(value.0, 1_000_000 * Decimal::ONE.0),
            Self::Percent => Decimal(value.0 * 100),
            Self::Plain => value,
        }
    }
}

/// A number with as many places as the format asks for, rounded half away from zero.
struct Rounded(Decimal);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = f.precision().unwrap_or(6).min(6);
        let step = (places..6).fold(1, |step, _| step * 10);
        let magnitude = (self.0.0.abs() + step / 2) / step * step;
        let text = Decimal(magnitude * self.0.0.signum()).to_string();
        f.write_str(&text)
    }
}
