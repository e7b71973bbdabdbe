//! The tables of a reproduction: Markdown for people, CSV for programs.

mod claims;
mod csv;
mod grid;
mod number;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::fmt::Write;
use std::num::NonZeroU32;
use std::path::Path;

pub use csv::csv;
pub use grid::Grid;
use results::Number;
use results::TableError;

use super::estimate::MIN_SEEDS_FOR_AN_INTERVAL;
use super::{Discordant, Figure, Outcome, Paper, Statistic, Unit};

/// Arguments of the command.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The paper.
    pub paper: &'static Paper,
    /// Scale, for figures that have it.
    pub scale: Option<&'a str>,
    /// Number of seeds instead of the figures' own.
    pub seeds: Option<NonZeroU32>,
}

impl Call<'_> {
    /// Returns the scale of a figure, if it is not the paper's.
    pub fn scale_of(&self, figure: &Figure) -> Option<&str> {
        self.scale.filter(|_| figure.has_small)
    }

    /// Returns the command that repeats a figure.
    fn command(&self, figure: &Figure) -> String {
        let mut command = format!("xoff reproduce {} {}", self.paper.name, figure.name);
        if let Some(scale) = self.scale_of(figure) {
            write!(command, " --scale {scale}").expect(FITS);
        }
        if let Some(seeds) = self.seeds {
            write!(command, " --seeds {seeds}").expect(FITS);
        }
        command
    }
}

/// Formats the report of a call for `figures` as Markdown; figures with an outcome have run.
pub fn markdown(call: &Call<'_>, figures: &[&'static Figure], outcomes: &[Outcome]) -> String {
    let mut text = format!("# {}\n", call.paper.title);
    text += &claims::verdicts(call, figures, outcomes);
    for outcome in outcomes {
        text.push('\n');
        text += &figure(call, outcome);
    }
    text
}

/// Returns the figure's tables in the form of `docs/reproduction/PAPER/`: file names and texts.
pub fn tables(outcome: &Outcome) -> Vec<(String, String)> {
    let [claims, figure] = files(outcome.figure);
    let comparisons = claims::comparisons(outcome).map(|grid| (claims, grid.csv()));
    comparisons.into_iter().chain([(figure, cells(outcome).csv())]).collect()
}

/// Formats the tables of a folder that [`tables`] fills as Markdown, figure by figure; figures without tables are left
/// out.
pub fn rendered(
    call: &Call<'_>,
    figures: &[&'static Figure],
    folder: &Path,
) -> Result<String, TableError> {
    let mut text = String::new();
    for figure in figures {
        let [claims, cells] = files(figure);
        let Some(cells) = Grid::read(folder, &cells)? else { continue };
        let start = if text.is_empty() { "" } else { "\n" };
        let (title, command, notes) = (&figure.title, call.command(figure), figure.notes.trim());
        write!(text, "{start}## {title}\n\n`{command}`\n\n{notes}\n\n").expect(FITS);
        if let Some(claims) = Grid::read(folder, &claims)? {
            line(&mut text, &claims.markdown());
        }
        text += &cells.markdown();
    }
    Ok(text)
}

/// Returns the names of the figure's tables: of its claims, and of its cells.
pub fn files(figure: &Figure) -> [String; 2] {
    ["claims.csv", "csv"].map(|end| format!("{}.{end}", figure.name))
}

fn figure(call: &Call<'_>, outcome: &Outcome) -> String {
    let figure = outcome.figure;
    let mut text = format!("## {}\n\n", figure.title);
    let seeds = match outcome.seeds {
        1 => "1 seed".to_owned(),
        count => format!("{count} seeds"),
    };
    line(&mut text, &format!("`{}`, {seeds} in each cell", call.command(figure)));
    let (done, all) = outcome.runs;
    let mut state = format!("{done} of {all} runs are done");
    if outcome.incomplete > 0 {
        let count = outcome.incomplete;
        write!(state, "; {count} of them cut by their duration").expect(FITS);
    }
    line(&mut text, &format!("\n{state}."));
    if let Some(scale) = call.scale_of(figure) {
        line(&mut text, &format!("\n**This is the scale `{scale}`, not the paper's.**"));
    }
    line(&mut text, &format!("\n{}\n", figure.notes.trim()));
    if let Some(comparisons) = claims::comparisons(outcome) {
        text += &comparisons.markdown();
        text.push('\n');
    }
    text += &cells(outcome).markdown();
    legend(&mut text, outcome);
    text
}

/// Reason why writing into a text does not fail.
pub const FITS: &str = "a String takes every write";

fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect(FITS);
}

fn row(text: &mut String, cells: &[impl Borrow<str>]) {
    line(text, &format!("| {} |", cells.join(" | ")));
}

/// Appends the line below the header of a table.
fn rule(text: &mut String, columns: usize) {
    line(text, &format!("|{}", " --- |".repeat(columns)));
}

/// Returns the quantities that any run has. A quantity that is unknown to the runs' version of xoff has no column.
fn measured(outcome: &Outcome) -> Vec<usize> {
    let any = |quantity: &usize| {
        let mut cells = outcome.cells.iter();
        cells.any(|cell| {
            outcome.itself(cell, *quantity).is_some() || outcome.left_out(cell, *quantity) > 0
        })
    };
    (0..outcome.figure.quantities.len()).filter(any).collect()
}

/// Returns the table of a figure's cells.
fn cells(outcome: &Outcome) -> Grid {
    let quantities = measured(outcome);
    let axes = shown_axes(outcome);
    let mut header: Vec<String> = axes.iter().map(|axis| outcome.axes[*axis].clone()).collect();
    for quantity in quantities.iter().map(|number| &outcome.figure.quantities[*number]) {
        header.push(quantity.column());
        if !quantity.source.is_compared() {
            continue;
        }
        let comparison = match quantity.source.statistic() {
            Statistic::Mean => "mean of ratios",
            Statistic::Share => "ratio of shares",
            Statistic::Median => "ratio of medians",
        };
        let baseline = &outcome.figure.baseline.1;
        header.push(format!("of {baseline}, {comparison}"));
        if quantity.source.is_sum() {
            header.push(format!("of {baseline}, ratio of totals"));
        }
        if quantity.source.statistic() == Statistic::Share {
            header.push(format!("only here, only {baseline}, p"));
        }
    }
    let mut rows = Vec::new();
    for cell in outcome.cells.iter().filter(|cell| cell.runs > 0) {
        let mut fields: Vec<String> = axes.iter().map(|axis| cell.choices[*axis].clone()).collect();
        for number in &quantities {
            let quantity = &outcome.figure.quantities[*number];
            let statistic = quantity.source.statistic();
            let itself = outcome.itself(cell, *number);
            let text = itself.map(|it| number::estimate(it, statistic, quantity.unit));
            fields.push(text.unwrap_or_default() + &note(outcome.left_out(cell, *number)));
            if !quantity.source.is_compared() {
                continue;
            }
            let compared = match (outcome.relative(cell, *number), statistic, itself) {
                (Some(ratio), _, _) => number::comparison(ratio, Unit::Plain),
                (None, Statistic::Median, Some(_)) => "not reached".to_owned(),
                (None, _, _) => String::new(),
            };
            fields.push(compared + &note(outcome.left_out_relative(cell, *number)));
            if quantity.source.is_sum() {
                let totals = outcome.estimate_totals(cell, *number);
                let text = totals.map(|ratio| number::comparison(ratio, Unit::Plain));
                fields.push(text.unwrap_or_default());
            }
            if statistic == Statistic::Share {
                fields.push(outcome.discordant(cell, *number).map_or_else(String::new, discordant));
            }
        }
        rows.push(fields);
    }
    Grid { header, rows }
}

/// Returns the axes, except settings that are equal in all runs and whose names are paths of keys.
fn shown_axes(outcome: &Outcome) -> Vec<usize> {
    let is_setting = |axis: &usize| {
        let mut choices = outcome.cells.iter().map(|cell| &cell.choices[*axis]);
        let first = choices.next();
        let same = choices.all(|choice| Some(choice) == first);
        same && (is_key(&outcome.axes[*axis]))
    };
    (0..outcome.axes.len()).filter(|axis| !is_setting(axis)).collect()
}

/// Returns true if a name is a key of a scenario; top-level keys are only the ones that sweeps set.
fn is_key(name: &str) -> bool {
    name.contains('.') || ["duration", "stop"].contains(&name)
}

fn discordant(pairs: Discordant) -> String {
    let p = match pairs.p() {
        p if p < Number::per_mille(1) => "under 0.001".to_owned(),
        p => format!("{:.3}", number::Rounded(p)),
    };
    format!("{}, {}, {p}", pairs.only_here, pairs.only_there)
}

/// Explains the numbers of a table.
fn legend(text: &mut String, outcome: &Outcome) {
    let runs = || outcome.cells.iter().map(|cell| cell.runs);
    let has = |statistic| {
        measured(outcome)
            .iter()
            .any(|number| outcome.figure.quantities[*number].source.statistic() == statistic)
    };
    let mut sentences = Vec::new();
    if has(Statistic::Mean) && runs().any(|count| (2..MIN_SEEDS_FOR_AN_INTERVAL).contains(&count)) {
        sentences.push(format!(
            "`a (b .. c)`: mean, and the least and the largest of the seeds. Fewer than {MIN_SEEDS_FOR_AN_INTERVAL} seeds \
             have no interval."
        ));
    }
    if has(Statistic::Mean) && runs().any(|count| count >= MIN_SEEDS_FOR_AN_INTERVAL) {
        sentences.push("`a [b, c]`: mean with its 95 % interval by Student's t.".to_owned());
    }
    if has(Statistic::Share) {
        sentences.push(
            "Shares of runs have E. B. Wilson's 95 % interval. \"Only here\" counts seeds in which it happened in this cell \
             and not in the baseline's; p is McNemar's exact test."
                .to_owned(),
        );
    }
    if has(Statistic::Median) {
        sentences.push(
            "Onsets have the Kaplan-Meier median, its 95 % interval by order statistics or, with fewer than 10 runs, the \
             range, and in how many of how many runs it happened."
                .to_owned(),
        );
    }
    if !sentences.is_empty() {
        line(text, &format!("\n{}", sentences.join(" ")));
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
